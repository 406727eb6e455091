// Signed distances in closed form; the nearest point of a segment by the root of the directional derivative, found
// with the ITP method (Oliveira and Takahashi 2020: superlinear, never more than one step worse than bisection); the
// time of impact by conservative advancement.
#include "geometry/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stiction {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

constexpr double resolution = 0x1p-42;  // of the parameter s along a segment

/// Distance to a ball of `radius` whose centre is `offset` away from the point. `fallback` is the normal at the centre.
SurfaceSample sample_ball(const Vec3& offset, double radius, const Vec3& fallback) {
  const double norm = offset.norm();
  return {norm - radius, norm > 0 ? Vec3(offset / norm) : fallback};
}

SurfaceSample sample_capsule(const Collider& c, const Vec3& x) {
  const double half = 0.5 * c.length;
  const Vec3 offset(x.x(), x.y(), x.z() - std::clamp(x.z(), -half, half));
  return sample_ball(offset, c.radius, Vec3::UnitX());
}

SurfaceSample sample_cylinder(const Collider& c, const Vec3& x) {
  const double rho = x.head<2>().norm();
  const Vec3 radial = rho > 0 ? Vec3(x.x() / rho, x.y() / rho, 0) : Vec3::UnitX();
  const Vec3 axial(0, 0, std::copysign(1.0, x.z()));
  const double beyond_wall = rho - c.radius;
  const double beyond_cap = std::abs(x.z()) - 0.5 * c.length;
  if (beyond_wall > 0 && beyond_cap > 0) {
    const double distance = std::hypot(beyond_wall, beyond_cap);
    return {distance, (beyond_wall * radial + beyond_cap * axial) / distance};
  }
  return beyond_wall > beyond_cap ? SurfaceSample{beyond_wall, radial} : SurfaceSample{beyond_cap, axial};
}

SurfaceSample sample_box(const Collider& c, const Vec3& x) {
  const Vec3 beyond = x.cwiseAbs() - c.half_extents;
  const Vec3 sign(std::copysign(1.0, x.x()), std::copysign(1.0, x.y()), std::copysign(1.0, x.z()));
  const Vec3 outside = beyond.cwiseMax(0.0);
  const double distance = outside.norm();
  if (distance > 0) return {distance, outside.cwiseProduct(sign) / distance};
  int axis = 0;
  const double depth = beyond.maxCoeff(&axis);
  return {depth, sign[axis] * Vec3::Unit(axis)};
}

/// The s at which a nondecreasing function passes zero, given its values of opposite sign y0 at 0 and y1 at 1.
template <typename Function>
double crossing(const Function& function, double y0, double y1) {
  double lo = 0, hi = 1;
  // `budget` is the half width that bisection would have left, one step behind: the bracket never exceeds it.
  for (double budget = 1; hi - lo > resolution; budget *= 0.5) {
    const double middle = 0.5 * (lo + hi);
    const double secant = (y1 * lo - y0 * hi) / (y1 - y0);
    const double inward = std::copysign(1.0, middle - secant);
    const double truncation = 0.2 * (hi - lo) * (hi - lo);
    const double truncated = truncation <= std::abs(middle - secant) ? secant + inward * truncation : middle;
    const double reach = budget - 0.5 * (hi - lo);
    const double s = std::abs(truncated - middle) <= reach ? truncated : middle - inward * reach;
    const double y = function(s);
    if (y > 0) {
      hi = s, y1 = y;
    } else {
      lo = s, y0 = y;
    }
  }
  return 0.5 * (lo + hi);
}

/// nearest_on_segment for any convex shape. Slopes within the round-off of the coordinates count as level.
double nearest_by_slope(const Collider& collider, const Vec3& a, const Vec3& b) {
  const Vec3 edge = b - a;
  const double level = 8 * epsilon * (a.norm() + b.norm());
  const auto slope = [&](double s) { return sample_surface(collider, a + s * edge).normal.dot(edge); };
  const double slope0 = slope(0);
  if (slope0 > level) return 0;
  const double slope1 = slope(1);
  if (slope1 < -level) return 1;
  const auto where_slope_is = [&](double value) {
    if (slope0 >= value) return 0.0;
    if (slope1 <= value) return 1.0;
    return crossing([&](double s) { return slope(s) - value; }, slope0 - value, slope1 - value);
  };
  constexpr double nearby = 1e-6;
  const double s = where_slope_is(0);
  const bool strict = slope(s - nearby) < -level && slope(s + nearby) > level;
  return strict ? s : 0.5 * (where_slope_is(-level) + where_slope_is(level));
}

double nearest_to_origin(const Vec3& a, const Vec3& b) {
  const Vec3 edge = b - a;
  const double squared_length = edge.squaredNorm();
  return squared_length > 0 ? std::clamp(-a.dot(edge) / squared_length, 0.0, 1.0) : 0.5;
}

/// A lower bound on the signed distance, linear in space: value + normal . (y - x) at any y, for a fixed x.
struct SupportingPlane {
  double value;
  Vec3 normal;
};

