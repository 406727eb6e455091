// A Document made into a Scene: references resolved, meshes loaded, generators run, and everything checked that takes
// more than one key to check.
#pragma once

#include <map>
#include <set>

#include "scene/reader.hpp"

namespace stiction::scene {

/// What a scene may ask for.
struct Limits {
  std::int64_t nodes = 50'000'000;  ///< of all strands together, checked before any is made
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

  /// Gives a nameless body "kind" plus its index; fails where a name is taken.
  void claim_name(std::string& name, const std::string& kind, std::size_t index);

  /// Fails where the key at `path` names no collider.
  const Collider& find_collider(const std::string& name, const std::string& path) const;
};

/// Turns by a rotation vector (rad), then moves.
inline Pose placement(const Vec3& position, const Vec3& rotation) {
  return Motion{{{0, position}}, {{0, rotation}}}.at(0);
}

/// Throws SceneError.
Scene build_scene(const Document& document, const Locations& at, const Limits& limits);

void build_colliders(Build& build);
void build_strands(Build& build);

}  // namespace stiction::scene
