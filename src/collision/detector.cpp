#include "collision/detector.hpp"

#include <algorithm>
#include <cmath>

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

Detector::NearPair Detector::near_edges(const std::pair<int, int>& edges) const {
  const SurfaceEdge &e = surface_.edges[edges.first], &f = surface_.edges[edges.second];
  return {ContactKey::edge_edge, edges, candidates_.edge_vertices(edges), e.radius + f.radius,
          friction_(e.body, f.body)};
}

Detector::NearPair Detector::near_point(const std::pair<int, int>& pair) const {
  const SurfacePoint& p = surface_.points[pair.first];
  const SurfaceTriangle& t = surface_.triangles[pair.second];
  return {ContactKey::point_triangle, pair, candidates_.point_vertices(pair), p.radius + t.radius,
          friction_(p.body, t.body)};
}

Contact Detector::pair_contact(const NearPair& pair, unsigned ordinal, const PairGeometry& g) const {
  Contact c;
  c.key = ContactKey::make(pair.kind, pair.index.first, pair.index.second, ordinal);
  c.node = pair.vertex;
  c.b = g.b;
  c.n = g.n;
  c.mu = pair.mu;
  c.rest_distance = pair.radii;
  Vec3 h = Vec3::Zero();
  for (int j = 0; j < 4; ++j) h += g.b[j] * vertices_.x[pair.vertex[j]];
  c.gap = h.dot(g.n) - pair.radii;
  finish_contact(c, *vertices_.nodes, options_, vertices_.dt);
  return c;
}

void Detector::proximity(ContactList& contacts) {
  const VerticesAt at_start{vertices_, {}, 0.0};
  CandidatePairs &edges = candidates_.edges(), &points = candidates_.points();
  const double longest_reach = reach(largest_radii_);
  collector_.collect(edges.size(), [&](std::size_t i, std::vector<Contact>& found) {
    if (edges.apart[i] > longest_reach) return;
    const NearPair pair = near_edges(candidates_.edge_pair(i));
    if (edges.apart[i] > reach(pair.radii)) return;
    const SurfaceEdge &e = surface_.edges[pair.index.first], &f = surface_.edges[pair.index.second];
    const auto x = start_of(pair.vertex);
    const PairGeometry g = edge_geometry(x);
    if (g.distance > reach(pair.radii) || !movable(pair.vertex, g.b)) return;
    if (!edges_own(e, f, g.n, at_start) || !strands_own(e, f, g.b, g.n, vertices_.x)) return;
    const auto add = [&](const PairGeometry& at) { found.push_back(pair_contact(pair, edges.known[i]++, at)); };
    add(g);
    if (e.strand < 0 || f.strand < 0) return;
    // Side by side, the closest points jump from one end of the shared part to the other with the slightest turn, and
    // a tip would rock on them for ever: both ends are held.
    for (const PairGeometry& end : shared_ends(x, g.n))
      if (std::abs(end.b[1] - g.b[1]) > kApart && end.distance <= reach(pair.radii) && side_by_side(end, e, f, x) &&
          movable(pair.vertex, end.b))
        add(end);
  });
  collector_.collect(points.size(), [&](std::size_t i, std::vector<Contact>& found) {
    if (points.apart[i] > longest_reach) return;
    const NearPair pair = near_point(points.pair[i]);
    if (points.apart[i] > reach(pair.radii)) return;
    const PairGeometry g = point_geometry(start_of(pair.vertex));
    if (g.distance > reach(pair.radii) || !movable(pair.vertex, g.b)) return;
    if (!triangle_owns(surface_.triangles[pair.index.second], g.b, g.n, at_start)) return;
    points.known[i] = 1;
    found.push_back(pair_contact(pair, 0, g));
  });
  collider_contacts_.proximity(collector_);
  const std::size_t before = contacts.size();
  collector_.append_sorted(contacts);
  deep_contacts_ = sum_in_chunks(contacts.size() - before, std::size_t{0}, [&](std::size_t i) {
    return contacts[before + i].gap < -options_.max_recovery_speed * vertices_.dt ? 1 : 0;
  });
}

template <class Impact, class Geometry, class Owns>
void Detector::test(const NearPair& pair, std::uint8_t& known, std::span<const Vec3> v, Impact&& impact,
                    Geometry&& geometry, Owns&& owns, std::vector<Met>& found) const {
  const auto x_t0 = start_of(pair.vertex), x_t1 = end_of(pair.vertex, v);
  const auto near = [&] { return caught_again(pair.radii, geometry(x_t0).distance); };
  auto when = impact(x_t0, x_t1, known > 0 ? kCaughtAgain * pair.radii : pair.radii);
  if (when && known > 0) when = impact(x_t0, x_t1, near());
  if (!when) return;
  PairGeometry g = geometry(mix(x_t0, x_t1, *when));
  if (!owns(g, VerticesAt{vertices_, v, *when})) {
    // The feature that owns the contact should hold the pair apart. In a sharp crease it may not touch in time; then
    // the pair that is about to pass through is stopped itself.
    if (known == 0) when = impact(x_t0, x_t1, near());
    if (!when) return;
    g = geometry(mix(x_t0, x_t1, *when));
  }
  if (!movable(pair.vertex, g.b)) return;
  found.push_back({ContactKey::make(pair.kind, pair.index.first, pair.index.second, known), *when, &known});
}

