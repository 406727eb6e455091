// Greedy colouring of blocks of contacts into parallel stages (D20 6.2.8).
//
// One block takes its colour after the other, so that the colours do not depend on the threads. What that takes of a
// block, its free nodes, is put together by all threads before. A node that hundreds of contacts share (of a band on
// hair, say) has more blocks than there are stages; contacts of such hubs are gathered there, and a hub's are coloured
// as one block in turn.
#pragma once

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "parallel/chunk_lists.hpp"

namespace stiction {

/// Contacts in a block: neighbours in the order of keys stay neighbours in the sweep.
inline constexpr std::uint32_t kContactsPerBlock = 4;

/// Room for the nodes of blocks, kept from one colouring to the next: of each block how many there are, then these.
using BlockNodes = ChunkLists<std::int32_t>;

/// The colour of every block: the first of `stages` <= 64 that none of its free nodes has, or `stages` where they have
/// them all. `for_each_free_node(block, f)` calls f(node) for the free nodes of a block's contacts, from any thread;
/// `colours_at` has a bit set for each colour that a node has already, and gains the new ones. A thread lists the nodes
/// of `blocks_per_chunk` blocks at once.
template <class ForEachFreeNode>
std::vector<std::uint8_t> colour_blocks(std::size_t blocks, ForEachFreeNode&& for_each_free_node,
                                        std::span<std::uint64_t> colours_at, int stages, BlockNodes& nodes,
                                        std::size_t blocks_per_chunk) {
  constexpr std::size_t ahead = 48;      // nodes: about as many blocks as it takes a line to come from memory
  constexpr std::size_t looked_at = 32;  // nodes before, that one might be among; listed again it only costs time
  nodes.collect(
      blocks,
      [&](std::size_t block, std::vector<std::int32_t>& list) {
        const std::size_t size = list.size();
        list.push_back(0);
        for_each_free_node(block, [&](int node) {
          const std::size_t before = std::min(list.size() - size - 1, looked_at);
          const auto first = list.end() - static_cast<std::ptrdiff_t>(before);
          if (std::find(first, list.end(), node) == list.end()) list.push_back(node);
        });
        list[size] = static_cast<std::int32_t>(list.size() - size - 1);
      },
      blocks_per_chunk);

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

/// Puts contacts of one hub side by side: of a contact's free nodes, the one that the contacts name most often. Hubs
/// that are named more come first. Returns where each hub's begin, and the end. `for_each_free_node(i, f)` calls f(node
/// < nodes) for those of contact i, from any thread.
template <class ForEachFreeNode>
std::vector<std::uint32_t> gather_at_hubs(std::span<std::uint32_t> contacts, ForEachFreeNode&& for_each_free_node,
                                          std::size_t nodes) {
  std::vector<std::int32_t> named(nodes, 0);
  for (const std::uint32_t i : contacts) for_each_free_node(i, [&](int node) { ++named[node]; });
  struct AtHub {
    std::pair<std::int32_t, std::int32_t> hub;  // how often it is named, negative; the node
    std::uint32_t contact;
    bool operator<(const AtHub& o) const { return std::tie(hub, contact) < std::tie(o.hub, o.contact); }
  };
  std::vector<AtHub> sorted(contacts.size());
  for_each_index(contacts.size(), [&](std::size_t at) {
    sorted[at] = {{0, -1}, contacts[at]};
    for_each_free_node(contacts[at], [&](int node) {
      sorted[at].hub = std::min(sorted[at].hub, std::pair(-named[node], static_cast<std::int32_t>(node)));
    });
  });
  tbb::parallel_sort(sorted.begin(), sorted.end());

  std::vector<std::uint32_t> begin;
  for (std::uint32_t at = 0; at < contacts.size(); ++at) {
    if (at == 0 || sorted[at].hub != sorted[at - 1].hub) begin.push_back(at);
    contacts[at] = sorted[at].contact;
  }
  begin.push_back(static_cast<std::uint32_t>(contacts.size()));
  return begin;
}

}  // namespace stiction
