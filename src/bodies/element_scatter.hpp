// Sums element contributions into a body's gradient and matrix. Elements are computed in parallel into arrays of their
// own; each entry of the sum then gathers its parts in a fixed order, so the result does not depend on threads.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "linear/block_matrix.hpp"

namespace stiction {

/// For elements of K nodes. Local blocks are the lower triangle by rows: (0,0), (1,0), (1,1), (2,0), ...
template <int K>
class ElementScatter {
 public:
  static constexpr int kBlocks = K * (K + 1) / 2;
  static constexpr int block_index(int p, int q) { return p * (p + 1) / 2 + q; }  ///< p >= q

  /// Pairs of coupled nodes, for BlockMatrix::with_pattern.
  static void append_pairs(std::span<const std::array<int, K>> elements, std::vector<std::pair<int, int>>& pairs);

  /// `matrix` must hold every pair of nodes of every element.
  void prepare(std::span<const std::array<int, K>> elements, int nodes, const BlockMatrix& matrix);

  /// g[node] += Σ local[element * K + p].
  void add_gradient(std::span<const Vec3> local, std::span<Vec3> g) const;
  /// block (i, j) += Σ local[element * kBlocks + block], transposed where the element has the pair the other way.
  void add_matrix(std::span<const Mat3> local, BlockMatrix& matrix) const;

 private:
  std::vector<int> gradient_first_, gradient_from_;  // CSR over nodes
  std::vector<int> block_first_, block_from_;        // CSR over blocks; negative: ~index, transposed
};

extern template class ElementScatter<3>;
extern template class ElementScatter<4>;

}  // namespace stiction
