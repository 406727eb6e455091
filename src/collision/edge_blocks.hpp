// The edges of a step in blocks of eight neighbours, and the pairs of them that may meet.
//
// The edges are sorted along a Morton curve. A block keeps its eight as rows of floats, so that one edge is tried
// against eight at once; a tree over the blocks' boxes finds the blocks that may meet. An edge is known by its place on
// the curve: pairs of places that follow one another touch the same few lines of the cache.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "collision/surface.hpp"
#include "geometry/bvh.hpp"
#include "geometry/morton.hpp"
#include "kernels/vec.hpp"
#include "parallel/chunk_lists.hpp"
#include "parallel/large_vector.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// What a vertex is expected to be displaced by over the step, m.
struct Expected {
  Vec3 displacement;
  double slack;

  Box box() const {
    Box range{displacement, displacement};
    range.inflate(slack);
    return range;
  }
};

class EdgeBlocks {
 public:
  /// Keeps a reference to the edges.
  EdgeBlocks(const std::vector<SurfaceEdge>& edges, const ContactOptions& options) : edges_(edges), options_(options) {}

  /// Orders the edges for a step that starts at x. `largest` (m) is that of all coordinates and displacements.
  void begin_step(std::span<const Vec3> x, std::span<const Expected> expected, double largest);

  /// Takes over what is expected of the vertices that have changed.
  void follow(std::span<const Expected> expected, std::span<const std::uint8_t> vertex_changed);

  std::size_t size() const { return order_.size(); }
  int edge_at(int place) const { return order_[place]; }
  /// The vertices of that edge.
  const std::array<int, 2>& ends_at(int place) const { return ends_[place]; }

  /// All pairs of places that may come into contact by the displacements that begin_step() was given, if
  /// filter(place, place) holds. The lower place comes first. Returns false, and nothing of use, where there are more
  /// than `most`.
  template <class Filter>
  bool find_pairs(Filter&& filter, std::size_t most, LargeVector<std::pair<int, int>>& out);

  /// Those that may by the displacements expected now and not by those of begin_step(), and have an edge that the last
  /// follow() changed, if filter(place, place) holds; false as above.
  template <class Filter>
  bool find_new_pairs(Filter&& filter, std::size_t most, LargeVector<std::pair<int, int>>& out);

 private:
  static constexpr int kWidth = 8;
  static constexpr std::size_t kBlocksPerChunk = 32;
  using Floats = Pack<float, kWidth>;

  /// Eight edges. m, and 1/m².
  struct Shape {
    V3<Floats> middle, half;
    Floats per_half2;  // 1 over the square of `half`
    Floats reach;      // half of the distance at which the edge is in contact with its like
  };
  /// How their ends are expected to move, m.
  struct Moves {
    std::array<V3<Floats>, 2> end;
    Floats slack;
  };

  /// A block's edges, each repeated in all lanes, to be tried against other blocks.
  struct Repeated {
    std::array<Shape, kWidth> shape;
    std::array<Moves, kWidth> moves;
  };

  static Moves repeat(const Moves& m, int lane);
  static void repeat(const Shape& s, const Moves& m, unsigned lanes, Repeated& out);
  /// The lanes that may come into contact; the same whichever comes first.
  static unsigned may_meet(const Shape& e, const Moves& e_moves, const Shape& f, const Moves& f_moves);
  static Floats apart_across(const Shape& e, const Moves& e_moves, const Shape& f, const Moves& f_moves);
  /// Of the lanes, those that may meet something in the box.
  static unsigned may_meet(const MovingBox& box, const Shape& e, const Moves& e_moves, unsigned lanes);
  unsigned used_lanes(int block) const;
  void set_moves(int place, std::span<const Expected> expected);
  /// Of the lanes in the mask.
  MovingBox box_of(int block, unsigned lanes) const;

  /// Runs search(block, found) for all blocks; false where it finds more than `most`.
  template <class Search>
  bool collect(Search&& search, std::size_t most, LargeVector<std::pair<int, int>>& out);

  const std::vector<SurfaceEdge>& edges_;
  ContactOptions options_;
  double rounding_ = 0;                   // m
  std::vector<int> order_;                // edges along the curve
  std::vector<std::array<int, 2>> ends_;  // of each place
  std::vector<Shape> shape_;              // of each block
  std::vector<Moves> first_, now_;        // as expected by begin_step(), and by follow()
  std::vector<std::uint8_t> changed_;     // lanes of each block
  std::vector<MovingBox> box_;            // of each block
  Bvh tree_;
  MortonSort morton_sort_;
  ChunkLists<std::pair<int, int>> found_;
};

template <class Search>
bool EdgeBlocks::collect(Search&& search, std::size_t most, LargeVector<std::pair<int, int>>& out) {
  found_.set_limit(most);
  found_.collect(shape_.size(), search, kBlocksPerChunk);
  const bool all = !found_.full();
  found_.move_into(out);
  return all;
}

template <class Filter>
bool EdgeBlocks::find_pairs(Filter&& filter, std::size_t most, LargeVector<std::pair<int, int>>& out) {
  const auto search = [&](std::size_t block, std::vector<std::pair<int, int>>& found) {
    const int a = static_cast<int>(block);
    Repeated each;
    repeat(shape_[a], first_[a], used_lanes(a), each);
    tree_.query_from(a, box_[a], [&](int b) {
      unsigned lanes = may_meet(box_[b], shape_[a], first_[a], used_lanes(a));
      for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes), i = a * kWidth + lane;
        unsigned mask = used_lanes(b) & may_meet(each.shape[lane], each.moves[lane], shape_[b], first_[b]);
        if (a == b) mask &= ~1u << lane;
        for (; mask != 0; mask &= mask - 1) {
          const int j = b * kWidth + std::countr_zero(mask);
          if (filter(i, j)) found.emplace_back(i, j);
        }
      }
    });
  };
  return collect(search, most, out);
}

template <class Filter>
bool EdgeBlocks::find_new_pairs(Filter&& filter, std::size_t most, LargeVector<std::pair<int, int>>& out) {
  const auto search = [&](std::size_t block, std::vector<std::pair<int, int>>& found) {
    const int a = static_cast<int>(block);
    if (changed_[a] == 0) return;
    Repeated each;
    repeat(shape_[a], now_[a], changed_[a], each);
    tree_.query(box_of(a, changed_[a]), [&](int b) {
      unsigned lanes = may_meet(box_[b], shape_[a], now_[a], changed_[a]);
      for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes), i = a * kWidth + lane;
        unsigned mask = used_lanes(b) & may_meet(each.shape[lane], each.moves[lane], shape_[b], now_[b]);
        // Where both have changed, the lower place looks for the other.
        if (b < a) mask &= ~changed_[b];
        if (b == a) mask &= (~changed_[a] | ~0u << lane) & ~(1u << lane);
        if (mask != 0) mask &= ~may_meet(each.shape[lane], repeat(first_[a], lane), shape_[b], first_[b]);
        for (; mask != 0; mask &= mask - 1) {
          const std::pair<int, int> pair = std::minmax({i, b * kWidth + std::countr_zero(mask)});
          if (filter(pair.first, pair.second)) found.push_back(pair);
        }
      }
    });
  };
  return collect(search, most, out);
}

}  // namespace stiction
