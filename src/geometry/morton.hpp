// Points sorted along a Morton curve: neighbours in space come to lie near each other in memory.
#pragma once

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "geometry/box.hpp"
#include "parallel/loops.hpp"

namespace stiction {

class MortonSort {
 public:
  /// Fills `order` with 0 … count − 1 in the order of the Morton codes of point(i), on a grid of 2²¹ cubic cells along
  /// the longest side of their box; ties by index.
  template <class Point>
  void operator()(std::size_t count, Point&& point, std::vector<int>& order) {
    const Box all = reduce_in_chunks(
        count, Box{},
        [&](std::size_t i) {
          return Box{point(i), point(i)};
        },
        [](Box a, const Box& b) {
          a.merge(b);
          return a;
        });
    const double extent = (all.hi - all.lo).maxCoeff();
    const double cells_per_metre = extent > 0.0 ? (kCells - 1.0) / extent : 0.0;
    keyed_.resize(count);
    for_each_index(count, [&](std::size_t i) {
      const Vec3 cell = ((point(i) - all.lo) * cells_per_metre).cwiseMax(0.0).cwiseMin(kCells - 1.0);
      keyed_[i] = {spread_bits(cell[0]) | spread_bits(cell[1]) << 1 | spread_bits(cell[2]) << 2, static_cast<int>(i)};
    });
    tbb::parallel_sort(keyed_.begin(), keyed_.end());
    order.resize(count);
    for_each_index(count, [&](std::size_t i) { order[i] = keyed_[i].index; });
  }

 private:
  static constexpr double kCells = 1 << 21;

  struct Keyed {
    std::uint64_t code;
    int index;
    bool operator<(const Keyed& other) const { return code != other.code ? code < other.code : index < other.index; }
  };

  /// Moves bit k of a 21-bit number to bit 3 k.
  static std::uint64_t spread_bits(double cell) {
    auto x = static_cast<std::uint64_t>(cell);
    x = (x | x << 32) & 0x001f00000000ffff;
    x = (x | x << 16) & 0x001f0000ff0000ff;
    x = (x | x << 8) & 0x100f00f00f00f00f;
    x = (x | x << 4) & 0x10c30c30c30c30c3;
    x = (x | x << 2) & 0x1249249249249249;
    return x;
  }

  std::vector<Keyed> keyed_;  // kept between calls
};

}  // namespace stiction
