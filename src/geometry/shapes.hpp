// Signed distance to the analytic convex colliders (plane, sphere, capsule, cylinder, box), and what collision asks of
// it: where a segment comes nearest, and when a moving segment first touches.
//
// Everything is in the collider's local frame, in metres. The signed distance phi of a convex set is convex and
// 1-Lipschitz; the searches below rest on these two properties alone. A locator or a mesh has no analytic surface:
// it is infinitely far away here.
#pragma once

#include <optional>

#include "stiction/scene.hpp"

namespace stiction {

struct SurfaceSample {
  double distance;  ///< m, negative inside
  Vec3 normal;      ///< unit outward gradient of the distance; one of them where it is not unique
};

/// Signed distance from `x_local` to the surface of an analytic collider, and its gradient.
SurfaceSample sample_surface(const Collider& collider, const Vec3& x_local);

/// The s in [0, 1] at which the point a + s (b - a) has the smallest signed distance; the middle of the minimisers
/// where a stretch of the segment is equally near (0.5 for one that is parallel to a face or to an axis throughout).
double nearest_on_segment(const Collider& collider, const Vec3& a_local, const Vec3& b_local);

/// The first time in [0, 1] at which the signed distance of the segment falls to `separation` (m) while its ends move
/// linearly from *_t0 to *_t1; 0 where it starts within. Never late: contact is reported up to 1e-10 of the largest
/// displacement before the separation is reached, and an approach that does not settle counts as contact. A point is
/// a segment with a == b.
std::optional<double> segment_impact(const Collider& collider, const Vec3& a_t0, const Vec3& b_t0, const Vec3& a_t1,
                                     const Vec3& b_t1, double separation);

/// Radius of the ball about the local origin that holds the collider, m: infinity for a plane, zero for a locator.
/// Visits every vertex of a mesh, and of all samples of its sequence.
double bounding_radius(const Collider& collider);

}  // namespace stiction
