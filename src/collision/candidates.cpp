#include "collision/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collision/pair_geometry.hpp"
#include "collision/rules.hpp"
#include "geometry/distance.hpp"
#include "parallel/loops.hpp"
#include "parallel/stopwatch.hpp"

namespace stiction {

namespace {

constexpr double kTypicalSlack = 0.05;  // of the root mean square displacement: slack that a step starts with, at most
constexpr double kRadiusSlack = 0.05;   // of the mean radius, added to it
constexpr double kFirstDeviation = 5;   // mean radii: what the first step expects to be off by
constexpr double kGrowth = 0.15;        // of a deviation from the expected displacements: slack about the new ones

std::array<int, 2> vertices_of(const SurfaceEdge& e) { return {e.a, e.b}; }
std::array<int, 1> vertices_of(const SurfacePoint& p) { return {p.node}; }
std::array<int, 3> vertices_of(const SurfaceTriangle& t) { return {t.a, t.b, t.c}; }

double edge_edge_distance2(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  return closest_edge_edge(a, b, c, d).distance2;
}
double point_triangle_distance2(const Vec3& x, const Vec3& a, const Vec3& b, const Vec3& c) {
  return closest_point_triangle(x, a, b, c).distance2;
}

}  // namespace

// Rounded towards zero.
Direction Direction::of(const Vec3& unit) {
  Direction d;
  for (int k = 0; k < 3; ++k) d.n[k] = static_cast<std::int16_t>(32766.99 * unit[k]);
  return d;
}

Candidates::Candidates(const Surface& surface, const StepVertices& vertices, const ContactOptions& options)
    : surface_(surface), vertices_(vertices), options_(options) {
  for (const SurfacePoint& p : surface_.points) mean_radius_ += p.radius / static_cast<double>(surface_.points.size());
  last_deviation_ = kFirstDeviation * mean_radius_;
}

std::array<int, 4> Candidates::edge_vertices(const std::pair<int, int>& pair) const {
  const SurfaceEdge &e = surface_.edges[pair.first], &f = surface_.edges[pair.second];
  return {e.a, e.b, f.a, f.b};
}

std::array<int, 4> Candidates::point_vertices(const std::pair<int, int>& pair) const {
  const SurfaceTriangle& t = surface_.triangles[pair.second];
  return {surface_.points[pair.first].node, t.a, t.b, t.c};
}

bool Candidates::edges_may_touch(int i, int j) const {
  const SurfaceEdge &e = surface_.edges[i], &f = surface_.edges[j];
  if (!vertices_.edge_free[i] && !vertices_.edge_free[j]) return false;
  if (e.a == f.a || e.a == f.b || e.b == f.a || e.b == f.b) return false;
  if (e.strand < 0 && f.strand < 0)
    return e.body != f.body ||
           (options_.self_collision && apart_at_rest(edge_vertices({i, j}), e.radius + f.radius, edge_edge_distance2));
  if (tied_to(e, f.body, e.radius + f.radius) || tied_to(f, e.body, e.radius + f.radius)) return false;
  if (e.strand >= 0 && f.strand >= 0 && !options_.self_collision) return false;
  if (e.strand != f.strand) return true;
  const double between = std::max(f.arc_a - e.arc_b, e.arc_a - f.arc_b);
  return between > kFolded * (e.radius + f.radius);
}

bool Candidates::point_may_touch(int point, int triangle) const {
  const SurfacePoint& p = surface_.points[point];
  const SurfaceTriangle& t = surface_.triangles[triangle];
  const auto& fixed = vertices_.fixed;
  if (p.node == t.a || p.node == t.b || p.node == t.c) return false;
  if (!vertices_.point_free[point] && fixed[t.a] && fixed[t.b] && fixed[t.c]) return false;
  if (tied_to(p, t.body, p.radius + t.radius)) return false;
  return p.body != t.body || (options_.self_collision && apart_at_rest(point_vertices({point, triangle}),
                                                                       p.radius + t.radius, point_triangle_distance2));
}

// On a mesh, what is nearer at rest than it can come by folding (as along a strand) never touches.
template <class Distance2>
bool Candidates::apart_at_rest(const std::array<int, 4>& vertex, double radii, Distance2&& distance2) const {
  const double apart = kFolded * radii;
  const Vec3 &a = surface_.rest[vertex[0]], &b = surface_.rest[vertex[1]];
  const Vec3 &c = surface_.rest[vertex[2]], &d = surface_.rest[vertex[3]];
  return distance2(a, b, c, d) > apart * apart;
}

void Candidates::begin_step(std::span<const Vec3> v) {
  broad_phases_ = 0;
  broad_seconds_ = 0;
  expect(v);
  search();
}

// Seen across edge e, towards the middle of f: boxes of fibres are mostly empty, and of the pairs whose boxes meet less
// than a third do in this sense. The direction of the closest points would tell a little more and costs far more.
// Lengths along `across` are so many times longer as it is.
bool Candidates::may_meet_across(const MovingEdge& e, const MovingEdge& f, float reach) {
  const Eigen::Vector3f between = f.middle - e.middle;
  const Eigen::Vector3f across = between - (between.dot(e.half) * e.per_half2) * e.half;
  const float scale = across.norm();
  const float apart = across.dot(between) - std::abs(across.dot(f.half)) - std::abs(across.dot(e.half));
  const float parting = std::min(across.dot(f.move[0]), across.dot(f.move[1])) -
                        std::max(across.dot(e.move[0]), across.dot(e.move[1])) - scale * (e.slack + f.slack);
  return apart + std::min(0.0f, parting) <= scale * reach;
}

bool Candidates::edges_may_meet(int i, int j) const {
  const MovingEdge &e = moving_edges_[i], &f = moving_edges_[j];
  const double rounding = 2e-6 * largest_;
  const auto reach = static_cast<float>(contact_reach(options_, e.radius + f.radius) + rounding);
  return may_meet_across(e, f, reach) && may_meet_across(f, e, reach);
}

// The candidates hold for displacements as `expected_` of each vertex. Where one moves otherwise with v, what is
// expected follows, and candidates are added. Where it was before is not kept: iterates come from afar together, and
// all that lies about their way would become pairs.
void Candidates::follow(std::span<const Vec3> v) {
  vertex_left_.resize(expected_.size());
  const auto left = sum_in_chunks(expected_.size(), std::size_t{0}, [&](std::size_t j) {
    const Vec3 moved = vertices_.dt * v[j];
    const double beyond = (moved - expected_[j].displacement).norm() - expected_[j].slack;
    vertex_left_[j] = beyond > 0;
    if (vertex_left_[j]) expected_[j] = {moved, slack_ + kGrowth * beyond};
    return static_cast<std::size_t>(vertex_left_[j]);
  });
  if (left > 0) extend();
  find_motion(v);
}

// The slack is what iterates were off by in the last step, typically, and some of the radius: too little costs
// extensions, too much candidates.
void Candidates::expect(std::span<const Vec3> v) {
  const std::size_t count = v.size();
  const double dt = vertices_.dt;
  expected_.resize(count);
  first_.resize(count);
  const double sum2 = sum_in_chunks(count, 0.0, [&](std::size_t j) {
    first_[j] = dt * v[j];
    return first_[j].squaredNorm();
  });
  largest_ = max_in_chunks(count, [&](std::size_t j) {
    return std::max(vertices_.x[j].cwiseAbs().maxCoeff(), first_[j].cwiseAbs().maxCoeff());
  });
  const double rms = std::sqrt(sum2 / static_cast<double>(std::max<std::size_t>(1, count)));
  slack_ = std::min(kTypicalSlack * rms, last_deviation_) + kRadiusSlack * mean_radius_;
  for_each_index(count, [&](std::size_t j) { expected_[j] = {first_[j], slack_}; });
}

void Candidates::learn_slack(std::span<const Vec3> v) {
  const double sum2 =
      sum_in_chunks(v.size(), 0.0, [&](std::size_t j) { return (vertices_.dt * v[j] - first_[j]).squaredNorm(); });
  last_deviation_ = std::sqrt(sum2 / static_cast<double>(std::max<std::size_t>(1, v.size())));
}

// Half of the reach, and some more for rounding.
template <class Primitive>
MovingBox Candidates::box_of(const Primitive& p) const {
  Box start, sweep;
  for (const int j : vertices_of(p)) {
    start.merge(vertices_.x[j]);
    sweep.merge(expected_[j].box());
  }
  start.inflate(0.5 * contact_reach(options_, 2 * p.radius) * (1 + 1e-6) + 1e-6 * largest_);
  return {start, sweep};
}

Candidates::MovingEdge Candidates::moving(const SurfaceEdge& e) const {
  const Vec3 &a = vertices_.x[e.a], &b = vertices_.x[e.b];
  const Expected &of_a = expected_[e.a], &of_b = expected_[e.b];
  const Vec3 half = 0.5 * (b - a);
  return {(0.5 * (a + b)).cast<float>(),
          half.cast<float>(),
          {of_a.displacement.cast<float>(), of_b.displacement.cast<float>()},
          static_cast<float>(1 / std::max(half.squaredNorm(), 1e-30)),
          static_cast<float>(std::max(of_a.slack, of_b.slack)),
          static_cast<float>(e.radius)};
}

template <class Primitive>
void Candidates::build(std::span<const Primitive> primitives, Boxes& boxes) const {
  boxes.box.resize(primitives.size());
  for_each_index(primitives.size(), [&](std::size_t i) { boxes.box[i] = box_of(primitives[i]); });
  boxes.tree.build(boxes.box);
}

void Candidates::search() {
  const Stopwatch watch(broad_seconds_);
  ++broad_phases_;
  build<SurfaceEdge>(surface_.edges, edge_boxes_);
  moving_edges_.resize(surface_.edges.size());
  for_each_index(moving_edges_.size(), [&](std::size_t i) { moving_edges_[i] = moving(surface_.edges[i]); });
  edge_boxes_.tree.self_pairs(
      edge_boxes_.box, [&](int i, int j) { return edges_may_meet(i, j) && edges_may_touch(i, j); }, edge_pairs_.pair);
  if (!surface_.triangles.empty()) {
    build<SurfaceTriangle>(surface_.triangles, triangle_boxes_);
    build<SurfacePoint>(surface_.points, point_boxes_);
    triangle_boxes_.tree.pairs_with(
        point_boxes_.box, [&](int p, int t) { return point_may_touch(p, t); }, point_pairs_.pair);
  }
  for (CandidatePairs* pairs : {&edge_pairs_, &point_pairs_}) {
    pairs->listed.clear();
    list(*pairs, 0);
  }
}

template <class Primitive>
void Candidates::refit_changed(std::span<const Primitive> primitives, Boxes& boxes) const {
  Changed& changed = boxes.changed;
  const auto has_changed = [&](std::size_t i) {
    const auto vertices = vertices_of(primitives[i]);
    return std::any_of(vertices.begin(), vertices.end(), [&](int j) { return vertex_left_[j] != 0; });
  };
  changed.chunk_rank.assign(chunk_count(primitives.size()) + 1, 0);
  for_each_chunk(primitives.size(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) count += has_changed(i);
    changed.chunk_rank[chunk + 1] = count;
  });
  for (std::size_t chunk = 1; chunk < changed.chunk_rank.size(); ++chunk)
    changed.chunk_rank[chunk] += changed.chunk_rank[chunk - 1];
  changed.count = changed.chunk_rank.back();
  grow_to(changed.index, changed.count);
  grow_to(changed.box, changed.count);
  changed.rank.resize(primitives.size());
  for_each_chunk(primitives.size(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    std::size_t rank = changed.chunk_rank[chunk];
    for (std::size_t i = begin; i < end; ++i) {
      changed.rank[i] = -1;
      if (!has_changed(i)) continue;
      changed.rank[i] = static_cast<int>(rank);
      changed.index[rank] = static_cast<int>(i);
      boxes.box[i] = changed.box[rank] = box_of(primitives[i]);
      ++rank;
    }
  });
  if (changed.count > 0) boxes.tree.refit(boxes.box);
}

