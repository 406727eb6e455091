#include "collision/pair_geometry.hpp"

#include <algorithm>
#include <cmath>

#include "geometry/distance.hpp"

namespace stiction {

namespace {

Vec3 normal_or(const Vec3& h, double distance, const Vec3& fallback) {
  if (distance > 1e-14) return h / distance;
  return fallback.squaredNorm() > 0 ? Vec3(fallback.normalized()) : Vec3::UnitZ();
}

// Whether n, seen from the edge a b, leans over the face that has `opposite` as its third vertex.
bool leans_over(const Vec3& n, const Vec3& a, const Vec3& b, const Vec3& opposite) {
  const Vec3 along = (b - a).normalized();
  const Vec3 inward = (opposite - a) - (opposite - a).dot(along) * along;
  return n.dot(inward) > kTilt * inward.norm();
}

}  // namespace

PairGeometry edge_geometry(const std::array<Vec3, 4>& x) {
  const EdgeEdgeClosest c = closest_edge_edge(x[0], x[1], x[2], x[3]);
  const Vec3 h = (1 - c.s) * x[0] + c.s * x[1] - (1 - c.t) * x[2] - c.t * x[3];
  const double distance = std::sqrt(c.distance2);
  return {{1 - c.s, c.s, -(1 - c.t), -c.t}, distance, normal_or(h, distance, (x[1] - x[0]).cross(x[3] - x[2]))};
}

PairGeometry point_geometry(const std::array<Vec3, 4>& x) {
  const PointTriangleClosest c = closest_point_triangle(x[0], x[1], x[2], x[3]);
  const double b0 = c.b1 + c.b2 >= 1 - 1e-12 ? 0.0 : 1 - c.b1 - c.b2;
  const Vec3 h = x[0] - b0 * x[1] - c.b1 * x[2] - c.b2 * x[3];
  const double distance = std::sqrt(c.distance2);
  return {{1, -b0, -c.b1, -c.b2}, distance, normal_or(h, distance, (x[2] - x[1]).cross(x[3] - x[1]))};
}

std::array<PairGeometry, 2> shared_ends(const std::array<Vec3, 4>& x, const Vec3& fallback_normal) {
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
    ends[k] = {{1 - s, s, -(1 - t), -t}, distance, normal_or(h, distance, fallback_normal)};
  }
  return ends;
}

bool side_by_side(const PairGeometry& at, const SurfaceEdge& e, const SurfaceEdge& f, const std::array<Vec3, 4>& x) {
  const bool left_to_next = (at.b[1] == 1.0 && e.next[1] >= 0) || (at.b[3] == -1.0 && f.next[1] >= 0);
  const auto square = [&](const Vec3& edge) { return std::abs(at.n.dot(edge)) <= kTilt * edge.norm(); };
  return !left_to_next && square(x[1] - x[0]) && square(x[3] - x[2]);
}

bool edges_own(const SurfaceEdge& e, const SurfaceEdge& f, const Vec3& n, const VerticesAt& where) {
  const auto owns = [&](const SurfaceEdge& edge, const Vec3& outward) {
    return std::none_of(edge.opposite.begin(), edge.opposite.end(),
                        [&](int o) { return o >= 0 && leans_over(outward, where(edge.a), where(edge.b), where(o)); });
  };
  return owns(e, -n) && owns(f, n);
}

bool strands_own(const SurfaceEdge& e, const SurfaceEdge& f, const std::array<double, 4>& b, const Vec3& n,
                 std::span<const Vec3> x) {
  const auto owns = [&](const SurfaceEdge& edge, double at, const Vec3& towards_other) {
    const int end = at == 0.0 ? 0 : (at == 1.0 ? 1 : -1);
    if (end < 0 || edge.next[end] < 0) return true;
    const Vec3 along = x[edge.next[end]] - x[end == 0 ? edge.a : edge.b];
    return along.dot(towards_other) <= kTilt * along.norm();
  };
  return e.strand == f.strand || (owns(e, b[1], -n) && owns(f, -b[3], n));
}

bool triangle_owns(const SurfaceTriangle& t, const std::array<double, 4>& b, const Vec3& n, const VerticesAt& where) {
  const std::array<int, 3> vertex{t.a, t.b, t.c};
  for (int k = 0; k < 3; ++k)  // on the edge across vertex k?
    if (b[1 + k] == 0.0 && t.opposite[k] >= 0 &&
        leans_over(n, where(vertex[(k + 1) % 3]), where(vertex[(k + 2) % 3]), where(t.opposite[k])))
      return false;
  return true;
}

}  // namespace stiction
