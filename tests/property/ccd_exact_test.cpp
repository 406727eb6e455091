// Continuous detection against exact arithmetic (support/exact_collision.hpp).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <random>

#include "../support/exact_collision.hpp"
#include "geometry/ccd.hpp"
#include "geometry/distance.hpp"

namespace stiction {
namespace {

using namespace test;

// --- Motions

using Rng = std::mt19937_64;
using Vertices = std::array<Vec3, 4>;

struct Motion {
  Vertices x_t0, x_t1;

  Vertices at(double t) const {
    Vertices x;
    for (int v = 0; v < 4; ++v) x[v] = (1.0 - t) * x_t0[v] + t * x_t1[v];
    return x;
  }
};

std::int64_t uniform(Rng& rng, std::int64_t lo, std::int64_t hi) {
  return std::uniform_int_distribution<std::int64_t>(lo, hi)(rng);
}

GridPoint random_point(Rng& rng, std::int64_t bound) {
  return {uniform(rng, -bound, bound), uniform(rng, -bound, bound), uniform(rng, -bound, bound)};
}

GridPoint operator+(const GridPoint& a, const GridPoint& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
GridPoint operator*(std::int64_t s, const GridPoint& a) { return {s * a[0], s * a[1], s * a[2]}; }

Motion to_metres(const GridMotion& grid, double metres_a_cell, const GridPoint& offset = {}) {
  Motion motion;
  const auto convert = [&](const GridPoint& x) {
    const GridPoint shifted = x + offset;
    return Vec3(metres_a_cell * Vec3(shifted[0], shifted[1], shifted[2]));
  };
  for (int v = 0; v < 4; ++v) {
    motion.x_t0[v] = convert(grid.x_t0[v]);
    motion.x_t1[v] = convert(grid.x_t1[v]);
  }
  return motion;
}

/// Powers of two that put the grid's extent between 1e-5 and 1e2 m.
double random_scale(Rng& rng) { return std::ldexp(1.0, static_cast<int>(uniform(rng, -37, -14))); }

std::optional<double> impact(Kind kind, const Motion& m, double separation) {
  return kind == Kind::edge_edge ? edge_edge_impact(m.x_t0, m.x_t1, separation)
                                 : point_triangle_impact(m.x_t0, m.x_t1, separation);
}

double distance(Kind kind, const Vertices& x) {
  return std::sqrt(kind == Kind::edge_edge ? closest_edge_edge(x[0], x[1], x[2], x[3]).distance2
                                           : closest_point_triangle(x[0], x[1], x[2], x[3]).distance2);
}

double extent(const Motion& m) {
  double largest = 0.0;
  for (const Vertices& x : {m.x_t0, m.x_t1}) {
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < a; ++b) largest = std::max(largest, (x[a] - x[b]).cwiseAbs().maxCoeff());
    }
  }
  return largest;
}

/// All eight positions at random; half of the motions are an eighth as long.
GridMotion random_motion(Rng& rng) {
  GridMotion motion;
  const bool is_short = uniform(rng, 0, 1) == 1;
  for (int v = 0; v < 4; ++v) {
    motion.x_t0[v] = random_point(rng, is_short ? kGrid * 7 / 8 : kGrid);
    motion.x_t1[v] = is_short ? motion.x_t0[v] + random_point(rng, kGrid / 8) : random_point(rng, kGrid);
  }
  return motion;
}

constexpr int kDegenerateFamilies = 7;

/// Small integers: nearly every sign that can vanish often does.
GridMotion degenerate_motion(Kind kind, int family, Rng& rng) {
  GridMotion m;
  for (int v = 0; v < 4; ++v) {
    m.x_t0[v] = random_point(rng, family == 0 ? 1 : 3);
    m.x_t1[v] = random_point(rng, family == 0 ? 1 : 3);
  }
  switch (family) {
    case 1:  // the second edge, or two sides of the triangle, stay parallel to the first
      for (auto* x : {&m.x_t0, &m.x_t1}) {
        const GridPoint& a = (*x)[kind == Kind::edge_edge ? 0 : 2];
        const GridPoint along = (*x)[1] + -1 * a;
        (*x)[3] = (*x)[2] + uniform(rng, -2, 2) * along;
      }
      break;
    case 2:  // one plane
      for (int v = 0; v < 4; ++v) m.x_t0[v][2] = m.x_t1[v][2] = 0;
      break;
    case 3:  // at rest
      m.x_t1 = m.x_t0;
      break;
    case 4: {  // rigid translation
      const GridPoint by = random_point(rng, 4);
      for (int v = 0; v < 4; ++v) m.x_t1[v] = m.x_t0[v] + by;
      break;
    }
    case 5: {  // two vertices of the pair meet at half time and part again
      const int a = kind == Kind::edge_edge ? static_cast<int>(uniform(rng, 0, 1)) : 0;
      const int b = static_cast<int>(uniform(rng, kind == Kind::edge_edge ? 2 : 1, 3));
      m.x_t1[b] = m.x_t0[a] + m.x_t1[a] + -1 * m.x_t0[b];
      break;
    }
    case 6: {  // a vertex slides along the line of an edge
      const GridPoint along = m.x_t0[3] + -1 * m.x_t0[2];
      m.x_t1[2] = m.x_t0[2];
      m.x_t1[3] = m.x_t0[3];
      m.x_t0[0] = m.x_t0[2] + uniform(rng, -2, 2) * along;
      m.x_t1[0] = m.x_t0[2] + uniform(rng, -2, 2) * along;
      break;
    }
    default:
      break;
  }
  return m;
}

/// The motion under a random invertible integer matrix: whether it collides stays, its alignment with the axes goes.
GridMotion sheared(const GridMotion& motion, Rng& rng) {
  std::array<GridPoint, 3> rows;
  double determinant = 0.0;
  while (determinant == 0.0) {
    Mat3 matrix;
    for (int i = 0; i < 3; ++i) {
      rows[i] = random_point(rng, 4096);
      matrix.row(i) << rows[i][0], rows[i][1], rows[i][2];
    }
    determinant = std::abs(matrix.determinant()) > 1e9 ? matrix.determinant() : 0.0;
  }
  GridMotion result;
  for (int v = 0; v < 4; ++v) {
    for (int i = 0; i < 3; ++i) {
      const auto dot = [&](const GridPoint& x) { return rows[i][0] * x[0] + rows[i][1] * x[1] + rows[i][2] * x[2]; };
      result.x_t0[v][i] = dot(motion.x_t0[v]);
      result.x_t1[v][i] = dot(motion.x_t1[v]);
    }
  }
  return result;
}

// --- Tests

struct Tally {
  int pairs = 0, collisions = 0, missed = 0, false_positives = 0;

