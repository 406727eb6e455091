// A bounding-volume hierarchy for the broad phase over millions of small boxes.
//
// The primitives are sorted along a Morton curve and packed, eight at a time, into leaf nodes; eight consecutive nodes
// make a node of the next level, up to a single root. The tree is implicit (the children of node m are 8 m … 8 m + 7 of
// the level below) and a node keeps its eight boxes as rows of floats, so that one query is tested against all eight at
// once. Boxes move (geometry/moving_box.hpp): what flies along together does not meet.
//
// Pair searches descend the tree with eight queries at a time, neighbours on the curve, down to the leaf nodes that
// their common box overlaps. They run in parallel over chunks of fixed size and give the same output for any number of
// threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "geometry/morton.hpp"
#include "geometry/moving_box.hpp"
#include "parallel/chunk_lists.hpp"

namespace stiction {

class Bvh {
 public:
  /// Sorts the primitives by the centres of their boxes and builds the tree.
  void build(std::span<const MovingBox> boxes);

  /// Builds the tree of primitives whose neighbours in space follow one another, and keeps their order.
  void build_in_order(std::span<const MovingBox> boxes);

  /// Fits the tree to moved boxes (as many as were built), keeping the order of the primitives. Only those whose
  /// `changed` is set have moved; empty: all of them.
  void refit(std::span<const MovingBox> boxes, std::span<const std::uint8_t> changed = {});

  int size() const { return static_cast<int>(order_.size()); }

  /// Calls `callback(primitive)` once for every primitive whose box may meet `box`.
  template <class F>
  void query(const MovingBox& box, F&& callback) const;

  /// The same of a tree that was built in order, from primitive `first` on.
  template <class F>
  void query_from(int first, const MovingBox& box, F&& callback) const;

  /// Every (query, primitive) that may meet and for which `filter(query, primitive)` holds; sorted. The filter is
  /// called from several threads. Returns false, and nothing of use, where there are more than `most`.
  template <class Filter, class Pairs>
  bool pairs_with(std::span<const MovingBox> queries, Filter filter, Pairs& out,
                  std::size_t most = std::numeric_limits<std::size_t>::max());

 private:
  static constexpr int kWidth = 8, kLog2Width = 3;
  static constexpr int kMaxLevels = 11;  // 8^11 exceeds the largest int
  static constexpr int kBlock = 8;       // queries that descend together
  static constexpr int kChunk = 256;     // queries a task, a multiple of kBlock

  /// A query: it meets the columns with start[r] <= start + max(0, sweep - sweep[r]) in every row r.
  struct Key {
    std::array<float, 6> start, sweep;
  };
  struct alignas(64) Node {
    float start[6][kWidth];  // rows of eight MovingBoxes
    float sweep[6][kWidth];
  };

  void morton_order(std::span<const MovingBox> boxes, std::vector<int>& order);
  void build_levels(std::span<const MovingBox> boxes);
  /// Replaces each count by the sum of those up to and including it.
  static void add_up(std::span<std::size_t> counts);
  static MovingBox merged(const Node& node);
  static Key key_of(const MovingBox& box);
  static unsigned overlap_mask(const Node& node, const Key& key);

  /// Calls `visit(leaf)` for every leaf node from `first` on whose box overlaps the key.
  template <class F>
  void visit_leaves(int first, const Key& key, F&& visit) const;

  /// Calls `found(k, primitive)` for every primitive that overlaps queries[block[k]].
  template <class F>
  void query_block(std::span<const MovingBox> queries, std::span<const int> block, F&& found) const;

  std::vector<int> order_;              // primitives along the curve
  std::vector<Node> nodes_;             // level after level, leaves first
  std::vector<int> level_begin_;        // first node of each level
  std::vector<std::uint8_t> refitted_;  // nodes that the last refit() changed

