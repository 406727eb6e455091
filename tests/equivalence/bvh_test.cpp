// The hierarchy's pairs against brute force, and against themselves for several numbers of threads.
#include "geometry/bvh.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace stiction {
namespace {

using Rng = std::mt19937_64;
using Pairs = std::vector<std::pair<int, int>>;

constexpr auto kAll = [](int, int) { return true; };

Box box_around(const Vec3& a, const Vec3& b) {
  Box box;
  box.merge(a);
  box.merge(b);
  return box;
}

/// Coordinates are multiples of 1/1024, exact in floats; boxes touch often.
std::vector<Box> random_boxes(int n, Rng& rng, double spread, double size) {
  const auto point = [&](double bound) {
    std::uniform_real_distribution<double> coordinate(-bound, bound);
    return Vec3(std::round(coordinate(rng) * 1024.0) / 1024.0, std::round(coordinate(rng) * 1024.0) / 1024.0,
                std::round(coordinate(rng) * 1024.0) / 1024.0);
  };
  std::vector<Box> boxes;
  for (int i = 0; i < n; ++i) {
    const Vec3 a = point(spread);
    boxes.push_back(box_around(a, a + point(size)));
  }
  return boxes;
}

/// Tight clusters far from each other, with boxes of very different sizes.
std::vector<Box> clustered_boxes(int n, Rng& rng) {
  std::vector<Box> boxes;
  while (static_cast<int>(boxes.size()) < n) {
    const Vec3 center = 100.0 * random_boxes(1, rng, 1.0, 0.0)[0].lo;
    for (Box box : random_boxes(50, rng, 0.1, boxes.size() % 4 == 0 ? 1.0 : 0.02)) {
      box.lo += center;
      box.hi += center;
      boxes.push_back(box);
    }
  }
  return boxes;
}

/// Chains of short edges in random directions, like hair.
std::vector<Box> hair_boxes(int strands, int edges, Rng& rng) {
  std::normal_distribution<double> normal;
  const auto direction = [&] { return Vec3(normal(rng), normal(rng), normal(rng)).normalized(); };
  std::vector<Box> boxes;
  for (int strand = 0; strand < strands; ++strand) {
    Vec3 x = 0.02 * direction();
    for (int edge = 0; edge < edges; ++edge) {
      const Vec3 next = x + 0.005 * direction();
      boxes.push_back(box_around(x, next));
      boxes.back().inflate(1e-4);
      x = next;
    }
  }
  return boxes;
}

using Boxes = std::vector<MovingBox>;

Boxes at_rest(const std::vector<Box>& boxes) { return {boxes.begin(), boxes.end()}; }

/// The same boxes with random displacements about a common one.
Boxes in_motion(const std::vector<Box>& boxes, Rng& rng, double speed) {
  Boxes moving;
  const Vec3 common(0.75, -0.5, 0.25);
  for (const Box& box : boxes) {
    Box sweep = random_boxes(1, rng, speed, speed)[0];
    sweep.lo += common;
    sweep.hi += common;
    moving.emplace_back(box, sweep);
  }
  return moving;
}

template <class Filter>
Pairs brute_force_with(const Boxes& queries, const Boxes& boxes, Filter filter) {
  Pairs pairs;
  for (int i = 0; i < static_cast<int>(queries.size()); ++i) {
    for (int j = 0; j < static_cast<int>(boxes.size()); ++j) {
      if (queries[i].may_meet(boxes[j]) && filter(i, j)) pairs.emplace_back(i, j);
    }
  }
  return pairs;
}

void expect_same_as_brute_force(const Boxes& boxes) {
  const auto filter = [](int i, int j) { return (i + j) % 3 != 0; };
  Bvh bvh;
  bvh.build(boxes);
  Pairs pairs = {{7, 7}};  // stale content must go
  bvh.pairs_with(boxes, kAll, pairs);
  EXPECT_EQ(pairs, brute_force_with(boxes, boxes, kAll));
  bvh.pairs_with(boxes, filter, pairs);
  EXPECT_EQ(pairs, brute_force_with(boxes, boxes, filter));
}

TEST(Bvh, PairsOfRandomBoxes) {
  Rng rng(1);
  for (const int n : {2, 7, 8, 9, 63, 64, 65, 511, 513, 3000}) {
    SCOPED_TRACE(n);
    const std::vector<Box> boxes = random_boxes(n, rng, 1.0, 0.2);
    expect_same_as_brute_force(at_rest(boxes));
    expect_same_as_brute_force(in_motion(boxes, rng, 0.1));
  }
}

TEST(Bvh, PairsOfClusteredBoxes) {
  Rng rng(2);
  expect_same_as_brute_force(at_rest(clustered_boxes(3000, rng)));
}

TEST(Bvh, PairsOfHair) {
  Rng rng(3);
  const Boxes boxes = at_rest(hair_boxes(200, 20, rng));
  EXPECT_GT(brute_force_with(boxes, boxes, kAll).size(), 5 * boxes.size());
  expect_same_as_brute_force(boxes);
}

TEST(Bvh, DegenerateSets) {
  expect_same_as_brute_force({});
  expect_same_as_brute_force({Box{Vec3::Zero(), Vec3::Ones()}});
  expect_same_as_brute_force(Boxes(300, Box{Vec3::Ones(), Vec3::Ones()}));
  Boxes row;
  for (int i = 0; i < 300; ++i) row.push_back(Box{Vec3(i, 0, 0), Vec3(i + 1, 0, 0)});
  expect_same_as_brute_force(row);

  Bvh empty;
  empty.build({});
  Pairs pairs;
  empty.pairs_with(row, kAll, pairs);
  EXPECT_TRUE(pairs.empty());
  Bvh one;
  one.build(std::span(row).first(1));
  one.pairs_with({}, kAll, pairs);
  EXPECT_TRUE(pairs.empty());
  one.pairs_with(row, kAll, pairs);
  EXPECT_EQ(pairs, (Pairs{{0, 0}, {1, 0}}));
}

// An empty box (lo > hi) is what Box{} is; it must overlap nothing, not even itself.
TEST(Bvh, EmptyBoxesOverlapNothing) {
  Rng rng(4);
  std::vector<Box> boxes = random_boxes(200, rng, 1.0, 0.5);
  for (int i = 0; i < 200; i += 3) boxes[i] = Box{};
  expect_same_as_brute_force(at_rest(boxes));
}

TEST(Bvh, PairsWithQueries) {
  Rng rng(5);
  const Boxes boxes = in_motion(random_boxes(2000, rng, 1.0, 0.1), rng, 0.05);
  const auto filter = [](int i, int j) { return i != j; };
  Bvh bvh;
  bvh.build(boxes);
  for (const int n : {1, 5, 1500}) {
    const Boxes queries = in_motion(random_boxes(n, rng, 1.2, 0.3), rng, 0.1);
    Pairs pairs;
    bvh.pairs_with(queries, filter, pairs);
    EXPECT_EQ(pairs, brute_force_with(queries, boxes, filter));
  }
}

TEST(Bvh, QueryCallsOncePerOverlap) {
  Rng rng(6);
  const Boxes boxes = at_rest(random_boxes(1000, rng, 1.0, 0.2));
  Bvh bvh;
  bvh.build(boxes);
  EXPECT_EQ(bvh.size(), 1000);
  for (const MovingBox query : random_boxes(100, rng, 1.0, 0.5)) {
    std::vector<int> found, expected;
    bvh.query(query, [&](int primitive) { found.push_back(primitive); });
    std::sort(found.begin(), found.end());
    for (int i = 0; i < 1000; ++i) {
      if (query.may_meet(boxes[i])) expected.push_back(i);
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(Bvh, QueryFromLooksAtLaterPrimitivesOnly) {
  Rng rng(9);
  const Boxes boxes = at_rest(random_boxes(700, rng, 1.0, 0.2));
  Bvh bvh;
  bvh.build_in_order(boxes);
  for (int first = 0; first < 700; ++first) {
    std::vector<int> found, expected;
    bvh.query_from(first, boxes[first], [&](int primitive) { found.push_back(primitive); });
    std::sort(found.begin(), found.end());
    for (int i = first; i < 700; ++i) {
      if (boxes[first].may_meet(boxes[i])) expected.push_back(i);
    }
    EXPECT_EQ(found, expected) << first;
  }
}

// Boxes that overlap in doubles still do as floats, and none is reported that is a float's precision away.
TEST(Bvh, RoundingIsOutwards) {
  Rng rng(7);
  std::vector<Box> boxes = random_boxes(1000, rng, 1.0, 0.2);
  std::uniform_real_distribution<double> coordinate(-1e-9, 1e-9);
  for (Box& box : boxes) {
    const Vec3 shift(coordinate(rng), coordinate(rng), coordinate(rng));
    box.lo += shift;
    box.hi += shift;
  }
  std::vector<Box> grown = boxes;
  for (Box& box : grown) box.inflate(3e-7);
  const Boxes moving = at_rest(boxes);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = 0; j < boxes.size(); ++j) {
      EXPECT_LE(boxes[i].overlaps(boxes[j]), moving[i].may_meet(moving[j]));
      EXPECT_LE(moving[i].may_meet(moving[j]), grown[i].overlaps(grown[j]));
    }
}

// Sampled in time: whatever overlaps at some moment may meet; what moves alike and starts apart may not.
TEST(MovingBox, MeetsWhatItOverlapsAtAnyTime) {
  Rng rng(11);
  const std::vector<Box> boxes = random_boxes(200, rng, 1.0, 0.3);
  std::vector<Vec3> displacement;
  for (int i = 0; i < 200; ++i) displacement.push_back(random_boxes(1, rng, 1.0, 0.0)[0].lo);
  int meetings = 0;
  for (int i = 0; i < 200; ++i)
    for (int j = 0; j < i; ++j) {
      const MovingBox a(boxes[i], Box{displacement[i], displacement[i]});
      const MovingBox b(boxes[j], Box{displacement[j], displacement[j]});
      bool overlap = false;
      for (int k = 0; k <= 16; ++k) {
        const double t = k / 16.0;
        overlap |= Box{boxes[i].lo + t * displacement[i], boxes[i].hi + t * displacement[i]}.overlaps(
            Box{boxes[j].lo + t * displacement[j], boxes[j].hi + t * displacement[j]});
      }
      EXPECT_LE(overlap, a.may_meet(b));
      meetings += overlap;
      const MovingBox along(boxes[j], Box{displacement[i], displacement[i]});
      EXPECT_EQ(a.may_meet(along), boxes[i].overlaps(boxes[j]));
    }
  EXPECT_GT(meetings, 100);
}

TEST(Bvh, RefitFollowsMovedBoxes) {
  Rng rng(8);
  Bvh bvh;
  bvh.build(at_rest(random_boxes(2000, rng, 1.0, 0.1)));
  const Boxes moved = in_motion(random_boxes(2000, rng, 2.0, 0.2), rng, 0.1);
  bvh.refit(moved);
  Pairs pairs;
  bvh.pairs_with(moved, kAll, pairs);
  EXPECT_EQ(pairs, brute_force_with(moved, moved, kAll));
}

TEST(Bvh, RefitOfChangedBoxesAloneIsThatOfAll) {
  Rng rng(12);
  Boxes boxes = in_motion(random_boxes(3000, rng, 1.0, 0.1), rng, 0.1);
  Bvh bvh;
  bvh.build(boxes);
  const Boxes elsewhere = in_motion(random_boxes(3000, rng, 2.0, 0.2), rng, 0.1);
  for (const std::size_t step : {1000, 7, 1}) {  // three boxes move, many, and all
    std::vector<std::uint8_t> changed(boxes.size(), 0);
    for (std::size_t i = step / 2; i < boxes.size(); i += step) {
      boxes[i] = elsewhere[(i + step) % boxes.size()];
      changed[i] = 1;
    }
    bvh.refit(boxes, changed);
    Pairs pairs;
    bvh.pairs_with(boxes, kAll, pairs);
    EXPECT_EQ(pairs, brute_force_with(boxes, boxes, kAll)) << "every " << step;
  }
}

TEST(Bvh, SameForAnyNumberOfThreads) {
  Rng rng(9);
  const Boxes boxes = at_rest(hair_boxes(2000, 20, rng)), queries = at_rest(hair_boxes(500, 20, rng));
  Pairs expected_self, expected_with;
  for (const int threads : {1, 2, 4}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    Bvh bvh;
    bvh.build(boxes);
    Pairs self, with;
    bvh.pairs_with(boxes, kAll, self);
    bvh.pairs_with(queries, kAll, with);
    if (threads == 1) {
      expected_self = self;
      expected_with = with;
    }
    EXPECT_GT(self.size(), boxes.size());
    EXPECT_EQ(self, expected_self) << threads << " threads";
    EXPECT_EQ(with, expected_with) << threads << " threads";
  }
}

}  // namespace
}  // namespace stiction
