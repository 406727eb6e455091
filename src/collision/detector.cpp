#include "collision/detector.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "geometry/ccd.hpp"
#include "geometry/distance.hpp"
#include "geometry/shapes.hpp"

namespace stiction {

namespace {

constexpr std::size_t kCandidatesPerChunk = 2048;
constexpr std::size_t kVerticesPerChunk = 4096;
constexpr double kTypicalSlack = 0.05;  // of the root mean square displacement: slack that a step starts with, at most
constexpr double kRadiusSlack = 0.05;   // of the mean radius, added to it
constexpr double kGrowth = 0.25;        // of a deviation from the expected displacements: slack beyond it
constexpr double kCaughtAgain = 0.25;   // of the radii: distance at which a pair in contact is caught again
constexpr double kCaughtDeep = 0.5;     // of its distance, where it starts nearer than that
constexpr double kTilt = 0.01;          // sine by which a normal may lean over a neighbouring face or edge
constexpr double kApart = 0.05;         // of an edge: contacts of two edges side by side nearer than this are one
// On a half circle whose ends just touch, the arc between them is pi/2 times their distance: anything closer along a
// strand or a sheet overlaps by construction.
constexpr double kFolded = 0.5 * std::numbers::pi;
constexpr std::uint8_t kMaxContacts = 8;  // of one pair in a step
constexpr double kInterior = 1e-3;        // an edge's contact nearer to its ends than this is its nodes' affair

bool is_analytic(const Collider& c) {
  return c.collides && c.shape != ColliderShape::locator && c.shape != ColliderShape::mesh;
}

double caught_again(double radii, double distance_t0) {
  if (distance_t0 <= 0) return 2 * distance_t0;  // inside already: only going deeper counts
  return std::min(kCaughtAgain * radii, kCaughtDeep * distance_t0);
}

// Near to where a strand is tied to a body it cannot but touch it: as along a strand.
template <class Primitive>
bool tied_to(const Primitive& p, int body, double radii) {
  return p.tied == body && p.tied_distance <= kFolded * radii;
}

Pose inverse(const Pose& pose) {
  const Quat r = pose.rotation.conjugate();
  return {r, -(r * pose.position)};
}

}  // namespace

namespace {
double closest_edge_edge_distance2(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  return closest_edge_edge(a, b, c, d).distance2;
}
double closest_point_triangle_distance2(const Vec3& x, const Vec3& a, const Vec3& b, const Vec3& c) {
  return closest_point_triangle(x, a, b, c).distance2;
}
}  // namespace

FrictionTable::FrictionTable(std::vector<double> mu) : count_(mu.size()), table_(mu.size() * mu.size()) {
  for (std::size_t i = 0; i < count_; ++i)
    for (std::size_t j = 0; j < count_; ++j) table_[i * count_ + j] = std::sqrt(mu[i] * mu[j]);
}

Detector::Detector(Surface surface, std::span<const Collider> colliders, int first_collider_body,
                   FrictionTable friction, const ContactOptions& options)
    : surface_(std::move(surface)),
      colliders_(colliders),
      first_collider_body_(first_collider_body),
      friction_(std::move(friction)),
      options_(options) {
  for (const SurfacePoint& p : surface_.points) mean_radius_ += p.radius / static_cast<double>(surface_.points.size());
}

double Detector::reach(double radii) const {
  return radii + std::max(options_.margin * radii, options_.cohesion > 0 ? options_.cohesion_distance : 0.0);
}

std::array<int, 4> Detector::edge_nodes(const std::pair<int, int>& pair) const {
  const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
  return {e.a, e.b, f.a, f.b};
}

std::array<int, 4> Detector::point_nodes(const std::pair<int, int>& pair) const {
  const SurfaceTriangle& t = surface_.triangles[pair.second];
  return {surface_.points[pair.first].node, t.a, t.b, t.c};
}

bool Detector::edges_may_touch(int i, int j) const {
  const SurfaceEdge &e = surface_.edges[i], &f = surface_.edges[j];
  if (!edge_free_[i] && !edge_free_[j]) return false;
  if (e.a == f.a || e.a == f.b || e.b == f.a || e.b == f.b) return false;
  if (e.strand < 0 && f.strand < 0)
    return e.body != f.body || (options_.self_collision &&
                                apart_at_rest(edge_nodes({i, j}), e.radius + f.radius, closest_edge_edge_distance2));
  if (tied_to(e, f.body, e.radius + f.radius) || tied_to(f, e.body, e.radius + f.radius)) return false;
  if (e.strand >= 0 && f.strand >= 0 && !options_.self_collision) return false;
  if (e.strand != f.strand) return true;
  const double between = std::max(f.arc_a - e.arc_b, e.arc_a - f.arc_b);
  return between > kFolded * (e.radius + f.radius);
}

bool Detector::point_may_touch(int point, int triangle) const {
  const SurfacePoint& p = surface_.points[point];
  const SurfaceTriangle& t = surface_.triangles[triangle];
  if (p.node == t.a || p.node == t.b || p.node == t.c) return false;
  if (!point_free_[point] && fixed_[t.a] && fixed_[t.b] && fixed_[t.c]) return false;
  if (tied_to(p, t.body, p.radius + t.radius)) return false;
  return p.body != t.body ||
         (options_.self_collision &&
          apart_at_rest(point_nodes({point, triangle}), p.radius + t.radius, closest_point_triangle_distance2));
}

// On a mesh, what is nearer at rest than it can come by folding (as along a strand) never touches.
template <class Distance2>
bool Detector::apart_at_rest(const std::array<int, 4>& vertex, double radii, Distance2&& distance2) const {
  const double apart = kFolded * radii;
  const Vec3 &a = surface_.rest[vertex[0]], &b = surface_.rest[vertex[1]];
  const Vec3 &c = surface_.rest[vertex[2]], &d = surface_.rest[vertex[3]];
  return distance2(a, b, c, d) > apart * apart;
}

void Detector::begin_step(const Nodes& nodes, std::span<const Pose> pose_start, std::span<const Pose> pose_end,
                          double dt, std::span<const Vec3> v) {
  nodes_ = &nodes;
  const std::size_t vertices = nodes.x.size() + nodes.skin.size();
  x_.assign(nodes.x.begin(), nodes.x.end());
  fixed_.assign(nodes.fixed.begin(), nodes.fixed.end());
  for (std::size_t j = x_.size(); j < vertices; ++j) {
    x_.push_back(nodes.skin.at(static_cast<int>(j), nodes.x));
    double free_weight = 0;
    nodes.skin.for_each_node(static_cast<int>(j), [&](int node, double w) {
      if (!nodes.fixed[node]) free_weight += std::abs(w);
    });
    fixed_.push_back(free_weight <= kInterior);
  }
  pose_start_ = pose_start;
  pose_end_ = pose_end;
  dt_ = dt;
  broad_phases_ = 0;
  deep_contacts_ = 0;
  edge_free_.resize(surface_.edges.size());
  point_free_.resize(surface_.points.size());
  for (std::size_t i = 0; i < surface_.edges.size(); ++i)
    edge_free_[i] = !fixed_[surface_.edges[i].a] || !fixed_[surface_.edges[i].b];
  for (std::size_t i = 0; i < surface_.points.size(); ++i) point_free_[i] = !fixed_[surface_.points[i].node];
  collider_node_.assign(colliders_.size(), {});
  collider_edge_.assign(colliders_.size(), {});
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    collider_node_[c].assign(surface_.points.size(), 0);
    collider_edge_[c].assign(surface_.edges.size(), 0);
  }
  measure_colliders();
  follow(on_vertices(v));
}

