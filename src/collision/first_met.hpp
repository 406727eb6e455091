// The first edges that an edge meets in a pass of continuous detection.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace stiction {

/// Keeps the first few impacts of every edge. Which these are does not depend on the order of the calls, and edges may
/// be reported by several threads at once.
class FirstMet {
 public:
  /// Makes room for edges with an index below `edges`.
  void resize(std::size_t edges) { met_.resize(edges); }

  /// Forgets what the edge met.
  void clear(int edge) {
    for (std::uint64_t& impact : met_[edge]) std::atomic_ref(impact).store(kNever, std::memory_order_relaxed);
  }

  /// The edge meets another at `when`, a share of the step.
  void add(int edge, int other, double when) {
    std::uint64_t later = impact_of(other, when);
    for (std::uint64_t& impact : met_[edge]) later = put_earlier(impact, later);
  }

  /// Whether an impact that was reported is among the first of the edge.
  bool among_first(int edge, int other, double when) const { return impact_of(other, when) <= met_[edge].back(); }

 private:
  static constexpr std::size_t kFirst = 4;
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  // Ordered by time: the bits of positive floats are.
  static std::uint64_t impact_of(int other, double when) {
    const auto time = std::bit_cast<std::uint32_t>(static_cast<float>(std::max(when, 0.0)));
    return (static_cast<std::uint64_t>(time) << 32) | static_cast<std::uint32_t>(other);
  }

  // Leaves the earlier of the two impacts in the slot and returns the later one.
  static std::uint64_t put_earlier(std::uint64_t& slot, std::uint64_t impact) {
    const std::atomic_ref<std::uint64_t> shared(slot);
    std::uint64_t there = shared.load(std::memory_order_relaxed);
    while (impact < there && !shared.compare_exchange_weak(there, impact, std::memory_order_relaxed)) {
    }
    return std::max(impact, there);
  }

  std::vector<std::array<std::uint64_t, kFirst>> met_;
};

}  // namespace stiction
