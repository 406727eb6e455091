#include "collision/first_met.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <random>

namespace stiction {
namespace {

TEST(FirstMet, AreTheEarliestImpactsOfAnEdgeInWhateverOrderTheyCome) {
  struct Impact {
    double when;
    int other;
    bool operator<(const Impact& o) const { return std::pair(when, other) < std::pair(o.when, o.other); }
  };
  std::mt19937 random(5);
  std::uniform_int_distribution<int> sixteenth(0, 15);  // so that many come at once
  FirstMet met;
  met.resize(8);
  for (const std::size_t count : {1u, 3u, 4u, 5u, 1000u}) {
    std::vector<Impact> impacts;
    for (std::size_t i = 0; i < count; ++i) impacts.push_back({sixteenth(random) / 16.0, static_cast<int>(i)});
    std::shuffle(impacts.begin(), impacts.end(), random);
    met.clear(7);
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { met.add(7, impacts[i].other, impacts[i].when); });
    std::sort(impacts.begin(), impacts.end());
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(met.among_first(7, impacts[i].other, impacts[i].when), i < 4) << i << " of " << count;
  }
}

}  // namespace
}  // namespace stiction
