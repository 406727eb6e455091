// Closest points: attained, optimal (by a separating direction, which bounds the distance from below), and sane where
// edges or triangles degenerate.
#include "geometry/distance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace stiction {
namespace {

using Rng = std::mt19937_64;

double uniform(Rng& rng, double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(rng); }

Vec3 random_point(Rng& rng, double bound = 1.0) {
  return {uniform(rng, -bound, bound), uniform(rng, -bound, bound), uniform(rng, -bound, bound)};
}

Mat3 random_rotation(Rng& rng) {
  std::normal_distribution<double> normal;
  return Quat(normal(rng), normal(rng), normal(rng), normal(rng)).normalized().toRotationMatrix();
}

double largest_coordinate(const std::array<Vec3, 4>& x) {
  double largest = 0.0;
  for (const Vec3& point : x) largest = std::max(largest, point.cwiseAbs().maxCoeff());
  return largest;
}

constexpr std::array kScales = {1e-5, 1.0, 1e2};

/// Vector between the closest points, after checking that the parameters are legal and attain the distance.
Vec3 checked_vector(const EdgeEdgeClosest& c, const std::array<Vec3, 4>& x) {
  EXPECT_TRUE(c.s >= 0.0 && c.s <= 1.0 && c.t >= 0.0 && c.t <= 1.0);
  const Vec3 v = x[0] + c.s * (x[1] - x[0]) - x[2] - c.t * (x[3] - x[2]);
  EXPECT_NEAR(v.norm(), std::sqrt(c.distance2), 1e-14 * largest_coordinate(x));
  return v;
}

Vec3 checked_vector(const PointTriangleClosest& c, const std::array<Vec3, 4>& x) {
  EXPECT_TRUE(c.b1 >= 0.0 && c.b2 >= 0.0 && c.b1 + c.b2 <= 1.0 + 1e-15);
  const Vec3 v = x[0] - x[1] - c.b1 * (x[2] - x[1]) - c.b2 * (x[3] - x[1]);
  EXPECT_NEAR(v.norm(), std::sqrt(c.distance2), 1e-14 * largest_coordinate(x));
  return v;
}

/// Lower bound of the distance: the smallest extent along `v` of the vertex-vertex differences.
double lower_bound(const Vec3& v, const std::vector<Vec3>& differences) {
  double least = std::numeric_limits<double>::infinity();
  for (const Vec3& d : differences) least = std::min(least, v.normalized().dot(d));
  return least;
}

void expect_optimal_edges(const std::array<Vec3, 4>& x, double tolerance) {
  const EdgeEdgeClosest c = closest_edge_edge(x[0], x[1], x[2], x[3]);
  const Vec3 v = checked_vector(c, x);
  EXPECT_GE(lower_bound(v, {x[0] - x[2], x[0] - x[3], x[1] - x[2], x[1] - x[3]}), std::sqrt(c.distance2) - tolerance);
}

void expect_optimal_triangle(const std::array<Vec3, 4>& x, double tolerance) {
  const PointTriangleClosest c = closest_point_triangle(x[0], x[1], x[2], x[3]);
  const Vec3 v = checked_vector(c, x);
  EXPECT_GE(lower_bound(v, {x[0] - x[1], x[0] - x[2], x[0] - x[3]}), std::sqrt(c.distance2) - tolerance);
}

// The direction between closest points a distance d apart is known to ε/d: for unit sizes and d > 1e-3 the bound is
// exact to 1e-12.
TEST(Distance, RandomPairsAreOptimal) {
  Rng rng(1);
  for (const double scale : kScales) {
    for (int k = 0; k < 20'000; ++k) {
      std::array<Vec3, 4> x;
      for (Vec3& point : x) point = scale * random_point(rng);
      if (closest_edge_edge(x[0], x[1], x[2], x[3]).distance2 > 1e-6 * scale * scale) {
        expect_optimal_edges(x, 1e-12 * scale);
      }
      if (closest_point_triangle(x[0], x[1], x[2], x[3]).distance2 > 1e-6 * scale * scale) {
        expect_optimal_triangle(x, 1e-12 * scale);
      }
    }
  }
}

// No sample of the parameters is nearer, and the nearest of a dense grid is hardly farther.
TEST(Distance, DenseSampling) {
  constexpr int n = 200;
  Rng rng(2);
  for (int k = 0; k < 100; ++k) {
    std::array<Vec3, 4> x;
    for (Vec3& point : x) point = random_point(rng);
    double edges = 1e9, triangle = 1e9;
    for (int i = 0; i <= n; ++i) {
      for (int j = 0; j <= n; ++j) {
        const double a = static_cast<double>(i) / n, b = static_cast<double>(j) / n;
        edges = std::min(edges, (x[0] + a * (x[1] - x[0]) - x[2] - b * (x[3] - x[2])).norm());
        if (i + j <= n) triangle = std::min(triangle, (x[0] - x[1] - a * (x[2] - x[1]) - b * (x[3] - x[1])).norm());
      }
    }
    const double cell = 2.0 * std::sqrt(12.0) / n;
    const double d_edges = std::sqrt(closest_edge_edge(x[0], x[1], x[2], x[3]).distance2);
    const double d_triangle = std::sqrt(closest_point_triangle(x[0], x[1], x[2], x[3]).distance2);
    EXPECT_LE(d_edges, edges + 1e-14);
    EXPECT_GE(d_edges, edges - cell);
    EXPECT_LE(d_triangle, triangle + 1e-14);
    EXPECT_GE(d_triangle, triangle - cell);
  }
}

// Edges that cross at a given angle and gap, from 1 rad down to parallel in doubles: the distance is the gap.
TEST(Distance, NearlyParallelEdgesThatCross) {
  Rng rng(3);
  for (const double scale : kScales) {
    for (double angle = 1.0; angle > 1e-17; angle *= 0.1) {
      for (const double gap : {0.0, 1e-8, 1e-3, 1.0}) {
        const Mat3 frame = scale * random_rotation(rng);
        const Vec3 along = frame * Vec3(1, 0, 0), turned = frame * Vec3(std::cos(angle), std::sin(angle), 0);
        const Vec3 center = scale * random_point(rng);
        const double a = uniform(rng, 0.1, 0.9), b = uniform(rng, 0.1, 0.9);
        const std::array<Vec3, 4> x = {center - a * along, center + (1.0 - a) * along,
                                       center - b * turned + frame * Vec3(0, 0, gap),
                                       center + (1.0 - b) * turned + frame * Vec3(0, 0, gap)};
        const EdgeEdgeClosest c = closest_edge_edge(x[0], x[1], x[2], x[3]);
        checked_vector(c, x);
        EXPECT_NEAR(std::sqrt(c.distance2), gap * scale, 3e-15 * scale) << "angle " << angle << " gap " << gap;
      }
    }
  }
}

TEST(Distance, NearlyParallelEdgesAside) {
  Rng rng(4);
  for (double angle = 1e-2; angle > 1e-17; angle *= 0.1) {
    for (int k = 0; k < 100; ++k) {
      const Vec3 along = random_point(rng).normalized();
      const Vec3 p0 = random_point(rng), q0 = random_point(rng);
      const Vec3 turned = uniform(rng, 0.5, 2.0) * (along + angle * random_point(rng));
      expect_optimal_edges({p0, p0 + along, q0, q0 + (k % 2 == 0 ? 1.0 : -1.0) * turned}, 1e-12);
    }
  }
}

TEST(Distance, ParallelAndCollinearEdges) {
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY();
  EXPECT_DOUBLE_EQ(closest_edge_edge(0 * x, x, y, x + y).distance2, 1.0);
  EXPECT_DOUBLE_EQ(closest_edge_edge(0 * x, x, x + y, y).distance2, 1.0);
  EXPECT_DOUBLE_EQ(closest_edge_edge(0 * x, x, 3 * x + y, 2 * x + y).distance2, 2.0);
  EXPECT_DOUBLE_EQ(closest_edge_edge(0 * x, x, 3 * x, 5 * x).distance2, 4.0);
  EXPECT_DOUBLE_EQ(closest_edge_edge(0 * x, 4 * x, x, 2 * x).distance2, 0.0);
  EXPECT_DOUBLE_EQ(closest_edge_edge(0 * x, x, -5 * x, -2 * x).distance2, 4.0);
}

TEST(Distance, ZeroLengthEdges) {
  const Vec3 x = Vec3::UnitX(), z = Vec3::UnitZ();
  const EdgeEdgeClosest point_edge = closest_edge_edge(0.25 * x + z, 0.25 * x + z, 0 * x, x);
  EXPECT_DOUBLE_EQ(point_edge.distance2, 1.0);
  EXPECT_DOUBLE_EQ(point_edge.t, 0.25);
  const EdgeEdgeClosest edge_point = closest_edge_edge(0 * x, x, 0.25 * x + z, 0.25 * x + z);
  EXPECT_DOUBLE_EQ(edge_point.distance2, 1.0);
  EXPECT_DOUBLE_EQ(edge_point.s, 0.25);
  EXPECT_DOUBLE_EQ(closest_edge_edge(x, x, z, z).distance2, 2.0);
  EXPECT_DOUBLE_EQ(closest_edge_edge(x, x, x, x).distance2, 0.0);
}

TEST(Distance, DegenerateTriangles) {
  const Vec3 x = Vec3::UnitX(), z = Vec3::UnitZ(), o = Vec3::Zero();
  EXPECT_DOUBLE_EQ(closest_point_triangle(z, o, o, o).distance2, 1.0);
  EXPECT_DOUBLE_EQ(closest_point_triangle(0.3 * x + z, o, x, o).distance2, 1.0);
  EXPECT_DOUBLE_EQ(closest_point_triangle(0.3 * x + z, o, o, x).distance2, 1.0);
  EXPECT_DOUBLE_EQ(closest_point_triangle(0.3 * x + z, x, o, o).distance2, 1.0);
  EXPECT_DOUBLE_EQ(closest_point_triangle(1.5 * x, o, x, 2 * x).distance2, 0.0);
  EXPECT_DOUBLE_EQ(closest_point_triangle(5 * x, 2 * x, o, x).distance2, 9.0);
}

// A point at a given height above the inside of a sliver: the distance is the height, to ε of the longest side plus ε
// over the sliver's angle of the height.
TEST(Distance, Slivers) {
  Rng rng(5);
  for (const double scale : kScales) {
    for (double width = 1.0; width > 1e-17; width *= 0.1) {
      for (const double height : {0.0, 1e-8, 1e-3, 1.0}) {
        const Mat3 frame = scale * random_rotation(rng);
        const Vec3 origin = scale * random_point(rng);
        std::array<Vec3, 3> corners = {origin, origin + frame * Vec3(1, 0, 0), origin + frame * Vec3(0.4, width, 0)};
        const Vec3 above = (0.3 * corners[0] + 0.3 * corners[1] + 0.4 * corners[2]) + frame * Vec3(0, 0, height);
        for (int turn = 0; turn < 3; ++turn) {
          std::rotate(corners.begin(), corners.begin() + 1, corners.end());
          const std::array<Vec3, 4> x = {above, corners[0], corners[1], corners[2]};
          const PointTriangleClosest c = closest_point_triangle(x[0], x[1], x[2], x[3]);
          checked_vector(c, x);
          const double tolerance = 4e-15 + std::min(width, 1e-15 * height / width);
          EXPECT_NEAR(std::sqrt(c.distance2), height * scale, tolerance * scale)
              << "width " << width << " height " << height;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stiction
