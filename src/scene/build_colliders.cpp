#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "geometry/mesh_io.hpp"
#include "geometry/primitives.hpp"
#include "scene/build.hpp"

namespace stiction::scene {
namespace {

constexpr std::size_t max_pattern_files = 1'000'000;

TriangleMesh make_procedural(const ColliderEntry& e) {
  const double radius = e.collider.radius;
  const int sectors = e.segments, rings = std::max(3, e.segments / 2);
  switch (e.procedural) {
    case Procedural::none:
      break;
    case Procedural::sphere:
      return make_sphere(radius, rings, sectors);
    case Procedural::capsule:
      return make_capsule(radius, e.collider.length, std::max(1, rings / 2), sectors);
    case Procedural::cylinder:
      return make_cylinder(radius, e.collider.length, sectors);
    case Procedural::box:
      return make_box(0.5 * e.size);
    case Procedural::torus:
      return make_torus(radius, e.minor_radius, rings, sectors);
    case Procedural::plate:
      return make_plate(radius, e.rim_height, e.wall, sectors);
  }
  return {};
}

/// Reads the mesh of one collider; `path` is that of its table.
class MeshLoader {
 public:
  MeshLoader(const Build& build, std::string path) : build_(build), path_(std::move(path)) {}

  void load(const ColliderEntry& entry, Collider& collider) const {
    const bool file = given("file"), procedural = entry.procedural != Procedural::none, sequence = given("sequence");
    if (file + procedural + sequence != 1)
      build_.at.fail(path_ + ".shape", "a mesh needs one of file, procedural and sequence");
    if (procedural) load_procedural(entry, collider);
    if (file) collider.mesh = read(entry.file, "file");
    if (sequence) load_sequence(entry, collider);
  }

 private:
  bool given(const char* key) const { return build_.at.has(fmt::format("{}.{}", path_, key)); }

  [[noreturn]] void fail(const char* key, std::string_view problem) const {
    build_.at.fail(fmt::format("{}.{}", path_, key), problem);
  }

  void load_procedural(const ColliderEntry& entry, Collider& collider) const {
    if (entry.procedural == Procedural::torus && entry.minor_radius >= entry.collider.radius)
      fail("minor_radius", fmt::format("is {} m, must be < radius = {} m", entry.minor_radius, entry.collider.radius));
    collider.mesh = make_procedural(entry);
  }

  std::string resolve(const std::string& file) const {
    const std::filesystem::path path(file);
    return path.is_absolute() ? file : (std::filesystem::path(build_.limits.folder) / path).string();
  }

  TriangleMesh read(const std::string& file, const char* key) const {
    if (file.empty()) fail(key, "names no file");
    if (!build_.limits.read_files) fail(key, fmt::format("'{}' may not be read here", file));
    try {
      TriangleMesh mesh = read_obj(resolve(file));
      if (mesh.triangles.empty()) fail(key, fmt::format("'{}' has no triangles", file));
      return mesh;
    } catch (const MeshError& error) {
      fail(key, error.what());
    }
  }

  void load_sequence(const ColliderEntry& entry, Collider& collider) const {
    for (const std::string& file : sequence_files(entry)) {
      TriangleMesh mesh = read(file, "sequence");
      if (collider.mesh_sequence.empty()) {
        collider.mesh = mesh;
      } else if (mesh.vertices.size() != collider.mesh.vertices.size() || mesh.triangles != collider.mesh.triangles) {
        fail("sequence", fmt::format("'{}' has not the vertices and triangles of the first file", file));
      }
      collider.mesh_sequence.push_back(std::move(mesh.vertices));
    }
  }

  /// The files of the sequence: as listed, or numbered by the pattern.
  std::vector<std::string> sequence_files(const ColliderEntry& entry) const {
    if (entry.sequence.empty()) fail("sequence", "names no file");
    const std::string& pattern = entry.sequence.front();
    if (entry.sequence.size() > 1 || pattern.find('%') == pattern.npos) return entry.sequence;
    if (!build_.limits.read_files) fail("sequence", fmt::format("'{}' may not be read here", pattern));
    std::vector<std::string> files;
    const bool open_end = entry.sequence_count == 0;
    const std::size_t count = open_end ? max_pattern_files : static_cast<std::size_t>(entry.sequence_count);
    while (files.size() < count) {
      std::string file = numbered(pattern, entry.sequence_first + static_cast<std::int64_t>(files.size()));
      if (open_end && !std::filesystem::exists(resolve(file))) break;
      files.push_back(std::move(file));
    }
    if (files.empty())
      fail("sequence", fmt::format("there is no file '{}'", resolve(numbered(pattern, entry.sequence_first))));
    return files;
  }

  /// `pattern` with its one "%d" or "%0Nd" replaced by `number`.
  std::string numbered(const std::string& pattern, std::int64_t number) const {
    const std::size_t percent = pattern.find('%'), end = pattern.find('d', percent);
    const bool complete = end != pattern.npos && pattern.find('%', percent + 1) == pattern.npos;
    const std::string width = complete ? pattern.substr(percent + 1, end - percent - 1) : "?";
    const bool plain = width.empty() || (width.size() == 2 && width[0] == '0' && std::isdigit(width[1]) != 0);
    if (!plain) fail("sequence", fmt::format("'{}' must have one number, written %d or %0Nd", pattern));
    const int digits = width.empty() ? 1 : width[1] - '0';
    return fmt::format("{}{:0{}}{}", pattern.substr(0, percent), number, std::max(digits, 1), pattern.substr(end + 1));
  }

  const Build& build_;
  std::string path_;
};

}  // namespace

void build_colliders(Build& build) {
  for (std::size_t i = 0; i < build.document.colliders.size(); ++i) {
    const ColliderEntry& entry = build.document.colliders[i];
    Collider collider = entry.collider;
    build.claim_name(collider.name, "collider", i);
    collider.half_extents = 0.5 * entry.size;
    collider.placement = placement(entry.position, entry.rotation);
    if (collider.shape == ColliderShape::mesh) MeshLoader(build, fmt::format("collider.{}", i)).load(entry, collider);
    build.scene.colliders.push_back(std::move(collider));
  }
}

}  // namespace stiction::scene
