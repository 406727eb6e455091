// TOML text and overrides in, a Document out, each value checked against its field of the schema.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scene/document.hpp"

namespace stiction::scene {

/// Which keys a scene gives, and where: "file:line:column", or "--set key=value" for an override. A path reads
/// "groom.0.strands".
class Locations {
 public:
  explicit Locations(std::string file) : file_(std::move(file)) {}

  void set(const std::string& path, std::string where) { where_[path] = std::move(where); }
  bool has(const std::string& path) const { return where_.contains(path); }

  /// Throws SceneError "where: path: problem"; where is that of the path or of the nearest table around it.
  [[noreturn]] void fail(const std::string& path, std::string_view problem) const;

 private:
  std::string file_;
  std::map<std::string, std::string> where_;
};

/// Parses `text` (`name` stands for the file in messages), applies the overrides and fills `document`. Throws
/// SceneError.
Locations read_document(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                        Document& document);

}  // namespace stiction::scene
