#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "geometry/creatures.hpp"
#include "geometry/primitives.hpp"
#include "scene/build.hpp"

namespace stiction::scene {
namespace {

constexpr std::size_t max_pattern_files = 1'000'000;

/// A profile (rho, z) that starts and ends on the axis, followed with the body on its left, turned about z.
TriangleMesh turn_profile(const std::vector<Eigen::Vector2d>& profile, int sectors) {
  TriangleMesh mesh;
  const auto vertex = [&](std::size_t ring, int sector) {
    if (ring == 0) return 0;
    const int first = 1 + static_cast<int>(ring - 1) * sectors;
    return ring + 1 == profile.size() ? first : first + sector % sectors;
  };
  for (std::size_t ring = 0; ring < profile.size(); ++ring) {
    const int copies = ring == 0 || ring + 1 == profile.size() ? 1 : sectors;
    for (int j = 0; j < copies; ++j) {
      const double angle = 2 * std::numbers::pi * j / sectors;
      mesh.vertices.emplace_back(profile[ring].x() * std::cos(angle), profile[ring].x() * std::sin(angle),
                                 profile[ring].y());
    }
  }
  for (std::size_t ring = 0; ring + 1 < profile.size(); ++ring)
    for (int j = 0; j < sectors; ++j) {
      const int a = vertex(ring, j), b = vertex(ring, j + 1), c = vertex(ring + 1, j + 1), d = vertex(ring + 1, j);
      if (a != b) mesh.triangles.emplace_back(a, b, c);
      if (c != d) mesh.triangles.emplace_back(a, c, d);
    }
  return mesh;
}

/// A cone about z, its tip up, half of its length below the origin.
TriangleMesh make_cone(double radius, double length, int sectors) {
  const int rows = std::max(1, static_cast<int>(std::lround(sectors * length / (2 * std::numbers::pi * radius))));
  std::vector<Eigen::Vector2d> profile{{0, -0.5 * length}};
  for (int i = 0; i < std::min(rows, 512); ++i) {
    const double t = static_cast<double>(i) / std::min(rows, 512);
    profile.emplace_back(radius * (1 - t), length * (t - 0.5));
  }
  profile.emplace_back(0, 0.5 * length);
  return turn_profile(profile, sectors);
}

/// A hemispherical bowl that stands on z = 0 and is open upwards; `radius` is that of its inside.
TriangleMesh make_bowl(double radius, double wall, int sectors) {
  const int rings = std::max(2, sectors / 4);
  const double height = radius + wall;  // of the rim
  std::vector<Eigen::Vector2d> profile;
  const auto add_arc = [&](double r, int i) {
    const double angle = 0.5 * std::numbers::pi * i / rings;
    profile.emplace_back(i == 0 ? 0 : r * std::sin(angle), height - (i == rings ? 0 : r * std::cos(angle)));
  };
  for (int i = 0; i <= rings; ++i) add_arc(height, i);
  for (int i = rings; i >= 0; --i) add_arc(radius, i);
  return turn_profile(profile, sectors);
}

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
    case Procedural::cone:
      return make_cone(radius, e.collider.length, sectors);
    case Procedural::bowl:
      return make_bowl(radius, e.wall, sectors);
    case Procedural::rabbit:
      return make_rabbit(e.faces, e.height);
    case Procedural::head:  // made with its scalp
      break;
    case Procedural::character:
      return make_character(e.faces);
  }
  return {};
}

/// Samples of a run, one a time step unless the table says otherwise.
double run_fps(const Table& table, const ColliderEntry& entry) {
  return table.given("sequence_fps") ? entry.collider.sequence_fps : 1 / table.build.document.time.dt();
}

/// Makes or reads the mesh of one collider.
class MeshLoader : Table {
 public:
  explicit MeshLoader(const Table& table) : Table(table) {}

  void load(const ColliderEntry& entry, Collider& collider) const {
    const bool file = given("file"), procedural = entry.procedural != Procedural::none, sequence = given("sequence");
    if (file + procedural + sequence != 1) fail("shape", "a mesh needs one of file, procedural and sequence");
    if (procedural) load_procedural(entry, collider);
    if (file) collider.mesh = read_triangles("file", entry.file);
    if (sequence) load_sequence(entry, collider);
  }

