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
#include <type_traits>
#include <utility>
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

/// Calls f(0), …, f(count - 1), one after the other, with arguments that are constants: no loop is left, and what is
/// indexed by them stays in registers.
template <int count, class F>
void unrolled(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (f(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, count>());
}

/// factor = L with L Lᵀ = A + diag(shift). Returns false if a pivot of any lane is not positive.
template <int HB>
bool banded_factor(BandView<HB> A, const PackD* shift, BandView<HB> factor) {
  PackD smallest(1.0);
  for (int r = 0; r < A.rows; ++r) {
    const PackD* source = &A.entry(r, 0);
    PackD row[HB + 1];
    PackD diagonal = source[0] + shift[r];
    // L(r, c) = (A(r, c) - Σ_j L(r, j) L(c, j)) / L(c, c), c = r - d, from r - reach on.
    const auto take_entry = [&](int d, int reach) __attribute__((always_inline)) {
      const PackD* column = &factor.entry(r - d, 0);
      PackD sum = source[d];
      for (int j = 1; j <= reach - d; ++j) sum = minus_product(sum, row[d + j], column[j]);
      row[d] = sum * column[0];
      diagonal = minus_product(diagonal, row[d], row[d]);
    };
    if (r >= HB)
      unrolled<HB>([&](auto i) { take_entry(HB - i, HB); });
    else
      for (int d = r; d >= 1; --d) take_entry(d, r);
    smallest = where_positive(diagonal, smallest, PackD(-1.0));
    row[0] = PackD(1.0) / sqrt(diagonal);
    std::copy_n(row, std::min(r, HB) + 1, &factor.entry(r, 0));
  }
  for (int i = 0; i < kLanes; ++i)
    if (smallest[i] < 0) return false;
  return true;
}

/// Solves L Lᵀ x = b in place; b has one pack a row. Forward then backward while the factor is still in cache.
template <int HB>
void banded_solve(BandView<HB> factor, PackD* b) {
  constexpr int ahead = 8;  // rows: long enough for one to come from memory
  const auto forward_row = [&](int r, auto reach) {
    const PackD* row = &factor.entry(r, 0);
    for (int d = 0; d <= HB; ++d) __builtin_prefetch(row + ahead * (HB + 1) + d);
    PackD even = b[r], odd(0.0);
    for (int d = reach; d >= 2; d -= 2) {  // the newest value enters last: short dependence
      even = minus_product(even, row[d], b[r - d]);
      odd = minus_product(odd, row[d - 1], b[r - d + 1]);
    }
    if (reach % 2 == 1) even = minus_product(even, row[1], b[r - 1]);
    b[r] = (even + odd) * row[0];
  };
  const std::integral_constant<int, HB> whole;
  const int head = std::min(HB, factor.rows);
  for (int r = 0; r < head; ++r) forward_row(r, r);
  for (int r = head; r < factor.rows; ++r) forward_row(r, whole);

  const PackD* next_batch = factor.data + static_cast<std::size_t>(factor.rows) * (HB + 1);  // if there is one
  const auto backward_row = [&](int r, auto reach) {
    const PackD* row = &factor.entry(r, 0);
    for (int d = 0; d <= HB; ++d) __builtin_prefetch(next_batch + (factor.rows - 1 - r) * (HB + 1) + d, 0, 2);
    const PackD x = b[r] * row[0];
    b[r] = x;
    for (int d = 1; d <= reach; ++d) b[r - d] = minus_product(b[r - d], row[d], x);
  };
  for (int r = factor.rows - 1; r >= head; --r) backward_row(r, whole);
  for (int r = head - 1; r >= 0; --r) backward_row(r, r);
}

}  // namespace stiction
