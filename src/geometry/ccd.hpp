// Continuous collision detection for vertices that move linearly over t in [0, 1].
//
// Additive conservative advancement after Li et al. 2021, "Codimensional incremental potential contact", section 5:
// from a time t known to be free of contact, advance by a step in which the pair cannot meet; repeat. It departs from
// the paper in the bound on that step: instead of the distance over the largest relative displacement, the motion is
// bounded along the direction n of the current closest points. The pair stays apart while every vertex-vertex
// difference, which moves linearly, keeps n·(x_a - x_b) above the separation. The bound is never shorter than the
// paper's, sees only relative motion (so no mean motion needs subtracting), and holds for any n: an inaccurate
// closest point costs steps, never a missed contact. It holds for an n that turns, too: pairs that turn together are
// told apart at once by one that goes from the closest points of now to those of the end.
//
// Rounding is charged to the side of contact: a pair nearer than the separation plus 1e-9 of the largest
// vertex-vertex difference counts as touching.
#pragma once

#include <array>
#include <optional>

#include "stiction/types.hpp"

namespace stiction {

/// Time, never later than the true one, at which the edges p0 p1 and q0 q1 (vertices in this order, metres, finite)
/// come within `separation` >= 0 of each other; 0 if they start there, nothing only if they certainly never do.
std::optional<double> edge_edge_impact(const std::array<Vec3, 4>& x_t0, const std::array<Vec3, 4>& x_t1,
                                       double separation);

/// As edge_edge_impact, for the point p and the triangle t0 t1 t2 (vertices in this order).
std::optional<double> point_triangle_impact(const std::array<Vec3, 4>& x_t0, const std::array<Vec3, 4>& x_t1,
                                            double separation);

}  // namespace stiction
