// Axis-aligned boxes.
#pragma once

#include <limits>

#include "stiction/types.hpp"

namespace stiction {

/// A closed axis-aligned box in metres; the default is empty and the neutral element of merge.
struct Box {
  Vec3 lo = Vec3::Constant(std::numeric_limits<double>::infinity());
  Vec3 hi = Vec3::Constant(-std::numeric_limits<double>::infinity());

  /// Grows the box until it holds `x`.
  void merge(const Vec3& x) {
    lo = lo.cwiseMin(x);
    hi = hi.cwiseMax(x);
  }

  /// Grows the box until it holds `other`.
  void merge(const Box& other) {
    lo = lo.cwiseMin(other.lo);
    hi = hi.cwiseMax(other.hi);
  }

  /// Moves every face outwards by `margin` metres.
  void inflate(double margin) {
    lo.array() -= margin;
    hi.array() += margin;
  }

  /// Whether the boxes share a point; touching counts.
  bool overlaps(const Box& other) const {
    return (lo.array() <= other.hi.array()).all() && (other.lo.array() <= hi.array()).all();
  }

  Vec3 center() const { return 0.5 * (lo + hi); }
};

}  // namespace stiction
