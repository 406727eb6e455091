// Closest points of two edges, and of a point and a triangle.
//
// Both minimise a convex quadratic over a square or a triangle. The first coordinate of the unconstrained minimum comes
// from cross products and the second is optimal for the first: near parallel edges (or in slivers) at an angle θ the
// error in distance is then of order ε (length + distance / θ), where the normal equations would give ε length / θ².
#pragma once

#include <algorithm>
#include <limits>

#include "stiction/types.hpp"

namespace stiction {

/// Closest points p0 + s (p1 - p0) and q0 + t (q1 - q0) of two edges; squared distance in m².
struct EdgeEdgeClosest {
  double s, t, distance2;
};

/// Closest point t0 + b1 (t1 - t0) + b2 (t2 - t0) of a triangle; squared distance in m².
struct PointTriangleClosest {
  double b1, b2, distance2;
};

namespace distance_detail {

/// 1 / x, or 0 where x is too small to divide by (a zero length).
inline double inverse_or_zero(double x) { return x >= std::numeric_limits<double>::min() ? 1.0 / x : 0.0; }

inline double clamp01(double x) { return std::min(std::max(x, 0.0), 1.0); }

}  // namespace distance_detail

/// Closest points of the edges p0 p1 and q0 q1; parallel and zero-length edges give one of the closest pairs.
inline EdgeEdgeClosest closest_edge_edge(const Vec3& p0, const Vec3& p1, const Vec3& q0, const Vec3& q1) {
  using namespace distance_detail;
  const Vec3 u = p1 - p0, w = q1 - q0, r = p0 - q0;
  const Vec3 n = u.cross(w);
  const double inv_uu = inverse_or_zero(u.squaredNorm()), inv_ww = inverse_or_zero(w.squaredNorm());
  const double uw = u.dot(w);

  // The s of the lines' closest points, clamped; the best t for it, clamped; the best s for that (Ericson 2005, 5.1.9).
  const double s_line = clamp01(w.cross(r).dot(n) * inverse_or_zero(n.squaredNorm()));
  const double t = clamp01((w.dot(r) + s_line * uw) * inv_ww);
  const double s = clamp01((t * uw - u.dot(r)) * inv_uu);
  return {s, t, (r + s * u - t * w).squaredNorm()};
}

/// Closest point to `p` of the triangle t0 t1 t2, which may be degenerate.
inline PointTriangleClosest closest_point_triangle(const Vec3& p, const Vec3& t0, const Vec3& t1, const Vec3& t2) {
  using namespace distance_detail;
  const Vec3 e1 = t1 - t0, e2 = t2 - t0, e12 = t2 - t1, r = p - t0;
  const double inv_22 = inverse_or_zero(e2.squaredNorm());
  const double on_e1 = clamp01(r.dot(e1) * inverse_or_zero(e1.squaredNorm()));
  const double on_e2 = clamp01(r.dot(e2) * inv_22);
  const double on_e12 = clamp01((p - t1).dot(e12) * inverse_or_zero(e12.squaredNorm()));

  const Vec3 n = e1.cross(e2);
  const double b1_in = r.cross(e2).dot(n) * inverse_or_zero(n.squaredNorm());
  const double b2_in = (r - b1_in * e1).dot(e2) * inv_22;
  const bool inside = b1_in >= 0.0 && b2_in >= 0.0 && b1_in + b2_in <= 1.0;

  // The interior, or else the vertex t0, and the three edges: the nearest wins.
  PointTriangleClosest nearest{0.0, 0.0, std::numeric_limits<double>::infinity()};
  const auto consider = [&](double b1, double b2) {
    const double distance2 = (r - b1 * e1 - b2 * e2).squaredNorm();
    if (distance2 < nearest.distance2) nearest = {b1, b2, distance2};
  };
  consider(inside ? b1_in : 0.0, inside ? b2_in : 0.0);
  consider(on_e1, 0.0);
  consider(0.0, on_e2);
  consider(1.0 - on_e12, on_e12);
  return nearest;
}

}  // namespace stiction