  void count(bool exact, bool found) {
    ++pairs;
    collisions += exact;
    missed += exact && !found;
    false_positives += !exact && found;
  }
};

class ExactCcd : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Pairs, ExactCcd, testing::Values(Kind::edge_edge, Kind::point_triangle), [](const auto& test) {
  return test.param == Kind::edge_edge ? "edge_edge" : "point_triangle";
});

TEST(ExactReference, KnownCases) {
  const GridMotion crossing{{{{-1, 0, 0}, {1, 0, 0}, {0, -1, 1}, {0, 1, 1}}},
                            {{{-1, 0, 0}, {1, 0, 0}, {0, -1, -1}, {0, 1, -1}}}};
  GridMotion touching = crossing, passing = crossing, irrational = crossing;
  touching.x_t1[2][2] = touching.x_t1[3][2] = 0;  // arrives at t = 1
  for (auto* x : {&passing.x_t0, &passing.x_t1}) (*x)[2][0] = (*x)[3][0] = 2;
  irrational.x_t0 = {{{-1, 0, 0}, {1, 0, 0}, {0, -1, 1}, {0, 1, 2}}};
  irrational.x_t1 = {{{-1, 0, 0}, {1, 0, 0}, {0, -2, -1}, {0, 1, 0}}};
  EXPECT_TRUE(collides_exactly(Kind::edge_edge, crossing));
  EXPECT_TRUE(collides_exactly(Kind::edge_edge, touching));
  EXPECT_FALSE(collides_exactly(Kind::edge_edge, passing));
  EXPECT_TRUE(collides_exactly(Kind::edge_edge, irrational));

  const GridMotion falling{{{{1, 1, 1}, {0, 0, 0}, {3, 0, 0}, {0, 3, 0}}},
                           {{{1, 1, -1}, {0, 0, 0}, {3, 0, 0}, {0, 3, 0}}}};
  GridMotion beside = falling, on_edge = falling, collapsed = falling;
  beside.x_t0[0][0] = beside.x_t1[0][0] = 3;
  on_edge.x_t0[0][0] = on_edge.x_t1[0][0] = 2;
  for (auto* x : {&collapsed.x_t0, &collapsed.x_t1}) (*x)[1] = (*x)[2] = (*x)[3] = {1, 1, 0};
  EXPECT_TRUE(collides_exactly(Kind::point_triangle, falling));
  EXPECT_FALSE(collides_exactly(Kind::point_triangle, beside));
  EXPECT_TRUE(collides_exactly(Kind::point_triangle, on_edge));
  EXPECT_TRUE(collides_exactly(Kind::point_triangle, collapsed));
}