 private:
  void load_procedural(const ColliderEntry& entry, Collider& collider) const {
    if (entry.procedural == Procedural::torus && entry.minor_radius >= entry.collider.radius)
      fail("minor_radius", fmt::format("is {} m, must be < radius = {} m", entry.minor_radius, entry.collider.radius));
    if (entry.procedural == Procedural::head) {
      Bust bust = make_head(entry.height, entry.faces);
      build.heads[collider.name] = bust.head;
      collider.mesh = std::move(bust.mesh);
      return;
    }
    collider.mesh = make_procedural(entry);
    if (entry.procedural != Procedural::character) return;
    build.heads[collider.name] = character_head();
    if (!entry.run) return;
    collider.sequence_fps = run_fps(*this, entry);
    RunCycle run = make_run_cycle(collider.mesh, collider.sequence_fps, build.document.time.duration);
    collider.mesh_sequence = std::move(run.vertices);
  }

  void load_sequence(const ColliderEntry& entry, Collider& collider) const {
    for (const std::string& file : sequence_files(entry)) {
      TriangleMesh mesh = read_triangles("sequence", file);
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
    std::vector<std::string> files;
    const bool open_end = entry.sequence_count == 0;
    const std::size_t count = open_end ? max_pattern_files : static_cast<std::size_t>(entry.sequence_count);
    while (files.size() < count) {
      std::string file = numbered(pattern, entry.sequence_first + static_cast<std::int64_t>(files.size()));
      if (open_end && !std::filesystem::exists(resolve("sequence", file))) break;
      files.push_back(std::move(file));
    }
    if (files.empty())
      fail("sequence",
           fmt::format("there is no file '{}'", resolve("sequence", numbered(pattern, entry.sequence_first))));
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
};

/// The rotation vector of `rotation` that is nearest to `near`: whole turns away from the shortest.
Vec3 rotation_vector(const Quat& rotation, const Vec3& near) {
  const Eigen::AngleAxisd turn(rotation);
  const Vec3& axis = turn.axis();
  const double turns = std::round((near.dot(axis) - turn.angle()) / (2 * std::numbers::pi));
  return (turn.angle() + 2 * std::numbers::pi * turns) * axis;
}

/// Motion of what the head of the running character `name` carries.
void follow_head(const Table& table, const std::string& name, Motion& motion) {
  if (!motion.position.empty() || !motion.rotation.empty())
    table.fail(motion.position.empty() ? "rotation_keys" : "position_keys", "has no effect with follow_head_of");
  const Document& d = table.build.document;
  const Collider& body = table.build.find_collider(name, table.key("follow_head_of"));
  const auto index = static_cast<std::size_t>(&body - table.build.scene.colliders.data());
  const ColliderEntry& entry = d.colliders[index];
  if (entry.procedural != Procedural::character || !entry.run)
    table.fail("follow_head_of", fmt::format("'{}' is no running character", name));

  // A point fixed to the skull goes from placed(x) at time zero to moved_t(placed(head_t(x))).
  const Pose& placed = body.placement;
  const RunCycle run = make_run_cycle({}, body.sequence_fps, d.time.duration);
  Vec3 last = Vec3::Zero();
  for (std::size_t i = 0; i < run.head.size(); ++i) {
    const double time = static_cast<double>(i) / run.fps;
    const Quat turn = placed.rotation * run.head[i].rotation * placed.rotation.conjugate();
    const Vec3 shift = placed.apply(run.head[i].position) - turn * placed.position;
    const Pose moved = body.motion.at(time);
    last = rotation_vector(moved.rotation * turn, last);
    motion.position.push_back({time, moved.apply(shift)});
    motion.rotation.push_back({time, last});
  }
}

}  // namespace

void build_colliders(Build& build) {
  for (std::size_t i = 0; i < build.document.colliders.size(); ++i) {
    const ColliderEntry& entry = build.document.colliders[i];
    Collider collider = entry.collider;
    build.claim_name(collider.name, "collider", i);
    collider.half_extents = 0.5 * entry.size;
    collider.placement = placement(entry.position, entry.rotation);
    const Table table{build, fmt::format("collider.{}", i)};
    if (collider.shape == ColliderShape::mesh) MeshLoader(table).load(entry, collider);
    if (!entry.follow_head_of.empty()) follow_head(table, entry.follow_head_of, collider.motion);
    build.scene.colliders.push_back(std::move(collider));
  }
}

}  // namespace stiction::scene
