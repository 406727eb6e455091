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

}  // namespace stiction
