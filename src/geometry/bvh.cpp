#include "geometry/bvh.hpp"

#include <tbb/parallel_scan.h>

#include <limits>

namespace stiction {
namespace {

constexpr int kGrain = 512;     // boxes a task
constexpr int kNodeGrain = 64;  // nodes a task
constexpr float kOverlapsNothing = std::numeric_limits<float>::infinity();

}  // namespace

void Bvh::morton_order(std::span<const MovingBox> boxes, std::vector<int>& order) {
  morton_sort_(
      boxes.size(), [&](std::size_t i) { return boxes[i].center(); }, order);
}

void Bvh::add_up(std::span<std::size_t> counts) {
  tbb::parallel_scan(
      tbb::blocked_range<std::size_t>(0, counts.size(), kGrain), std::size_t{0},
      [&](const tbb::blocked_range<std::size_t>& range, std::size_t sum, bool last) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
          sum += counts[i];
          if (last) counts[i] = sum;
        }
        return sum;
      },
      [](std::size_t left, std::size_t right) { return left + right; });
}

MovingBox Bvh::merged(const Node& node) {
  MovingBox box;
  for (int row = 0; row < 6; ++row) {
    box.start[row] = *std::min_element(node.start[row], node.start[row] + kWidth);
    box.sweep[row] = *std::min_element(node.sweep[row], node.sweep[row] + kWidth);
  }
  return box;
}

Bvh::Key Bvh::key_of(const MovingBox& box) {
  Key key;
  for (int row = 0; row < 6; ++row) {
    key.start[row] = -box.start[(row + 3) % 6];
    key.sweep[row] = -box.sweep[(row + 3) % 6];
  }
  return key;
}

void Bvh::build(std::span<const MovingBox> boxes) {
  morton_order(boxes, order_);
  build_levels(boxes);
}

void Bvh::build_in_order(std::span<const MovingBox> boxes) {
  order_.resize(boxes.size());
  for_each_index(boxes.size(), [&](std::size_t i) { order_[i] = static_cast<int>(i); });
  build_levels(boxes);
}

void Bvh::build_levels(std::span<const MovingBox> boxes) {
  level_begin_.clear();
  int nodes = 0;
  for (int count = size(); count > 0;) {
    level_begin_.push_back(nodes);
    const int level_nodes = (count - 1) / kWidth + 1;
    nodes += level_nodes;
    count = level_nodes > 1 ? level_nodes : 0;
  }
  nodes_.resize(nodes);
  refit(boxes);
}

void Bvh::refit(std::span<const MovingBox> boxes, std::span<const std::uint8_t> changed) {
  refitted_.resize(nodes_.size());
  int children = size();
  for (std::size_t level = 0; level < level_begin_.size(); ++level) {
    const int count = (children - 1) / kWidth + 1;
    const int below = level == 0 ? 0 : level_begin_[level - 1];
    const auto child_changed = [&](int child) {
      return level == 0 ? changed.empty() || changed[order_[child]] != 0 : refitted_[below + child] != 0;
    };
    tbb::parallel_for(tbb::blocked_range<int>(0, count, kNodeGrain), [&](const tbb::blocked_range<int>& range) {
      for (int m = range.begin(); m < range.end(); ++m) {
        const int used = std::min(kWidth, children - m * kWidth);
        bool any = false;
        for (int k = 0; k < used; ++k) any = any || child_changed(m * kWidth + k);
        refitted_[level_begin_[level] + m] = any;
        if (!any) continue;
        Node& node = nodes_[level_begin_[level] + m];
        for (int k = 0; k < used; ++k) {
          const int child = m * kWidth + k;
          const MovingBox box = level == 0 ? boxes[order_[child]] : merged(nodes_[below + child]);
          for (int row = 0; row < 6; ++row) {
            node.start[row][k] = box.start[row];
            node.sweep[row][k] = box.sweep[row];
          }
        }
        for (float* row : node.start) std::fill(row + used, row + kWidth, kOverlapsNothing);
        for (float* row : node.sweep) std::fill(row + used, row + kWidth, kOverlapsNothing);
      }
    });
    children = count;
  }
}

}  // namespace stiction
