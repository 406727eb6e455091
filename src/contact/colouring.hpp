// Greedy colouring of blocks of contacts into parallel stages (D20 6.2.8).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace stiction {

/// Contacts in a block: neighbours in the order of keys stay neighbours in the sweep.
inline constexpr std::uint32_t kContactsPerBlock = 4;

/// The colour of every block of `count` contacts: the first of `stages` <= 64 that none of its free nodes has, or
/// `stages` where they have them all. `for_each_free_node(i, f)` calls f(node) for the free nodes of contact i;
/// `colours_at` has a bit set for each colour that a node has already, and gains the new ones.
template <class ForEachFreeNode>
std::vector<std::uint8_t> colour_blocks(std::uint32_t count, ForEachFreeNode&& for_each_free_node,
                                        std::span<std::uint64_t> colours_at, int stages) {
  std::vector<std::uint8_t> colour;
  colour.reserve((count + kContactsPerBlock - 1) / kContactsPerBlock);
  const std::uint64_t beyond = stages == 64 ? 0 : ~std::uint64_t{0} << stages;
  for (std::uint32_t begin = 0; begin < count; begin += kContactsPerBlock) {
    const std::uint32_t end = std::min(begin + kContactsPerBlock, count);
    std::uint64_t taken = beyond;
    for (std::uint32_t i = begin; i < end; ++i) for_each_free_node(i, [&](int node) { taken |= colours_at[node]; });
    const int first_free = std::min(std::countr_one(taken), stages);
    colour.push_back(static_cast<std::uint8_t>(first_free));
    if (first_free == stages) continue;
    for (std::uint32_t i = begin; i < end; ++i)
      for_each_free_node(i, [&](int node) { colours_at[node] |= std::uint64_t{1} << first_free; });
  }
  return colour;
}

}  // namespace stiction
