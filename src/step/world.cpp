#include "step/world.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "geometry/distance.hpp"
#include "geometry/embedding.hpp"
#include "geometry/primitives.hpp"
#include "geometry/tet_mesh.hpp"

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

// Triangles and edges of a mesh with what lies beside them (a manifold mesh has at most two faces at an edge).
void add_mesh(std::span<const Eigen::Vector3i> triangles, std::span<const int> vertex, double radius, int body,
              Surface& surface) {
  std::map<std::pair<int, int>, std::array<int, 2>> edges;  // third vertices of the faces beside
  const auto edge_of = [](const Eigen::Vector3i& t, int k) { return std::minmax({t[(k + 1) % 3], t[(k + 2) % 3]}); };
  for (const Eigen::Vector3i& t : triangles)
    for (int k = 0; k < 3; ++k) {
      auto& thirds = edges.try_emplace(edge_of(t, k), std::array<int, 2>{-1, -1}).first->second;
      thirds[thirds[0] < 0 ? 0 : 1] = vertex[t[k]];
    }
  for (const Eigen::Vector3i& t : triangles) {
    SurfaceTriangle triangle{vertex[t[0]], vertex[t[1]], vertex[t[2]], radius, body, {}};
    for (int k = 0; k < 3; ++k) {
      const auto& thirds = edges.at(edge_of(t, k));
      triangle.opposite[k] = thirds[0] == vertex[t[k]] ? thirds[1] : thirds[0];
    }
    surface.triangles.push_back(triangle);
  }
  for (const auto& [edge, thirds] : edges) {
    SurfaceEdge e{vertex[edge.first], vertex[edge.second], radius, body};
    e.opposite = thirds;
    surface.edges.push_back(e);
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
  for (const Shell& s : scene.shells) check_name(s);
  for (const Solid& s : scene.solids) check_name(s);
  for (const Frames& f : scene.frames) check_name(f);
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
  add_sparse_bodies();
  const auto add_component = [&](int first, int count) {
    std::fill_n(nodes.component.begin() + first, count, component_count++);
    component_nodes.emplace_back(first, first + count);
  };
  const auto number_strands = [&](auto& body) {
    body.first_component = component_count;
    for (int s = 0; s < body.component_count; ++s)
      add_component(body.layout().first_node(s), body.layout().node_count(s));
  };
  for (auto& r : rods) number_strands(*r);
  for (auto& c : chains) number_strands(*c);
  strand_count = component_count;
  for (auto& b : sparse) {
    b->first_component = component_count;
    add_component(b->first_node, b->node_count);
  }
  add_meshes();
  add_surfaces();
  add_ties();
  for (const Collider& c : scene.colliders) shapes.push_back(tessellate(c));
  Surface surface = build_surface();
  thinnest = std::numeric_limits<double>::infinity();
  for (const SurfacePoint& p : surface.points)
    if (p.body < static_cast<int>(bodies.size())) thinnest = std::min(thinnest, p.radius);
  detector = std::make_unique<Detector>(std::move(surface), scene.colliders, static_cast<int>(bodies.size()),
                                        build_friction(), scene.contact);
}

void World::add_sparse_bodies() {
  const auto pin_colliders = [&](const auto& body) {
    std::vector<int> colliders;
    for (const Pins& pins : body.pins) colliders.push_back(collider_index(pins.attach));
    return colliders;
  };
  for (const Shell& s : scene.shells) sparse.push_back(std::make_unique<ShellBody>(s, nodes, pin_colliders(s)));
  for (const Solid& s : scene.solids) sparse.push_back(std::make_unique<SolidBody>(s, nodes, pin_colliders(s)));
  for (const Frames& f : scene.frames) sparse.push_back(std::make_unique<FramesBody>(f, nodes, pin_colliders(f)));
  for (auto& b : sparse) bodies.push_back(b.get());
}

// All nodes exist by now, so vertices of the skin can be numbered after them.
void World::add_surfaces() {
  Skin& skin = nodes.skin;
  skin.base = nodes.size();
  std::size_t next = 0;
  const auto begin_surface = [&](double radius) -> SimulatedMesh& {
    surfaces.emplace_back();
    surfaces.back().body = static_cast<int>(rods.size() + chains.size() + next);
    surfaces.back().radius = radius;
    return surfaces.back();
  };
  for (const Shell& s : scene.shells) {
    SimulatedMesh& mesh = begin_surface(0.5 * s.thickness);
    mesh.triangles = s.mesh.triangles;
    mesh.rest = s.rest_vertices.empty() ? s.mesh.vertices : s.rest_vertices;
    for (int i = 0; i < sparse[next]->node_count; ++i) mesh.vertex.push_back(sparse[next]->first_node + i);
    ++next;
  }
  for (const Solid& s : scene.solids) {
    SimulatedMesh& mesh = begin_surface(s.contact_radius);
    const int first = sparse[next]->first_node;
    const std::vector<Vec3>& rest = s.rest_vertices.empty() ? s.mesh.vertices : s.rest_vertices;
    if (s.surface.triangles.empty()) {
      std::vector<int> vertex_of;
      mesh.triangles = boundary_surface(s.mesh, &vertex_of).triangles;
      for (const int v : vertex_of) {
        mesh.vertex.push_back(first + v);
        mesh.rest.push_back(rest[v]);
      }
    } else {
      mesh.triangles = s.surface.triangles;
      const Embedding embedding = embed(s.mesh, s.surface.vertices);
      for (std::size_t i = 0; i < s.surface.vertices.size(); ++i) {
        std::vector<std::pair<int, double>> parts;
        parts.reserve(4);
        for (int k = 0; k < 4; ++k) parts.emplace_back(first + embedding.node[i][k], embedding.weight[i][k]);
        mesh.vertex.push_back(skin.base + skin.append(parts));
        mesh.rest.push_back(embedding.apply(i, rest));
      }
    }
    ++next;
  }
  for (const Frames& f : scene.frames) {
    SimulatedMesh& mesh = begin_surface(f.contact_radius);
    mesh.triangles = f.surface.triangles;
    mesh.rest = f.surface.vertices;
    for (auto parts : static_cast<const FramesBody&>(*sparse[next]).surface_skin()) {
      for (auto& [node, weight] : parts) node += sparse[next]->first_node;
      mesh.vertex.push_back(skin.base + skin.append(parts));
    }
    ++next;
  }
}

namespace {

// The point of a body that is nearest to x at time zero, as nodes and weights.
Ties::Point nearest_on_strands(const auto& body, const Nodes& nodes, const Vec3& x) {
  Ties::Point best;
  double best2 = std::numeric_limits<double>::infinity();
  for (int s = 0; s < body.layout().strand_count(); ++s)
    for (int i = 0; i + 1 < body.layout().node_count(s); ++i) {
      const int node = body.layout().first_node(s) + i;
      const Vec3 a = nodes.x[node], edge = nodes.x[node + 1] - a;
      const double t = std::clamp((x - a).dot(edge) / edge.squaredNorm(), 0.0, 1.0);
      const double distance2 = (a + t * edge - x).squaredNorm();
      if (distance2 >= best2) continue;
      best2 = distance2;
      best = {{node, 1 - t}, {node + 1, t}};
    }
  return best;
}

Ties::Point nearest_on_mesh(const SimulatedMesh& mesh, const Nodes& nodes, const Vec3& x) {
  double best2 = std::numeric_limits<double>::infinity();
  std::array<std::pair<int, double>, 3> corners;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    std::array<Vec3, 3> y;
    for (int k = 0; k < 3; ++k) y[k] = nodes.skin.at(mesh.vertex[t[k]], nodes.x);
    const PointTriangleClosest c = closest_point_triangle(x, y[0], y[1], y[2]);
    if (c.distance2 >= best2) continue;
    best2 = c.distance2;
    corners = {{{mesh.vertex[t[0]], 1 - c.b1 - c.b2}, {mesh.vertex[t[1]], c.b1}, {mesh.vertex[t[2]], c.b2}}};
  }
  std::map<int, double> merged;
  for (const auto& corner : corners)
    nodes.skin.for_each_node(corner.first, [&](int node, double weight) { merged[node] += corner.second * weight; });
  return {merged.begin(), merged.end()};
}

}  // namespace

