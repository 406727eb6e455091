// Dense kernels on the panels of a supernodal factor.
//
// A panel is column-major; its leading dimension is a multiple of kPackRows and its rows beyond the last are padding,
// so that all work goes by whole packs of rows. Products run on tiles of kTilePacks packs by kTileColumns columns held
// in registers; supernodes are 3, 6, 9, ... columns wide, so tiles 6 and 3 wide cover them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "kernels/pack.hpp"

namespace stiction::panel {

inline constexpr int kPackRows = kLanes;
inline constexpr int kTileColumns = 6;
/// What fits the registers: 24 of 32 (AVX-512), 12 of 16 (AVX2).
#ifdef __AVX512F__
inline constexpr int kTilePacks = 4;
#else
inline constexpr int kTilePacks = 1;
#endif
inline constexpr int kTileRows = kTilePacks * kPackRows;

using Rows = PackD;  // kPackRows consecutive rows of one column

inline int round_up(int n) { return (n + kPackRows - 1) / kPackRows * kPackRows; }
inline int round_down(int n) { return n / kPackRows * kPackRows; }

inline Rows& rows_at(double* p) { return *reinterpret_cast<Rows*>(p); }
inline const Rows& rows_at(const double* p) { return *reinterpret_cast<const Rows*>(p); }

/// Leading dimension for n rows. Columns a multiple of 512 bytes apart would crowd into few sets of the cache.
inline int leading_dimension(int n) {
  const int ld = round_up(n);
  return ld >= 128 && ld % 64 == 0 ? ld + kPackRows : ld;
}

enum class Start { kFromC, kFromZero };

/// C (R registers x N) = C or 0, - A (R registers x depth) B^T, B N x depth; then, with `corner`, C := C corner^-T,
/// where corner is N x N lower triangular with the reciprocals of its diagonal.
template <int R, int N, Start S, bool Solve>
inline void tile(const double* a, std::size_t lda, const double* b, std::size_t ldb, int depth, double* c,
                 std::size_t ldc, const double* corner, std::size_t ld_corner) {
  using Register = PackD::Register;
  constexpr int width = PackD::kWidth;
  Register sum[N][R];
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      if constexpr (S == Start::kFromC)
        sum[j][r] = *reinterpret_cast<const Register*>(c + j * ldc + r * width);
      else
        sum[j][r] = Register{};
    }
  for (int k = 0; k < depth; ++k) {
    Register column[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) column[r] = *reinterpret_cast<const Register*>(a + r * width);
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum[j][r] = minus_product(sum[j][r], column[r], b[j] - Register{});
    a += lda;
    b += ldb;
  }
  if constexpr (Solve) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) {
#pragma GCC unroll 8
      for (int i = 0; i < j; ++i)
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
          sum[j][r] = minus_product(sum[j][r], sum[i][r], corner[i * ld_corner + j] - Register{});
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum[j][r] *= corner[j * ld_corner + j];
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < N; ++j)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) *reinterpret_cast<Register*>(c + j * ldc + r * width) = sum[j][r];
}

/// The tile for `packs` <= kTilePacks packs of rows and `columns` = 3 or 6.
template <Start S, bool Solve>
void any_tile(int packs, int columns, const double* a, std::size_t lda, const double* b, std::size_t ldb, int depth,
              double* c, std::size_t ldc, const double* corner = nullptr, std::size_t ld_corner = 0) {
  const auto with = [&]<int Packs>() {
    constexpr int R = Packs * PackD::kParts;
    if (columns == 6)
      tile<R, 6, S, Solve>(a, lda, b, ldb, depth, c, ldc, corner, ld_corner);
    else
      tile<R, 3, S, Solve>(a, lda, b, ldb, depth, c, ldc, corner, ld_corner);
  };
  if constexpr (kTilePacks == 4) {
    if (packs == 4) return with.template operator()<4>();
    if (packs == 3) return with.template operator()<3>();
    if (packs == 2) return with.template operator()<2>();
  }
  with.template operator()<1>();
}

/// Rows [begin, end) of C -= A B^T over columns [0, columns) of C; A and C share rows, B's rows are C's columns.
/// With `lower`, column j starts at row j rounded down to a tile column's pack.
template <Start S>
void subtract_product(int begin, int end, int first_column, int columns, bool lower, const double* a, std::size_t lda,
                      const double* b, std::size_t ldb, int depth, double* c, std::size_t ldc) {
  for (int j = first_column; j < columns; j += kTileColumns) {
    const int from = lower ? std::max(begin, round_down(j)) : begin;
    if (from >= end) break;
    any_tile<S, false>((end - from) / kPackRows, std::min(kTileColumns, columns - j), a + from, lda, b + j, ldb, depth,
                       c + from + j * ldc, ldc);
  }
}

