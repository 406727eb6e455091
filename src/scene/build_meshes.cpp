#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>

#include "geometry/creatures.hpp"
#include "geometry/mesh_io.hpp"
#include "geometry/primitives.hpp"
#include "geometry/sheets.hpp"
#include "geometry/tet_io.hpp"
#include "geometry/tet_mesh.hpp"
#include "scene/build.hpp"
#include "scene/schema.hpp"

namespace stiction::scene {
namespace {

// ---- What all meshes have ------------------------------------------------------------------------------------------

void place_vertices(std::vector<Vec3>& vertices, const Pose& pose) {
  for (Vec3& x : vertices) x = pose.apply(x);
}

Box bounds_of(const std::vector<Vec3>& points) {
  Box box;
  for (const Vec3& x : points) box.merge(x);
  return box;
}

/// The vertices at a corner of the bounds, which sheets and boxes have.
std::vector<int> corners_of(const std::vector<Vec3>& vertices) {
  const Box box = bounds_of(vertices);
  const double tolerance = 1e-9 * (box.hi - box.lo).norm();
  std::vector<int> corners;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const Vec3 from_edge = (vertices[i] - box.lo).cwiseMin(box.hi - vertices[i]);
    if (from_edge.maxCoeff() <= tolerance) corners.push_back(static_cast<int>(i));
  }
  return corners;
}

/// An index that may count from the last; fails where it is out of range.
int resolve_index(const Table& table, const std::string& key, int index, std::size_t count, const char* what) {
  const int n = static_cast<int>(count);
  if (index >= n || index < -n)
    table.fail(key, fmt::format("is {}, must be >= {}, < {}, the number of {}", index, -n, n, what));
  return index < 0 ? index + n : index;
}

/// Selects nodes by the lists of pins of one table, for one body or for one copy after another.
class PinSelector {
 public:
  /// `list_key` is the key of the list of indices, `what` is in it.
  PinSelector(const Table& table, const std::vector<PinsEntry>& entries, const char* list_key, const char* what)
      : table_(table), entries_(entries), list_key_(list_key), what_(what), found_(entries.size(), 0) {
    for (std::size_t i = 0; i < entries.size(); ++i) check(i);
  }

  /// The pins of a body whose nodes are at `x`; `corners` are its corners.
  std::vector<Pins> select(const std::vector<Vec3>& x, const std::vector<int>& corners) {
    std::vector<Pins> pins;
    std::map<int, std::size_t> pinned_by;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Pins selected{{}, entries_[i].attach};
      for (const int node : nodes_of(i, x, corners)) {
        const auto [by, is_new] = pinned_by.emplace(node, i);
        if (is_new) selected.nodes.push_back(node);
        if (!is_new && entries_[by->second].attach != entries_[i].attach)
          table_.fail(path(i), fmt::format("{} {} is held by pins.{} already, which follows {}", what_, node,
                                           by->second, holder(by->second)));
      }
      found_[i] += selected.nodes.size();
      if (!selected.nodes.empty()) pins.push_back(std::move(selected));
    }
    return pins;
  }

  /// Fails where an entry has selected nothing so far.
  void check_found() const {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (found_[i] == 0) table_.fail(path(i), fmt::format("selects no {} that is not held already", what_));
  }

 private:
  std::string path(std::size_t i) const { return fmt::format("pins.{}", i); }
  bool given(std::size_t i, const char* key) const { return table_.given(fmt::format("{}.{}", path(i), key)); }
  std::string holder(std::size_t i) const {
    return entries_[i].attach.empty() ? "the world" : fmt::format("'{}'", entries_[i].attach);
  }

  void check(std::size_t i) const {
    const PinsEntry& entry = entries_[i];
    const bool by_box = given(i, "box_min") || given(i, "box_max"), by_list = given(i, list_key_);
    if (by_box + entry.corners + by_list != 1)
      table_.fail(path(i), fmt::format("needs one of box_min and box_max, {}{}",
                                       std::string_view(list_key_) == "vertices" ? "corners, " : "", list_key_));
    if ((entry.box_min.array() > entry.box_max.array()).any())
      table_.fail(path(i), "box_max must be >= box_min along each axis");
    if (!entry.attach.empty()) table_.check_holder(path(i) + ".attach", entry.attach, "pins");
  }