void Detector::measure_colliders() {
  collider_start_.resize(colliders_.size());
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    const Pose to_local = inverse(pose_start_[c]);
    const Mat3 turn = to_local.rotation.toRotationMatrix(), turn_back = pose_end_[c].rotation.toRotationMatrix();
    collider_start_[c].resize(x_.size());
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, x_.size(), kVerticesPerChunk), [&](const auto& range) {
      for (std::size_t j = range.begin(); j < range.end(); ++j) {
        const Vec3 local = turn * x_[j] + to_local.position;
        const Vec3 carried = turn_back * local + pose_end_[c].position - x_[j];
        const double distance = sample_surface(colliders_[c], local).distance;
        collider_start_[c][j] = {carried.cast<float>(), static_cast<float>(distance - 1e-6 * std::abs(distance))};
      }
    });
  }
}

// Distance that is left at any time of the step, at least, when vertices move with v: the signed distance of a convex
// shape changes by no more than a point moves relative to it. Margins are for the rounding to floats.
double Detector::room_of_point(int collider, int vertex, std::span<const Vec3> v) const {
  const ColliderStart& start = collider_start_[collider][vertex];
  const Vec3 moved = dt_ * v[vertex];
  return start.distance - (1 + 1e-6) * (moved - start.carried.cast<double>()).norm() - 1e-6 * moved.norm();
}
double Detector::room_of_edge(int collider, const SurfaceEdge& e, std::span<const Vec3> v) const {
  const double a = room_of_point(collider, e.a, v), b = room_of_point(collider, e.b, v);
  const double at_a = collider_start_[collider][e.a].distance, at_b = collider_start_[collider][e.b].distance;
  const double moved = std::max(at_a - a, at_b - b);
  return 0.5 * (at_a + at_b - (x_[e.b] - x_[e.a]).norm()) - moved;
}

// Velocities of all vertices, those of the skin included.
std::span<const Vec3> Detector::on_vertices(std::span<const Vec3> v) {
  const Skin& skin = nodes_->skin;
  if (skin.size() == 0) return v;
  v_all_.assign(v.begin(), v.end());
  v_all_.resize(v.size() + skin.size());
  tbb::parallel_for(tbb::blocked_range<int>(0, skin.size(), 4096), [&](const auto& range) {
    for (int i = range.begin(); i < range.end(); ++i) v_all_[skin.base + i] = skin.at(skin.base + i, v);
  });
  return v_all_;
}

// The candidates hold for displacements within `expected_` of each vertex. Where one moves otherwise with v, that range
// grows, and candidates are added.
void Detector::follow(std::span<const Vec3> v) {
  if (broad_phases_ == 0) {
    expect(v);
    broad_phase();
    return;
  }
  grown_.assign(expected_.size(), 0);
  const std::size_t chunks = (expected_.size() + kVerticesPerChunk - 1) / kVerticesPerChunk;
  std::vector<std::uint8_t> any(chunks, 0);
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t chunk) {
    const std::size_t end = std::min(expected_.size(), (chunk + 1) * kVerticesPerChunk);
    for (std::size_t j = chunk * kVerticesPerChunk; j < end; ++j) {
      const Vec3 moved = dt_ * v[j];
      if (expected_[j].contains(moved)) continue;
      const Vec3 within = moved.cwiseMax(expected_[j].lo).cwiseMin(expected_[j].hi);
      Box range;
      range.merge(moved);
      range.inflate(slack_ + kGrowth * (moved - within).norm());
      expected_[j].merge(range);
      grown_[j] = any[chunk] = 1;
    }
  });
  if (std::find(any.begin(), any.end(), 1) != any.end()) extend_candidates();
}

