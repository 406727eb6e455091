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
constexpr std::size_t kUsualPairs = 250;          // of an edge or vertex: hair that falls on hair at 5 m/s has fewer
constexpr std::size_t kAlwaysPairs = 10'000'000;  // that there is memory for in any scene
constexpr double kGrowth = 0.15;  // of a deviation from the expected displacements: slack about the new ones

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
    : surface_(surface), vertices_(vertices), options_(options), edge_blocks_(surface.edges, options) {
  for (const SurfacePoint& p : surface_.points) mean_radius_ += p.radius / static_cast<double>(surface_.points.size());
  last_deviation_ = kFirstDeviation * mean_radius_;
  const std::size_t meeting = surface_.edges.size() + (surface_.triangles.empty() ? 0 : surface_.points.size());
  most_pairs_ = options_.max_candidates > 0 ? static_cast<std::size_t>(options_.max_candidates)
                                            : std::max(kAlwaysPairs, kUsualPairs * meeting);
}

void Candidates::require(bool found_all) const {
  if (!found_all)
    throw TooManyPairs("more than " + std::to_string(most_pairs_) +
                       " pairs of edges and triangles may meet (contact.max_candidates)");
}

std::pair<int, int> Candidates::edge_pair(std::size_t i) const {
  const auto [first, second] = edge_pairs_.pair[i];
  return std::minmax({edge_blocks_.edge_at(first), edge_blocks_.edge_at(second)});
}