TEST_P(ExactCcd, DecidersAgree) {
  Rng rng(11);
  int settled = 0, collisions = 0;
  for (int k = 0; k < 2000; ++k) {
    const GridMotion motion =
        k % 2 == 0 ? random_motion(rng) : degenerate_motion(GetParam(), k / 2 % kDegenerateFamilies, rng);
    const Statement s = state(GetParam(), motion);
    const Verdict verdict = Subdivision(s, 0).decide().verdict;
    if (verdict == Verdict::open) continue;
    ++settled;
    collisions += verdict == Verdict::hit;
    ASSERT_EQ(Algebraic(s).decide(), verdict == Verdict::hit) << "pair " << k;
  }
  EXPECT_GT(settled, 1000);
  EXPECT_GT(collisions, 50);
}

TEST_P(ExactCcd, RandomPairsMissNothing) {
  Rng rng(1);
  Tally tally;
  for (int k = 0; k < 500'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const Motion motion = to_metres(grid, random_scale(rng));
    tally.count(collides_exactly(GetParam(), grid), impact(GetParam(), motion, 0.0).has_value());
  }
  RecordProperty("collisions", tally.collisions);
  RecordProperty("false_positives", tally.false_positives);
  EXPECT_EQ(tally.missed, 0);
  EXPECT_GT(tally.collisions, tally.pairs / 50);
  EXPECT_LT(tally.false_positives, tally.pairs / 100);
}

TEST_P(ExactCcd, DegeneratePairsMissNothing) {
  Rng rng(2);
  Tally tally;
  for (int k = 0; k < 10'000; ++k) {
    GridMotion grid = degenerate_motion(GetParam(), k % kDegenerateFamilies, rng);
    const bool exact = collides_exactly(GetParam(), grid);
    if (k % 3 != 0) grid = sheared(grid, rng);
    const GridPoint offset = k % 2 == 0 ? GridPoint{} : random_point(rng, std::int64_t{1} << 30);
    const Motion motion = to_metres(grid, random_scale(rng), offset);
    tally.count(exact, impact(GetParam(), motion, 0.0).has_value());
    ASSERT_EQ(tally.missed, 0) << "pair " << k << " of family " << k % kDegenerateFamilies;
  }
  RecordProperty("collisions", tally.collisions);
  RecordProperty("false_positives", tally.false_positives);
  EXPECT_GT(tally.collisions, tally.pairs / 10);
  EXPECT_GT(tally.pairs - tally.collisions, tally.pairs / 10);
  EXPECT_LT(tally.false_positives, tally.pairs / 100);
}