// The slack is what iterates were off by in the last step, typically, and some of the radius: too little costs
// extensions, too much candidates.
void Detector::expect(std::span<const Vec3> v) {
  double sum2 = 0;
  largest_ = 0;
  for (std::size_t j = 0; j < v.size(); ++j) {
    sum2 += (dt_ * v[j]).squaredNorm();
    largest_ = std::max({largest_, x_[j].cwiseAbs().maxCoeff(), dt_ * v[j].cwiseAbs().maxCoeff()});
  }
  const double rms = std::sqrt(sum2 / static_cast<double>(std::max<std::size_t>(1, v.size())));
  slack_ = std::min(kTypicalSlack * rms, last_deviation_) + kRadiusSlack * mean_radius_;
  expected_.assign(v.size(), Box{});
  first_.resize(v.size());
  for (std::size_t j = 0; j < v.size(); ++j) {
    first_[j] = dt_ * v[j];
    expected_[j].merge(first_[j]);
    expected_[j].inflate(slack_);
  }
}

// Remembers by how much the step's end differs from what was expected.
void Detector::learn_slack(std::span<const Vec3> v) {
  double sum2 = 0;
  for (std::size_t j = 0; j < v.size(); ++j) sum2 += (dt_ * v[j] - first_[j]).squaredNorm();
  last_deviation_ = std::sqrt(sum2 / static_cast<double>(std::max<std::size_t>(1, v.size())));
}

// Half of the reach, and some more for rounding.
MovingBox Detector::box_of(std::initializer_list<int> vertices, double radius) const {
  Box start, sweep;
  for (const int j : vertices) {
    start.merge(x_[j]);
    sweep.merge(expected_[j]);
  }
  start.inflate(0.5 * reach(2 * radius) * (1 + 1e-6) + 1e-6 * largest_);
  return {start, sweep};
}
MovingBox Detector::box_of(const SurfaceEdge& e) const { return box_of({e.a, e.b}, e.radius); }
MovingBox Detector::box_of(const SurfacePoint& p) const { return box_of({p.node}, p.radius); }
MovingBox Detector::box_of(const SurfaceTriangle& t) const { return box_of({t.a, t.b, t.c}, t.radius); }

template <class Primitive>
void Detector::fit_boxes(std::span<const Primitive> primitives, std::vector<MovingBox>& boxes) const {
  boxes.resize(primitives.size());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, boxes.size(), kVerticesPerChunk), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) boxes[i] = box_of(primitives[i]);
  });
}

void Detector::broad_phase() {
  ++broad_phases_;
  edge_pairs_.clear();
  point_pairs_.clear();
  edge_distance_.clear();
  point_distance_.clear();
  fit_boxes<SurfaceEdge>(surface_.edges, edge_boxes_);
  edge_tree_.build(edge_boxes_);
  edge_tree_.self_pairs(
      edge_boxes_, [&](int i, int j) { return edges_may_touch(i, j); }, edge_pairs_);
  if (!surface_.triangles.empty()) {
    fit_boxes<SurfaceTriangle>(surface_.triangles, triangle_boxes_);
    fit_boxes<SurfacePoint>(surface_.points, point_boxes_);
    triangle_tree_.build(triangle_boxes_);
    point_tree_.build(point_boxes_);
    triangle_tree_.pairs_with(
        point_boxes_,
        [&](int p, int t) { return point_boxes_[p].may_meet(triangle_boxes_[t]) && point_may_touch(p, t); },
        point_pairs_);
  }
  measure_candidates();
}

// Primitives with a vertex whose box has grown, and their boxes before.
struct Detector::Changed {
  std::vector<int> index;
  std::vector<MovingBox> old, now;
  std::vector<int> rank;  // in index, or -1

  const MovingBox& before(int i, std::span<const MovingBox> boxes) const {
    return rank[i] >= 0 ? old[rank[i]] : boxes[i];
  }
};

template <class Primitive>
Detector::Changed Detector::refit_grown(std::span<const Primitive> primitives, std::vector<MovingBox>& boxes,
                                        Bvh& tree) const {
  Changed changed;
  changed.rank.assign(primitives.size(), -1);
  const auto has_grown = [&](const Primitive& p) {
    if constexpr (std::is_same_v<Primitive, SurfaceEdge>) return grown_[p.a] || grown_[p.b];
    if constexpr (std::is_same_v<Primitive, SurfacePoint>) return grown_[p.node] != 0;
    if constexpr (std::is_same_v<Primitive, SurfaceTriangle>) return grown_[p.a] || grown_[p.b] || grown_[p.c];
  };
  for (std::size_t i = 0; i < primitives.size(); ++i) {
    if (!has_grown(primitives[i])) continue;
    changed.rank[i] = static_cast<int>(changed.index.size());
    changed.index.push_back(static_cast<int>(i));
    changed.old.push_back(boxes[i]);
    boxes[i] = box_of(primitives[i]);
    changed.now.push_back(boxes[i]);
  }
  if (!changed.index.empty()) tree.refit(boxes);
  return changed;
}

