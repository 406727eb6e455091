// Procedural triangle meshes, outward oriented and (but for the quad) closed. Lengths in metres; the axis is z and the
// centre the origin, unless said otherwise. Too few rings or sectors throw std::invalid_argument.
#pragma once

#include "stiction/scene.hpp"

namespace stiction {

/// A sphere of `rings` bands of latitude (at least 2) and `sectors` of longitude (at least 3).
TriangleMesh make_sphere(double radius, int rings, int sectors);

/// A capsule about a segment of `length`, each of its two hemispheres in `rings` bands (at least 1).
TriangleMesh make_capsule(double radius, double length, int rings, int sectors);

/// A cylinder with flat caps.
TriangleMesh make_cylinder(double radius, double length, int sectors);

TriangleMesh make_box(const Vec3& half_extents);

/// A square in z = 0, of edge 2 `half_size`, that faces +z.
TriangleMesh make_plane_quad(double half_size);

/// A torus: a tube of `minor_radius` in `rings` bands (at least 3) about a circle of `major_radius` in `sectors`.
TriangleMesh make_torus(double major_radius, double minor_radius, int rings, int sectors);

/// A shallow dish that stands on z = 0: flat out to two thirds of its radius, then rising smoothly by `rim_height`.
/// The wall measures `thickness` along z throughout; a larger rim makes it a bowl.
TriangleMesh make_plate(double radius, double rim_height, double thickness, int sectors);

/// A mesh to draw a collider with, local frame: a mesh's own (of rest), 20 m of a plane, nothing for a locator.
TriangleMesh tessellate(const Collider& collider);

}  // namespace stiction
