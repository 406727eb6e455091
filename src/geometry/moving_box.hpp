// Boxes that move: where a primitive is at the start of a step, and how far it may be displaced by its end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "geometry/box.hpp"

namespace stiction {

/// A box and a range of displacements, as floats rounded outwards. Two of them may meet within the step only where
/// their start boxes overlap after one is grown by their displacement relative to each other: neighbours that move
/// together sweep nothing, however fast they are.
struct MovingBox {
  // Rows lo_x lo_y lo_z −hi_x −hi_y −hi_z: a union is a row-wise minimum.
  std::array<float, 6> start, sweep;

  MovingBox() = default;
  /// At rest.
  MovingBox(const Box& box) : MovingBox(box, Box{Vec3::Zero(), Vec3::Zero()}) {}  // NOLINT(google-explicit-constructor)
  MovingBox(const Box& box, const Box& displacement) : start(rows_of(box)), sweep(rows_of(displacement)) {}

  void merge(const MovingBox& other) {
    for (int r = 0; r < 6; ++r) {
      start[r] = std::min(start[r], other.start[r]);
      sweep[r] = std::min(sweep[r], other.sweep[r]);
    }
  }

  /// Whether they may share a point at some time between start and end; touching counts. Rounding of the sums here is
  /// not outwards: boxes need a margin of a few 1e-7 of the coordinates.
  bool may_meet(const MovingBox& other) const {
    for (int r = 0; r < 6; ++r) {
      const int o = (r + 3) % 6;
      if (!(other.start[r] <= -start[o] + std::max(0.0f, -sweep[o] - other.sweep[r]))) return false;
    }
    return true;
  }

  /// The middle of the start box.
  Vec3 center() const {
    Vec3 middle;
    for (int a = 0; a < 3; ++a) middle[a] = 0.5 * (static_cast<double>(start[a]) - start[a + 3]);
    return middle;
  }

 private:
  /// The largest float that is not above x, without a branch (a float's neighbours are those of its bits; a negative x
  /// that rounds to zero rounds to -0).
  static float round_down(double x) {
    const float nearest = static_cast<float>(x);
    const auto bits = std::bit_cast<std::int32_t>(nearest);
    const std::int32_t step_down = bits < 0 ? 1 : -1;
    return std::bit_cast<float>(bits + (nearest > x ? step_down : 0));
  }
  static std::array<float, 6> rows_of(const Box& box) {
    return {round_down(box.lo[0]),  round_down(box.lo[1]),  round_down(box.lo[2]),
            round_down(-box.hi[0]), round_down(-box.hi[1]), round_down(-box.hi[2])};
  }
};

}  // namespace stiction