// Pairs whose boxes have come to overlap.
void Detector::extend_candidates() {
  ++broad_phases_;
  std::vector<std::pair<int, int>> found;
  const Changed edges = refit_grown<SurfaceEdge>(surface_.edges, edge_boxes_, edge_tree_);
  edge_tree_.pairs_with(
      edges.now,
      [&](int k, int j) {
        const int i = edges.index[k];
        if (j == i || (edges.rank[j] >= 0 && edges.rank[j] < k)) return false;  // itself, or found from the other side
        return edge_boxes_[i].may_meet(edge_boxes_[j]) && !edges.old[k].may_meet(edges.before(j, edge_boxes_)) &&
               edges_may_touch(i, j);
      },
      found);
  for (const auto& [k, j] : found) edge_pairs_.push_back(std::minmax({edges.index[k], j}));

  if (!surface_.triangles.empty()) {
    const Changed triangles = refit_grown<SurfaceTriangle>(surface_.triangles, triangle_boxes_, triangle_tree_);
    const Changed points = refit_grown<SurfacePoint>(surface_.points, point_boxes_, point_tree_);
    const auto is_new = [&](int p, int t) {
      return point_boxes_[p].may_meet(triangle_boxes_[t]) &&
             !points.before(p, point_boxes_).may_meet(triangles.before(t, triangle_boxes_)) && point_may_touch(p, t);
    };
    triangle_tree_.pairs_with(
        points.now, [&](int k, int t) { return is_new(points.index[k], t); }, found);
    for (const auto& [k, t] : found) point_pairs_.emplace_back(points.index[k], t);
    point_tree_.pairs_with(
        triangles.now, [&](int k, int p) { return points.rank[p] < 0 && is_new(p, triangles.index[k]); }, found);
    for (const auto& [k, p] : found) point_pairs_.emplace_back(p, triangles.index[k]);
  }
  measure_candidates();
}

// Distances of new candidates at the start of the step, rounded down.
void Detector::measure_candidates() {
  const auto measure = [&](const std::vector<std::pair<int, int>>& pairs, std::vector<float>& distance,
                           std::vector<std::uint8_t>& known, auto&& distance_of) {
    const std::size_t old = distance.size();
    distance.resize(pairs.size());
    known.resize(pairs.size());
    tbb::parallel_for(tbb::blocked_range<std::size_t>(old, pairs.size(), kCandidatesPerChunk), [&](const auto& range) {
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        distance[i] = static_cast<float>(std::sqrt(distance_of(pairs[i])) * (1 - 1e-6));
        known[i] = 0;
      }
    });
  };
  measure(edge_pairs_, edge_distance_, edge_known_, [&](const std::pair<int, int>& pair) {
    const auto j = edge_nodes(pair);
    return closest_edge_edge(x_[j[0]], x_[j[1]], x_[j[2]], x_[j[3]]).distance2;
  });
  measure(point_pairs_, point_distance_, point_known_, [&](const std::pair<int, int>& pair) {
    const auto j = point_nodes(pair);
    return closest_point_triangle(x_[j[0]], x_[j[1]], x_[j[2]], x_[j[3]]).distance2;
  });
}

// How primitives move with v: all points of one lie within `radius` of the mean displacement.
void Detector::find_sweeps(std::span<const Vec3> v) {
  const auto fill = [&](auto&& primitives, std::vector<Sweep>& sweeps, auto&& vertices_of) {
    sweeps.resize(primitives.size());
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, sweeps.size(), kVerticesPerChunk), [&](const auto& range) {
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        const auto vertices = vertices_of(primitives[i]);
        Vec3 mean = Vec3::Zero();
        for (const int j : vertices) mean += v[j] / static_cast<double>(vertices.size());
        double radius = 0;
        for (const int j : vertices) radius = std::max(radius, (v[j] - mean).norm());
        radius += 1e-6 * mean.norm();  // rounding of the mean to floats
        sweeps[i] = {(dt_ * mean).template cast<float>(), static_cast<float>(dt_ * radius * (1 + 1e-6))};
      }
    });
  };
  fill(surface_.edges, edge_sweeps_, [](const SurfaceEdge& e) { return std::array<int, 2>{e.a, e.b}; });
  if (point_pairs_.empty()) return;
  fill(surface_.points, point_sweeps_, [](const SurfacePoint& p) { return std::array<int, 1>{p.node}; });
  fill(surface_.triangles, triangle_sweeps_, [](const SurfaceTriangle& t) {
    return std::array<int, 3>{t.a, t.b, t.c};
  });
}

// Runs test(i, out) over candidates in parallel chunks; contacts come out in the order of the candidates.
template <class Test>
void Detector::collect(std::size_t count, std::vector<Contact>& out, Test&& test) {
  const std::size_t chunks = (count + kCandidatesPerChunk - 1) / kCandidatesPerChunk;
  if (chunk_contacts_.size() < chunks) chunk_contacts_.resize(chunks);
  tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t chunk) {
    chunk_contacts_[chunk].clear();
    const std::size_t end = std::min(count, (chunk + 1) * kCandidatesPerChunk);
    for (std::size_t i = chunk * kCandidatesPerChunk; i < end; ++i) test(i, chunk_contacts_[chunk]);
  });
  for (std::size_t chunk = 0; chunk < chunks; ++chunk)
    out.insert(out.end(), chunk_contacts_[chunk].begin(), chunk_contacts_[chunk].end());
}

// Cohesion by the gap (once a pair), and B11's rebound where the pair meets within the step.
void Detector::finish(Contact& c) const {
  c.mobility = 0;
  c.for_each_node(nodes_->skin, [&](int node, double b) {
    if (!nodes_->fixed[node]) c.mobility = std::max(c.mobility, std::abs(b));
  });
  if (c.key.ordinal() == 0 && options_.cohesion > 0 && options_.cohesion_distance > 0)
    c.cohesion = options_.cohesion * std::clamp(1.0 - c.gap / options_.cohesion_distance, 0.0, 1.0);
  if (options_.restitution > 0) {
    Vec3 u = -c.surface_velocity;
    for (int j = 0; j < 4; ++j)
      if (c.node[j] != kNoNode) u += c.b[j] * nodes_->skin.at(c.node[j], nodes_->v);
    const double approach = -u.dot(c.n);
    if (approach * dt_ > std::max(c.gap, 0.0)) {
      c.gap = std::min(c.gap, 0.0);
      c.rebound = options_.restitution * approach;
    }
  }
}

