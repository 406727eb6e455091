#include "linear/block_matrix.hpp"

#include <algorithm>

namespace stiction {

BlockMatrix BlockMatrix::with_pattern(int size, std::vector<std::pair<int, int>> pairs) {
  // As (column, row) of the lower triangle, sorted: the order of storage.
  for (auto& [i, j] : pairs)
    if (i > j) std::swap(i, j);
  for (int i = 0; i < size; ++i) pairs.emplace_back(i, i);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());

  BlockMatrix m;
  m.size = size;
  m.column.assign(static_cast<std::size_t>(size) + 1, 0);
  m.row.reserve(pairs.size());
  for (const auto& [j, i] : pairs) {
    ++m.column[j + 1];
    m.row.push_back(i);
  }
  for (int j = 0; j < size; ++j) m.column[j + 1] += m.column[j];
  m.block.assign(m.row.size(), Mat3::Zero());
  return m;
}

int BlockMatrix::find(int i, int j) const {
  const auto begin = row.begin() + column[j], end = row.begin() + column[j + 1];
  const auto at = std::lower_bound(begin, end, i);
  return at != end && *at == i ? static_cast<int>(at - row.begin()) : -1;
}

void BlockMatrix::set_zero() { std::fill(block.begin(), block.end(), Mat3::Zero()); }

void BlockMatrix::multiply(std::span<const Vec3> x, std::span<Vec3> y) const {
  std::fill(y.begin(), y.end(), Vec3::Zero());
  for (int j = 0; j < size; ++j) {
    const int diagonal = column[j];
    const Vec3& x_j = x[j];
    Vec3 y_j = block[diagonal] * x_j;
    for (int k = diagonal + 1; k < column[j + 1]; ++k) {
      y[row[k]] += block[k] * x_j;
      y_j += block[k].transpose() * x[row[k]];
    }
    y[j] += y_j;
  }
}

}  // namespace stiction
