// Sparse Cholesky factor of a symmetric positive definite matrix of 3x3 blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "linear/block_matrix.hpp"

namespace stiction {

/// L L^T of a BlockMatrix: analyse once for a pattern, then factor and solve many times. One object serves one thread
/// at a time; different objects may work in parallel.
class SparseCholesky {
 public:
  SparseCholesky();
  ~SparseCholesky();
  SparseCholesky(SparseCholesky&&) noexcept;
  SparseCholesky& operator=(SparseCholesky&&) noexcept;

  void analyse(const BlockMatrix& pattern);

  /// Factors M + diag(w_j I); w empty: M alone. M has the analysed pattern. False where a pivot is not positive.
  bool factor(const BlockMatrix& m, std::span<const double> w = {});

  /// x = (M + W)^-1 b, in place.
  void solve(std::span<Vec3> x) const;

  /// What one sweep of a solve reads.
  std::size_t factor_bytes() const;
  /// Additions and multiplications of one factorisation.
  double factor_flops() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stiction