Contact Detector::pair_contact(ContactKey key, const std::array<int, 4>& node, const std::array<double, 4>& b,
                               const Vec3& n, double radii, double mu) const {
  Contact c;
  c.key = key;
  c.n = n;
  c.mu = mu;
  c.rest_distance = radii;
  Vec3 h = Vec3::Zero();
  for (int j = 0; j < 4; ++j) {
    c.node[j] = node[j];
    c.b[j] = b[j];
    h += b[j] * x_[node[j]];
  }
  c.gap = h.dot(n) - radii;
  finish(c);
  return c;
}

namespace {

struct PairGeometry {
  std::array<double, 4> b;
  double distance;
  Vec3 n;
};

Vec3 normal_or(const Vec3& h, double distance, const Vec3& fallback) {
  if (distance > 1e-14) return h / distance;
  return fallback.squaredNorm() > 0 ? Vec3(fallback.normalized()) : Vec3::UnitZ();
}

PairGeometry edge_geometry(const std::array<Vec3, 4>& x) {
  const EdgeEdgeClosest c = closest_edge_edge(x[0], x[1], x[2], x[3]);
  const Vec3 h = (1 - c.s) * x[0] + c.s * x[1] - (1 - c.t) * x[2] - c.t * x[3];
  const double distance = std::sqrt(c.distance2);
  return {{1 - c.s, c.s, -(1 - c.t), -c.t}, distance, normal_or(h, distance, (x[1] - x[0]).cross(x[3] - x[2]))};
}

// The ends of the part of two edges that lies side by side.
std::array<PairGeometry, 2> shared_ends(const std::array<Vec3, 4>& x, const Vec3& fallback) {
  const auto onto = [](const Vec3& p, const Vec3& a, const Vec3& b) {
    const double length2 = (b - a).squaredNorm();
    return length2 > 0 ? std::clamp((p - a).dot(b - a) / length2, 0.0, 1.0) : 0.0;
  };
  std::array<PairGeometry, 2> ends;
  for (int k = 0; k < 2; ++k) {
    const double s = onto(x[2 + k], x[0], x[1]);
    const Vec3 p = (1 - s) * x[0] + s * x[1];
    const double t = onto(p, x[2], x[3]);
    const Vec3 h = p - (1 - t) * x[2] - t * x[3];
    const double distance = h.norm();
    ends[k] = {{1 - s, s, -(1 - t), -t}, distance, normal_or(h, distance, fallback)};
  }
  return ends;
}

// Whether two edges of strands touch side by side there: the normal is square to both. A node inside a strand counts
// for the edge that it starts.
bool side_by_side(const PairGeometry& at, const SurfaceEdge& e, const SurfaceEdge& f, const std::array<Vec3, 4>& x) {
  const bool left_to_next = (at.b[1] == 1.0 && e.next[1] >= 0) || (at.b[3] == -1.0 && f.next[1] >= 0);
  const auto square = [&](const Vec3& edge) { return std::abs(at.n.dot(edge)) <= kTilt * edge.norm(); };
  return !left_to_next && square(x[1] - x[0]) && square(x[3] - x[2]);
}

PairGeometry point_geometry(const std::array<Vec3, 4>& x) {
  const PointTriangleClosest c = closest_point_triangle(x[0], x[1], x[2], x[3]);
  const double b0 = c.b1 + c.b2 >= 1 - 1e-12 ? 0.0 : 1 - c.b1 - c.b2;
  const Vec3 h = x[0] - b0 * x[1] - c.b1 * x[2] - c.b2 * x[3];
  const double distance = std::sqrt(c.distance2);
  return {{1, -b0, -c.b1, -c.b2}, distance, normal_or(h, distance, (x[2] - x[1]).cross(x[3] - x[1]))};
}

std::array<Vec3, 4> mix(const std::array<Vec3, 4>& x_t0, const std::array<Vec3, 4>& x_t1, double t) {
  std::array<Vec3, 4> x;
  for (int j = 0; j < 4; ++j) x[j] = (1 - t) * x_t0[j] + t * x_t1[j];
  return x;
}

}  // namespace

namespace {
// Whether n, seen from the edge a b, leans over the face that has `opposite` as its third vertex.
bool leans_over(const Vec3& n, const Vec3& a, const Vec3& b, const Vec3& opposite) {
  const Vec3 along = (b - a).normalized();
  const Vec3 inward = (opposite - a) - (opposite - a).dot(along) * along;
  return n.dot(inward) > kTilt * inward.norm();
}
}  // namespace

// `where(node)` gives positions at the time of the contact; n points from the second edge to the first.
template <class Where>
bool Detector::edges_own(const std::pair<int, int>& pair, const Vec3& n, Where&& where) const {
  const auto owns = [&](const SurfaceEdge& e, const Vec3& outward) {
    return std::none_of(e.opposite.begin(), e.opposite.end(),
                        [&](int o) { return o >= 0 && leans_over(outward, where(e.a), where(e.b), where(o)); });
  };
  return owns(surface_.edges[pair.first], -n) && owns(surface_.edges[pair.second], n);
}

// Whether neither edge's neighbour along its strand is clearly nearer to the other edge: n points from the second to
// the first. Strands side by side are about as near all along, and every pair of edges keeps its contact.
bool Detector::strands_own(const std::pair<int, int>& pair, const std::array<double, 4>& b, const Vec3& n) const {
  const auto owns = [&](const SurfaceEdge& e, double at, const Vec3& towards_other) {
    const int end = at == 0.0 ? 0 : (at == 1.0 ? 1 : -1);
    if (end < 0 || e.next[end] < 0) return true;
    const Vec3 along = x_[e.next[end]] - x_[end == 0 ? e.a : e.b];
    return along.dot(towards_other) <= kTilt * along.norm();
  };
  const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
  return e.strand == f.strand || (owns(e, b[1], -n) && owns(f, -b[3], n));
}

