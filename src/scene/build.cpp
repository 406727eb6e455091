#include "scene/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "geometry/mesh_io.hpp"
#include "scene/schema.hpp"

namespace stiction::scene {
namespace {

void check_options(const Build& build) {
  const Document& d = build.document;
  const double max_steps = 1e8;
  if (d.time.duration / d.time.dt() > max_steps)
    build.at.fail("time.duration", fmt::format("is {} s, which takes more than {} steps of {} s", d.time.duration,
                                               max_steps, d.time.dt()));
  if (d.world.gust_speed > 0 && d.world.wind.isZero(0))
    build.at.fail("world.gust_speed", fmt::format("is {} m/s, but needs a wind for its direction", d.world.gust_speed));
  if (d.contact.cohesion > 0 && d.contact.cohesion_distance == 0)
    build.at.fail("contact.cohesion", fmt::format("is {} N, but needs cohesion_distance > 0 m", d.contact.cohesion));
  if ((d.render.eye - d.render.target).norm() < 1e-9)
    build.at.fail(build.at.has("render.eye") ? "render.eye" : "render.target", "eye and target coincide");
}

/// The bodies that a name stands for: itself, or the copies made by one table.
std::vector<std::string> bodies_named(const Build& build, const std::string& name) {
  const auto copies = build.copies.find(name);
  return copies == build.copies.end() ? std::vector<std::string>{name} : copies->second;
}

void build_friction_pairs(Build& build) {
  std::vector<std::string_view> known(build.names.begin(), build.names.end());
  for (const auto& [name, bodies] : build.copies) known.push_back(name);
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < build.document.friction_pairs.size(); ++i) {
    const FrictionPair& pair = build.document.friction_pairs[i];
    const std::string path = fmt::format("friction.{}", i);
    for (const auto& [key, name] : {std::pair{"a", &pair.a}, std::pair{"b", &pair.b}}) {
      if (std::find(known.begin(), known.end(), *name) != known.end()) continue;
      build.at.fail(fmt::format("{}.{}", path, key),
                    fmt::format("there is no body '{}'{}", *name, did_you_mean(*name, known)));
    }
    for (const std::string& a : bodies_named(build, pair.a))
      for (const std::string& b : bodies_named(build, pair.b)) {
        if (pair.a == pair.b && b < a) continue;
        if (!seen.insert(std::minmax(a, b)).second)
          build.at.fail(path, fmt::format("the pair '{}', '{}' is given twice", a, b));
        build.scene.friction_pairs.push_back({a, b, pair.friction});
      }
  }
}

}  // namespace

void Build::claim_name(std::string& name, const std::string& kind, std::size_t index) {
  const std::string path = fmt::format("{}.{}.name", kind, index);
  if (name.empty() && at.has(path)) at.fail(path, "is empty");
  if (name.empty()) name = fmt::format("{}{}", kind, index);
  if (!names.insert(name).second) at.fail(path, fmt::format("'{}' is the name of another body", name));
}

const Collider& Build::find_collider(const std::string& name, const std::string& path) const {
  std::vector<std::string_view> known;
  for (const Collider& collider : scene.colliders) {
    if (collider.name == name) return collider;
    known.push_back(collider.name);
  }
  at.fail(path, fmt::format("there is no collider '{}'{}", name, did_you_mean(name, known)));
}

std::string Table::resolve(std::string_view name, const std::string& file) const {
  if (file.empty()) fail(name, "names no file");
  if (!build.limits.read_files) fail(name, fmt::format("'{}' may not be read here", file));
  const std::filesystem::path file_path(file);
  return file_path.is_absolute() ? file : (std::filesystem::path(build.limits.folder) / file_path).string();
}

TriangleMesh Table::read_triangles(std::string_view name, const std::string& file) const {
  const std::string resolved = resolve(name, file);
  try {
    TriangleMesh mesh = read_obj(resolved);
    if (mesh.triangles.empty()) fail(name, fmt::format("'{}' has no triangles", file));
    return mesh;
  } catch (const MeshError& error) {
    fail(name, error.what());
  }
}

void Table::check_holder(std::string_view name, const std::string& collider, std::string_view what) const {
  if (!build.find_collider(collider, key(name)).mesh_sequence.empty())
    fail(name, fmt::format("'{}' is a sequence of meshes, which cannot hold {}", collider, what));
}

Scene build_scene(const Document& document, const Locations& at, const Limits& limits) {
  Build build{document, at, limits};
  build.scene.name = document.name;
  build.scene.time = document.time;
  build.scene.world = document.world;
  build.scene.solver = document.solver;
  build.scene.contact = document.contact;
  build.scene.render = document.render;
  check_options(build);
  check_sizes(build);
  build_colliders(build);
  build_meshes(build);
  build_strands(build);
  const Scene& s = build.scene;
  if (s.rods.empty() && s.chains.empty() && s.shells.empty() && s.solids.empty() && s.frames.empty())
    at.fail("groom",
            "the scene has no body; add a [[groom]], [[rod]], [[chain]], [[bundle]], [[shell]], [[solid]] or "
            "[[frames]]");
  build_attachments(build);
  build_friction_pairs(build);
  return std::move(build.scene);
}

}  // namespace stiction::scene
