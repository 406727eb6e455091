#include "parallel/chunk_lists.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

namespace stiction {
namespace {

// Index i appends i, i mod 3 times.
std::vector<int> collected(ChunkLists<int>& lists, int count, std::size_t per_chunk) {
  lists.collect(
      count, [](std::size_t i, std::vector<int>& list) { list.insert(list.end(), i % 3, static_cast<int>(i)); },
      per_chunk);
  std::vector<int> all;
  lists.move_into(all);
  return all;
}

TEST(ChunkLists, KeepTheOrderOfTheIndicesForAnyThreadsAndChunks) {
  std::vector<int> expected;
  for (int i = 0; i < 5000; ++i) expected.insert(expected.end(), i % 3, i);
  ChunkLists<int> lists;
  for (const int threads : {1, 2, 4}) {
    for (const std::size_t per_chunk : {1, 7, 1024, 8192}) {
      tbb::task_arena(threads).execute([&] { EXPECT_EQ(collected(lists, 5000, per_chunk), expected); });
    }
  }
}

TEST(ChunkLists, AreWalkedThroughInTheOrderOfTheIndices) {
  ChunkLists<int> lists;
  lists.collect(
      5000, [](std::size_t i, std::vector<int>& list) { list.insert(list.end(), i % 3, static_cast<int>(i)); }, 7);
  std::vector<int> walked, all;
  lists.for_each_in_order([&](int element) { walked.push_back(element); });
  lists.move_into(all);
  EXPECT_EQ(walked, all);
}

TEST(ChunkLists, JoinWhatSeveralCallsCollect) {
  ChunkLists<int> lists;
  for (const int offset : {0, 100}) {
    lists.collect(
        100, [&](std::size_t i, std::vector<int>& list) { list.push_back(offset + static_cast<int>(i)); }, 8);
  }
  ASSERT_EQ(lists.count(), 200u);
  lists.for_each([](std::size_t place, int element) { EXPECT_EQ(static_cast<int>(place), element); });
}

TEST(ChunkLists, DoNotGrowWhenTheChunksThatFindMuchTakeTurns) {
  ChunkLists<int> lists;
  std::vector<int> all;
  tbb::task_arena(2).execute([&] {
    for (std::size_t round = 0; round < 500; ++round) {
      lists.collect(
          500, [&](std::size_t i, std::vector<int>& list) { list.resize(list.size() + (i == round ? 1000 : 0)); }, 1);
      lists.move_into(all);
      ASSERT_EQ(all.size(), 1000u);
    }
  });
  const int threads = tbb::info::default_concurrency() + 1;  // any of them may have worked in the arena
  EXPECT_LE(lists.capacity(), 1024u * static_cast<unsigned>(threads));
}

TEST(ChunkLists, GiveTheMemoryOfLargeFindsBack) {
  constexpr std::size_t kept = kKeptBytes / sizeof(int);
  ChunkLists<int> lists;
  std::vector<int> all;
  lists.collect(1, [](std::size_t, std::vector<int>& list) { list.resize(kept + 1); });
  lists.move_into(all);
  EXPECT_EQ(all.size(), kept + 1);
  EXPECT_GE(all.capacity(), kept + kept / 2);
  EXPECT_EQ(lists.capacity(), 0u);
}

TEST(ChunkLists, AreFullBeyondTheirLimitForAnyThreads) {
  for (const int threads : {1, 2, 4}) {
    tbb::task_arena(threads).execute([&] {
      for (const std::size_t most : {4998, 4999}) {
        ChunkLists<int> lists;
        lists.set_limit(most);
        lists.collect(
            5000, [](std::size_t i, std::vector<int>& list) { list.insert(list.end(), i % 3, 0); }, 16);
        EXPECT_EQ(lists.full(), most == 4998);
        lists.clear();
        EXPECT_FALSE(lists.full());
      }
    });
  }
}

}  // namespace
}  // namespace stiction