// Whether a force at the contact can move anything.
bool Detector::movable(const std::array<int, 4>& node, const std::array<double, 4>& b) const {
  for (int j = 0; j < 4; ++j)
    if (!fixed_[node[j]] && std::abs(b[j]) > kInterior) return true;
  return false;
}

// n points from the triangle to the point; b holds minus its barycentric coordinates in [1], [2], [3].
template <class Where>
bool Detector::triangle_owns(int triangle, const std::array<double, 4>& b, const Vec3& n, Where&& where) const {
  const SurfaceTriangle& t = surface_.triangles[triangle];
  const std::array<int, 3> vertex{t.a, t.b, t.c};
  for (int k = 0; k < 3; ++k)  // on the edge across vertex k?
    if (b[1 + k] == 0.0 && t.opposite[k] >= 0 &&
        leans_over(n, where(vertex[(k + 1) % 3]), where(vertex[(k + 2) % 3]), where(t.opposite[k])))
      return false;
  return true;
}

std::vector<Contact> Detector::proximity() {
  std::vector<Contact> out;
  const auto at_start = [&](int node) -> const Vec3& { return x_[node]; };
  const auto start_of = [&](const std::array<int, 4>& node) {
    return std::array<Vec3, 4>{x_[node[0]], x_[node[1]], x_[node[2]], x_[node[3]]};
  };
  collect(edge_pairs_.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
    const auto& pair = edge_pairs_[i];
    const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
    const double radii = e.radius + f.radius;
    const auto node = edge_nodes(pair);
    if (edge_distance_[i] > reach(radii)) return;
    const auto x = start_of(node);
    const PairGeometry g = edge_geometry(x);
    if (g.distance > reach(radii) || !movable(node, g.b)) return;
    if (!edges_own(pair, g.n, at_start) || !strands_own(pair, g.b, g.n)) return;
    const auto add = [&](const PairGeometry& at) {
      found.push_back(pair_contact(ContactKey::make(ContactKey::edge_edge, pair.first, pair.second, edge_known_[i]++),
                                   node, at.b, at.n, radii, friction_(e.body, f.body)));
    };
    add(g);
    if (e.strand < 0 || f.strand < 0) return;
    // Side by side, the closest points jump from one end of the shared part to the other with the slightest turn, and
    // a tip would rock on them for ever: both ends are held.
    for (const PairGeometry& end : shared_ends(x, g.n))
      if (std::abs(end.b[1] - g.b[1]) > kApart && end.distance <= reach(radii) && side_by_side(end, e, f, x) &&
          movable(node, end.b))
        add(end);
  });
  collect(point_pairs_.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
    const auto& pair = point_pairs_[i];
    const SurfacePoint& p = surface_.points[pair.first];
    const SurfaceTriangle& t = surface_.triangles[pair.second];
    const double radii = p.radius + t.radius;
    const auto node = point_nodes(pair);
    if (point_distance_[i] > reach(radii)) return;
    const PairGeometry g = point_geometry(start_of(node));
    if (g.distance > reach(radii) || !movable(node, g.b) || !triangle_owns(pair.second, g.b, g.n, at_start)) return;
    point_known_[i] = 1;
    found.push_back(pair_contact(ContactKey::make(ContactKey::point_triangle, pair.first, pair.second, 0), node, g.b,
                                 g.n, radii, friction_(p.body, t.body)));
  });
  collider_proximity(out);
  std::sort(out.begin(), out.end(), [](const Contact& a, const Contact& b) { return a.key < b.key; });
  for (const Contact& c : out) deep_contacts_ += c.gap < -options_.max_recovery_speed * dt_;
  return out;
}

std::vector<Contact> Detector::continuous(std::span<const Vec3> v_nodes) {
  const auto v = on_vertices(v_nodes);
  follow(v);
  find_sweeps(v);
  std::vector<Contact> out;
  const auto motion_of = [&](const std::array<int, 4>& node, std::array<Vec3, 4>& x_t0, std::array<Vec3, 4>& x_t1) {
    for (int j = 0; j < 4; ++j) {
      x_t0[j] = x_[node[j]];
      x_t1[j] = end_of(node[j], v);
    }
  };
  const auto test = [&](std::uint8_t& known, const std::array<int, 4>& node, double radii, auto&& impact,
                        auto&& geometry, auto&& owns, ContactKey::Kind kind, const std::pair<int, int>& pair, double mu,
                        double distance, double approach, std::vector<Contact>& found) {
    if (known == kMaxContacts) return;
    if (distance - approach > (known > 0 ? caught_again(radii, distance) : radii)) return;
    std::array<Vec3, 4> x_t0, x_t1;
    motion_of(node, x_t0, x_t1);
    const double near = caught_again(radii, geometry(x_t0).distance);
    auto when = impact(x_t0, x_t1, known > 0 ? near : radii);
    if (!when) return;
    PairGeometry g = geometry(mix(x_t0, x_t1, *when));
    if (!owns(g, [&](int j) -> Vec3 { return x_[j] + *when * dt_ * v[j]; })) {
      // The feature that owns the contact should hold the pair apart. In a sharp crease it may not touch in time; then
      // the pair that is about to pass through is stopped itself.
      if (known == 0) when = impact(x_t0, x_t1, near);
      if (!when) return;
      g = geometry(mix(x_t0, x_t1, *when));
    }
    if (!movable(node, g.b)) return;
    found.push_back(pair_contact(ContactKey::make(kind, pair.first, pair.second, known), node, g.b, g.n, radii, mu));
    ++known;
  };
  collect(edge_pairs_.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
    const auto& pair = edge_pairs_[i];
    const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
    test(
        edge_known_[i], edge_nodes(pair), e.radius + f.radius, edge_edge_impact, edge_geometry,
        [&](const PairGeometry& g, auto&& where) { return edges_own(pair, g.n, where); }, ContactKey::edge_edge, pair,
        friction_(e.body, f.body), edge_distance_[i], edge_sweeps_[pair.first].approach(edge_sweeps_[pair.second]),
        found);
  });
  collect(point_pairs_.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
    const auto& pair = point_pairs_[i];
    const SurfacePoint& p = surface_.points[pair.first];
    const SurfaceTriangle& t = surface_.triangles[pair.second];
    test(
        point_known_[i], point_nodes(pair), p.radius + t.radius, point_triangle_impact, point_geometry,
        [&](const PairGeometry& g, auto&& where) { return triangle_owns(pair.second, g.b, g.n, where); },
        ContactKey::point_triangle, pair, friction_(p.body, t.body), point_distance_[i],
        point_sweeps_[pair.first].approach(triangle_sweeps_[pair.second]), found);
  });
  collider_continuous(v, out);
  std::sort(out.begin(), out.end(), [](const Contact& a, const Contact& b) { return a.key < b.key; });
  return out;
}

