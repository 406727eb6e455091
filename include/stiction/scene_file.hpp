// Scene files: TOML in, a valid Scene out, or an error that names file, line, column, key, value and bound.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "stiction/scene.hpp"

namespace stiction {

/// Bad input. what() reads "file:line:column: key: what is wrong".
class SceneError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a scene file; `overrides` are "dotted.key=value" with a TOML value (an array of tables is indexed:
/// "groom.0.strands=100"). Relative mesh paths are resolved against the file's folder. Throws SceneError.
Scene load_scene(const std::string& path, const std::vector<std::string>& overrides = {});

/// The same from text; `name` stands for the file in messages.
Scene parse_scene(const std::string& text, const std::string& name, const std::vector<std::string>& overrides = {});

/// The scene reference, generated from the schema, as Markdown.
std::string scene_reference();

}  // namespace stiction
