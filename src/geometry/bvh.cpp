#include "geometry/bvh.hpp"

#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <limits>

namespace stiction {
namespace {

constexpr int kGrain = 512;     // boxes a task
constexpr int kNodeGrain = 64;  // nodes a task
constexpr float kOverlapsNothing = std::numeric_limits<float>::infinity();

/// Moves bit k of a 21-bit number to bit 3 k.
std::uint64_t spread_bits(std::uint64_t x) {
  x = (x | x << 32) & 0x001f00000000ffff;
  x = (x | x << 16) & 0x001f0000ff0000ff;
  x = (x | x << 8) & 0x100f00f00f00f00f;
  x = (x | x << 4) & 0x10c30c30c30c30c3;
  x = (x | x << 2) & 0x1249249249249249;
  return x;
}

}  // namespace

void Bvh::morton_order(std::span<const MovingBox> boxes, std::vector<int>& order) {
  constexpr double cells = 1 << 21;
  const int n = static_cast<int>(boxes.size());
  const tbb::blocked_range<int> all(0, n, kGrain);
  const Box centers = tbb::parallel_reduce(
      all, Box{},
      [&](const tbb::blocked_range<int>& range, Box box) {
        for (int i = range.begin(); i < range.end(); ++i) box.merge(boxes[i].center());
        return box;
      },
      [](Box a, const Box& b) {
        a.merge(b);
        return a;
      });
  const double extent = (centers.hi - centers.lo).maxCoeff();
  const double cells_per_metre = extent > 0.0 ? (cells - 1.0) / extent : 0.0;

  keyed_.resize(n);
  const auto cell = [&](const Vec3& x, int axis) {
    return static_cast<std::uint64_t>(std::clamp((x[axis] - centers.lo[axis]) * cells_per_metre, 0.0, cells - 1.0));
  };
  tbb::parallel_for(all, [&](const tbb::blocked_range<int>& range) {
    for (int i = range.begin(); i < range.end(); ++i) {
      const Vec3 x = boxes[i].center();
      keyed_[i] = {spread_bits(cell(x, 0)) | spread_bits(cell(x, 1)) << 1 | spread_bits(cell(x, 2)) << 2, i};
    }
  });
  tbb::parallel_sort(keyed_.begin(), keyed_.end());

  order.resize(n);
  tbb::parallel_for(all, [&](const tbb::blocked_range<int>& range) {
    for (int i = range.begin(); i < range.end(); ++i) order[i] = keyed_[i].primitive;
  });
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

void Bvh::refit(std::span<const MovingBox> boxes) {
  int children = size();
  for (std::size_t level = 0; level < level_begin_.size(); ++level) {
    const int count = (children - 1) / kWidth + 1;
    tbb::parallel_for(tbb::blocked_range<int>(0, count, kNodeGrain), [&](const tbb::blocked_range<int>& range) {
      for (int m = range.begin(); m < range.end(); ++m) {
        Node& node = nodes_[level_begin_[level] + m];
        const int used = std::min(kWidth, children - m * kWidth);
        for (int k = 0; k < used; ++k) {
          const int child = m * kWidth + k;
          const MovingBox box = level == 0 ? boxes[order_[child]] : merged(nodes_[level_begin_[level - 1] + child]);
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