  std::vector<int> nodes_of(std::size_t i, const std::vector<Vec3>& x, const std::vector<int>& corners) const {
    const PinsEntry& entry = entries_[i];
    std::vector<int> nodes;
    if (given(i, list_key_)) {
      for (const int index : entry.indices)
        nodes.push_back(resolve_index(table_, fmt::format("{}.{}", path(i), list_key_), index, x.size(), what_));
    } else if (entry.corners) {
      if (corners.empty()) table_.fail(path(i) + ".corners", "only a sheet or a box has corners");
      nodes = corners;
    } else {
      for (std::size_t k = 0; k < x.size(); ++k)
        if ((x[k].array() >= entry.box_min.array()).all() && (x[k].array() <= entry.box_max.array()).all())
          nodes.push_back(static_cast<int>(k));
    }
    return nodes;
  }

  const Table& table_;
  const std::vector<PinsEntry>& entries_;
  const char* list_key_;
  const char* what_;
  std::vector<std::size_t> found_;
};

std::vector<VertexForce> make_forces(const Table& table, const std::vector<VertexForceEntry>& entries,
                                     std::size_t vertices) {
  std::vector<VertexForce> forces;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const VertexForceEntry& entry = entries[i];
    const std::string path = fmt::format("forces.{}", i);
    if (table.given(path + ".force") == table.given(path + ".keys")) table.fail(path, "needs either force or keys");
    VertexForce force{resolve_index(table, path + ".vertex", entry.vertex, vertices, "vertices"), entry.keys};
    if (entry.keys.empty()) force.force = {{0, entry.force}};
    forces.push_back(std::move(force));
  }
  return forces;
}

/// The shape at rest of vertices in local coordinates; empty where it is that of time zero.
std::vector<Vec3> rest_shape(const std::vector<Vec3>& vertices, const Vec3& scale) {
  std::vector<Vec3> rest;
  if (scale == Vec3::Ones()) return rest;
  for (const Vec3& x : vertices) rest.push_back(scale.cwiseProduct(x));
  return rest;
}

// ---- Shells --------------------------------------------------------------------------------------------------------

/// Cells along x and y of a sheet, around and along a band: as given, or nearly equilateral and about `vertices` in
/// all.
std::pair<int, int> cells_of(const Table& table, const ShellEntry& entry) {
  if ((entry.nx > 0) != (entry.ny > 0)) table.fail(entry.nx > 0 ? "nx" : "ny", "needs the other of nx and ny, too");
  if (entry.nx > 0) {
    if (table.given("vertices")) table.fail("vertices", "has no effect where nx and ny are given");
    return {entry.nx, entry.ny};
  }
  double along_x, along_y;
  if (entry.shape == ShellShape::band) {  // equilateral triangles: rows of sqrt(3)/2 edges
    const double edge =
        std::sqrt(2 * std::numbers::pi * entry.radius * entry.width * 2 / std::sqrt(3.0) / entry.vertices);
    along_x = 2 * std::numbers::pi * entry.radius / edge;
    along_y = std::max(1.0, std::round(entry.width / (edge * std::sqrt(0.75))));
    along_x = entry.vertices / (along_y + 1);
  } else {
    const double a_cell = entry.diagonals == Diagonals::cross ? 2 : 1;
    along_x = std::sqrt(entry.vertices / a_cell * entry.width / entry.height);
    along_y = std::max(1.0, std::round(along_x * entry.height / entry.width - 1));
    along_x = a_cell > 1 ? (entry.vertices - along_y - 1) / (2 * along_y + 1) : entry.vertices / (along_y + 1) - 1;
  }
  const double least = entry.shape == ShellShape::band ? 3 : 1;
  return {static_cast<int>(std::clamp(std::round(along_x), least, 1e7)), static_cast<int>(std::min(along_y, 1e7))};
}

