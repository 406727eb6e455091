// Greedy colouring of blocks of contacts into parallel stages (D20 6.2.8).
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace stiction {

struct Colouring {
  using Block = std::pair<std::uint32_t, std::uint32_t>;  // contacts [first, second)
  struct Stage {
    std::vector<Block> blocks;
    bool parallel = true;  // its blocks share no free node
  };
  std::vector<Stage> stages;  // the sequential rest, if any, comes last
};

/// Contacts in a block: neighbours in the order of keys stay neighbours in the sweep.
inline constexpr std::uint32_t kContactsPerBlock = 4;

/// Each block gets the first of at most `stages` colours that none of its free nodes has; the rest is sequential.
/// `for_each_free_node(i, f)` calls f(node) for the free nodes of contact i.
template <class ForEachFreeNode>
Colouring colour_contacts(std::uint32_t count, ForEachFreeNode&& for_each_free_node, int node_count, int stages) {
  Colouring result;
  result.stages.resize(static_cast<std::size_t>(stages) + 1);
  result.stages.back().parallel = false;
  std::vector<std::uint64_t> colours_at(static_cast<std::size_t>(node_count), 0);
  const std::uint64_t beyond = stages == 64 ? 0 : ~std::uint64_t{0} << stages;
  for (std::uint32_t begin = 0; begin < count; begin += kContactsPerBlock) {
    const std::uint32_t end = std::min(begin + kContactsPerBlock, count);
    std::uint64_t taken = beyond;
    for (std::uint32_t i = begin; i < end; ++i) for_each_free_node(i, [&](int node) { taken |= colours_at[node]; });
    const int colour = std::countr_one(taken);
    if (colour >= stages) {
      result.stages.back().blocks.emplace_back(begin, end);
      continue;
    }
    result.stages[colour].blocks.emplace_back(begin, end);
    for (std::uint32_t i = begin; i < end; ++i)
      for_each_free_node(i, [&](int node) { colours_at[node] |= std::uint64_t{1} << colour; });
  }
  std::erase_if(result.stages, [](const Colouring::Stage& s) { return s.blocks.empty(); });
  return result;
}

}  // namespace stiction
