// Tetrahedral meshes: boxes, lattices around closed surfaces, boundaries, volumes. Lengths in metres.
//
// A lattice is body-centred cubic: two interleaved cubic grids, whose tets (two neighbouring cell centres and an edge
// of the face between them) are all congruent and well shaped (dihedral angles of 60 and 90 degrees).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "geometry/box.hpp"
#include "stiction/types.hpp"

namespace stiction {

/// A body-centred lattice of cubes over a box, not stored. Tet (c, a, e) joins the centres of cell c and of its
/// neighbour along axis a with edge e of the face between them. Vertices: the cubes' corners, then their centres.
class TetLattice {
 public:
  /// Cubes of edge `cell` (m) about the centre of `bounds`, which the tets cover. Throws std::invalid_argument where
  /// that takes more than 2^24 cubes.
  TetLattice(const Box& bounds, double cell);

  int cell_count() const { return cells_[0] * cells_[1] * cells_[2]; }
  int vertex_count() const { return corner_count_ + cell_count(); }
  Vec3 vertex(int index) const;

  /// Calls visit(id, vertices) for each tet; ids are less than 12 cell_count().
  template <typename Visit>
  void for_all_tets(const Visit& visit) const {
    for_tets({0, 0, 0}, cells_, visit);
  }

  /// The same for the tets whose bounds may overlap a box.
  template <typename Visit>
  void for_tets_near(const Box& box, const Visit& visit) const {
    std::array<int, 3> lo, hi;
    for (int a = 0; a < 3; ++a) {
      lo[a] = static_cast<int>(std::floor((box.lo[a] - origin_[a]) / cell_ - 1e-6)) - 1;  // tets reach a cell further
      hi[a] = static_cast<int>(std::floor((box.hi[a] - origin_[a]) / cell_ + 1e-6));
    }
    for_tets(lo, hi, visit);
  }

 private:
  using Index3 = std::array<int, 3>;

  template <typename Visit>
  void for_tets(Index3 lo, Index3 hi, const Visit& visit) const {
    for (int k = std::max(lo[2], 0); k <= std::min(hi[2], cells_[2] - 1); ++k) {
      for (int j = std::max(lo[1], 0); j <= std::min(hi[1], cells_[1] - 1); ++j) {
        for (int i = std::max(lo[0], 0); i <= std::min(hi[0], cells_[0] - 1); ++i) visit_cell({i, j, k}, visit);
      }
    }
  }

  template <typename Visit>
  void visit_cell(const Index3& c, const Visit& visit) const {
    for (int a = 0; a < 3; ++a) {
      if (c[a] + 1 == cells_[a]) continue;
      Index3 next = c;
      ++next[a];
      std::array<int, 4> around;  // corners of the face, counter-clockwise about axis a
      for (int e = 0; e < 4; ++e) {
        Index3 corner = next;
        if (e == 1 || e == 2) ++corner[(a + 1) % 3];
        if (e >= 2) ++corner[(a + 2) % 3];
        around[e] = corner_index(corner);
      }
      for (int e = 0; e < 4; ++e) {
        const Eigen::Vector4i tet(centre_index(c), around[e], around[(e + 1) % 4], centre_index(next));
        visit((cell_index(c) * 3 + a) * 4 + e, tet);
      }
    }
  }

  int cell_index(const Index3& c) const { return c[0] + cells_[0] * (c[1] + cells_[1] * c[2]); }
  int centre_index(const Index3& c) const { return corner_count_ + cell_index(c); }
  int corner_index(const Index3& c) const { return c[0] + (cells_[0] + 1) * (c[1] + (cells_[1] + 1) * c[2]); }

  double cell_;
  Vec3 origin_;
  Index3 cells_;
  int corner_count_;
};

/// A box of `size`, centred at the origin, in `cells` cubes along each axis of five tets each. Neighbouring cubes are
/// mirror images, so that no diagonal direction is preferred.
TetMesh make_tet_box(const Vec3& size, std::array<int, 3> cells);

/// The body-centred lattice of cubes of edge `cell` about the centre of the surface's bounds, less the tets that
/// neither touch the surface nor lie inside it. Throws std::invalid_argument where the surface is not closed or the
/// lattice would have more than 2^24 cubes.
TetMesh make_tet_lattice(const TriangleMesh& closed, double cell);

/// The lattice whose number of tets comes nearest to `target_tets`, by bisection on the edge of its cubes.
TetMesh make_tet_lattice_with(const TriangleMesh& closed, int target_tets);

/// The faces of a single tet, outward; where `vertex_of` is given, it receives the tet mesh's index of each vertex.
TriangleMesh boundary_surface(const TetMesh& mesh, std::vector<int>* vertex_of = nullptr);

/// Signed volume of each tet, m³.
std::vector<double> tet_volumes(const TetMesh& mesh);

double total_volume(const TetMesh& mesh);

/// Signed volume that a closed surface encloses, m³; positive where it faces outwards.
double enclosed_volume(const TriangleMesh& closed);

/// Whether each edge belongs to two triangles that run along it in opposite directions.
bool is_closed(const TriangleMesh& mesh);

/// How often the surface winds about `x` (Jacobson et al. 2013): 1 inside a closed outward surface and 0 outside.
double winding_number(const TriangleMesh& mesh, const Vec3& x);

}  // namespace stiction