void World::add_ties() {
  const auto strands_count = static_cast<int>(rods.size() + chains.size());
  const auto with_strands = [&](int body, auto&& f) {
    return body < static_cast<int>(rods.size()) ? f(*rods[body]) : f(*chains[body - rods.size()]);
  };
  const int first_solid = strands_count + static_cast<int>(scene.shells.size());
  const auto is_solid = [&](int body) {
    return body >= first_solid && body < first_solid + static_cast<int>(scene.solids.size());
  };
  const auto points_on = [&](int body, std::span<const Vec3> at) {
    std::vector<Ties::Point> points;
    if (is_solid(body)) {  // also off its surface: the tets carry it
      const Embedding embedding = embed(scene.solids[body - first_solid].mesh, at);
      for (std::size_t i = 0; i < at.size(); ++i) {
        auto& point = points.emplace_back();
        for (int k = 0; k < 4; ++k)
          point.emplace_back(bodies[body]->first_node + embedding.node[i][k], embedding.weight[i][k]);
      }
      return points;
    }
    for (const Vec3& x : at)
      points.push_back(body < strands_count
                           ? with_strands(body, [&](const auto& b) { return nearest_on_strands(b, nodes, x); })
                           : nearest_on_mesh(surfaces[body - strands_count], nodes, x));
    return points;
  };
  for (const Attachment& attachment : scene.attachments) {
    const int a = body_index(attachment.a), b = body_index(attachment.b);
    const auto fail = [&](const char* what) {
      throw std::invalid_argument("attachment of '" + attachment.a + "' to '" + attachment.b + "': " + what);
    };
    if (a < 0) fail("the first is no body");
    if (a == b) fail("they are the same");
    const int collider = b < 0 ? collider_index(attachment.b) : -1;
    if (b < 0 && collider < 0) fail("the second has no name");
    if (collider >= 0 && !scene.colliders[collider].mesh_sequence.empty()) fail("a sequence of meshes cannot hold it");
    for (const int body : {a, b})
      if (body >= strands_count && surfaces[body - strands_count].triangles.empty()) fail("one has no surface");
    std::vector<Vec3> at = attachment.points;
    std::vector<Ties::Point> on_a = points_on(a, at);
    if (attachment.roots) {
      if (a >= strands_count) fail("only strands have roots");
      with_strands(a, [&](const auto& strands) {
        for (int s = 0; s < strands.layout().strand_count(); ++s)
          for (int i = 0; i < 2; ++i) {
            const int node = strands.layout().first_node(s) + i;
            if (i == 1 && collider < 0 && !is_solid(b)) continue;  // a surface alone carries nothing beside it
            at.push_back(nodes.x[node]);
            on_a.push_back({{node, 1.0}});
          }
      });
    }
    const std::vector<Ties::Point> on_b = collider < 0 ? points_on(b, at) : std::vector<Ties::Point>{};
    const auto note = [&](int body, const std::vector<Ties::Point>& on, int other) {
      if (body < 0 || body >= strands_count) return;
      for (const Ties::Point& p : on)
        strand_ties.push_back({p[0].first, p.size() > 1 ? p[1].second : 0.0,
                               other >= 0 ? other : static_cast<int>(bodies.size()) + collider});
    };
    note(a, on_a, b);
    note(b, on_b, a);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (collider < 0)
        ties.add(on_a[i], on_b[i], attachment.stiffness, attachment.damping);
      else
        ties.add(on_a[i], collider, at[i], attachment.stiffness, attachment.damping);
    }
  }
  if (!ties.empty()) ties.connect(nodes, component_count);
}

