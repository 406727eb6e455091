// Points spread evenly over a triangle mesh: the roots of a groom that grows on it.
#pragma once

#include <functional>

#include "scene/generators.hpp"

namespace stiction::scene {

/// `count` roots on the part of a mesh where `inside` holds (everywhere where it is empty), no two of them much nearer
/// than an even spread allows: of five times as many random points, those with the nearest neighbours are dropped one
/// by one (sample elimination, Yuksel 2015). The normal is that of the triangle; the direction that of the surface
/// smoothed over its vertices. Returns fewer where the part is too small to be found. A function of its arguments only.
std::vector<GroomRoot> scatter_roots(const TriangleMesh& mesh, int count, int seed,
                                     const std::function<bool(const Vec3&)>& inside = {});

}  // namespace stiction::scene
