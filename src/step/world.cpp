#include "step/world.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "geometry/primitives.hpp"

namespace stiction {

namespace {

Pose compose(const Pose& outer, const Pose& inner) {
  return {(outer.rotation * inner.rotation).normalized(), outer.apply(inner.position)};
}

// Edges and points of every strand of a body.
template <class Spec, class StrandBodyType>
void add_strands(const Spec& spec, const StrandBodyType& body, int body_index, Surface& surface) {
  for (std::size_t s = 0; s < spec.strands.size(); ++s) {
    const Strand& strand = spec.strands[s];
    const double radius = strand.radius > 0 ? strand.radius : spec.radius;
    const int first = body.layout().first_node(static_cast<int>(s));
    const auto& rest = strand.rest_nodes.empty() ? strand.nodes : strand.rest_nodes;
    double arc = 0;
    for (int i = 0; i < static_cast<int>(strand.nodes.size()); ++i) {
      surface.points.push_back({first + i, radius, body_index});
      if (i == 0) continue;
      const double next = arc + (rest[i] - rest[i - 1]).norm();
      SurfaceEdge edge{first + i - 1, first + i, radius, body_index, body.first_component + static_cast<int>(s),
                       arc,           next};
      if (i > 1) edge.next[0] = first + i - 2;
      if (i + 1 < static_cast<int>(strand.nodes.size())) edge.next[1] = first + i + 1;
      surface.edges.push_back(edge);
      arc = next;
    }
  }
}

}  // namespace

namespace {

void check(bool good, const std::string& body, const char* what) {
  if (!good) throw std::invalid_argument("body '" + body + "': " + what);
}

// What the reader of scene files guarantees and a scene made by hand may not.
void validate(const Scene& scene) {
  std::set<std::string> names;
  const auto check_name = [&](const auto& body) { check(names.insert(body.name).second, body.name, "name is taken"); };
  const auto check_strands = [&](const auto& body) {
    check_name(body);
    check(body.radius > 0, body.name, "radius must be positive");
    for (const Strand& s : body.strands) {
      check(s.nodes.size() >= 2, body.name, "a strand needs two nodes");
      check(s.rest_nodes.empty() || s.rest_nodes.size() == s.nodes.size(), body.name, "rest_nodes has another size");
    }
    const auto check_place = [&](const auto& at) {
      check(at.strand >= 0 && at.strand < static_cast<int>(body.strands.size()), body.name, "no such strand");
      const int count = static_cast<int>(body.strands[at.strand].nodes.size());
      check(at.node >= -count && at.node < count, body.name, "no such node");
    };
    for (const NodeForce& f : body.forces) check_place(f);
    for (const PointMass& m : body.point_masses) check_place(m);
    for (const Collider& c : scene.colliders)
      check((c.name != body.root_attach && c.name != body.tip_attach) || c.mesh_sequence.empty(), body.name,
            "a sequence of meshes cannot hold strands");
  };
  for (const Rods& r : scene.rods) check_strands(r);
  for (const Chains& c : scene.chains) check_strands(c);
  for (const Collider& c : scene.colliders) check_name(c);
}

}  // namespace

World::World(Scene scene_in) : scene(std::move(scene_in)) {
  validate(scene);
  for (const Rods& r : scene.rods)
    rods.push_back(std::make_unique<RodsBody>(r, nodes, collider_index(r.root_attach), collider_index(r.tip_attach)));
  for (const Chains& c : scene.chains)
    chains.push_back(
        std::make_unique<ChainsBody>(c, nodes, collider_index(c.root_attach), collider_index(c.tip_attach)));
  for (auto& r : rods) bodies.push_back(r.get());
  for (auto& c : chains) bodies.push_back(c.get());
  const auto number_components = [&](auto& body) {
    body.first_component = component_count;
    for (int s = 0; s < body.component_count; ++s)
      for (int i = 0; i < body.layout().node_count(s); ++i)
        nodes.component[body.layout().first_node(s) + i] = component_count + s;
    component_count += body.component_count;
  };
  for (auto& r : rods) number_components(*r);
  for (auto& c : chains) number_components(*c);
  add_meshes();
  for (const Collider& c : scene.colliders) shapes.push_back(tessellate(c));
  detector = std::make_unique<Detector>(build_surface(), scene.colliders, static_cast<int>(bodies.size()),
                                        build_friction(), scene.contact);
}

int World::collider_index(const std::string& name) const {
  if (name.empty()) return -1;
  for (std::size_t c = 0; c < scene.colliders.size(); ++c)
    if (scene.colliders[c].name == name) return static_cast<int>(c);
  throw std::invalid_argument("no collider is called '" + name + "'");
}

void World::poses_at(double time, std::vector<Pose>& poses) const {
  poses.resize(scene.colliders.size());
  for (std::size_t c = 0; c < poses.size(); ++c)
    poses[c] = compose(scene.colliders[c].motion.at(time), scene.colliders[c].placement);
}

Vec3 World::mesh_vertex_at(const KinematicMesh& mesh, int vertex, double time) const {
  const Collider& c = scene.colliders[mesh.collider];
  Vec3 x = c.mesh.vertices[vertex];
  if (!c.mesh_sequence.empty()) {
    const double at = std::clamp(time * c.sequence_fps, 0.0, static_cast<double>(c.mesh_sequence.size() - 1));
    const auto before = static_cast<std::size_t>(at);
    const std::size_t after = std::min(before + 1, c.mesh_sequence.size() - 1);
    const double part = at - static_cast<double>(before);
    x = (1 - part) * c.mesh_sequence[before][vertex] + part * c.mesh_sequence[after][vertex];
  }
  return c.motion.at(time).apply(c.placement.apply(x));
}

void World::add_meshes() {
  for (int c = 0; c < static_cast<int>(scene.colliders.size()); ++c) {
    const Collider& collider = scene.colliders[c];
    if (collider.shape != ColliderShape::mesh || !collider.collides) continue;
    const int count = static_cast<int>(collider.mesh.vertices.size());
    const KinematicMesh mesh{c, nodes.append(count)};
    for (int i = 0; i < count; ++i) {
      nodes.fixed[mesh.first_node + i] = 1;
      nodes.x[mesh.first_node + i] = mesh_vertex_at(mesh, i, 0.0);
    }
    meshes.push_back(mesh);
  }
}

Surface World::build_surface() const {
  Surface surface;
  for (std::size_t i = 0; i < rods.size(); ++i) add_strands(scene.rods[i], *rods[i], static_cast<int>(i), surface);
  for (std::size_t i = 0; i < chains.size(); ++i)
    add_strands(scene.chains[i], *chains[i], static_cast<int>(rods.size() + i), surface);
  for (const KinematicMesh& mesh : meshes) {
    const Collider& collider = scene.colliders[mesh.collider];
    const int body = static_cast<int>(bodies.size()) + mesh.collider;
    // Third vertices of the triangles at each edge (a manifold mesh has at most two).
    std::map<std::pair<int, int>, std::array<int, 2>> edges;
    const auto edge_of = [](const Eigen::Vector3i& t, int k) { return std::minmax({t[(k + 1) % 3], t[(k + 2) % 3]}); };
    for (const Eigen::Vector3i& t : collider.mesh.triangles)
      for (int k = 0; k < 3; ++k) {
        auto& thirds = edges.try_emplace(edge_of(t, k), std::array<int, 2>{-1, -1}).first->second;
        thirds[thirds[0] < 0 ? 0 : 1] = mesh.first_node + t[k];
      }
    for (const Eigen::Vector3i& t : collider.mesh.triangles) {
      SurfaceTriangle triangle{
          mesh.first_node + t[0], mesh.first_node + t[1], mesh.first_node + t[2], collider.thickness, body, {}};
      for (int k = 0; k < 3; ++k) {
        const auto& thirds = edges.at(edge_of(t, k));
        triangle.opposite[k] = thirds[0] == mesh.first_node + t[k] ? thirds[1] : thirds[0];
      }
      surface.triangles.push_back(triangle);
    }
    for (const auto& [edge, thirds] : edges) {
      SurfaceEdge e{mesh.first_node + edge.first, mesh.first_node + edge.second, collider.thickness, body};
      e.opposite = thirds;
      surface.edges.push_back(e);
    }
  }
  return surface;
}

FrictionTable World::build_friction() const {
  std::vector<double> mu;
  std::vector<std::string> names;
  const auto add = [&](const auto& bodies_of_kind) {
    for (const auto& b : bodies_of_kind) {
      mu.push_back(b.friction);
      names.push_back(b.name);
    }
  };
  add(scene.rods);
  add(scene.chains);
  add(scene.colliders);
  FrictionTable table(mu);
  for (const FrictionPair& pair : scene.friction_pairs) {
    const auto find = [&](const std::string& name) {
      const auto it = std::find(names.begin(), names.end(), name);
      if (it == names.end()) throw std::invalid_argument("friction pair: no body is called '" + name + "'");
      return static_cast<int>(it - names.begin());
    };
    table.set(find(pair.a), find(pair.b), pair.friction);
  }
  return table;
}

int World::free_degrees_of_freedom() const {
  int free = 0;
  for (const std::uint8_t f : nodes.fixed) free += f ? 0 : 3;
  return free;
}

}  // namespace stiction