std::array<int, 4> Candidates::edge_vertices(const std::pair<int, int>& edges) const {
  const SurfaceEdge &e = surface_.edges[edges.first], &f = surface_.edges[edges.second];
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

bool Candidates::places_may_touch(int i, int j) const {
  return edges_may_touch(edge_blocks_.edge_at(i), edge_blocks_.edge_at(j));
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

template <class Primitive>
void Candidates::build(std::span<const Primitive> primitives, Boxes& boxes) const {
  boxes.box.resize(primitives.size());
  for_each_index(primitives.size(), [&](std::size_t i) { boxes.box[i] = box_of(primitives[i]); });
  boxes.tree.build(boxes.box);
}

void Candidates::search() {
  const Stopwatch watch(broad_seconds_);
  ++broad_phases_;
  edge_blocks_.begin_step(vertices_.x, expected_, largest_);
  point_pairs_.pair.clear();
  require(edge_blocks_.find_pairs([&](int i, int j) { return places_may_touch(i, j); }, most_pairs_, edge_pairs_.pair));
  complete(edge_pairs_, 0);
  edge_pairs_.listed.clear();
  if (surface_.triangles.empty()) return;
  build<SurfaceTriangle>(surface_.triangles, triangle_boxes_);
  build<SurfacePoint>(surface_.points, point_boxes_);
  require(triangle_boxes_.tree.pairs_with(
      point_boxes_.box, [&](int p, int t) { return point_may_touch(p, t); }, point_pairs_.pair, room()));
  complete(point_pairs_, 0);
  point_pairs_.listed.clear();
  point_pairs_.listed.insert(point_pairs_.pair);
}

template <class Primitive>
void Candidates::refit_changed(std::span<const Primitive> primitives, Boxes& boxes) const {
  Changed& changed = boxes.changed;
  changed.mark.resize(primitives.size());
  changed.found.collect(primitives.size(), [&](std::size_t i, std::vector<int>& found) {
    const auto vertices = vertices_of(primitives[i]);
    changed.mark[i] = std::any_of(vertices.begin(), vertices.end(), [&](int j) { return vertex_left_[j] != 0; });
    if (changed.mark[i]) found.push_back(static_cast<int>(i));
  });
  changed.found.move_into(changed.index);
  changed.box.resize(changed.index.size());
  for_each_index(changed.index.size(), [&](std::size_t k) {
    const int i = changed.index[k];
    boxes.box[i] = changed.box[k] = box_of(primitives[i]);
  });
  if (!changed.index.empty()) boxes.tree.refit(boxes.box, changed.mark);
}

// Pairs that may meet and are not listed yet.
void Candidates::extend() {
  const Stopwatch watch(broad_seconds_);
  ++broad_phases_;
  edge_blocks_.follow(expected_, vertex_left_);
  require(edge_blocks_.find_new_pairs(
      [&](int i, int j) {
        return !edge_pairs_.listed.contains({i, j}) && places_may_touch(i, j);
      },
      room(), found_));
  add_found(edge_pairs_, [](const std::pair<int, int>& f) { return f; });

  if (surface_.triangles.empty()) return;
  refit_changed<SurfaceTriangle>(surface_.triangles, triangle_boxes_);
  refit_changed<SurfacePoint>(surface_.points, point_boxes_);
  const Changed &triangles = triangle_boxes_.changed, &points = point_boxes_.changed;
  const auto is_new = [&](int p, int t) { return !point_pairs_.listed.contains({p, t}) && point_may_touch(p, t); };
  require(triangle_boxes_.tree.pairs_with(
      points.box, [&](int k, int t) { return is_new(points.index[k], t); }, found_, room()));
  add_found(point_pairs_, [&](const std::pair<int, int>& f) -> std::pair<int, int> {
    return {points.index[f.first], f.second};
  });
  require(point_boxes_.tree.pairs_with(
      triangles.box, [&](int k, int p) { return !points.mark[p] && is_new(p, triangles.index[k]); }, found_, room()));
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
  complete(pairs, old);
  pairs.listed.insert(std::span(pairs.pair).subspan(old));
  clear_large(found_);
}

// Completes the candidates from `from` on: how far apart they start, and in which direction.
void Candidates::complete(CandidatePairs& pairs, std::size_t from) {
  if (pairs.known.capacity() < pairs.size()) {  // with the pairs' room for more: a copy of these is long
    pairs.direction.reserve(pairs.pair.capacity());
    pairs.apart.reserve(pairs.pair.capacity());
    pairs.known.reserve(pairs.pair.capacity());
  }
  pairs.direction.resize(pairs.size());
  pairs.apart.resize(pairs.size());
  pairs.known.resize(pairs.size());
  const bool are_edges = &pairs == &edge_pairs_;
  const int first_count = are_edges ? 2 : 1;
  for_each_index(pairs.size() - from, [&](std::size_t k) {
    const std::size_t i = from + k;
    const auto [first, second] = pairs.pair[i];
    const std::array<int, 4> j = are_edges ? edge_vertices({edge_blocks_.edge_at(first), edge_blocks_.edge_at(second)})
                                           : point_vertices({first, second});
    const std::array<Vec3, 4> x{vertices_.x[j[0]], vertices_.x[j[1]], vertices_.x[j[2]], vertices_.x[j[3]]};
    pairs.direction[i] = Direction::of((are_edges ? edge_geometry(x) : point_geometry(x)).n);
    const Vec3 n = pairs.direction[i].vector().cast<double>();
    double apart = std::numeric_limits<double>::infinity();
    for (int a = 0; a < first_count; ++a)
      for (int b = first_count; b < 4; ++b) apart = std::min(apart, n.dot(x[a] - x[b]));
    pairs.apart[i] = static_cast<float>(apart - 1e-6 * std::abs(apart));
    pairs.known[i] = 0;
  });
}

void Candidates::find_motion(std::span<const Vec3> v) {
  const double dt = vertices_.dt;
  moved_.resize(v.size());
  for_each_index(v.size(), [&](std::size_t j) { moved_[j] = (dt * v[j]).cast<float>(); });
  edge_motion_.resize(edge_blocks_.size());
  for_each_index(edge_motion_.size(), [&](std::size_t place) {
    const auto [a, b] = edge_blocks_.ends_at(static_cast<int>(place));
    edge_motion_[place] = {moved_[a], moved_[b]};
  });
  rounding_ = static_cast<float>(1e-6 * dt *
                                 std::sqrt(max_in_chunks(v.size(), [&](std::size_t j) { return v[j].squaredNorm(); })));
  if (point_pairs_.size() == 0) return;
  point_motion_.resize(surface_.points.size());
  for_each_index(point_motion_.size(), [&](std::size_t i) { point_motion_[i] = {moved_[surface_.points[i].node]}; });
  triangle_motion_.resize(surface_.triangles.size());
  for_each_index(triangle_motion_.size(), [&](std::size_t i) {
    const SurfaceTriangle& t = surface_.triangles[i];
    triangle_motion_[i] = {moved_[t.a], moved_[t.b], moved_[t.c]};
  });
}

}  // namespace stiction