TriangleMesh shell_mesh(const Table& table, const ShellEntry& entry) {
  switch (entry.shape) {
    case ShellShape::sheet: {
      const auto [nx, ny] = cells_of(table, entry);
      return make_sheet(entry.width, entry.height, nx, ny, entry.diagonals);
    }
    case ShellShape::band: {
      const auto [around, along] = cells_of(table, entry);
      if (around < 3) table.fail("nx", fmt::format("is {}, must be >= 3 around a band", around));
      return make_band(entry.radius, entry.width, around, along);
    }
    case ShellShape::shirt: {
      if (entry.vertices < 200)
        table.fail("vertices", fmt::format("is {}, must be >= 200 for a shirt", entry.vertices));
      ShirtOptions shirt = entry.shirt;
      shirt.vertices = entry.vertices;
      return make_tube_shirt(shirt);
    }
    case ShellShape::file:
      break;
  }
  return table.read_triangles("file", entry.file);
}

/// What no shell may have, in a mesh that was read.
void check_triangles(const Table& table, const TriangleMesh& mesh) {
  std::vector<char> used(mesh.vertices.size(), 0);
  std::map<std::pair<int, int>, int> sides;
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    const Eigen::Vector3i& t = mesh.triangles[i];
    const Vec3 e1 = mesh.vertices[t[1]] - mesh.vertices[t[0]], e2 = mesh.vertices[t[2]] - mesh.vertices[t[0]];
    if (!(e1.cross(e2).norm() > 1e-10 * std::max(e1.squaredNorm(), e2.squaredNorm())))
      table.fail("file", fmt::format("triangle {} has no area", i));
    for (int k = 0; k < 3; ++k) {
      used[static_cast<std::size_t>(t[k])] = 1;
      if (++sides[std::minmax(t[k], t[(k + 1) % 3])] > 2)
        table.fail("file",
                   fmt::format("the edge of vertices {} and {} has more than two triangles", t[k], t[(k + 1) % 3]));
    }
  }
  const auto unused = std::find(used.begin(), used.end(), 0);
  if (unused != used.end()) table.fail("file", fmt::format("vertex {} is in no triangle", unused - used.begin()));
}

void build_shell(Build& build, std::size_t index) {
  const ShellEntry& entry = build.document.shells[index];
  const Table table{build, fmt::format("shell.{}", index)};
  Shell shell = entry.shell;
  build.claim_name(shell.name, "shell", index);
  if (shell.warp.norm() < 1e-9) table.fail("warp", "has no length");
  shell.mesh = shell_mesh(table, entry);
  if (entry.shape == ShellShape::file) check_triangles(table, shell.mesh);
  const bool is_sheet = entry.shape == ShellShape::sheet;
  const std::vector<int> corners = is_sheet ? corners_of(shell.mesh.vertices) : std::vector<int>{};
  if (shell.weft_modulus > 0 && is_sheet && shell.warp.normalized().head<2>().norm() < 1e-3)
    table.fail("warp", "is normal to the sheet");

  const Pose pose = placement(entry.position, entry.rotation);
  shell.rest_vertices = rest_shape(shell.mesh.vertices, entry.rest_scale);
  place_vertices(shell.mesh.vertices, pose);
  place_vertices(shell.rest_vertices, pose);
  shell.warp = pose.rotation * shell.warp;
  PinSelector pins(table, entry.pins, "vertices", "vertices");
  shell.pins = pins.select(shell.mesh.vertices, corners);
  pins.check_found();
  shell.forces = make_forces(table, entry.forces, shell.mesh.vertices.size());
  build.scene.shells.push_back(std::move(shell));
}

// ---- Solids --------------------------------------------------------------------------------------------------------

