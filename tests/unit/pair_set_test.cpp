#include "collision/pair_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace stiction {
namespace {

TEST(PairSet, HoldsWhatItWasGivenAndNothingElse) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> index(0, 300);
  PairSet set;
  EXPECT_FALSE(set.contains({0, 0}));
  for (int round = 0; round < 2; ++round) {  // the second in the memory of the first
    std::set<std::pair<int, int>> expected;
    for (const int count : {0, 1, 10, 5000, 20000}) {  // it grows on the way, and pairs come twice
      std::vector<std::pair<int, int>> pairs(count);
      for (auto& pair : pairs) pair = {index(random), index(random)};
      set.insert(pairs);
      expected.insert(pairs.begin(), pairs.end());
    }
    for (int i = 0; i <= 300; ++i)
      for (int j = 0; j <= 300; ++j) ASSERT_EQ(set.contains({i, j}), expected.contains({i, j})) << i << " " << j;
    set.clear();
    EXPECT_FALSE(set.contains(*expected.begin()));
  }
}

}  // namespace
}  // namespace stiction