// The subdivision brackets the first contact to 2^-14: the reported time is not after the bracket, and at it the pair
// is about to touch (1e-6 of the extent: near-parallel features stop the advance early).
TEST_P(ExactCcd, TimeIsNotLateAndClose) {
  Rng rng(3);
  int bracketed = 0;
  for (int k = 0; k < 20'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const Subdivided truth = Subdivision(state(GetParam(), grid), 14).decide();
    if (truth.verdict != Verdict::hit || !truth.first) continue;
    ++bracketed;
    const Motion motion = to_metres(grid, random_scale(rng));
    const std::optional<double> t = impact(GetParam(), motion, 0.0);
    ASSERT_TRUE(t.has_value());
    EXPECT_LE(*t, truth.hi);
    EXPECT_LE(distance(GetParam(), motion.at(*t)), 1e-6 * extent(motion));
  }
  EXPECT_GT(bracketed, 500);
}

// 2,000 samples in time; what lies under the separation by more than 1e-9 of it must be found, and not later.
TEST_P(ExactCcd, SeparationAgainstSampling) {
  constexpr int samples = 2000;
  Rng rng(4);
  int hits = 0, misses = 0;
  for (int k = 0; k < 1000; ++k) {
    const Motion motion = to_metres(random_motion(rng), random_scale(rng));
    const double size = extent(motion);
    const double separation =
        size * std::exp(std::uniform_real_distribution<double>(std::log(1e-6), std::log(0.3))(rng));
    const std::optional<double> t = impact(GetParam(), motion, separation);
    (t ? hits : misses) += 1;
    if (t && *t > 0.0) {
      EXPECT_NEAR(distance(GetParam(), motion.at(*t)), separation, 1e-6 * size);
    }
    for (int i = 0; i <= samples; ++i) {
      const double time = static_cast<double>(i) / samples;
      if (t && time >= *t) break;
      ASSERT_GE(distance(GetParam(), motion.at(time)), separation * (1.0 - 1e-9)) << "pair " << k;
    }
  }
  EXPECT_GT(hits, 50);
  EXPECT_GT(misses, 50);
}

TEST_P(ExactCcd, StartWithinTheSeparationIsTimeZero) {
  Rng rng(5);
  for (int k = 0; k < 1000; ++k) {
    const Motion motion = to_metres(random_motion(rng), random_scale(rng));
    const double start = distance(GetParam(), motion.x_t0);
    EXPECT_EQ(impact(GetParam(), motion, start), 0.0);
    EXPECT_EQ(impact(GetParam(), motion, 1.5 * start), 0.0);
    EXPECT_EQ(impact(GetParam(), {motion.x_t0, motion.x_t0}, start), 0.0);
    EXPECT_FALSE(impact(GetParam(), {motion.x_t0, motion.x_t0}, 0.99 * start).has_value());
  }
}

// Grid offsets and scales by powers of two are exact in doubles, so the result must be the same to the bit.
TEST_P(ExactCcd, TranslationAndScaleInvariant) {
  Rng rng(6);
  for (int k = 0; k < 20'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const std::optional<double> t = impact(GetParam(), to_metres(grid, 1.0), 0.0);
    const GridPoint offset = random_point(rng, std::int64_t{1} << 30);
    EXPECT_EQ(impact(GetParam(), to_metres(grid, 1.0, offset), 0.0), t);
    EXPECT_EQ(impact(GetParam(), to_metres(grid, random_scale(rng)), 0.0), t);
  }
}

// A common motion, however fast, changes nothing: steps are bounded by relative motion.
TEST_P(ExactCcd, CommonMotionIsIgnored) {
  Rng rng(7);
  for (int k = 0; k < 20'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const std::optional<double> t = impact(GetParam(), to_metres(grid, 1.0), 0.0);
    GridMotion moved = grid;
    const GridPoint by = random_point(rng, std::int64_t{1} << 30);
    for (GridPoint& x : moved.x_t1) x = x + by;
    EXPECT_EQ(impact(GetParam(), to_metres(moved, 1.0), 0.0), t);
  }
}

}  // namespace
}  // namespace stiction
