#include "contact/colouring.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <array>
#include <map>
#include <random>
#include <set>

namespace stiction {
namespace {

using Nodes4 = std::array<int, 4>;

// Contacts of two edges each, anywhere among `nodes` nodes of which every tenth is prescribed, sorted as keys would be.
std::vector<Nodes4> random_contacts(int count, int nodes) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> edge(0, nodes - 2);
  std::vector<Nodes4> contacts(count);
  for (Nodes4& c : contacts) {
    const int e = edge(random), f = edge(random);
    c = {e, e + 1, f, f + 1};
  }
  std::sort(contacts.begin(), contacts.end());
  return contacts;
}

auto free_nodes_of(const std::vector<Nodes4>& contacts) {
  return [&](std::uint32_t i, auto&& f) {
    for (const int node : contacts[i])
      if (node % 10 != 0) f(node);
  };
}

auto free_nodes_of_blocks(const std::vector<Nodes4>& contacts, std::uint32_t from, std::uint32_t to) {
  return [&contacts, from, to](std::size_t block, auto&& f) {
    const std::uint32_t first = from + static_cast<std::uint32_t>(block) * kContactsPerBlock;
    for (std::uint32_t i = first; i < std::min(first + kContactsPerBlock, to); ++i) free_nodes_of(contacts)(i, f);
  };
}

// The definition, one block after the other with sets.
std::vector<std::uint8_t> by_definition(const std::vector<Nodes4>& contacts, int stages) {
  std::vector<std::set<int>> colours_at(100000);
  std::vector<std::uint8_t> colour;
  for (std::size_t begin = 0; begin < contacts.size(); begin += kContactsPerBlock) {
    std::set<int> nodes, taken;
    for (std::size_t i = begin; i < std::min(begin + kContactsPerBlock, contacts.size()); ++i)
      free_nodes_of(contacts)(static_cast<std::uint32_t>(i), [&](int node) { nodes.insert(node); });
    for (const int node : nodes) taken.insert(colours_at[node].begin(), colours_at[node].end());
    int first = 0;
    while (first < stages && taken.count(first)) ++first;
    colour.push_back(static_cast<std::uint8_t>(first));
    if (first == stages) continue;
    for (const int node : nodes) colours_at[node].insert(first);
  }
  return colour;
}

TEST(Colouring, IsTheGreedyOneForAnyNumberOfThreads) {
  const std::vector<Nodes4> contacts = random_contacts(10001, 3000);
  for (const int stages : {3, 64}) {
    const std::vector<std::uint8_t> expected = by_definition(contacts, stages);
    BlockNodes room;
    for (const int threads : {1, 2, 4}) {
      std::vector<std::uint64_t> colours_at(3000, 0);
      const auto free_nodes = free_nodes_of_blocks(contacts, 0, 10001);
      tbb::task_arena(threads).execute(
          [&] { EXPECT_EQ(colour_blocks(expected.size(), free_nodes, colours_at, stages, room, 16), expected); });
    }
    EXPECT_EQ(std::count(expected.begin(), expected.end(), stages) > 0, stages == 3);  // the rest, with few stages
  }
}

TEST(Colouring, ContactsThatComeLaterGetColoursThatTheirNodesDoNotHave) {
  const std::vector<Nodes4> contacts = random_contacts(4000, 2000);
  std::vector<std::uint64_t> colours_at(2000, 0);
  BlockNodes room;
  const auto first = colour_blocks(500, free_nodes_of_blocks(contacts, 0, 2000), colours_at, 64, room, 16);
  const auto later = colour_blocks(500, free_nodes_of_blocks(contacts, 2000, 4000), colours_at, 64, room, 16);
  std::set<std::pair<int, int>> seen;  // node and colour of all blocks before
  for (std::size_t block = 0; block < 1000; ++block) {
    const int colour = block < 500 ? first[block] : later[block - 500];
    std::set<int> nodes;
    for (std::uint32_t i = 0; i < kContactsPerBlock; ++i)
      free_nodes_of(contacts)(static_cast<std::uint32_t>(block) * kContactsPerBlock + i,
                              [&](int node) { nodes.insert(node); });
    for (const int node : nodes) EXPECT_TRUE(seen.emplace(node, colour).second) << node << " twice in " << colour;
  }
}

TEST(Colouring, GathersContactsAtTheFreeNodeThatMostOfThemShare) {
  // Nodes 1 to 5 are in every contact of theirs and one of their neighbours'; 0 and all tens are prescribed.
  std::mt19937 random(3);
  std::uniform_int_distribution<int> hub(1, 5), other(6, 2000);
  std::vector<Nodes4> contacts(5000);
  for (Nodes4& c : contacts) {
    const int h = hub(random);
    c = {h, h % 5 + 1, other(random), 0};
  }
  contacts[17] = {0, 10, 20, 30};  // no free node
  std::vector<std::uint32_t> odd;
  for (std::uint32_t i = 1; i < contacts.size(); i += 2) odd.push_back(i);
  std::array<int, 2001> named{};
  for (const std::uint32_t i : odd) free_nodes_of(contacts)(i, [&](int node) { ++named[node]; });

  // Contacts of each hub as they came, by minus how many share it and the node.
  std::map<std::pair<int, int>, std::vector<std::uint32_t>> expected;
  for (const std::uint32_t i : odd) {
    int best = -1;
    free_nodes_of(contacts)(i, [&](int node) {
      const bool more = best < 0 || named[node] > named[best];
      if (more || (named[node] == named[best] && node < best)) best = node;
    });
    expected[{best < 0 ? 0 : -named[best], best}].push_back(i);
  }
  ASSERT_LE(expected.size(), 6u);
  for (const int threads : {1, 2, 4}) {
    std::vector<std::uint32_t> gathered = odd, begin;
    tbb::task_arena(threads).execute([&] { begin = gather_at_hubs(gathered, free_nodes_of(contacts), 2001); });
    ASSERT_EQ(begin.size(), expected.size() + 1);
    std::size_t group = 0;
    for (const auto& [node, of_node] : expected) {
      EXPECT_EQ(std::vector(gathered.begin() + begin[group], gathered.begin() + begin[group + 1]), of_node)
          << node.second;
      ++group;
    }
  }
}

}  // namespace
}  // namespace stiction
