// A Document made into a Scene: references resolved, meshes loaded, generators run, and everything checked that takes
// more than one key to check.
#pragma once

#include <map>
#include <set>

#include "geometry/creatures.hpp"
#include "scene/reader.hpp"

namespace stiction::scene {

/// What a scene may ask for.
struct Limits {
  std::int64_t nodes = 50'000'000;  ///< of all bodies and meshes together, checked before any is made
  bool read_files = true;           ///< whether meshes may be read
  std::string folder;               ///< that relative mesh paths start from
};

/// The scene under construction and what its parts share.
struct Build {
  const Document& document;
  const Locations& at;
  const Limits& limits;
  Scene scene = {};
  std::set<std::string> names = {};
  std::map<std::string, std::vector<std::string>> copies = {};  // bodies made by one table, by its name
  std::map<std::string, HeadPlace> heads = {};                  // of colliders that have one, local coordinates

  /// Gives a nameless body "kind" plus its index; fails where a name is taken.
  void claim_name(std::string& name, const std::string& kind, std::size_t index);

  /// Fails where the key at `path` names no collider.
  const Collider& find_collider(const std::string& name, const std::string& path) const;
};

/// A table of the scene file while its body is built.
struct Table {
  Build& build;
  std::string path;

  std::string key(std::string_view name) const { return path + "." + std::string(name); }
  bool given(std::string_view name) const { return build.at.has(key(name)); }
  [[noreturn]] void fail(std::string_view name, std::string_view problem) const { build.at.fail(key(name), problem); }

  /// Path of a file that the key names. Fails where it names none or files may not be read.
  std::string resolve(std::string_view name, const std::string& file) const;
  /// The triangles of an OBJ file that the key names.
  TriangleMesh read_triangles(std::string_view name, const std::string& file) const;
  /// Fails where the collider that the key names does not exist or is a sequence of meshes, which can hold nothing.
  void check_holder(std::string_view name, const std::string& collider, std::string_view what) const;
};

/// Turns by a rotation vector (rad), then moves.
inline Pose placement(const Vec3& position, const Vec3& rotation) {
  return Motion{{{0, position}}, {{0, rotation}}}.at(0);
}

/// Throws SceneError.
Scene build_scene(const Document& document, const Locations& at, const Limits& limits);

/// Fails where the scene is too large, before anything is made.
void check_sizes(const Build& build);

void build_colliders(Build& build);
void build_meshes(Build& build);
void build_strands(Build& build);
void build_attachments(Build& build);

}  // namespace stiction::scene
