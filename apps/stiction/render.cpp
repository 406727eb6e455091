// stiction render: pictures and films of a run.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "io/cache.hpp"
#include "io/output_folder.hpp"
#include "render/camera.hpp"
#include "render/png.hpp"
#include "render/renderer.hpp"
#include "render/video.hpp"
#include "stiction/scene_file.hpp"

namespace stiction {

namespace {

namespace fs = std::filesystem;

struct RenderCommand {
  std::string run, out;
  std::vector<std::string> overrides;
  int frame = -1;
  bool last = false, mp4 = false;
};

void render_run(const RenderCommand& command) {
  const fs::path run = command.run;
  std::vector<std::string> overrides = nlohmann::json::parse(read_file(run / "overrides.json"));
  overrides.insert(overrides.end(), command.overrides.begin(), command.overrides.end());
  const Scene scene = parse_scene(read_file(run / "scene.toml"), (run / "scene.toml").string(), overrides);
  const CacheReader cache(run);
  const auto count = static_cast<int>(cache.frame_count());
  if (count == 0) throw IoError(run, "the cache has no frames");
  int first = 0, end = count;
  if (command.last) first = count - 1;
  if (command.frame >= 0) {
    if (command.frame >= count) throw IoError(run, fmt::format("has no frame {} (0 to {})", command.frame, count - 1));
    first = command.frame;
    end = first + 1;
  }

  // One camera for the whole animation: it frames its start, middle and end.
  const bool one = end - first == 1;
  std::vector<Frame> framed;
  for (const int i : one ? std::vector<int>{first} : std::vector<int>{first, (first + end - 1) / 2, end - 1})
    framed.push_back(cache.read(i));
  const Camera camera = frame_camera(cache.layout(), framed, scene.render);
  const Renderer renderer(scene.render);
  prepare_output(command.out);
  fs::path path;
  for (int i = first; i < end; ++i) {
    path = fs::path(command.out) / fmt::format("frame_{:05}.png", i);
    write_png(path, renderer.render(cache.layout(), cache.read(i), camera));
    fmt::print(stderr, "{} ({} of {})\n", path.string(), i - first + 1, end - first);
  }
  if (command.mp4) {
    path = fs::path(command.out) / "film.mp4";
    encode_mp4(command.out, scene.time.fps, path);
  }
  fmt::print("{}\n", path.string());
}

}  // namespace

void add_render(CLI::App& app, int&) {
  auto options = std::make_shared<RenderCommand>();
  CLI::App* command = app.add_subcommand("render", "Render the frames of a run");
  command->add_option("run", options->run, "Output folder of a run")->required();
  command->add_option("-o,--out", options->out, "Folder for the pictures")->required();
  command->add_option("--frame", options->frame, "Only this frame")->check(CLI::NonNegativeNumber);
  command->add_flag("--last", options->last, "Only the last frame");
  command->add_flag("--mp4", options->mp4, "Encode a film, too (needs ffmpeg)");
  command->add_option("--set", options->overrides, "Override a value of the scene: render.samples=64")
      ->allow_extra_args(false);
  command->callback([options] { render_run(*options); });
}

}  // namespace stiction
