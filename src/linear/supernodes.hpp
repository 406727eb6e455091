// Symbolic Cholesky factorisation: which columns of L share a pattern, and that pattern.
//
// Elimination tree and column counts after Liu, "The role of elimination trees in sparse factorization", 1990;
// supernodes are merged where the zeros so stored are few (relaxed amalgamation, Ashcraft & Grimes 1989).
#pragma once

#include <cstddef>
#include <vector>

#include "linear/block_matrix.hpp"

namespace stiction {

/// Columns of L in groups of one pattern, children before parents. All indices count 3x3 blocks.
struct Supernodes {
  std::vector<int> order;               ///< order[k] = row of the matrix that is eliminated k-th
  std::vector<int> first;               ///< supernode s holds columns first[s] .. first[s + 1]
  std::vector<int> parent;              ///< -1: a root
  std::vector<std::size_t> row_offset;  ///< of s into `row`
  std::vector<int> row;                 ///< rows below the columns of s, ascending, in elimination order

  int count() const { return static_cast<int>(first.size()) - 1; }
  int width(int s) const { return first[s + 1] - first[s]; }
  int height(int s) const { return static_cast<int>(row_offset[s + 1] - row_offset[s]); }
  /// Multiplications and additions of one factorisation spent on s.
  double flops(int s) const;
};

/// By the better of the orders that there are (fill_order.hpp). The same matrix pattern gives the same result.
Supernodes find_supernodes(const BlockMatrix& pattern);

}  // namespace stiction
