#include "geometry/ccd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "geometry/distance.hpp"

namespace stiction {
namespace {

// Bounds, as fractions of the largest coordinate difference in the pair. Rounding of n·(x_a - x_b) at any time in
// [0, 1] stays under 20 ε of it (two roundings for the difference at t, three for the dot product, |n|_1 <= √3).
constexpr double kRounding = 32.0 * std::numeric_limits<double>::epsilon();
constexpr double kTouching = 1e-9;
constexpr int kMaxSteps = 1024;

/// Differences x_a - x_b of the vertices of the two primitives: the corners of the set of relative positions.
template <std::size_t N>
struct Corners {
  std::array<Vec3, N> at_t0, at_t1;
};

template <std::size_t N>
std::array<Vec3, N> interpolate(const Corners<N>& corners, double t) {
  std::array<Vec3, N> at_t;
  for (std::size_t k = 0; k < N; ++k) at_t[k] = (1.0 - t) * corners.at_t0[k] + t * corners.at_t1[k];
  return at_t;
}

/// Whether a direction that turns evenly from n to n_end certifies more than `margin` from now to the end. Along it,
/// corners move as quadratics in time, which stay above the least of their Bernstein coefficients.
template <std::size_t N>
bool apart_along_turning(const std::array<Vec3, N>& now, const std::array<Vec3, N>& end, const Vec3& n,
                         const Vec3& n_end, double margin) {
  for (std::size_t k = 0; k < N; ++k) {
    if (n.dot(now[k]) <= margin || n_end.dot(end[k]) <= margin) return false;
    if (0.5 * (n.dot(end[k]) + n_end.dot(now[k])) <= margin) return false;
  }
  return true;
}

/// Advances to the first time at which no direction certifies a distance above `separation`. `nearest` maps corners
/// to the shortest vector in the set of relative positions.
template <std::size_t N, class Nearest>
std::optional<double> advance(const Corners<N>& corners, double separation, Nearest nearest) {
  Vec3 lo = corners.at_t0[0], hi = lo;
  for (std::size_t k = 0; k < N; ++k) {
    lo = lo.cwiseMin(corners.at_t0[k]).cwiseMin(corners.at_t1[k]);
    hi = hi.cwiseMax(corners.at_t0[k]).cwiseMax(corners.at_t1[k]);
  }
  const double scale = std::max(hi.cwiseAbs().maxCoeff(), lo.cwiseAbs().maxCoeff());
  const double apart = separation + kRounding * separation;
  if ((lo.array() > apart).any() || (hi.array() < -apart).any()) return std::nullopt;

  const double margin = separation + kRounding * scale;
  const Vec3 closest_end = nearest(corners.at_t1);
  const double distance_end = closest_end.norm();
  const Vec3 n_end = distance_end > margin ? Vec3(closest_end / distance_end) : Vec3(Vec3::Zero());
  double t = 0.0;
  for (int step = 0; step < kMaxSteps; ++step) {
    const std::array<Vec3, N> at_t = interpolate(corners, t);
    const Vec3 closest = nearest(at_t);
    const double distance = closest.norm();
    if (distance <= separation + kTouching * scale) return t;
    const Vec3 n = closest / distance;

    // The fraction of the rest of the motion that is certified along n.
    double fraction = 1.0;
    bool reaches_end = true;
    for (std::size_t k = 0; k < N; ++k) {
      const double now = n.dot(at_t[k]) - margin;
      const double end = n.dot(corners.at_t1[k]) - margin;
      if (now <= 0.0) return t;
      if (end > 0.0) continue;
      reaches_end = false;
      fraction = std::min(fraction, now / (now - end));
    }
    if (reaches_end || apart_along_turning(at_t, corners.at_t1, n, n_end, margin)) return std::nullopt;
    t += fraction * (1.0 - t);
  }
  return t;
}

}  // namespace

std::optional<double> edge_edge_impact(const std::array<Vec3, 4>& x_t0, const std::array<Vec3, 4>& x_t1,
                                       double separation) {
  const auto differences = [](const std::array<Vec3, 4>& x) {
    return std::array<Vec3, 4>{x[0] - x[2], x[1] - x[2], x[0] - x[3], x[1] - x[3]};
  };
  return advance<4>({differences(x_t0), differences(x_t1)}, separation, [](const std::array<Vec3, 4>& d) -> Vec3 {
    // The edges relative to q0.
    const Vec3 q1 = d[0] - d[2];
    const EdgeEdgeClosest c = closest_edge_edge(d[0], d[1], Vec3::Zero(), q1);
    return d[0] + c.s * (d[1] - d[0]) - c.t * q1;
  });
}

std::optional<double> point_triangle_impact(const std::array<Vec3, 4>& x_t0, const std::array<Vec3, 4>& x_t1,
                                            double separation) {
  const auto differences = [](const std::array<Vec3, 4>& x) {
    return std::array<Vec3, 3>{x[1] - x[0], x[2] - x[0], x[3] - x[0]};
  };
  return advance<3>({differences(x_t0), differences(x_t1)}, separation, [](const std::array<Vec3, 3>& d) -> Vec3 {
    const PointTriangleClosest c = closest_point_triangle(Vec3::Zero(), d[0], d[1], d[2]);
    return d[0] + c.b1 * (d[1] - d[0]) + c.b2 * (d[2] - d[0]);
  });
}

}  // namespace stiction
