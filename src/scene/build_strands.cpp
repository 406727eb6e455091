#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "geometry/tet_mesh.hpp"
#include "scene/build.hpp"
#include "scene/scatter.hpp"
#include "scene/schema.hpp"

namespace stiction::scene {
namespace {

/// One body of strands under construction; `path` is that of its table.
struct StrandsBuild : Table {
  const StrandsEntry& entry;
  Rods rods;

  StrandsBuild(Build& b, const StrandsEntry& e, const std::string& kind, std::size_t index)
      : Table{b, fmt::format("{}.{}", kind, index)}, entry(e), rods(e.rods) {
    build.claim_name(rods.name, kind, index);
  }
};

/// A chain's ends, forces and material, taken from the rods that carry it.
Chains to_chains(Rods&& rods) {
  Chains chains;
  chains.name = std::move(rods.name);
  chains.strands = std::move(rods.strands);
  chains.radius = rods.radius;
  chains.density = rods.density;
  chains.stretch_modulus = rods.stretch_modulus;
  chains.bend_modulus = rods.bend_modulus;
  chains.damping = rods.damping;
  chains.drag = rods.drag;
  chains.friction = rods.friction;
  chains.root = rods.root;
  chains.tip = rods.tip;
  chains.root_attach = std::move(rods.root_attach);
  chains.tip_attach = std::move(rods.tip_attach);
  chains.initial_velocity = rods.initial_velocity;
  chains.forces = std::move(rods.forces);
  chains.point_masses = std::move(rods.point_masses);
  return chains;
}

void place(std::vector<Strand>& strands, const Pose& pose) {
  for (Strand& strand : strands) {
    for (Vec3& x : strand.nodes) x = pose.apply(x);
    for (Vec3& x : strand.rest_nodes) x = pose.apply(x);
  }
}

void check_attachment(const StrandsBuild& b, End end, const std::string& collider, const char* end_key,
                      const char* attach_key) {
  if (collider.empty()) return;
  if (end == End::free) b.fail(attach_key, fmt::format("'{}' holds nothing, {} is free", collider, end_key));
  b.check_holder(attach_key, collider, "strands");
}

/// Degenerate strands; `centreline` is the key to blame.
void check_strands(const StrandsBuild& b, std::string_view centreline) {
  const double coincident = 1e-9;  // m
  const std::size_t held = (b.rods.root == End::clamped) + (b.rods.tip == End::clamped);
  for (const Strand& strand : b.rods.strands) {
    const std::vector<Vec3>& x = strand.nodes;
    if (x.size() < 2 + held)
      b.fail(centreline, fmt::format("a strand has {} nodes, must have >= {}{}", x.size(), 2 + held,
                                     held > 0 ? " where clamped" : ""));
    for (std::size_t i = 1; i < x.size(); ++i) {
      const Vec3 edge = x[i] - x[i - 1];
      if (!(edge.norm() > coincident)) b.fail(centreline, fmt::format("nodes {} and {} coincide", i - 1, i));
      if (i < 2) continue;
      const Vec3 last = x[i - 1] - x[i - 2];
      if (edge.normalized().dot(last.normalized()) < -1 + 1e-9)
        b.fail(centreline, fmt::format("the strand folds back on itself at node {}", i - 1));
    }
  }
}

/// The strand and node that the list entry at `entry_path` speaks of exist.
void check_node(const StrandsBuild& b, int strand, int node, const std::string& entry_path) {
  const int strands = static_cast<int>(b.rods.strands.size());
  if (strand >= strands)
    b.fail(entry_path + ".strand", fmt::format("is {}, must be < {}, the number of strands", strand, strands));
  const int nodes = static_cast<int>(b.rods.strands[static_cast<std::size_t>(strand)].nodes.size());
  if (node >= nodes || node < -nodes)
    b.fail(entry_path + ".node", fmt::format("is {}, must be >= {}, < {}, the number of nodes", node, -nodes, nodes));
}

void add_forces(StrandsBuild& b) {
  for (std::size_t i = 0; i < b.entry.forces.size(); ++i) {
    const ForceEntry& force = b.entry.forces[i];
    const std::string entry_path = fmt::format("forces.{}", i);
    check_node(b, force.strand, force.node, entry_path);
    if (b.given(entry_path + ".force") == b.given(entry_path + ".keys"))
      b.fail(entry_path, "needs either force or keys");
    NodeForce node_force{force.strand, force.node, force.keys};
    if (force.keys.empty()) node_force.force = {{0, force.force}};
    b.rods.forces.push_back(std::move(node_force));
  }
  for (std::size_t i = 0; i < b.rods.point_masses.size(); ++i)
    check_node(b, b.rods.point_masses[i].strand, b.rods.point_masses[i].node, fmt::format("point_masses.{}", i));
}

/// Everything that follows once the strands stand in the world.
void finish(StrandsBuild& b, std::string_view centreline) {
  check_attachment(b, b.rods.root, b.rods.root_attach, "root", "root_attach");
  check_attachment(b, b.rods.tip, b.rods.tip_attach, "tip", "tip_attach");
  check_strands(b, centreline);
  add_forces(b);
}

/// Where the groom's domain lies on its collider: the local frame of the roots.
Vec3 domain_origin(const Collider& collider) {
  switch (collider.shape) {
    case ColliderShape::box:
      return {0, 0, collider.half_extents.z()};
    case ColliderShape::capsule:
    case ColliderShape::cylinder:
      return {0, 0, 0.5 * collider.length};
    default:
      return Vec3::Zero();
  }
}

bool is_round(ColliderShape shape) { return shape == ColliderShape::sphere || shape == ColliderShape::capsule; }

GroomDomain domain_on(ColliderShape shape, GroomDomainChoice choice) {
  switch (choice) {
    case GroomDomainChoice::automatic:
      return is_round(shape) ? GroomDomain::hemisphere : GroomDomain::patch;
    case GroomDomainChoice::sphere:
      return GroomDomain::sphere;
    case GroomDomainChoice::hemisphere:
      return GroomDomain::hemisphere;
    case GroomDomainChoice::patch:
    case GroomDomainChoice::surface:  // grown by grow_on_surface
      break;
  }
  return GroomDomain::patch;
}

/// Whether roots on the domain lie on the collider's surface; on a locator or a mesh that is the author's affair.
bool lies_on(GroomDomain domain, ColliderShape shape) {
  if (shape == ColliderShape::locator || shape == ColliderShape::mesh) return true;
  if (domain == GroomDomain::patch) return !is_round(shape);
  return shape == ColliderShape::sphere || (domain == GroomDomain::hemisphere && is_round(shape));
}

/// Sets the domain and its radius; with no collider it lies in the world.
void choose_domain(const StrandsBuild& b, const GroomEntry& entry, const Collider* collider, GroomOptions& groom) {
  const ColliderShape shape = collider ? collider->shape : ColliderShape::locator;
  groom.domain = domain_on(shape, entry.domain);
  if (!lies_on(groom.domain, shape))
    b.fail("domain", fmt::format("does not lie on the surface of '{}'", collider->name));
  if (!is_round(shape)) return;
  if (b.given("domain_radius")) b.fail("domain_radius", fmt::format("is that of '{}'", collider->name));
  groom.domain_radius = collider->radius;
}

/// The surface that a groom grows on, in the world at time zero.
struct GroomSurface {
  TriangleMesh mesh;     // m
  double thickness = 0;  // between the mesh and what touches, m
  bool is_soft = false;
  const Collider* collider = nullptr;
};

GroomSurface surface_of(const Collider& collider) {
  GroomSurface surface{collider.mesh, collider.thickness, false, &collider};
  const Pose moved = collider.motion.at(0);
  for (Vec3& x : surface.mesh.vertices) x = moved.apply(collider.placement.apply(x));
  return surface;
}

/// The soft body or the collider with a mesh that the groom is on, if it is on one.
std::optional<GroomSurface> find_surface(const StrandsBuild& b, const std::string& on) {
  const Scene& scene = b.build.scene;
  if (on.empty()) return std::nullopt;
  for (const Shell& shell : scene.shells)
    if (shell.name == on) return GroomSurface{shell.mesh, 0.5 * shell.thickness, true};
  for (const Solid& solid : scene.solids)
    if (solid.name == on)
      return GroomSurface{solid.surface.triangles.empty() ? boundary_surface(solid.mesh) : solid.surface,
                          solid.contact_radius, true};
  for (const Frames& frames : scene.frames)
    if (frames.name == on) return GroomSurface{frames.surface, frames.contact_radius, true};
  const auto collider =
      std::find_if(scene.colliders.begin(), scene.colliders.end(), [&](const Collider& c) { return c.name == on; });
  if (collider == scene.colliders.end()) {
    std::vector<std::string_view> known;
    for (const Collider& c : scene.colliders) known.push_back(c.name);
    for (const Shell& body : scene.shells) known.push_back(body.name);
    for (const Solid& body : scene.solids) known.push_back(body.name);
    for (const Frames& body : scene.frames) known.push_back(body.name);
    b.fail("on",
           fmt::format("there is no collider '{}'{} (nor a shell, solid or frames)", on, did_you_mean(on, known)));
  }
  if (collider->shape != ColliderShape::mesh) return std::nullopt;
  return surface_of(*collider);
}

/// Whether a point of the world at time zero lies in the region of the groom.
std::function<bool(const Vec3&)> region_of(const StrandsBuild& b, const GroomEntry& entry,
                                           const GroomSurface& surface) {
  if ((entry.region_min.array() >= entry.region_max.array()).any())
    b.fail(b.given("region_max") ? "region_max" : "region_min", "region_max must be > region_min along each axis");
  std::optional<HeadPlace> head;
  if (entry.region == GroomRegion::scalp) {
    const auto found = b.build.heads.find(entry.on);
    if (found == b.build.heads.end())
      b.fail("region", fmt::format("'{}' has no scalp, only a procedural head or character has", entry.on));
    head = found->second;
  }
  if (!head && !b.given("region_min") && !b.given("region_max")) return {};
  Pose local;  // of the collider at time zero
  if (surface.collider) {
    const Pose moved = surface.collider->motion.at(0), placed = surface.collider->placement;
    local = {moved.rotation * placed.rotation, moved.apply(placed.position)};
  }
  return [lo = entry.region_min, hi = entry.region_max, head, local](const Vec3& x) {
    const bool in_box = (x.array() >= lo.array()).all() && (x.array() <= hi.array()).all();
    return in_box && (!head || on_scalp(local.rotation.conjugate() * (x - local.position), *head));
  };
}

/// `direction` is the entry's in the coordinates of the roots.
void lean(const StrandsBuild& b, const GroomEntry& entry, const Vec3& direction, std::vector<GroomRoot>& roots) {
  if (entry.lean == 0) return;
  if (direction.norm() < 1e-9) b.fail("lean_direction", "has no length");
  for (GroomRoot& root : roots) root.direction = leaning(root, entry.lean, direction.normalized());
}

/// What the table gives that a groom on a mesh, or one that is not, does not look at.
void check_unused(const StrandsBuild& b, std::initializer_list<const char*> keys, std::string_view where) {
  for (const char* key : keys)
    if (b.given(key)) b.fail(key, fmt::format("has no effect {}", where));
}

void check_root_attach(const StrandsBuild& b, const std::string& on) {
  if (b.given("root_attach")) b.fail("root_attach", fmt::format("the groom is attached to '{}', which it is on", on));
}

void grow_on_surface(StrandsBuild& b, const GroomEntry& entry, const GroomOptions& groom, const GroomSurface& surface) {
  check_unused(b, {"position", "rotation", "patch_size", "root_jitter"}, "where roots are spread over a mesh");
  if (!surface.is_soft) check_unused(b, {"root_stiffness", "root_damping"}, "on a collider");
  if (surface.is_soft) check_unused(b, {"root", "root_attach"}, "on a soft body: roots are tied to it");

  std::vector<GroomRoot> roots = scatter_roots(surface.mesh, groom.strands, groom.seed, region_of(b, entry, surface));
  if (static_cast<int>(roots.size()) < groom.strands)
    b.fail(b.given("region_min") || b.given("region_max") ? "region_min"
           : b.given("region")                            ? "region"
                                                          : "on",
           fmt::format("holds too little of the surface of '{}' for {} strands", entry.on, groom.strands));
  for (GroomRoot& root : roots) root.surface += surface.thickness * root.normal;
  lean(b, entry, entry.lean_direction, roots);
  b.rods.strands = make_groom(groom, roots, &surface.mesh);
  if (surface.is_soft) {
    b.rods.root = End::free;
    b.build.scene.attachments.push_back({b.rods.name, entry.on, true, {}, entry.root_stiffness, entry.root_damping});
  } else if (surface.collider->mesh_sequence.empty()) {
    check_root_attach(b, entry.on);
    if (b.rods.root != End::free) b.rods.root_attach = entry.on;
  } else if (b.rods.root != End::free && !b.given("root_attach")) {
    b.fail("on", fmt::format("'{}' is a sequence of meshes, which cannot hold strands; name a collider that moves with "
                             "it in root_attach (see follow_head_of)",
                             entry.on));
  }
}

void grow_on_domain(StrandsBuild& b, const GroomEntry& entry, GroomOptions groom) {
  check_unused(b, {"region", "region_min", "region_max", "root_stiffness", "root_damping"}, "but on a mesh");
  const Collider* collider = entry.on.empty() ? nullptr : &b.build.find_collider(entry.on, b.key("on"));
  choose_domain(b, entry, collider, groom);
  std::vector<Pose> poses{placement(entry.position, entry.rotation)};
  if (collider)
    poses.insert(poses.end(),
                 {{Quat::Identity(), domain_origin(*collider)}, collider->placement, collider->motion.at(0)});
  Vec3 lean_direction = entry.lean_direction;
  for (auto pose = poses.rbegin(); pose != poses.rend(); ++pose)
    lean_direction = pose->rotation.conjugate() * lean_direction;
  std::vector<GroomRoot> roots = make_roots(groom);
  lean(b, entry, lean_direction, roots);
  b.rods.strands = make_groom(groom, roots);
  for (const Pose& pose : poses) place(b.rods.strands, pose);
  if (!collider) return;
  check_root_attach(b, entry.on);
  if (b.rods.root != End::free) b.rods.root_attach = entry.on;
}

void build_groom(Build& build, std::size_t index) {
  const GroomEntry& entry = build.document.grooms[index];
  StrandsBuild b(build, entry, "groom", index);
  GroomOptions groom = entry.groom;
  groom.radius = b.rods.radius;
  if (groom.elements - groom.elements_jitter < 2)
    b.fail("elements_jitter",
           fmt::format("is {}, must be <= elements - 2 = {}", groom.elements_jitter, groom.elements - 2));

  const std::optional<GroomSurface> surface = find_surface(b, entry.on);
  const bool by_surface = surface && (entry.domain == GroomDomainChoice::automatic || surface->is_soft ||
                                      entry.domain == GroomDomainChoice::surface);
  if (entry.domain == GroomDomainChoice::surface && !surface) b.fail("domain", "needs a mesh or soft body to grow on");
  if (by_surface && entry.domain != GroomDomainChoice::automatic && entry.domain != GroomDomainChoice::surface)
    b.fail("domain", fmt::format("does not lie on the surface of '{}'", entry.on));
  if (by_surface)
    grow_on_surface(b, entry, groom, *surface);
  else
    grow_on_domain(b, entry, groom);
  finish(b, "length");
  build.scene.rods.push_back(std::move(b.rods));
}

/// The centreline of a rod or chain, and the key that gave it.
std::vector<Vec3> make_centreline(const StrandsBuild& b, const RodEntry& entry, std::string& centreline) {
  if (b.given("nodes")) {
    for (const char* other : {"shape", "elements", "from", "to"})
      if (b.given(other)) b.fail(other, "has no effect where nodes are given");
    centreline = "nodes";
    return entry.nodes;
  }
  centreline = "shape";
  switch (entry.shape) {
    case RodShape::straight:
      centreline = (entry.to - entry.from).isZero(1e-9) ? (b.given("to") ? "to" : "from") : "elements";
      return make_straight(entry.from, entry.to, entry.elements);
    case RodShape::arc:
      return make_arc(entry.size, entry.angle, entry.elements);
    case RodShape::ring:
      return make_arc(entry.size, 2 * std::numbers::pi, entry.elements);
    case RodShape::helix:
      if (entry.turns > 1 && entry.pitch <= 2 * b.rods.radius)
        b.fail("pitch", fmt::format("is {} m, must be > 2 radius = {} m", entry.pitch, 2 * b.rods.radius));
      return make_helix(entry.size, entry.pitch, entry.turns, entry.elements);
    case RodShape::trefoil:
      if (entry.length < trefoil_min_length(entry.size))
        b.fail("length", fmt::format("is {} m, must be >= {:.4g} m for a knot of size {} m", entry.length,
                                     trefoil_min_length(entry.size), entry.size));
      if (trefoil_clearance(entry.size) <= 2 * b.rods.radius)
        b.fail("size", fmt::format("is {} m, must be > {:.4g} m for the radius {} m", entry.size,
                                   2 * b.rods.radius / trefoil_clearance(1), b.rods.radius));
      return make_trefoil(entry.size, entry.length, entry.elements);
  }
  return {};
}

Rods build_single(Build& build, const RodEntry& entry, const std::string& kind, std::size_t index) {
  StrandsBuild b(build, entry, kind, index);
  std::string centreline;
  Strand strand;
  strand.nodes = make_centreline(b, entry, centreline);
  b.rods.strands.push_back(std::move(strand));
  place(b.rods.strands, placement(entry.position, entry.rotation));
  finish(b, centreline);
  Strand& placed = b.rods.strands.front();
  if (entry.rest == RestShape::straight) placed.rest_nodes = straightened(placed.nodes);
  return std::move(b.rods);
}

void build_bundle(Build& build, std::size_t index) {
  const BundleEntry& entry = build.document.bundles[index];
  StrandsBuild b(build, entry, "bundle", index);
  BundleOptions bundle = entry.bundle;
  bundle.radius = std::max(b.rods.radius, b.rods.radius_b);
  if (bundle.spacing != 0 && bundle.spacing < 2 * bundle.radius)
    b.fail("spacing", fmt::format("is {} m, must be >= 2 radius = {} m", bundle.spacing, 2 * bundle.radius));
  const bool is_chain = entry.model == BundleModel::chain;
  for (const auto& [end, key] : {std::pair{b.rods.root, "root"}, std::pair{b.rods.tip, "tip"}})
    if (is_chain && end == End::clamped) b.fail(key, "a chain cannot be clamped, only pinned");

  b.rods.strands = make_bundle(bundle);
  place(b.rods.strands, placement(entry.position, entry.rotation));
  finish(b, "nodes");
  if (is_chain)
    build.scene.chains.push_back(to_chains(std::move(b.rods)));
  else
    build.scene.rods.push_back(std::move(b.rods));
}

}  // namespace

void build_strands(Build& build) {
  const Document& d = build.document;
  for (std::size_t i = 0; i < d.grooms.size(); ++i) build_groom(build, i);
  for (std::size_t i = 0; i < d.rods.size(); ++i) build.scene.rods.push_back(build_single(build, d.rods[i], "rod", i));
  for (std::size_t i = 0; i < d.bundles.size(); ++i) build_bundle(build, i);
  for (std::size_t i = 0; i < d.chains.size(); ++i)
    build.scene.chains.push_back(to_chains(build_single(build, d.chains[i], "chain", i)));
}

}  // namespace stiction::scene
