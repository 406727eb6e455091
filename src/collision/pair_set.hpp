// A set of pairs of indices, filled and asked by all threads: open addressing in one array of 8 bytes a slot.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stiction {

class PairSet {
 public:
  /// Forgets all pairs and keeps the memory, unless they needed little of it.
  void clear();

  /// Adds pairs, in parallel. None of them is negative.
  void insert(std::span<const std::pair<int, int>> pairs);

  bool contains(const std::pair<int, int>& pair) const;

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  static std::uint64_t key_of(const std::pair<int, int>& pair) {
    return static_cast<std::uint64_t>(pair.first) << 32 | static_cast<std::uint32_t>(pair.second);
  }
  std::size_t home_of(std::uint64_t key) const;
  std::size_t after(std::size_t slot) const { return slot + 1 < slot_.size() ? slot + 1 : 0; }
  void put(std::uint64_t key);
  void make_room(std::size_t count);

  std::vector<std::uint64_t> slot_;  // at most two thirds full
  std::size_t count_ = 0;            // pairs given, at least as many as there are
};

}  // namespace stiction