/// Rings and sectors of a sphere with about `faces` triangles, 2 sectors (rings - 1).
TriangleMesh sphere_with(double radius, int faces) {
  const int rings = std::max(3, static_cast<int>(std::lround(std::sqrt(faces / 4.0) + 0.5)));
  return make_sphere(radius, rings, std::max(4, static_cast<int>(std::lround(faces / (2.0 * (rings - 1))))));
}

TetMesh read_tets(const Table& table, const std::string& file) {
  const std::string resolved = table.resolve("file", file);
  try {
    TetMesh mesh = read_tet_mesh(resolved);
    if (mesh.tets.empty()) table.fail("file", fmt::format("'{}' has no tetrahedra", file));
    return mesh;
  } catch (const MeshError& error) {
    table.fail("file", error.what());
  }
}

/// What no solid may have, in a mesh that was read.
void check_tets(const Table& table, const TetMesh& mesh) {
  std::vector<char> used(mesh.vertices.size(), 0);
  for (std::size_t i = 0; i < mesh.tets.size(); ++i) {
    const Eigen::Vector4i& t = mesh.tets[i];
    Mat3 edges;
    for (int k = 0; k < 3; ++k) edges.col(k) = mesh.vertices[t[k + 1]] - mesh.vertices[t[0]];
    if (!(edges.determinant() > 1e-9 * edges.col(0).norm() * edges.col(1).norm() * edges.col(2).norm()))
      table.fail("file", fmt::format("tetrahedron {} is inverted or has no volume", i));
    for (int k = 0; k < 4; ++k) used[static_cast<std::size_t>(t[k])] = 1;
  }
  const auto unused = std::find(used.begin(), used.end(), 0);
  if (unused != used.end()) table.fail("file", fmt::format("vertex {} is in no tetrahedron", unused - used.begin()));
}

std::array<int, 3> box_cells(const Table& table, const SolidEntry& entry) {
  if ((entry.cells.array() > 0).all()) {
    if (table.given("tets")) table.fail("tets", "has no effect where cells are given");
    return {entry.cells[0], entry.cells[1], entry.cells[2]};
  }
  if ((entry.cells.array() > 0).any()) table.fail("cells", "must be all 0 or all > 0");
  const double cell = std::cbrt(5 * entry.size.prod() / entry.tets);
  std::array<int, 3> cells;
  for (int a = 0; a < 3; ++a) cells[a] = static_cast<int>(std::clamp(std::round(entry.size[a] / cell), 1.0, 1e6));
  return cells;
}

/// The mesh and surface of a solid, local coordinates.
void make_solid(const Table& table, const SolidEntry& entry, Solid& solid) {
  TriangleMesh surface;
  switch (entry.shape) {
    case SolidShape::box:
      solid.mesh = make_tet_box(entry.size, box_cells(table, entry));
      return;
    case SolidShape::file:
      solid.mesh = read_tets(table, entry.file);
      check_tets(table, solid.mesh);
      return;
    case SolidShape::sphere:
      surface = sphere_with(entry.radius, entry.faces);
      break;
    case SolidShape::rabbit:
      if (entry.faces < 100) table.fail("faces", fmt::format("is {}, must be >= 100 for a rabbit", entry.faces));
      surface = make_rabbit(entry.faces, entry.height);
      break;
    case SolidShape::surface:
      surface = table.read_triangles("file", entry.file);
      break;
  }
  if (!is_closed(surface)) table.fail("file", fmt::format("'{}' is not a closed surface", entry.file));
  if (!(enclosed_volume(surface) > 0)) table.fail("file", fmt::format("'{}' is turned inside out", entry.file));
  try {
    solid.mesh = make_tet_lattice_with(surface, entry.tets);
  } catch (const std::invalid_argument& error) {
    table.fail("tets", error.what());
  }
  if (entry.embedded) solid.surface = std::move(surface);
}