// A node (a == b) or the point at s of an edge, against the surface point below x_local, at time `when` of the step.
Contact Detector::collider_contact(ContactKey key, int collider, int a, int b, double s, const Vec3& x_local,
                                   double when, double radius, double mu) const {
  const SurfaceSample sample = sample_surface(colliders_[collider], x_local);
  const Vec3 below = x_local - sample.distance * sample.normal;
  const Pose &start = pose_start_[collider], &end = pose_end_[collider];
  Contact c;
  c.key = key;
  c.node[0] = a;
  c.b[0] = a == b ? 1.0 : 1.0 - s;
  if (a != b) {
    c.node[1] = b;
    c.b[1] = s;
  }
  c.n = start.rotation.slerp(when, end.rotation) * sample.normal;
  c.surface_velocity = (end.apply(below) - start.apply(below)) / dt_;
  Vec3 x = c.b[0] * x_[a];
  if (a != b) x += c.b[1] * x_[b];
  c.gap = (x - start.apply(below)).dot(c.n) - radius;
  c.mu = mu;
  c.rest_distance = radius;
  finish(c);
  return c;
}

void Detector::collider_proximity(std::vector<Contact>& out) {
  for (int c = 0; c < static_cast<int>(colliders_.size()); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    const Pose to_local = inverse(pose_start_[c]);
    const int body = first_collider_body_ + c;
    collect(surface_.points.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
      const SurfacePoint& p = surface_.points[i];
      if (!point_free_[i] || collider_start_[c][p.node].distance > reach(p.radius)) return;
      if (tied_to(p, body, p.radius)) return;
      const Vec3 x = to_local.apply(x_[p.node]);
      if (sample_surface(colliders_[c], x).distance > reach(p.radius)) return;
      collider_node_[c][i] = 1;
      found.push_back(collider_contact(
          ContactKey::make(ContactKey::node_collider, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(c), 0),
          c, p.node, p.node, 0, x, 0.0, p.radius, friction_(p.body, body)));
    });
    if (colliders_[c].shape == ColliderShape::plane) continue;
    collect(surface_.edges.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
      const SurfaceEdge& e = surface_.edges[i];
      if (!edge_free_[i]) return;
      if (tied_to(e, body, e.radius)) return;
      const double at_least = collider_start_[c][e.a].distance - (x_[e.b] - x_[e.a]).norm();
      if (at_least > reach(e.radius)) return;
      const Vec3 a = to_local.apply(x_[e.a]), b = to_local.apply(x_[e.b]);
      const double s = nearest_on_segment(colliders_[c], a, b);
      if (s < kInterior || s > 1 - kInterior) return;
      const Vec3 x = (1 - s) * a + s * b;
      const double distance = sample_surface(colliders_[c], x).distance;
      if (distance > reach(e.radius)) return;
      collider_edge_[c][i] = 1;
      found.push_back(collider_contact(
          ContactKey::make(ContactKey::edge_collider, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(c), 0),
          c, e.a, e.b, s, x, 0.0, e.radius, friction_(e.body, body)));
    });
  }
}

