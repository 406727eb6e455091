// Greedy colouring of blocks of contacts into parallel stages (D20 6.2.8).
//
// One block takes its colour after the other, so that the colours do not depend on the threads. What that takes of a
// block, its free nodes, is put together by all threads before.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "parallel/chunk_lists.hpp"

namespace stiction {

/// Contacts in a block: neighbours in the order of keys stay neighbours in the sweep.
inline constexpr std::uint32_t kContactsPerBlock = 4;

/// Room for the nodes of blocks, kept from one colouring to the next: of each block how many there are, then these.
using BlockNodes = ChunkLists<std::int32_t>;

/// The colour of every block of `count` contacts: the first of `stages` <= 64 that none of its free nodes has, or
/// `stages` where they have them all. `for_each_free_node(i, f)` calls f(node) for the free nodes of contact i, from
/// any thread; `colours_at` has a bit set for each colour that a node has already, and gains the new ones.
template <class ForEachFreeNode>
std::vector<std::uint8_t> colour_blocks(std::uint32_t count, ForEachFreeNode&& for_each_free_node,
                                        std::span<std::uint64_t> colours_at, int stages, BlockNodes& nodes) {
  constexpr std::size_t ahead = 48;  // nodes: about as many blocks as it takes a line to come from memory
  const std::size_t blocks = chunk_count(count, kContactsPerBlock);
  nodes.collect(blocks, [&](std::size_t block, std::vector<std::int32_t>& list) {
    const std::size_t size = list.size();
    const auto begin = static_cast<std::uint32_t>(block) * kContactsPerBlock;
    list.push_back(0);
    for (std::uint32_t i = begin; i < std::min(begin + kContactsPerBlock, count); ++i)
      for_each_free_node(i, [&](int node) {
        const auto first = list.begin() + static_cast<std::ptrdiff_t>(size) + 1;
        if (std::find(first, list.end(), node) == list.end()) list.push_back(node);
      });
    list[size] = static_cast<std::int32_t>(list.size() - size - 1);
  });

  std::vector<std::uint8_t> colour;
  colour.reserve(blocks);
  const std::uint64_t beyond = stages == 64 ? 0 : ~std::uint64_t{0} << stages;
  for (std::size_t chunk = 0; chunk < nodes.chunks(); ++chunk) {
    const std::span<const std::int32_t> list = nodes.chunk(chunk);
    for (std::size_t at = 0; at < list.size();) {
      const auto of_block = list.subspan(at + 1, list[at]);
      std::uint64_t taken = beyond;
      for (const std::int32_t node : of_block) {
        taken |= colours_at[node];
        if (++at + ahead < list.size()) __builtin_prefetch(colours_at.data() + list[at + ahead], 1);
      }
      ++at;
      const int first_free = std::min(std::countr_one(taken), stages);
      colour.push_back(static_cast<std::uint8_t>(first_free));
      if (first_free == stages) continue;
      for (const std::int32_t node : of_block) colours_at[node] |= std::uint64_t{1} << first_free;
    }
  }
  nodes.clear();
  return colour;
}

}  // namespace stiction