int World::body_index(const std::string& name) const {
  for (std::size_t b = 0; b < bodies.size(); ++b)
    if (bodies[b]->name == name) return static_cast<int>(b);
  return -1;
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
    Collider& collider = scene.colliders[c];
    if (!collider.collides) continue;
    const bool corners = collider.shape == ColliderShape::box && !sparse.empty();  // they may poke into triangles
    if (collider.shape != ColliderShape::mesh && !corners) continue;
    if (corners) collider.mesh.vertices = make_box(collider.half_extents).vertices;
    const int count = static_cast<int>(collider.mesh.vertices.size());
    const KinematicMesh mesh{c, nodes.append(count)};
    for (int i = 0; i < count; ++i) {
      nodes.fixed[mesh.first_node + i] = 1;
      nodes.x[mesh.first_node + i] = mesh_vertex_at(mesh, i, 0.0);
    }
    meshes.push_back(mesh);
  }
}

// Edges and points of strands learn how far they are from where their strand is tied; of several ties the nearest
// counts. `surface` holds strands only, the edges of each in one piece.
void World::mark_tied(Surface& surface) const {
  if (strand_ties.empty()) return;
  std::vector<int> edge_at(nodes.x.size(), -1), point_at(nodes.x.size(), -1);
  for (int i = 0; i < static_cast<int>(surface.edges.size()); ++i) edge_at[surface.edges[i].a] = i;
  for (int i = 0; i < static_cast<int>(surface.points.size()); ++i) point_at[surface.points[i].node] = i;
  const auto mark = [](auto& primitive, double distance, int body) {
    if (primitive.tied >= 0 && primitive.tied_distance <= distance) return;
    primitive.tied = body;
    primitive.tied_distance = distance;
  };
  for (const StrandTie& tie : strand_ties) {
    if (edge_at[tie.node] < 0) continue;  // a tip, held besides its root
    const SurfaceEdge held = surface.edges[edge_at[tie.node]];
    const double arc = (1 - tie.t) * held.arc_a + tie.t * held.arc_b;
    int i = edge_at[tie.node];
    while (i > 0 && surface.edges[i - 1].strand == held.strand) --i;
    mark(surface.points[point_at[surface.edges[i].a]], arc, tie.body);
    for (; i < static_cast<int>(surface.edges.size()) && surface.edges[i].strand == held.strand; ++i) {
      SurfaceEdge& e = surface.edges[i];
      mark(e, std::max({0.0, e.arc_a - arc, arc - e.arc_b}), tie.body);
      mark(surface.points[point_at[e.b]], std::abs(e.arc_b - arc), tie.body);
    }
  }
}

