#include "collision/detector.hpp"

#include <algorithm>
#include <cmath>

#include "collision/pair_geometry.hpp"
#include "collision/rules.hpp"
#include "geometry/ccd.hpp"
#include "parallel/loops.hpp"

namespace stiction {

namespace {

constexpr double kApart = 0.05;  // of an edge: contacts of two edges side by side nearer than this are one

std::array<Vec3, 4> mix(const std::array<Vec3, 4>& x_t0, const std::array<Vec3, 4>& x_t1, double t) {
  std::array<Vec3, 4> x;
  for (int j = 0; j < 4; ++j) x[j] = (1 - t) * x_t0[j] + t * x_t1[j];
  return x;
}

double largest_radius(const Surface& surface) {
  double radius = 0;
  for (const SurfaceEdge& e : surface.edges) radius = std::max(radius, e.radius);
  for (const SurfacePoint& p : surface.points) radius = std::max(radius, p.radius);
  for (const SurfaceTriangle& t : surface.triangles) radius = std::max(radius, t.radius);
  return radius;
}

}  // namespace

Detector::Detector(Surface surface, std::span<const Collider> colliders, int first_collider_body,
                   FrictionTable friction, const ContactOptions& options)
    : surface_(std::move(surface)),
      friction_(std::move(friction)),
      options_(options),
      largest_radii_(2 * largest_radius(surface_)),
      candidates_(surface_, vertices_, options),
      collider_contacts_(surface_, vertices_, colliders, first_collider_body, friction_, options) {
  first_met_.resize(surface_.edges.size());
}

double Detector::reach(double radii) const { return contact_reach(options_, radii); }

std::array<Vec3, 4> Detector::start_of(const std::array<int, 4>& vertex) const {
  return {vertices_.x[vertex[0]], vertices_.x[vertex[1]], vertices_.x[vertex[2]], vertices_.x[vertex[3]]};
}

std::array<Vec3, 4> Detector::end_of(const std::array<int, 4>& vertex, std::span<const Vec3> v) const {
  return {vertices_.end_of(vertex[0], v), vertices_.end_of(vertex[1], v), vertices_.end_of(vertex[2], v),
          vertices_.end_of(vertex[3], v)};
}

// Whether a force at the contact can move anything.
bool Detector::movable(const std::array<int, 4>& vertex, const std::array<double, 4>& b) const {
  for (int j = 0; j < 4; ++j)
    if (!vertices_.fixed[vertex[j]] && std::abs(b[j]) > kInterior) return true;
  return false;
}

void Detector::begin_step(const Nodes& nodes, std::span<const Pose> pose_start, std::span<const Pose> pose_end,
                          double dt, std::span<const Vec3> v) {
  deep_contacts_ = 0;
  vertices_.begin_step(nodes, surface_, dt);
  collider_contacts_.begin_step(pose_start, pose_end);
  candidates_.begin_step(vertices_.velocities(v));
}

Contact Detector::pair_contact(ContactKey key, const std::array<int, 4>& vertex, const std::array<double, 4>& b,
                               const Vec3& n, double radii, double mu) const {
  Contact c;
  c.key = key;
  c.n = n;
  c.mu = mu;
  c.rest_distance = radii;
  Vec3 h = Vec3::Zero();
  for (int j = 0; j < 4; ++j) {
    c.node[j] = vertex[j];
    c.b[j] = b[j];
    h += b[j] * vertices_.x[vertex[j]];
  }
  c.gap = h.dot(n) - radii;
  finish_contact(c, *vertices_.nodes, options_, vertices_.dt);
  return c;
}

std::vector<Contact> Detector::proximity() {
  const VerticesAt at_start{vertices_, {}, 0.0};
  CandidatePairs &edges = candidates_.edges(), &points = candidates_.points();
  const double longest_reach = reach(largest_radii_);
  collector_.collect(edges.size(), [&](std::size_t i, std::vector<Contact>& found) {
    if (edges.apart[i] > longest_reach) return;
    const auto pair = candidates_.edge_pair(i);
    const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
    const double radii = e.radius + f.radius;
    if (edges.apart[i] > reach(radii)) return;
    const auto vertex = candidates_.edge_vertices(pair);
    const auto x = start_of(vertex);
    const PairGeometry g = edge_geometry(x);
    if (g.distance > reach(radii) || !movable(vertex, g.b)) return;
    if (!edges_own(e, f, g.n, at_start) || !strands_own(e, f, g.b, g.n, vertices_.x)) return;
    const auto add = [&](const PairGeometry& at) {
      found.push_back(pair_contact(ContactKey::make(ContactKey::edge_edge, pair.first, pair.second, edges.known[i]++),
                                   vertex, at.b, at.n, radii, friction_(e.body, f.body)));
    };
    add(g);
    if (e.strand < 0 || f.strand < 0) return;
    // Side by side, the closest points jump from one end of the shared part to the other with the slightest turn, and
    // a tip would rock on them for ever: both ends are held.
    for (const PairGeometry& end : shared_ends(x, g.n))
      if (std::abs(end.b[1] - g.b[1]) > kApart && end.distance <= reach(radii) && side_by_side(end, e, f, x) &&
          movable(vertex, end.b))
        add(end);
  });
  collector_.collect(points.size(), [&](std::size_t i, std::vector<Contact>& found) {
    if (points.apart[i] > longest_reach) return;
    const auto& pair = points.pair[i];
    const SurfacePoint& p = surface_.points[pair.first];
    const SurfaceTriangle& t = surface_.triangles[pair.second];
    const double radii = p.radius + t.radius;
    if (points.apart[i] > reach(radii)) return;
    const auto vertex = candidates_.point_vertices(pair);
    const PairGeometry g = point_geometry(start_of(vertex));
    if (g.distance > reach(radii) || !movable(vertex, g.b) || !triangle_owns(t, g.b, g.n, at_start)) return;
    points.known[i] = 1;
    found.push_back(pair_contact(ContactKey::make(ContactKey::point_triangle, pair.first, pair.second, 0), vertex, g.b,
                                 g.n, radii, friction_(p.body, t.body)));
  });
  collider_contacts_.proximity(collector_);
  std::vector<Contact> contacts = collector_.sorted();
  deep_contacts_ = sum_in_chunks(contacts.size(), std::size_t{0}, [&](std::size_t i) {
    return contacts[i].gap < -options_.max_recovery_speed * vertices_.dt ? 1 : 0;
  });
  return contacts;
}

struct Detector::Tested {
  ContactKey::Kind kind;
  const std::pair<int, int>& pair;
  std::array<int, 4> vertex;
  double radii, mu;
  std::uint8_t& known;
};

template <class Impact, class Geometry, class Owns>
void Detector::test(const Tested& tested, std::span<const Vec3> v, Impact&& impact, Geometry&& geometry, Owns&& owns,
                    std::vector<Met>& found) const {
  const auto x_t0 = start_of(tested.vertex), x_t1 = end_of(tested.vertex, v);
  const auto near = [&] { return caught_again(tested.radii, geometry(x_t0).distance); };
  auto when = impact(x_t0, x_t1, tested.known > 0 ? kCaughtAgain * tested.radii : tested.radii);
  if (when && tested.known > 0) when = impact(x_t0, x_t1, near());
  if (!when) return;
  PairGeometry g = geometry(mix(x_t0, x_t1, *when));
  if (!owns(g, VerticesAt{vertices_, v, *when})) {
    // The feature that owns the contact should hold the pair apart. In a sharp crease it may not touch in time; then
    // the pair that is about to pass through is stopped itself.
    if (tested.known == 0) when = impact(x_t0, x_t1, near());
    if (!when) return;
    g = geometry(mix(x_t0, x_t1, *when));
  }
  if (!movable(tested.vertex, g.b)) return;
  found.push_back({pair_contact(ContactKey::make(tested.kind, tested.pair.first, tested.pair.second, tested.known),
                                tested.vertex, g.b, g.n, tested.radii, tested.mu),
                   *when, &tested.known});
}

// What stops an edge hides from it what lies behind: a pair that is not among the first met of either edge waits for a
// later pass to find it again. Pairs in contact already do not wait.
void Detector::take_first_met() {
  const std::size_t count = met_.count();
  grow_to(met_at_, count);
  const auto waits_its_turn = [&](const Contact& c) {
    return c.key.kind() == ContactKey::edge_edge && c.key.ordinal() == 0 && surface_.edges[c.key.a()].strand >= 0 &&
           surface_.edges[c.key.b()].strand >= 0;
  };
  const auto for_each_in_turn = [&](auto&& f) {
    met_.for_each([&](std::size_t, const Met& m) {
      if (waits_its_turn(m.contact))
        f(static_cast<int>(m.contact.key.a()), static_cast<int>(m.contact.key.b()), m.when);
    });
  };
  met_.for_each([&](std::size_t place, const Met& m) { met_at_[place] = &m; });
  for_each_in_turn([&](int e, int f, double) {
    first_met_.clear(e);
    first_met_.clear(f);
  });
  for_each_in_turn([&](int e, int f, double when) {
    first_met_.add(e, f, when);
    first_met_.add(f, e, when);
  });
  collector_.collect(count, [&](std::size_t i, std::vector<Contact>& found) {
    const Met& m = *met_at_[i];
    const auto e = static_cast<int>(m.contact.key.a()), f = static_cast<int>(m.contact.key.b());
    if (waits_its_turn(m.contact) && !first_met_.among_first(e, f, m.when) && !first_met_.among_first(f, e, m.when))
      return;
    found.push_back(m.contact);
    ++*m.known;
  });
  met_.clear();
}

std::vector<Contact> Detector::continuous(std::span<const Vec3> v_nodes) {
  const auto v = vertices_.velocities(v_nodes);
  candidates_.follow(v);
  CandidatePairs &edges = candidates_.edges(), &points = candidates_.points();
  // Whether a pair that keeps a distance of `apart` comes into no further contact.
  const auto stays_clear = [](std::uint8_t known, double radii, double apart) {
    return known == kMaxContacts || apart > (known > 0 ? kCaughtAgain * radii : radii);
  };
  met_.collect(edges.size(), [&](std::size_t i, std::vector<Met>& found) {
    const double apart = candidates_.edges_stay_apart(i);
    if (apart > largest_radii_) return;  // most of them, before their edges are read
    const auto pair = candidates_.edge_pair(i);
    const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
    if (stays_clear(edges.known[i], e.radius + f.radius, apart)) return;
    test(
        {ContactKey::edge_edge, pair, candidates_.edge_vertices(pair), e.radius + f.radius, friction_(e.body, f.body),
         edges.known[i]},
        v, edge_edge_impact, edge_geometry,
        [&](const PairGeometry& g, const VerticesAt& where) { return edges_own(e, f, g.n, where); }, found);
  });
  met_.collect(points.size(), [&](std::size_t i, std::vector<Met>& found) {
    const double apart = candidates_.point_stays_apart(i);
    if (apart > largest_radii_) return;
    const auto& pair = points.pair[i];
    const SurfacePoint& p = surface_.points[pair.first];
    const SurfaceTriangle& t = surface_.triangles[pair.second];
    if (stays_clear(points.known[i], p.radius + t.radius, apart)) return;
    test(
        {ContactKey::point_triangle, pair, candidates_.point_vertices(pair), p.radius + t.radius,
         friction_(p.body, t.body), points.known[i]},
        v, point_triangle_impact, point_geometry,
        [&](const PairGeometry& g, const VerticesAt& where) { return triangle_owns(t, g.b, g.n, where); }, found);
  });
  take_first_met();
  collider_contacts_.continuous(v, collector_);
  return collector_.sorted();
}

std::int64_t Detector::crossings(std::span<const Vec3> v_nodes) {
  const auto v = vertices_.velocities(v_nodes);
  candidates_.follow(v);
  candidates_.learn_slack(v);
  const CandidatePairs &edges = candidates_.edges(), &points = candidates_.points();
  const auto passes = [&](const std::array<int, 4>& vertex, auto&& impact) {
    return impact(start_of(vertex), end_of(vertex, v), 0.0) ? 1 : 0;
  };
  std::int64_t sum = sum_in_chunks(edges.size(), std::int64_t{0}, [&](std::size_t i) {
    if (candidates_.edges_stay_apart(i) > 0) return 0;
    return passes(candidates_.edge_vertices(candidates_.edge_pair(i)), edge_edge_impact);
  });
  sum += sum_in_chunks(points.size(), std::int64_t{0}, [&](std::size_t i) {
    if (candidates_.point_stays_apart(i) > 0) return 0;
    return passes(candidates_.point_vertices(points.pair[i]), point_triangle_impact);
  });
  return sum + collider_contacts_.crossings(v);
}

double Detector::max_penetration(std::span<const Contact> contacts, std::span<const Vec3> v_nodes) {
  const auto v = vertices_.velocities(v_nodes);
  return max_in_chunks(contacts.size(), [&](std::size_t i) {
    const Contact& c = contacts[i];
    switch (c.key.kind()) {
      case ContactKey::edge_edge:
        return c.rest_distance - edge_geometry(end_of(c.node, v)).distance;
      case ContactKey::point_triangle:
        return c.rest_distance - point_geometry(end_of(c.node, v)).distance;
      default:
        return c.rest_distance - collider_contacts_.distance_at_end(c, v);
    }
  });
}

}  // namespace stiction
