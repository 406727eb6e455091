// The distance that a candidate is said to keep through a step, against distances on the way.
#include "collision/candidates.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "geometry/distance.hpp"

namespace stiction {
namespace {

constexpr double kDt = 1e-2;  // s

// Two edges of two strands.
struct Pair {
  Nodes nodes;
  Surface surface;
  StepVertices vertices;

  explicit Pair(const std::vector<Vec3>& x) {
    nodes.append(4);
    nodes.x = x;
    surface.edges = {{.a = 0, .b = 1, .radius = 1e-4, .body = 0, .strand = 0},
                     {.a = 2, .b = 3, .radius = 1e-4, .body = 0, .strand = 1}};
    for (int j = 0; j < 4; ++j) surface.points.push_back({.node = j, .radius = 1e-4, .body = 0});
    vertices.begin_step(nodes, surface, kDt);
  }

  double distance_at(double t, const std::vector<Vec3>& v) const {
    std::array<Vec3, 4> x;
    for (int j = 0; j < 4; ++j) x[j] = nodes.x[j] + t * kDt * v[j];
    return std::sqrt(closest_edge_edge(x[0], x[1], x[2], x[3]).distance2);
  }
};

std::vector<Vec3> random_vectors(std::mt19937& random, double size) {
  std::uniform_real_distribution<double> number(-size, size);
  std::vector<Vec3> x(4);
  for (Vec3& p : x) p = Vec3(number(random), number(random), number(random));
  return x;
}

TEST(Candidates, NeverClaimAPairToStayFurtherApartThanItDoes) {
  std::mt19937 random(1);
  int met = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Pair pair(random_vectors(random, 5e-3));
    const std::vector<Vec3> expected = random_vectors(random, 1), v = random_vectors(random, 1);
    Candidates candidates(pair.surface, pair.vertices, ContactOptions{});
    candidates.begin_step(expected);
    candidates.follow(v);
    if (candidates.edges().size() == 0) continue;
    ++met;
    for (int k = 0; k <= 20; ++k) {
      ASSERT_LE(candidates.edges_stay_apart(0), pair.distance_at(0.05 * k, v)) << "trial " << trial << ", time " << k;
    }
  }
  EXPECT_GT(met, 500);
}

// However often iterates leave the ranges that were expected, a pair that comes into contact is a candidate, and once.
TEST(Candidates, HoldEveryPairThatComesIntoContactOnce) {
  std::mt19937 random(2);
  int touching = 0, dismissed = 0;
  for (int trial = 0; trial < 10000; ++trial) {
    const Pair pair(random_vectors(random, 5e-3));
    Candidates candidates(pair.surface, pair.vertices, ContactOptions{});
    candidates.begin_step(random_vectors(random, 0.1));
    for (int pass = 0; pass < 3; ++pass) {
      const std::vector<Vec3> v = random_vectors(random, 0.1);
      candidates.follow(v);
      ASSERT_LE(candidates.edges().size(), 1u) << "trial " << trial;
      double nearest = 1;
      for (int k = 0; k <= 100; ++k) nearest = std::min(nearest, pair.distance_at(0.01 * k, v));
      if (nearest > 2e-4) continue;
      ++touching;
      ASSERT_EQ(candidates.edges().size(), 1u) << "trial " << trial << ", pass " << pass;
    }
    dismissed += candidates.edges().size() == 0 ? 1 : 0;
  }
  EXPECT_GT(touching, 1000);
  EXPECT_GT(dismissed, 2000);
}

// The same among many edges that fly along together: blocks of them, with some that stay and some that leave.
TEST(Candidates, HoldEveryPairOfManyEdgesThatComesIntoContactOnce) {
  constexpr int count = 1203;  // the last block is not full
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  const auto vector = [&](double size) { return Vec3(size * Vec3(number(random), number(random), number(random))); };
  Nodes nodes;
  nodes.append(2 * count);
  Surface surface;
  for (int i = 0; i < count; ++i) {
    const Vec3 middle = vector(0.015), half = vector(0.004);
    nodes.x[2 * i] = middle - half;
    nodes.x[2 * i + 1] = middle + half;
    surface.edges.push_back({.a = 2 * i, .b = 2 * i + 1, .radius = 1e-4, .body = 0, .strand = i});
    for (int end = 0; end < 2; ++end) surface.points.push_back({.node = 2 * i + end, .radius = 1e-4, .body = 0});
  }
  StepVertices vertices;
  vertices.begin_step(nodes, surface, kDt);
  std::vector<Vec3> v(2 * count);
  for (Vec3& of : v) of = Vec3(1, 0, 0) + vector(0.05);
  Candidates candidates(surface, vertices, ContactOptions{});
  candidates.begin_step(v);

  const auto nearest = [&](int i, int j) {
    double distance2 = 1;
    for (double t = 0; t <= 1; t += 0.05) {
      const auto at = [&](int k) -> Vec3 { return nodes.x[k] + t * kDt * v[k]; };
      distance2 = std::min(distance2, closest_edge_edge(at(2 * i), at(2 * i + 1), at(2 * j), at(2 * j + 1)).distance2);
    }
    return std::sqrt(distance2);
  };
  for (int pass = 0; pass < 4; ++pass) {
    for (int i = 0; i < count; i += 1 + pass) v[i] += vector(0.1);
    candidates.follow(v);
    std::set<std::pair<int, int>> listed;
    for (std::size_t i = 0; i < candidates.edges().size(); ++i)
      ASSERT_TRUE(listed.insert(candidates.edge_pair(i)).second) << "twice, pass " << pass;
    int touching = 0;
    for (int i = 0; i < count; ++i)
      for (int j = i + 1; j < count; ++j) {
        if ((nodes.x[2 * i] - nodes.x[2 * j]).norm() > 0.025 || nearest(i, j) > 2e-4) continue;
        ++touching;
        ASSERT_TRUE(listed.contains({i, j})) << i << " and " << j << ", pass " << pass;
      }
    EXPECT_GT(touching, 300);
    EXPECT_LT(listed.size(), 50u * touching);
  }
}

TEST(Candidates, AreNotEdgesOfWhichOnlyTheBoxesMeet) {
  const Vec3 along(3e-3, 3e-3, 3e-3), beside(1e-3, -1e-3, 0);
  const Pair pair({Vec3::Zero(), along, beside, beside + along});
  Candidates candidates(pair.surface, pair.vertices, ContactOptions{});
  const std::vector<Vec3> still(4, Vec3::Zero());
  candidates.begin_step(still);
  EXPECT_EQ(candidates.edges().size(), 0u);

  // Until one is on its way to the other.
  const Vec3 towards = -beside / kDt;
  candidates.follow(std::vector<Vec3>{Vec3::Zero(), Vec3::Zero(), towards, towards});
  EXPECT_EQ(candidates.edges().size(), 1u);
}

// Where edges draw apart, or one passes over the other at a constant distance, nothing is lost but the rounding of the
// direction: 3e-5 of the edge's length.
TEST(Candidates, KnowTheDistanceOfEdgesThatPartOrPassOver) {
  const std::vector<Vec3> x{Vec3(-3e-3, 0, 2e-4), Vec3(3e-3, 0, 2e-4), Vec3(0, -3e-3, 0), Vec3(0, 3e-3, 0)};
  const Pair pair(x);
  Candidates candidates(pair.surface, pair.vertices, ContactOptions{});
  const Vec3 up(0, 0, 0.05), along(0.1, 0.05, 0), still = Vec3::Zero();
  for (const std::vector<Vec3>& v : {std::vector<Vec3>{up, up, still, still}, {along, along, still, still}}) {
    candidates.begin_step(std::vector<Vec3>(4, still));
    candidates.follow(v);
    ASSERT_EQ(candidates.edges().size(), 1u);
    EXPECT_NEAR(candidates.edges_stay_apart(0), 2e-4, 5e-7);
  }
  const std::vector<Vec3> down{-up, -up, still, still};  // by more than they are apart
  candidates.follow(down);
  EXPECT_LT(candidates.edges_stay_apart(0), 0);
}

}  // namespace
}  // namespace stiction
