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
constexpr double kGrowth = 0.25;        // of a deviation from the expected displacements: slack beyond it

std::array<int, 2> vertices_of(const SurfaceEdge& e) { return {e.a, e.b}; }
std::array<int, 1> vertices_of(const SurfacePoint& p) { return {p.node}; }
std::array<int, 3> vertices_of(const SurfaceTriangle& t) { return {t.a, t.b, t.c}; }

double edge_edge_distance2(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  return closest_edge_edge(a, b, c, d).distance2;
}
double point_triangle_distance2(const Vec3& x, const Vec3& a, const Vec3& b, const Vec3& c) {
  return closest_point_triangle(x, a, b, c).distance2;
}

// The least that a point gains along n by a displacement within `range`.
double least_along(const Vec3& n, const Box& range) {
  return n.cwiseProduct(range.lo).cwiseMin(n.cwiseProduct(range.hi)).sum();
}

// Adds pair_of(found pair) for each of them.
template <class PairOf>
void append(std::vector<std::pair<int, int>>& pairs, std::span<const std::pair<int, int>> found, PairOf&& pair_of) {
  const std::size_t old = pairs.size();
  pairs.resize(old + found.size());
  for_each_index(found.size(), [&](std::size_t i) { pairs[old + i] = pair_of(found[i]); });
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

// Whether, along `n`, points that are `apart` at the start and move within these ranges may come within the reach.
bool Candidates::may_close(const Vec3& n, double apart, std::span<const Box> ranges, std::span<const int> ahead,
                           std::span<const int> behind, double radii) const {
  double first = std::numeric_limits<double>::infinity(), second = first;
  for (const int j : ahead) first = std::min(first, least_along(n, ranges[j]));
  for (const int j : behind) second = std::min(second, least_along(-n, ranges[j]));
  const double rounding = 2e-6 * largest_;
  return apart + std::min(0.0, first + second) - rounding <= contact_reach(options_, radii);
}

// Seen across edge e, towards the middle of f: boxes of fibres are mostly empty, and of the pairs whose boxes meet less
// than a third do in this sense. The direction of the closest points would tell a little more and costs far more.
bool Candidates::may_meet_across(const SurfaceEdge& e, const SurfaceEdge& f, std::span<const Box> ranges) const {
  const auto& x = vertices_.x;
  const Vec3 along = x[e.b] - x[e.a], half = 0.5 * (x[f.b] - x[f.a]);
  const Vec3 between = 0.5 * (x[f.a] + x[f.b] - x[e.a] - x[e.b]);
  const Vec3 across = between - (between.dot(along) / std::max(along.squaredNorm(), 1e-300)) * along;
  const double distance = across.norm();
  if (distance < contact_reach(options_, e.radius + f.radius)) return true;
  const Vec3 n = across / distance;
  return may_close(n, distance - std::abs(n.dot(half)), ranges, vertices_of(f), vertices_of(e), e.radius + f.radius);
}

bool Candidates::edges_may_meet(int i, int j, std::span<const Box> ranges) const {
  const SurfaceEdge &e = surface_.edges[i], &f = surface_.edges[j];
  return may_meet_across(e, f, ranges) && may_meet_across(f, e, ranges);
}

// The candidates hold for displacements within `expected_` of each vertex. Where one moves otherwise with v, that range
// grows, and candidates are added.
void Candidates::follow(std::span<const Vec3> v) {
  vertex_grown_.resize(expected_.size());
  copy_in_chunks(expected_, expected_before_);
  const auto grown = sum_in_chunks(expected_.size(), std::size_t{0}, [&](std::size_t j) {
    const Vec3 moved = vertices_.dt * v[j];
    vertex_grown_[j] = !expected_[j].contains(moved);
    if (!vertex_grown_[j]) return 0;
    const Vec3 within = moved.cwiseMax(expected_[j].lo).cwiseMin(expected_[j].hi);
    Box range;
    range.merge(moved);
    range.inflate(slack_ + kGrowth * (moved - within).norm());
    expected_[j].merge(range);
    return 1;
  });
  if (grown > 0) extend();
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
  for_each_index(count, [&](std::size_t j) {
    expected_[j] = Box{first_[j], first_[j]};
    expected_[j].inflate(slack_);
  });
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
    sweep.merge(expected_[j]);
  }
  start.inflate(0.5 * contact_reach(options_, 2 * p.radius) * (1 + 1e-6) + 1e-6 * largest_);
  return {start, sweep};
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
  edge_boxes_.tree.self_pairs(
      edge_boxes_.box, [&](int i, int j) { return edges_may_touch(i, j) && edges_may_meet(i, j, expected_); },
      edge_pairs_.pair);
  if (!surface_.triangles.empty()) {
    build<SurfaceTriangle>(surface_.triangles, triangle_boxes_);
    build<SurfacePoint>(surface_.points, point_boxes_);
    triangle_boxes_.tree.pairs_with(
        point_boxes_.box,
        [&](int p, int t) { return point_boxes_.box[p].may_meet(triangle_boxes_.box[t]) && point_may_touch(p, t); },
        point_pairs_.pair);
  }
  measure(0, 0);
}