Contact Detector::met_contact(const Met& met, std::span<const Vec3> v) const {
  const std::pair<int, int> index(met.key.a(), met.key.b());
  const bool are_edges = met.key.kind() == ContactKey::edge_edge;
  const NearPair pair = are_edges ? near_edges(index) : near_point(index);
  const auto x = mix(start_of(pair.vertex), end_of(pair.vertex, v), met.when);
  return pair_contact(pair, met.key.ordinal(), are_edges ? edge_geometry(x) : point_geometry(x));
}

// What stops an edge hides from it what lies behind: a pair that is not among the first met of either edge waits for a
// later pass to find it again. Pairs in contact already do not wait.
void Detector::take_first_met(std::span<const Vec3> v) {
  const std::size_t count = met_.count();
  grow_to(met_at_, count);
  const auto waits_its_turn = [&](const ContactKey& key) {
    return key.kind() == ContactKey::edge_edge && key.ordinal() == 0 && surface_.edges[key.a()].strand >= 0 &&
           surface_.edges[key.b()].strand >= 0;
  };
  const auto for_each_in_turn = [&](auto&& f) {
    met_.for_each([&](std::size_t, const Met& m) {
      if (waits_its_turn(m.key)) f(static_cast<int>(m.key.a()), static_cast<int>(m.key.b()), m.when);
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
    const auto e = static_cast<int>(m.key.a()), f = static_cast<int>(m.key.b());
    if (waits_its_turn(m.key) && !first_met_.among_first(e, f, m.when) && !first_met_.among_first(f, e, m.when)) return;
    found.push_back(met_contact(m, v));
    ++*m.known;
  });
  met_.clear();
}

void Detector::continuous(std::span<const Vec3> v_nodes, ContactList& contacts) {
  const auto v = vertices_.velocities(v_nodes);
  candidates_.follow(v);
  CandidatePairs &edges = candidates_.edges(), &points = candidates_.points();
  // Whether a pair that keeps a distance of `apart` comes into no further contact.
  const auto stays_clear = [](std::uint8_t known, double radii, double apart) {
    return known == kMaxContacts || apart > (known > 0 ? kCaughtAgain * radii : radii);
  };
  // Most edges stay apart, which is known without a look at them. The others lie anywhere in memory: they are listed,
  // so that they can be fetched ahead, and then their vertices.
  struct Near {
    std::size_t i;
    double apart;
    std::pair<int, int> edges;
  };
  constexpr std::size_t ahead = 6;  // pairs: long enough for a line to come from memory
  const auto collect_edges = [&](std::size_t first, std::size_t last, std::vector<Met>& found) {
    std::array<Near, kIndicesPerChunk> near;
    std::size_t count = 0;
    for (std::size_t i = first; i < last; ++i) {
      const double apart = candidates_.edges_stay_apart(i);
      if (apart <= largest_radii_) near[count++] = {i, apart, candidates_.edge_pair(i)};
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (k + 2 * ahead < count)
        for (const int edge : {near[k + 2 * ahead].edges.first, near[k + 2 * ahead].edges.second})
          __builtin_prefetch(&surface_.edges[edge]);
      if (k + ahead < count)
        for (const int edge : {near[k + ahead].edges.first, near[k + ahead].edges.second}) {
          __builtin_prefetch(&vertices_.x[surface_.edges[edge].a]);
          __builtin_prefetch(&v[surface_.edges[edge].a]);
        }
      const auto& [i, apart, pair] = near[k];
      const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
      if (stays_clear(edges.known[i], e.radius + f.radius, apart)) continue;
      test(
          near_edges(pair), edges.known[i], v, edge_edge_impact, edge_geometry,
          [&](const PairGeometry& g, const VerticesAt& where) { return edges_own(e, f, g.n, where); }, found);
    }
  };
  met_.collect_chunks(edges.size(), collect_edges, kIndicesPerChunk);
  met_.collect(points.size(), [&](std::size_t i, std::vector<Met>& found) {
    const double apart = candidates_.point_stays_apart(i);
    if (apart > largest_radii_) return;
    const auto& pair = points.pair[i];
    const SurfacePoint& p = surface_.points[pair.first];
    const SurfaceTriangle& t = surface_.triangles[pair.second];
    if (stays_clear(points.known[i], p.radius + t.radius, apart)) return;
    test(
        near_point(pair), points.known[i], v, point_triangle_impact, point_geometry,
        [&](const PairGeometry& g, const VerticesAt& where) { return triangle_owns(t, g.b, g.n, where); }, found);
  });
  take_first_met(v);
  collider_contacts_.continuous(v, collector_);
  collector_.append_sorted(contacts);
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