  // Scratch of the sort and the pair search, kept between calls.
  MortonSort morton_sort_;
  std::vector<int> query_order_;
  ChunkLists<int> partners_;             // accepted primitives, query after query
  std::vector<std::size_t> first_pair_;  // position in the output of each query's first pair
};

inline unsigned Bvh::overlap_mask(const Node& node, const Key& key) {
#if defined(__AVX__)
  static_assert(kWidth == 8);
  const __m256 zero = _mm256_setzero_ps();
  __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (int row = 0; row < 6; ++row) {
    const __m256 relative = _mm256_sub_ps(_mm256_set1_ps(key.sweep[row]), _mm256_load_ps(node.sweep[row]));
    const __m256 bound = _mm256_add_ps(_mm256_set1_ps(key.start[row]), _mm256_max_ps(zero, relative));
    all = _mm256_and_ps(all, _mm256_cmp_ps(_mm256_load_ps(node.start[row]), bound, _CMP_LE_OQ));
  }
  return static_cast<unsigned>(_mm256_movemask_ps(all));
#else
  unsigned mask = (1u << kWidth) - 1;
  for (int row = 0; row < 6; ++row) {
    unsigned row_mask = 0;
    for (int k = 0; k < kWidth; ++k) {
      const float bound = key.start[row] + std::max(0.0f, key.sweep[row] - node.sweep[row][k]);
      row_mask |= static_cast<unsigned>(node.start[row][k] <= bound) << k;
    }
    mask &= row_mask;
  }
  return mask;
#endif
}

template <class F>
void Bvh::visit_leaves(int first, const Key& key, F&& visit) const {
  if (order_.empty()) return;
  struct Entry {
    int level, node;
  };
  std::array<Entry, kWidth * kMaxLevels> stack;
  int top = 0;
  stack[top++] = {static_cast<int>(level_begin_.size()) - 1, 0};
  while (top > 0) {
    const auto [level, node] = stack[--top];
    if ((node + std::int64_t{1}) << (kLog2Width * level) <= first) continue;
    if (level == 0) {
      visit(node);
      continue;
    }
    unsigned mask = overlap_mask(nodes_[level_begin_[level] + node], key);
    for (; mask != 0; mask &= mask - 1) stack[top++] = {level - 1, node * kWidth + std::countr_zero(mask)};
  }
}

template <class F>
void Bvh::query_from(int first, const MovingBox& box, F&& callback) const {
  const Key key = key_of(box);
  visit_leaves(first / kWidth, key, [&](int leaf) {
    unsigned mask = overlap_mask(nodes_[leaf], key);
    if (leaf == first / kWidth) mask &= ~0u << (first % kWidth);
    for (; mask != 0; mask &= mask - 1) callback(order_[leaf * kWidth + std::countr_zero(mask)]);
  });
}

template <class F>
void Bvh::query(const MovingBox& box, F&& callback) const {
  query_from(0, box, callback);
}

template <class F>
void Bvh::query_block(std::span<const MovingBox> queries, std::span<const int> block, F&& found) const {
  std::array<Key, kBlock> keys;
  for (std::size_t k = 0; k < block.size(); ++k) keys[k] = key_of(queries[block[k]]);
  Key common = keys[0];
  for (std::size_t k = 1; k < block.size(); ++k) {
    for (int row = 0; row < 6; ++row) {
      common.start[row] = std::max(common.start[row], keys[k].start[row]);
      common.sweep[row] = std::max(common.sweep[row], keys[k].sweep[row]);
    }
  }
  visit_leaves(0, common, [&](int leaf) {
    if (overlap_mask(nodes_[leaf], common) == 0) return;
    for (std::size_t k = 0; k < block.size(); ++k) {
      unsigned mask = overlap_mask(nodes_[leaf], keys[k]);
      for (; mask != 0; mask &= mask - 1) found(k, order_[leaf * kWidth + std::countr_zero(mask)]);
    }
  });
}

template <class Filter, class Pairs>
bool Bvh::pairs_with(std::span<const MovingBox> queries, Filter filter, Pairs& out, std::size_t most) {
  morton_order(queries, query_order_);
  const std::size_t n = queries.size();
  first_pair_.resize(n + 1);
  first_pair_[0] = 0;
  const auto members = [&](std::size_t first, std::size_t last) {
    return std::span<const int>(query_order_).subspan(first, last - first);
  };

  // Search, and count the pairs of each query.
  const auto search = [&](std::size_t first, std::size_t last, std::vector<int>& partners) {
    std::array<std::vector<int>, kBlock> found;
    for (std::size_t begin = first; begin < last; begin += kBlock) {
      const auto block = members(begin, std::min<std::size_t>(begin + kBlock, last));
      query_block(queries, block, [&](std::size_t k, int j) {
        if (filter(block[k], j)) found[k].push_back(j);
      });
      for (std::size_t k = 0; k < block.size(); ++k) {
        std::sort(found[k].begin(), found[k].end());
        partners.insert(partners.end(), found[k].begin(), found[k].end());
        first_pair_[block[k] + 1] = found[k].size();
        found[k].clear();
      }
    }
  };
  partners_.set_limit(most);
  partners_.collect_chunks(n, search, kChunk);
  if (partners_.full()) {
    partners_.clear();
    return false;
  }

  // Place each query's pairs, in the order of the queries.
  add_up(first_pair_);
  out.resize(first_pair_[n]);
  for_each_chunk(
      n,
      [&](std::size_t chunk, std::size_t first, std::size_t last) {
        const int* partner = partners_.chunk(chunk).data();
        for (const int i : members(first, last)) {
          for (std::size_t k = first_pair_[i]; k < first_pair_[i + 1]; ++k) out[k] = {i, *partner++};
        }
      },
      kChunk);
  partners_.clear();
  return true;
}

}  // namespace stiction
