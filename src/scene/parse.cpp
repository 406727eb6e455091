#include "scene/parse.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "stiction/scene_file.hpp"

namespace stiction {

Scene scene::parse_limited(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                           const Limits& limits) {
  Document document;
  const Locations at = read_document(text, name, overrides, document);
  return build_scene(document, at, limits);
}

Scene parse_scene(const std::string& text, const std::string& name, const std::vector<std::string>& overrides) {
  return scene::parse_limited(text, name, overrides, {});
}

Scene load_scene(const std::string& path, const std::vector<std::string>& overrides) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path)) throw SceneError(path + ":1:1: cannot read the file");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  scene::Limits limits;
  limits.folder = std::filesystem::path(path).parent_path().string();
  return scene::parse_limited(text, path, overrides, limits);
}

}  // namespace stiction