// Pairs that may meet and are not listed yet.
void Candidates::extend() {
  const Stopwatch watch(broad_seconds_);
  ++broad_phases_;
  refit_changed<SurfaceEdge>(surface_.edges, edge_boxes_);
  const Changed& edges = edge_boxes_.changed;
  for_each_index(edges.count, [&](std::size_t k) {
    const int i = edges.index[k];
    moving_edges_[i] = moving(surface_.edges[i]);
  });
  edge_boxes_.tree.pairs_with(
      edges.boxes(),
      [&](int k, int j) {
        const int i = edges.index[k];
        if (j == i || (edges.rank[j] >= 0 && edges.rank[j] < k)) return false;  // itself, or found from the other side
        return edges_may_meet(i, j) && !edge_pairs_.listed.contains(std::minmax(i, j)) && edges_may_touch(i, j);
      },
      found_);
  add_found(edge_pairs_, [&](const std::pair<int, int>& f) { return std::minmax({edges.index[f.first], f.second}); });

  if (surface_.triangles.empty()) return;
  refit_changed<SurfaceTriangle>(surface_.triangles, triangle_boxes_);
  refit_changed<SurfacePoint>(surface_.points, point_boxes_);
  const Changed &triangles = triangle_boxes_.changed, &points = point_boxes_.changed;
  const auto is_new = [&](int p, int t) { return !point_pairs_.listed.contains({p, t}) && point_may_touch(p, t); };
  triangle_boxes_.tree.pairs_with(
      points.boxes(), [&](int k, int t) { return is_new(points.index[k], t); }, found_);
  add_found(point_pairs_, [&](const std::pair<int, int>& f) -> std::pair<int, int> {
    return {points.index[f.first], f.second};
  });
  point_boxes_.tree.pairs_with(
      triangles.boxes(), [&](int k, int p) { return points.rank[p] < 0 && is_new(p, triangles.index[k]); }, found_);
  add_found(point_pairs_, [&](const std::pair<int, int>& f) -> std::pair<int, int> {
    return {f.second, triangles.index[f.first]};
  });
}

