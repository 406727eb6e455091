// Open triangle meshes for shells. Lengths in metres.
#pragma once

#include "stiction/types.hpp"

namespace stiction {

/// How the rectangles of a sheet are cut.
enum class Diagonals {
  alternating,  ///< in two, the diagonals mirrored from cell to cell
  one_way,      ///< in two, along parallel diagonals
  cross         ///< in four, about a vertex in the middle
};

/// A width × height rectangle in z = 0 that faces +z, centred at the origin, of nx × ny cells along x and y. Vertex
/// i + (nx + 1) j is corner (i, j); the middles of `cross` follow, cell after cell.
TriangleMesh make_sheet(double width, double height, int nx, int ny, Diagonals diagonals = Diagonals::alternating);

/// A ring about z, from z = -width / 2 to width / 2, that faces outwards: `n_along` rows of nearly equilateral
/// triangles between n_along + 1 circles of `n_around` vertices, each turned by half a sector from the one below.
/// Vertex i + n_around j is the i-th of circle j.
TriangleMesh make_band(double radius, double width, int n_around, int n_along);

/// What a shirt for the character of creatures.hpp is cut like.
struct ShirtOptions {
  int vertices = 9000;
  double ease = 0.012;   ///< gap between body and shirt, m
  double flare = 0.02;   ///< added to the gap towards the hem, m
  double sleeve = 0.75;  ///< where the sleeves end: 1 at the wrist, 0.5 at the elbow
};

/// A shirt around the character's rest pose: a manifold tube with two sleeves that faces outwards, open at neck, hem
/// and cuffs, of triangles with nearly equal edges.
TriangleMesh make_tube_shirt(const ShirtOptions& options = {});

}  // namespace stiction
