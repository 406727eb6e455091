// Symmetric sparse matrices made of 3x3 blocks, one block row a node.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "stiction/types.hpp"

namespace stiction {

/// Symmetric matrix of 3x3 blocks, lower triangle by block columns: column j holds its diagonal block first, then the
/// blocks (i, j), i > j, ascending in i.
struct BlockMatrix {
  int size = 0;             ///< block rows
  std::vector<int> column;  ///< size + 1 offsets into row and block
  std::vector<int> row;
  std::vector<Mat3> block;  ///< block (row[k], j), column-major as Eigen stores it

  /// Pattern from pairs (i, j) of coupled rows in any order, duplicates allowed; every diagonal block is present.
  /// Values are zero.
  static BlockMatrix with_pattern(int size, std::vector<std::pair<int, int>> pairs);

  /// Position in `block` of (i, j), i >= j; -1 where the pattern lacks it.
  int find(int i, int j) const;

  void set_zero();

  /// y = M x (both triangles).
  void multiply(std::span<const Vec3> x, std::span<Vec3> y) const;
};

}  // namespace stiction