template <class Primitive>
void Candidates::refit_grown(std::span<const Primitive> primitives, Boxes& boxes) const {
  Grown& grown = boxes.grown;
  const auto has_grown = [&](std::size_t i) {
    const auto vertices = vertices_of(primitives[i]);
    return std::any_of(vertices.begin(), vertices.end(), [&](int j) { return vertex_grown_[j] != 0; });
  };
  grown.chunk_rank.assign(chunk_count(primitives.size()) + 1, 0);
  for_each_chunk(primitives.size(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    std::size_t count = 0;
    for (std::size_t i = begin; i < end; ++i) count += has_grown(i);
    grown.chunk_rank[chunk + 1] = count;
  });
  for (std::size_t chunk = 1; chunk < grown.chunk_rank.size(); ++chunk)
    grown.chunk_rank[chunk] += grown.chunk_rank[chunk - 1];
  grown.count = grown.chunk_rank.back();
  grow_to(grown.index, grown.count);
  grow_to(grown.before, grown.count);
  grow_to(grown.after, grown.count);
  grown.rank.resize(primitives.size());
  for_each_chunk(primitives.size(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    std::size_t rank = grown.chunk_rank[chunk];
    for (std::size_t i = begin; i < end; ++i) {
      grown.rank[i] = -1;
      if (!has_grown(i)) continue;
      grown.rank[i] = static_cast<int>(rank);
      grown.index[rank] = static_cast<int>(i);
      grown.before[rank] = boxes.box[i];
      boxes.box[i] = grown.after[rank] = box_of(primitives[i]);
      ++rank;
    }
  });
  if (grown.count > 0) boxes.tree.refit(boxes.box);
}

// Pairs that have come to meet.
void Candidates::extend() {
  const Stopwatch watch(broad_seconds_);
  ++broad_phases_;
  const std::size_t edges_before = edge_pairs_.size(), points_before = point_pairs_.size();
  refit_grown<SurfaceEdge>(surface_.edges, edge_boxes_);
  const Grown& edges = edge_boxes_.grown;
  edge_boxes_.tree.pairs_with(
      edge_boxes_.grown_boxes(),
      [&](int k, int j) {
        const int i = edges.index[k];
        if (j == i || (edges.rank[j] >= 0 && edges.rank[j] < k)) return false;  // itself, or found from the other side
        if (!edge_boxes_.box[i].may_meet(edge_boxes_.box[j]) || !edges_may_touch(i, j)) return false;
        if (!edges_may_meet(i, j, expected_)) return false;
        return !edges.before[k].may_meet(edge_boxes_.before(j)) || !edges_may_meet(i, j, expected_before_);
      },
      found_);
  append(edge_pairs_.pair, found_, [&](const std::pair<int, int>& f) -> std::pair<int, int> {
    return std::minmax({edges.index[f.first], f.second});
  });

  if (!surface_.triangles.empty()) {
    refit_grown<SurfaceTriangle>(surface_.triangles, triangle_boxes_);
    refit_grown<SurfacePoint>(surface_.points, point_boxes_);
    const Grown &triangles = triangle_boxes_.grown, &points = point_boxes_.grown;
    const auto is_new = [&](int p, int t) {
      return point_boxes_.box[p].may_meet(triangle_boxes_.box[t]) &&
             !point_boxes_.before(p).may_meet(triangle_boxes_.before(t)) && point_may_touch(p, t);
    };
    triangle_boxes_.tree.pairs_with(
        point_boxes_.grown_boxes(), [&](int k, int t) { return is_new(points.index[k], t); }, found_);
    append(point_pairs_.pair, found_, [&](const std::pair<int, int>& f) -> std::pair<int, int> {
      return {points.index[f.first], f.second};
    });
    point_boxes_.tree.pairs_with(
        triangle_boxes_.grown_boxes(),
        [&](int k, int p) { return points.rank[p] < 0 && is_new(p, triangles.index[k]); }, found_);
    append(point_pairs_.pair, found_, [&](const std::pair<int, int>& f) -> std::pair<int, int> {
      return {f.second, triangles.index[f.first]};
    });
  }
  measure(edges_before, points_before);
}

// How far apart new candidates start, and in which direction.
void Candidates::measure(std::size_t edges_from, std::size_t points_from) {
  const auto measure_from = [&](std::size_t from, CandidatePairs& pairs, int first_count, auto&& vertices_of_pair,
                                auto&& geometry) {
    pairs.direction.resize(pairs.size());
    pairs.apart.resize(pairs.size());
    pairs.known.resize(pairs.size());
    for_each_index(pairs.size() - from, [&](std::size_t k) {
      const std::size_t i = from + k;
      const std::array<int, 4> j = vertices_of_pair(pairs.pair[i]);
      const std::array<Vec3, 4> x{vertices_.x[j[0]], vertices_.x[j[1]], vertices_.x[j[2]], vertices_.x[j[3]]};
      pairs.direction[i] = Direction::of(geometry(x).n);
      const Vec3 n = pairs.direction[i].vector().cast<double>();
      double apart = std::numeric_limits<double>::infinity();
      for (int a = 0; a < first_count; ++a)
        for (int b = first_count; b < 4; ++b) apart = std::min(apart, n.dot(x[a] - x[b]));
      pairs.apart[i] = static_cast<float>(apart - 1e-6 * std::abs(apart));
      pairs.known[i] = 0;
    });
  };
  measure_from(
      edges_from, edge_pairs_, 2, [&](const auto& pair) { return edge_vertices(pair); }, edge_geometry);
  measure_from(
      points_from, point_pairs_, 1, [&](const auto& pair) { return point_vertices(pair); }, point_geometry);
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