Surface World::build_surface() const {
  Surface surface;
  for (std::size_t i = 0; i < rods.size(); ++i) add_strands(scene.rods[i], *rods[i], static_cast<int>(i), surface);
  for (std::size_t i = 0; i < chains.size(); ++i)
    add_strands(scene.chains[i], *chains[i], static_cast<int>(rods.size() + i), surface);
  mark_tied(surface);
  const bool simulated = !surfaces.empty();
  surface.rest.assign(simulated ? nodes.skin.base + nodes.skin.size() : 0, Vec3::Zero());
  for (const SimulatedMesh& mesh : surfaces) {
    add_mesh(mesh.triangles, mesh.vertex, mesh.radius, mesh.body, surface);
    for (std::size_t i = 0; i < mesh.vertex.size(); ++i) {
      surface.points.push_back({mesh.vertex[i], mesh.radius, mesh.body});
      surface.rest[mesh.vertex[i]] = mesh.rest[i];
    }
  }
  for (const KinematicMesh& mesh : meshes) {
    const Collider& collider = scene.colliders[mesh.collider];
    const int body = static_cast<int>(bodies.size()) + mesh.collider;
    std::vector<int> vertex(collider.mesh.vertices.size());
    std::iota(vertex.begin(), vertex.end(), mesh.first_node);
    add_mesh(collider.mesh.triangles, vertex, collider.thickness, body, surface);
    for (const int v : vertex)
      if (simulated) surface.points.push_back({v, collider.thickness, body});
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
  add(scene.shells);
  add(scene.solids);
  add(scene.frames);
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
