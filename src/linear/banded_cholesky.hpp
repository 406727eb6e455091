// Cholesky factors of many small banded symmetric matrices, kLanes at a time.
//
// A batch holds kLanes matrices of the same number of rows, interleaved lane by lane, so that every operation works
// on a full pack and reads memory in order. Row r of a batch stores its lower band as HB + 1 packs:
//   entry(r, d) = A(r, r - d),  d = 0 … HB;  entries that would lie left of column 0 are zero and never read.
// In the factor, entry(r, 0) holds 1 / L(r, r): the solves multiply and never divide.
#pragma once

#include <oneapi/tbb/cache_aligned_allocator.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/pack.hpp"

namespace stiction {

template <class T>
using AlignedVector = std::vector<T, tbb::cache_aligned_allocator<T>>;

/// One batch of a banded matrix, as packs: a view.
template <int HB>
struct BandView {
  PackD* data;
  int rows;

  PackD& entry(int row, int d) const { return data[static_cast<std::size_t>(row) * (HB + 1) + d]; }
};

/// factor = L with L Lᵀ = A + diag(shift). Returns false if a pivot of any lane is not positive.
template <int HB>
bool banded_factor(BandView<HB> A, const PackD* shift, BandView<HB> factor) {
  PackD smallest(1.0);
  for (int r = 0; r < A.rows; ++r) {
    PackD* row = &factor.entry(r, 0);
    const PackD* source = &A.entry(r, 0);
    PackD diagonal = source[0] + shift[r];
    // Row by row: L(r, c) = (A(r, c) - Σ_j L(r, j) L(c, j)) / L(c, c).
    for (int d = std::min(HB, r); d >= 1; --d) {
      const int c = r - d;
      const PackD* column = &factor.entry(c, 0);
      PackD sum = source[d];
      for (int j = 1; j + d <= HB && j <= c; ++j) sum = minus_product(sum, row[d + j], column[j]);
      row[d] = sum * column[0];
      diagonal = minus_product(diagonal, row[d], row[d]);
    }
    for (int i = 0; i < kLanes; ++i) smallest.v[i] = diagonal.v[i] > 0 ? smallest.v[i] : -1.0;
    row[0] = PackD(1.0) / sqrt(diagonal);
  }
  for (int i = 0; i < kLanes; ++i)
    if (smallest.v[i] < 0) return false;
  return true;
}

/// Solves L Lᵀ x = b in place; b has one pack a row. Forward then backward while the factor is still in cache.
template <int HB>
void banded_solve(BandView<HB> factor, PackD* b) {
  const auto forward_row = [&](int r, int reach) {
    const PackD* row = &factor.entry(r, 0);
    PackD even = b[r], odd(0.0);
    for (int d = reach; d >= 2; d -= 2) {  // the newest value enters last: short dependence
      even = minus_product(even, row[d], b[r - d]);
      odd = minus_product(odd, row[d - 1], b[r - d + 1]);
    }
    if (reach % 2 == 1) even = minus_product(even, row[1], b[r - 1]);
    b[r] = (even + odd) * row[0];
  };
  const int head = std::min(HB, factor.rows);
  for (int r = 0; r < head; ++r) forward_row(r, r);
  for (int r = head; r < factor.rows; ++r) forward_row(r, HB);

  const auto backward_row = [&](int r, int reach) {
    const PackD* row = &factor.entry(r, 0);
    const PackD x = b[r] * row[0];
    b[r] = x;
    for (int d = 1; d <= reach; ++d) b[r - d] = minus_product(b[r - d], row[d], x);
  };
  for (int r = factor.rows - 1; r >= head; --r) backward_row(r, HB);
  for (int r = head - 1; r >= 0; --r) backward_row(r, r);
}

}  // namespace stiction
