#include "bodies/element_scatter.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

namespace stiction {

namespace {

constexpr int kPerTask = 1024;

// Sorts (target, source) into rows of sources, ascending within a target.
void make_rows(const std::vector<std::pair<int, int>>& parts, int targets, std::vector<int>& first,
               std::vector<int>& from) {
  first.assign(static_cast<std::size_t>(targets) + 1, 0);
  for (const auto& [target, source] : parts) ++first[target + 1];
  for (int i = 0; i < targets; ++i) first[i + 1] += first[i];
  from.resize(parts.size());
  std::vector<int> next(first.begin(), first.end() - 1);
  for (const auto& [target, source] : parts) from[next[target]++] = source;
}

}  // namespace

template <int K>
void ElementScatter<K>::append_pairs(std::span<const std::array<int, K>> elements,
                                     std::vector<std::pair<int, int>>& pairs) {
  for (const auto& nodes : elements)
    for (int p = 0; p < K; ++p)
      for (int q = 0; q < p; ++q) pairs.emplace_back(nodes[p], nodes[q]);
}

template <int K>
void ElementScatter<K>::prepare(std::span<const std::array<int, K>> elements, int nodes, const BlockMatrix& matrix) {
  std::vector<std::pair<int, int>> to_node, to_block;
  for (int e = 0; e < static_cast<int>(elements.size()); ++e)
    for (int p = 0; p < K; ++p) {
      to_node.emplace_back(elements[e][p], e * K + p);
      for (int q = 0; q <= p; ++q) {
        const int i = elements[e][p], j = elements[e][q], source = e * kBlocks + block_index(p, q);
        to_block.emplace_back(matrix.find(std::max(i, j), std::min(i, j)), i >= j ? source : ~source);
      }
    }
  make_rows(to_node, nodes, gradient_first_, gradient_from_);
  make_rows(to_block, static_cast<int>(matrix.block.size()), block_first_, block_from_);
}

template <int K>
void ElementScatter<K>::add_gradient(std::span<const Vec3> local, std::span<Vec3> g) const {
  tbb::parallel_for(tbb::blocked_range<int>(0, static_cast<int>(g.size()), kPerTask), [&](const auto& range) {
    for (int i = range.begin(); i < range.end(); ++i)
      for (int k = gradient_first_[i]; k < gradient_first_[i + 1]; ++k) g[i] += local[gradient_from_[k]];
  });
}

template <int K>
void ElementScatter<K>::add_matrix(std::span<const Mat3> local, BlockMatrix& matrix) const {
  tbb::parallel_for(tbb::blocked_range<int>(0, static_cast<int>(matrix.block.size()), kPerTask),
                    [&](const auto& range) {
                      for (int i = range.begin(); i < range.end(); ++i)
                        for (int k = block_first_[i]; k < block_first_[i + 1]; ++k) {
                          const int source = block_from_[k];
                          if (source >= 0)
                            matrix.block[i] += local[source];
                          else
                            matrix.block[i] += local[~source].transpose();
                        }
                    });
}

template class ElementScatter<3>;
template class ElementScatter<4>;

}  // namespace stiction
