// Where two primitives of the surface are nearest, and which feature of a mesh or strand a contact there belongs to.
#pragma once

#include <array>

#include "collision/step_vertices.hpp"
#include "collision/surface.hpp"

namespace stiction {

inline constexpr double kTilt = 0.01;  // sine by which a normal may lean over a neighbouring face or edge

/// Weights of the four vertices (h = Σ b_j x_j), distance in m, and the normal from the second primitive to the first.
struct PairGeometry {
  std::array<double, 4> b;
  double distance;
  Vec3 n;
};

/// Of the edges x0 x1 and x2 x3.
PairGeometry edge_geometry(const std::array<Vec3, 4>& x);

/// Of the point x0 and the triangle x1 x2 x3.
PairGeometry point_geometry(const std::array<Vec3, 4>& x);

/// The ends of the part of two edges that lies side by side.
std::array<PairGeometry, 2> shared_ends(const std::array<Vec3, 4>& x, const Vec3& fallback_normal);

/// Whether two edges of strands touch side by side there: the normal is square to both. A node inside a strand counts
/// for the edge that it starts.
bool side_by_side(const PairGeometry& at, const SurfaceEdge& e, const SurfaceEdge& f, const std::array<Vec3, 4>& x);

/// Whether n, the normal from f to e, leans over no face beside either edge.
bool edges_own(const SurfaceEdge& e, const SurfaceEdge& f, const Vec3& n, const VerticesAt& where);

/// Whether neither edge's neighbour along its strand is clearly nearer to the other edge: n points from f to e.
/// Strands side by side are about as near all along, and every pair of edges keeps its contact.
bool strands_own(const SurfaceEdge& e, const SurfaceEdge& f, const std::array<double, 4>& b, const Vec3& n,
                 std::span<const Vec3> x);

/// n points from the triangle to the point; b holds minus its barycentric coordinates in [1], [2], [3].
bool triangle_owns(const SurfaceTriangle& t, const std::array<double, 4>& b, const Vec3& n, const VerticesAt& where);

}  // namespace stiction