/// Factors the n x n lower corner at `c` in place, reciprocals on the diagonal. False where a pivot is not positive.
inline bool factor_corner(double* c, std::size_t ld, int n) {
  for (int j = 0; j < n; ++j) {
    double* column = c + j * ld;
    double pivot = column[j];
    for (int k = 0; k < j; ++k) pivot -= c[k * ld + j] * c[k * ld + j];
    if (!(pivot > 0)) return false;
    const double reciprocal = 1 / std::sqrt(pivot);
    column[j] = reciprocal;
    for (int i = j + 1; i < n; ++i) {
      double value = column[i];
      for (int k = 0; k < j; ++k) value -= c[k * ld + i] * c[k * ld + j];
      column[i] = value * reciprocal;
    }
  }
  return true;
}

/// Row r of a corner's right side: x := x corner^-T.
inline void solve_row(double* x, std::size_t ldx, const double* corner, std::size_t ld, int n) {
  for (int j = 0; j < n; ++j) {
    double value = x[j * ldx];
    for (int k = 0; k < j; ++k) value -= x[k * ldx] * corner[k * ld + j];
    x[j * ldx] = value * corner[j * ld + j];
  }
}

/// A packed triangle of n columns is a sequence of strips of kPackRows columns, each from its corner on the diagonal
/// down: the offset of the strip of column j, j = 0, kPackRows, ...; for j = n the size of all.
inline std::size_t strip_offset(int n, int j) {
  const std::size_t rows = round_up(n), full = j / kPackRows, rest = j % kPackRows;
  return full * kPackRows * rows - full * (full - 1) / 2 * kPackRows * kPackRows + rest * (rows - full * kPackRows);
}

/// Packs a factored triangle (n columns, reciprocals on the diagonal) in place. Each strip's corner becomes its
/// inverse, zeros above: a solve then has no recurrence inside a pack.
inline void pack_triangle(double* c, std::size_t ld, int n) {
  const int rows = round_up(n);
  for (int first = 0; first < n; first += kPackRows) {
    const int m = std::min(kPackRows, n - first);
    const double* corner = c + first * ld + first;
    double inverse[kPackRows][kPackRows] = {};  // [column][row]
    for (int j = 0; j < m; ++j) {
      inverse[j][j] = corner[j * ld + j];
      for (int i = j + 1; i < m; ++i) {
        double sum = 0;
        for (int k = j; k < i; ++k) sum -= corner[k * ld + i] * inverse[j][k];
        inverse[j][i] = sum * corner[i * ld + i];
      }
    }
    // Every column moves to lower addresses, over columns that have moved.
    const int length = rows - first;
    double* to = c + strip_offset(n, first);
    for (int j = 0; j < m; ++j, to += length) {
      std::memmove(to + kPackRows, corner + j * ld + kPackRows, sizeof(double) * (length - kPackRows));
      std::copy_n(inverse[j], kPackRows, to);
    }
  }
}

/// y (rows) -= A x over N columns; all packs.
template <int N>
inline void subtract_columns(const double* a, std::size_t lda, int rows, const double* x, double* y) {
  Rows scale[N];
  for (int j = 0; j < N; ++j) scale[j] = Rows(x[j]);
  for (int r = 0; r < rows; r += kPackRows) {
    Rows even = rows_at(y + r), odd = Rows(0.0);
#pragma GCC unroll 12
    for (int j = 0; j < N; ++j) {
      if (j % 2 == 0)
        even = minus_product(even, rows_at(a + j * lda + r), scale[j]);
      else
        odd = minus_product(odd, rows_at(a + j * lda + r), scale[j]);
    }
    rows_at(y + r) = even + odd;
  }
}

inline double sum_of(const Rows& v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }

/// x_j -= a_j . y for N columns.
template <int N>
inline void subtract_dots(const double* a, std::size_t lda, int rows, const double* y, double* x) {
  Rows sum[N];
#pragma GCC unroll 12
  for (int j = 0; j < N; ++j) sum[j] = Rows(0.0);
  for (int r = 0; r < rows; r += kPackRows) {
    const Rows value = rows_at(y + r);
#pragma GCC unroll 12
    for (int j = 0; j < N; ++j) {
      sum[j] = minus_product(sum[j], rows_at(a + j * lda + r), value);
    }
  }
  for (int j = 0; j < N; ++j) x[j] += sum_of(sum[j]);
}

}  // namespace stiction::panel
