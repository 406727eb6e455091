// Bodies by implicit surfaces: fields that are negative inside and about the signed distance (m) near the surface, and
// their triangle meshes.
//
// A mesh is cut from a body-centred lattice by marching tetrahedra, which has no ambiguous case, so that it is a
// manifold; then remeshed (geometry/remesh.hpp) towards equilateral triangles, with vertices drawn back on to the
// surface throughout.
#pragma once

#include <functional>
#include <vector>

#include "geometry/box.hpp"
#include "stiction/types.hpp"

namespace stiction {

using Field = std::function<double(const Vec3&)>;

Field field_sphere(const Vec3& centre, double radius);

/// An ellipsoid with the given semi-axes along the axes of `rotation`.
Field field_ellipsoid(const Vec3& centre, const Vec3& semi_axes, const Quat& rotation = Quat::Identity());

/// A capsule whose radius goes linearly from `radius_a` at `a` to `radius_b` at `b`: the hull of two spheres.
Field field_capsule(const Vec3& a, const Vec3& b, double radius_a, double radius_b);

/// The side of a plane that its normal points away from.
Field field_half_space(const Vec3& point, const Vec3& normal);

/// Union, intersection and difference, with their creases rounded over a width of about `blend` metres; sharp for zero.
Field field_union(std::vector<Field> parts, double blend);
Field field_intersection(Field a, Field b, double blend);
Field field_difference(Field a, Field b, double blend);

/// The body grown by `distance`.
Field field_offset(Field field, double distance);

/// The body and its mirror image in y = 0, united sharply.
Field field_mirrored_y(Field field);

/// Central differences over a step of `h` metres.
Vec3 field_gradient(const Field& field, const Vec3& x, double h);

/// The surface of the body within `box`, which should contain it, as a closed outward manifold of nearly equilateral
/// triangles with edges of about `edge` metres. Throws std::invalid_argument where the box holds no surface.
TriangleMesh polygonise(const Field& field, const Box& box, double edge);

/// The same with the given number of faces, rounded to even, which closed surfaces have. With an `adaptivity` above
/// zero edges are shorter where they bend: over an angle θ (rad) by a factor of 1 + adaptivity θ.
TriangleMesh polygonise_with(const Field& field, const Box& box, int target_faces, double adaptivity = 0);

/// The largest connected part of the surface where `keep` is negative, a manifold bounded by keep = 0, with the given
/// number of vertices.
TriangleMesh polygonise_part_with(const Field& field, const Field& keep, const Box& box, int target_vertices);

}  // namespace stiction