/// A uniformly distributed rotation (Shoemake 1992).
Quat random_rotation(int seed, std::size_t index) {
  Random random(static_cast<std::uint64_t>(seed), index);
  const double u = random.uniform(), a = 2 * std::numbers::pi * random.uniform();
  const double b = 2 * std::numbers::pi * random.uniform(), s = std::sqrt(1 - u), c = std::sqrt(u);
  return {c * std::cos(b), s * std::sin(a), s * std::cos(a), c * std::sin(b)};
}

/// From copy to copy: as given, or a tenth more than the bodies are wide (however they are turned).
Vec3 copy_spacing(const SolidEntry& entry, const Box& bounds, double contact_radius) {
  const Vec3 extents = (bounds.hi - bounds.lo).array() + 2 * contact_radius;
  const bool turned = entry.turn_seed > 0 || !entry.rotation.isZero(0);
  Vec3 spacing = entry.spacing;
  for (int a = 0; a < 3; ++a)
    if (spacing[a] == 0) spacing[a] = 1.1 * (turned ? extents.norm() : extents[a]);
  return spacing;
}

void build_solid(Build& build, std::size_t index) {
  const SolidEntry& entry = build.document.solids[index];
  const Table table{build, fmt::format("solid.{}", index)};
  const std::size_t count = static_cast<std::size_t>(entry.copies.prod());
  if (count == 1)
    for (const char* key : {"spacing", "turn_seed"})
      if (table.given(key)) table.fail(key, "has no effect without copies");

  Solid solid = entry.solid;
  if (solid.name.empty() && !table.given("name")) solid.name = fmt::format("solid{}", index);
  const std::string name = solid.name;
  if (count == 1) build.claim_name(solid.name, "solid", index);
  if (name.empty()) table.fail("name", "is empty");
  make_solid(table, entry, solid);
  solid.rest_vertices = rest_shape(solid.mesh.vertices, entry.rest_scale);
  const std::vector<int> corners =
      entry.shape == SolidShape::box ? corners_of(solid.mesh.vertices) : std::vector<int>{};
  solid.forces = make_forces(table, entry.forces, solid.mesh.vertices.size());

  const Box bounds = bounds_of(solid.surface.vertices.empty() ? solid.mesh.vertices : solid.surface.vertices);
  const Vec3 spacing = copy_spacing(entry, bounds, solid.contact_radius), middle = bounds.center();
  PinSelector pins(table, entry.pins, "vertices", "vertices");
  for (std::size_t i = 0; i < count; ++i) {
    Solid copy = solid;
    Pose pose = placement(entry.position, entry.rotation);
    if (count > 1) {
      copy.name = fmt::format("{}.{}", name, i);
      build.copies[name].push_back(copy.name);
      build.claim_name(copy.name, "solid", index);
      const auto nx = static_cast<std::size_t>(entry.copies[0]), ny = static_cast<std::size_t>(entry.copies[1]);
      const std::size_t row = i / nx, layer = row / ny;
      const Vec3 place_in_grid(static_cast<double>(i % nx), static_cast<double>(row % ny), static_cast<double>(layer));
      const Quat turn = entry.turn_seed > 0 ? random_rotation(entry.turn_seed, i) : Quat::Identity();
      pose.position += spacing.cwiseProduct(place_in_grid - 0.5 * (entry.copies.cast<double>() - Vec3::Ones()));
      pose.position += pose.rotation * (middle - turn * middle);
      pose.rotation = pose.rotation * turn;
    }
    place_vertices(copy.mesh.vertices, pose);
    place_vertices(copy.rest_vertices, pose);
    place_vertices(copy.surface.vertices, pose);
    copy.pins = pins.select(copy.mesh.vertices, corners);
    build.scene.solids.push_back(std::move(copy));
  }
  pins.check_found();
}

// ---- Frames --------------------------------------------------------------------------------------------------------

