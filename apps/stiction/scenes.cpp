// stiction check, stiction list: what a scene file says, and which scenes there are.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "stiction/scene_file.hpp"

namespace stiction {

namespace {

namespace fs = std::filesystem;

void check(const std::string& path, const std::vector<std::string>& overrides) {
  const Scene scene = load_scene(path, overrides);
  std::size_t strands = 0, nodes = 0;
  const auto count = [&](const auto& bodies) {
    for (const auto& body : bodies)
      for (const Strand& s : body.strands) {
        ++strands;
        nodes += s.nodes.size();
      }
  };
  count(scene.rods);
  count(scene.chains);
  fmt::print("{}: good. {} strands, {} nodes, {} colliders; {} frames of {} steps, dt = {:.3f} ms\n", path, strands,
             nodes, scene.colliders.size(), scene.time.frames(), scene.time.steps_per_frame, scene.time.dt() * 1e3);
}

// The first comment line of a scene file says what it shows.
std::string headline(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line.starts_with("# ") ? line.substr(2) : "";
}

void list(const std::string& folder) {
  std::vector<fs::path> scenes;
  if (!fs::is_directory(folder)) throw SceneError(folder + ": no such folder; name one with --folder");
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".toml") scenes.push_back(entry.path());
  std::sort(scenes.begin(), scenes.end());
  for (const fs::path& scene : scenes) fmt::print("{:<40} {}\n", scene.string(), headline(scene));
}

}  // namespace

void add_check(CLI::App& app, int&) {
  auto path = std::make_shared<std::string>();
  auto overrides = std::make_shared<std::vector<std::string>>();
  auto reference = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("check", "Read a scene and say what is in it, or what is wrong with it");
  command->add_option("scene", *path, "Scene file (TOML)");
  command->add_option("--set", *overrides, "Override a value: key=value")->allow_extra_args(false);
  command->add_flag("--reference", *reference, "Print the scene reference (Markdown) instead");
  command->callback([=] {
    if (*reference)
      fmt::print("{}", scene_reference());
    else if (path->empty())
      throw SceneError("check: name a scene file");
    else
      check(*path, *overrides);
  });
}

void add_list(CLI::App& app, int&) {
  auto folder = std::make_shared<std::string>("examples");
  CLI::App* command = app.add_subcommand("list", "List the example scenes");
  command->add_option("--folder", *folder, "Folder to look in")->capture_default_str();
  command->callback([=] { list(*folder); });
}

}  // namespace stiction