/// The supporting plane at x = a + s (b - a), the nearest point of the segment, made level along the segment: across a
/// crease inside the shape, or a sharp corner, a mean of the planes on both sides of x.
SupportingPlane supporting_plane(const Collider& collider, const Vec3& a, const Vec3& b, double s) {
  const Vec3 edge = b - a;
  const double before = std::max(s - resolution, 0.0), after = std::min(s + resolution, 1.0);
  const auto [distance0, normal0] = sample_surface(collider, a + before * edge);
  const auto [distance1, normal1] = sample_surface(collider, a + after * edge);
  const double slope0 = normal0.dot(edge), slope1 = normal1.dot(edge);
  const bool level_between = slope0 < 0 && slope1 > 0;
  const double weight = level_between ? slope0 / (slope0 - slope1) : (s < 0.5 ? 0 : 1);
  const double value0 = distance0 + (s - before) * slope0, value1 = distance1 + (s - after) * slope1;
  return {value0 + weight * (value1 - value0), normal0 + weight * (normal1 - normal0)};
}

/// How long `distance` + t `rate` stays above zero.
double time_above_zero(double distance, double rate) {
  if (distance <= 0) return 0;
  return rate < 0 ? distance / -rate : infinity;
}

}  // namespace

SurfaceSample sample_surface(const Collider& collider, const Vec3& x_local) {
  switch (collider.shape) {
    case ColliderShape::plane:
      return {x_local.z(), Vec3::UnitZ()};
    case ColliderShape::sphere:
      return sample_ball(x_local, collider.radius, Vec3::UnitZ());
    case ColliderShape::capsule:
      return sample_capsule(collider, x_local);
    case ColliderShape::cylinder:
      return sample_cylinder(collider, x_local);
    case ColliderShape::box:
      return sample_box(collider, x_local);
    case ColliderShape::locator:
    case ColliderShape::mesh:
      break;
  }
  return {infinity, Vec3::UnitZ()};
}

double nearest_on_segment(const Collider& collider, const Vec3& a_local, const Vec3& b_local) {
  if (collider.shape == ColliderShape::sphere) return nearest_to_origin(a_local, b_local);
  return nearest_by_slope(collider, a_local, b_local);
}

std::optional<double> segment_impact(const Collider& collider, const Vec3& a_t0, const Vec3& b_t0, const Vec3& a_t1,
                                     const Vec3& b_t1, double separation) {
  constexpr int max_iterations = 256;
  const Vec3 va = a_t1 - a_t0, vb = b_t1 - b_t0;
  const double speed = std::sqrt(std::max(va.squaredNorm(), vb.squaredNorm()));
  const double round_off = 64 * epsilon * (a_t0.norm() + b_t0.norm() + speed + std::abs(separation));

  // No point of the sweep is further from the first midpoint than this.
  const double reach = 0.5 * (b_t0 - a_t0).norm() + speed;
  const double middle_distance = sample_surface(collider, 0.5 * (a_t0 + b_t0)).distance;
  if (middle_distance - reach > separation + round_off) return std::nullopt;

  // Two lower bounds on the distance allow a step from t. It falls no faster than `speed`; and, phi being convex, it
  // stays above the supporting plane at the nearest point, on which one of the two ends is lowest at any time. Steps
  // aim at the middle of the tolerance, so that round-off does not carry them past the true time.
  const double tolerance = 1e-10 * speed + round_off;
  double t = 0;
  for (int i = 0; i < max_iterations; ++i) {
    const Vec3 a = a_t0 + t * va, b = b_t0 + t * vb;
    const double s = nearest_on_segment(collider, a, b);
    const Vec3 x = a + s * (b - a);
    const double distance = sample_surface(collider, x).distance;
    if (!(distance > separation + tolerance)) return t;
    const double target = separation + 0.5 * tolerance;
    const auto [value, normal] = supporting_plane(collider, a, b, s);
    const double gap_a = value + normal.dot(a - x) - target, gap_b = value + normal.dot(b - x) - target;
    const double plane_step = std::min(time_above_zero(gap_a, normal.dot(va)), time_above_zero(gap_b, normal.dot(vb)));
    t += std::max(plane_step, time_above_zero(distance - target, -speed));
    if (t > 1) return std::nullopt;
  }
  return t;
}

double bounding_radius(const Collider& collider) {
  const auto farthest = [](const std::vector<Vec3>& vertices) {
    double squared = 0;
    for (const Vec3& x : vertices) squared = std::max(squared, x.squaredNorm());
    return std::sqrt(squared);
  };
  switch (collider.shape) {
    case ColliderShape::locator:
      return 0;
    case ColliderShape::plane:
      return infinity;
    case ColliderShape::sphere:
      return collider.radius;
    case ColliderShape::capsule:
      return 0.5 * collider.length + collider.radius;
    case ColliderShape::cylinder:
      return std::hypot(collider.radius, 0.5 * collider.length);
    case ColliderShape::box:
      return collider.half_extents.norm();
    case ColliderShape::mesh:
      break;
  }
  double radius = farthest(collider.mesh.vertices);
  for (const auto& vertices : collider.mesh_sequence) radius = std::max(radius, farthest(vertices));
  return radius + collider.thickness;
}

}  // namespace stiction