void Detector::collider_continuous(std::span<const Vec3> v, std::vector<Contact>& out) {
  for (int c = 0; c < static_cast<int>(colliders_.size()); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    const Collider& collider = colliders_[c];
    const Pose to_start = inverse(pose_start_[c]), to_end = inverse(pose_end_[c]);
    const int body = first_collider_body_ + c;
    // A primitive known already is caught again when its centreline is about to enter.
    const auto separation = [&](std::uint8_t known, double radius, const Vec3& x_t0) {
      return known > 0 ? caught_again(radius, sample_surface(collider, x_t0).distance) : radius;
    };
    collect(surface_.points.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
      const SurfacePoint& p = surface_.points[i];
      std::uint8_t& known = collider_node_[c][i];
      if (!point_free_[i] || known == kMaxContacts || room_of_point(c, p.node, v) > p.radius) return;
      if (tied_to(p, body, p.radius)) return;
      const Vec3 x_t0 = to_start.apply(x_[p.node]), x_t1 = to_end.apply(end_of(p.node, v));
      const auto when = segment_impact(collider, x_t0, x_t0, x_t1, x_t1, separation(known, p.radius, x_t0));
      if (!when) return;
      found.push_back(collider_contact(ContactKey::make(ContactKey::node_collider, static_cast<std::uint32_t>(i),
                                                        static_cast<std::uint32_t>(c), known),
                                       c, p.node, p.node, 0, (1 - *when) * x_t0 + *when * x_t1, *when, p.radius,
                                       friction_(p.body, body)));
      ++known;
    });
    if (collider.shape == ColliderShape::plane) continue;
    collect(surface_.edges.size(), out, [&](std::size_t i, std::vector<Contact>& found) {
      const SurfaceEdge& e = surface_.edges[i];
      std::uint8_t& known = collider_edge_[c][i];
      if (!edge_free_[i] || known == kMaxContacts || room_of_edge(c, e, v) > e.radius) return;
      if (tied_to(e, body, e.radius)) return;
      const Vec3 a_t0 = to_start.apply(x_[e.a]), b_t0 = to_start.apply(x_[e.b]);
      const Vec3 a_t1 = to_end.apply(end_of(e.a, v)), b_t1 = to_end.apply(end_of(e.b, v));
      const double s_t0 = known > 0 ? nearest_on_segment(collider, a_t0, b_t0) : 0.0;
      const auto when = segment_impact(collider, a_t0, b_t0, a_t1, b_t1,
                                       separation(known, e.radius, (1 - s_t0) * a_t0 + s_t0 * b_t0));
      if (!when) return;
      const Vec3 a = (1 - *when) * a_t0 + *when * a_t1, b = (1 - *when) * b_t0 + *when * b_t1;
      const double s = nearest_on_segment(collider, a, b);
      if (s < kInterior || s > 1 - kInterior) return;
      found.push_back(collider_contact(ContactKey::make(ContactKey::edge_collider, static_cast<std::uint32_t>(i),
                                                        static_cast<std::uint32_t>(c), known),
                                       c, e.a, e.b, s, (1 - s) * a + s * b, *when, e.radius, friction_(e.body, body)));
      ++known;
    });
  }
}

std::int64_t Detector::crossings(std::span<const Vec3> v_nodes) {
  const auto v = on_vertices(v_nodes);
  follow(v);
  find_sweeps(v);
  learn_slack(v);
  const auto count_in = [&](std::size_t count, auto&& test) {
    const std::size_t chunks = (count + kCandidatesPerChunk - 1) / kCandidatesPerChunk;
    std::vector<std::int64_t> sums(chunks, 0);
    tbb::parallel_for(std::size_t{0}, chunks, [&](std::size_t chunk) {
      const std::size_t end = std::min(count, (chunk + 1) * kCandidatesPerChunk);
      for (std::size_t i = chunk * kCandidatesPerChunk; i < end; ++i) sums[chunk] += test(i);
    });
    std::int64_t sum = 0;
    for (const std::int64_t s : sums) sum += s;
    return sum;
  };
  const auto passes = [&](const std::array<int, 4>& node, auto&& impact) {
    std::array<Vec3, 4> x_t0, x_t1;
    for (int j = 0; j < 4; ++j) {
      x_t0[j] = x_[node[j]];
      x_t1[j] = end_of(node[j], v);
    }
    return impact(x_t0, x_t1, 0.0) ? 1 : 0;
  };
  std::int64_t sum = count_in(edge_pairs_.size(), [&](std::size_t i) {
    const auto& pair = edge_pairs_[i];
    if (edge_distance_[i] > edge_sweeps_[pair.first].approach(edge_sweeps_[pair.second])) return 0;
    return passes(edge_nodes(pair), edge_edge_impact);
  });
  sum += count_in(point_pairs_.size(), [&](std::size_t i) {
    const auto& pair = point_pairs_[i];
    if (point_distance_[i] > point_sweeps_[pair.first].approach(triangle_sweeps_[pair.second])) return 0;
    return passes(point_nodes(pair), point_triangle_impact);
  });
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    const Pose to_start = inverse(pose_start_[c]), to_end = inverse(pose_end_[c]);
    sum += count_in(surface_.edges.size(), [&](std::size_t i) {
      const SurfaceEdge& e = surface_.edges[i];
      if (!edge_free_[i] || room_of_edge(static_cast<int>(c), e, v) > 0) return 0;
      if (tied_to(e, first_collider_body_ + static_cast<int>(c), e.radius)) return 0;
      const Vec3 a_t0 = to_start.apply(x_[e.a]), b_t0 = to_start.apply(x_[e.b]);
      const double s_t0 = nearest_on_segment(colliders_[c], a_t0, b_t0);
      if (sample_surface(colliders_[c], (1 - s_t0) * a_t0 + s_t0 * b_t0).distance <= 0) return 0;  // was in already
      const Vec3 a_t1 = to_end.apply(end_of(e.a, v)), b_t1 = to_end.apply(end_of(e.b, v));
      return segment_impact(colliders_[c], a_t0, b_t0, a_t1, b_t1, 0.0) ? 1 : 0;
    });
  }
  return sum;
}

double Detector::max_penetration(std::span<const Contact> contacts, std::span<const Vec3> v_nodes) {
  const auto v = on_vertices(v_nodes);
  double worst = 0;
  for (const Contact& c : contacts) {
    double distance = 0;
    if (c.key.kind() == ContactKey::edge_edge || c.key.kind() == ContactKey::point_triangle) {
      std::array<Vec3, 4> x;
      for (int j = 0; j < 4; ++j) x[j] = end_of(c.node[j], v);
      distance = c.key.kind() == ContactKey::edge_edge ? edge_geometry(x).distance : point_geometry(x).distance;
    } else {
      const int collider = static_cast<int>(c.key.b());
      Vec3 x = c.b[0] * end_of(c.node[0], v);
      if (c.node[1] != kNoNode) x += c.b[1] * end_of(c.node[1], v);
      distance = sample_surface(colliders_[collider], inverse(pose_end_[collider]).apply(x)).distance;
    }
    worst = std::max(worst, c.rest_distance - distance);
  }
  return worst;
}

}  // namespace stiction