TriangleMesh rigid_mesh(const Table& table, const FramesEntry& entry) {
  const auto check_unused = [&](std::initializer_list<const char*> keys, const char* mesh) {
    for (const char* key : keys)
      if (table.given(key)) table.fail(key, fmt::format("has no effect where mesh = \"{}\"", mesh));
  };
  TriangleMesh mesh;
  switch (entry.mesh) {
    case RigidMesh::box:
      check_unused({"radius", "segments", "file"}, "box");
      return make_box(0.5 * entry.size);
    case RigidMesh::sphere:
      check_unused({"size", "file"}, "sphere");
      return make_sphere(entry.radius, std::max(3, entry.segments / 2), entry.segments);
    case RigidMesh::file:
      check_unused({"radius", "segments", "size"}, "file");
      mesh = table.read_triangles("file", entry.file);
  }
  if (!is_closed(mesh)) table.fail("file", fmt::format("'{}' is not a closed surface", entry.file));
  if (!(enclosed_volume(mesh) > 0)) table.fail("file", fmt::format("'{}' is turned inside out", entry.file));
  return mesh;
}

void build_frames(Build& build, std::size_t index) {
  const FramesEntry& entry = build.document.frames[index];
  const Table table{build, fmt::format("frames.{}", index)};
  Frames frames = entry.frames;
  build.claim_name(frames.name, "frames", index);
  switch (entry.shape) {
    case FramesShape::rigid:
      set_rigid(frames, rigid_mesh(table, entry));
      break;
    case FramesShape::beam:
      set_beam(frames, entry.length, entry.section, entry.count);
      break;
    case FramesShape::sheet:
      set_sheet(frames, entry.width, entry.height, entry.thickness, entry.nx, entry.ny);
      break;
    case FramesShape::palm:
      set_palm(frames, entry.palm);
      break;
  }
  place(frames, placement(entry.position, entry.rotation));
  PinSelector pins(table, entry.pins, "frames", "frames");
  frames.pins = pins.select(frames.frames, {});
  pins.check_found();
  build.scene.frames.push_back(std::move(frames));
}

}  // namespace

void build_meshes(Build& build) {
  for (std::size_t i = 0; i < build.document.shells.size(); ++i) build_shell(build, i);
  for (std::size_t i = 0; i < build.document.solids.size(); ++i) build_solid(build, i);
  for (std::size_t i = 0; i < build.document.frames.size(); ++i) build_frames(build, i);
}

void build_attachments(Build& build) {
  const Scene& scene = build.scene;
  std::vector<std::string_view> strands, bodies, known;
  for (const Rods& body : scene.rods) strands.push_back(body.name);
  for (const Chains& body : scene.chains) strands.push_back(body.name);
  bodies = strands;
  for (const Shell& body : scene.shells) bodies.push_back(body.name);
  for (const Solid& body : scene.solids) bodies.push_back(body.name);
  for (const Frames& body : scene.frames) bodies.push_back(body.name);
  known = bodies;
  for (const Collider& collider : scene.colliders) known.push_back(collider.name);
  const auto has = [](const std::vector<std::string_view>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };

  for (std::size_t i = 0; i < build.document.attachments.size(); ++i) {
    const Attachment& entry = build.document.attachments[i];
    const Table table{build, fmt::format("attachment.{}", i)};
    if (!has(bodies, entry.a))
      table.fail("a", fmt::format("there is no body '{}'{}", entry.a, did_you_mean(entry.a, bodies)));
    if (!has(known, entry.b))
      table.fail("b", fmt::format("there is no body or collider '{}'{}", entry.b, did_you_mean(entry.b, known)));
    if (entry.a == entry.b) table.fail("b", fmt::format("'{}' cannot be attached to itself", entry.b));
    if (!has(bodies, entry.b)) table.check_holder("b", entry.b, "attachments");
    if (entry.roots && !has(strands, entry.a))
      table.fail("roots", fmt::format("'{}' has no strands, so it has no roots", entry.a));
    if (!entry.roots && entry.points.empty())
      build.at.fail(table.path, "holds nothing; it needs roots = true or points");
    build.scene.attachments.push_back(entry);
  }
}

}  // namespace stiction::scene