// Adds pair_of(found pair) for each that was found.
template <class PairOf>
void Candidates::add_found(CandidatePairs& pairs, PairOf&& pair_of) {
  const std::size_t old = pairs.size();
  pairs.pair.resize(old + found_.size());
  for_each_index(found_.size(), [&](std::size_t i) { pairs.pair[old + i] = pair_of(found_[i]); });
  list(pairs, old);
}

// Completes the candidates from `from` on: how far apart they start, and in which direction.
void Candidates::list(CandidatePairs& pairs, std::size_t from) {
  pairs.direction.resize(pairs.size());
  pairs.apart.resize(pairs.size());
  pairs.known.resize(pairs.size());
  const bool are_edges = &pairs == &edge_pairs_;
  const int first_count = are_edges ? 2 : 1;
  for_each_index(pairs.size() - from, [&](std::size_t k) {
    const std::size_t i = from + k;
    const std::array<int, 4> j = are_edges ? edge_vertices(pairs.pair[i]) : point_vertices(pairs.pair[i]);
    const std::array<Vec3, 4> x{vertices_.x[j[0]], vertices_.x[j[1]], vertices_.x[j[2]], vertices_.x[j[3]]};
    pairs.direction[i] = Direction::of((are_edges ? edge_geometry(x) : point_geometry(x)).n);
    const Vec3 n = pairs.direction[i].vector().cast<double>();
    double apart = std::numeric_limits<double>::infinity();
    for (int a = 0; a < first_count; ++a)
      for (int b = first_count; b < 4; ++b) apart = std::min(apart, n.dot(x[a] - x[b]));
    pairs.apart[i] = static_cast<float>(apart - 1e-6 * std::abs(apart));
    pairs.known[i] = 0;
  });
  pairs.listed.insert(std::span(pairs.pair).subspan(from));
}

void Candidates::find_motion(std::span<const Vec3> v) {
  const double dt = vertices_.dt;
  const auto fill = [&](const auto& primitives, auto& motions) {
    motions.resize(primitives.size());
    for_each_index(motions.size(), [&](std::size_t i) {
      const auto vertices = vertices_of(primitives[i]);
      for (std::size_t k = 0; k < vertices.size(); ++k)
        motions[i].vertex[k] = (dt * v[vertices[k]]).template cast<float>();
    });
  };
  fill(surface_.edges, edge_motion_);
  rounding_ = static_cast<float>(1e-6 * dt *
                                 std::sqrt(max_in_chunks(v.size(), [&](std::size_t j) { return v[j].squaredNorm(); })));
  if (point_pairs_.size() == 0) return;
  fill(surface_.points, point_motion_);
  fill(surface_.triangles, triangle_motion_);
}

}  // namespace stiction
