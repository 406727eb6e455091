#include "geometry/embedding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "geometry/distance.hpp"
#include "geometry/primitives.hpp"
#include "geometry/tet_mesh.hpp"

namespace stiction {
namespace {

std::vector<Vec3> random_points(int count, double half) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> uniform(-half, half);
  std::vector<Vec3> points;
  for (int i = 0; i < count; ++i) points.emplace_back(uniform(engine), uniform(engine), uniform(engine));
  return points;
}

/// A box with its inner vertices moved about, so that no two tets are alike.
TetMesh irregular_box() {
  TetMesh mesh = make_tet_box(Vec3::Ones(), {5, 4, 6});
  const std::vector<Vec3> offsets = random_points(static_cast<int>(mesh.vertices.size()), 0.03);
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (mesh.vertices[i].cwiseAbs().maxCoeff() < 0.49) mesh.vertices[i] += offsets[i];
  }
  return mesh;
}

TEST(Embedding, ReproducesEveryPointWithWeightsThatSumToOne) {
  const TetMesh mesh = irregular_box();
  const std::vector<Vec3> points = random_points(2000, 0.7);  // inside and outside
  const Embedding embedding = embed(mesh, points);
  ASSERT_EQ(embedding.node.size(), points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const auto& w = embedding.weight[i];
    EXPECT_NEAR(w[0] + w[1] + w[2] + w[3], 1, 1e-15 * 8);
    EXPECT_LT((embedding.apply(i, mesh.vertices) - points[i]).norm(), 1e-14);
  }
}

TEST(Embedding, WeightsArePositiveInsideTheMesh) {
  const TetMesh mesh = irregular_box();
  const std::vector<Vec3> points = random_points(2000, 0.5);
  for (const auto& weight : embed(mesh, points).weight) {
    for (const double w : weight) EXPECT_GE(w, -1e-12);
  }
}

TEST(Embedding, PointsFollowAnAffineMap) {
  TetMesh mesh = irregular_box();
  const std::vector<Vec3> points = random_points(500, 0.6);
  const Embedding embedding = embed(mesh, points);
  Mat3 gradient;
  gradient << 1.3, 0.2, 0, -0.4, 0.8, 0.1, 0.3, 0, 1.1;
  const Vec3 shift(0.1, 2, -3);
  for (Vec3& x : mesh.vertices) x = gradient * x + shift;
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_LT((embedding.apply(i, mesh.vertices) - gradient * points[i] - shift).norm(), 1e-13);
  }
}

TEST(Embedding, OutsidePointsTakeTheNearestTet) {
  const TetMesh mesh = make_tet_lattice(make_torus(0.4, 0.1, 12, 24), 0.08);
  const std::vector<Vec3> points = random_points(300, 1.2);
  const Embedding embedding = embed(mesh, points);
  const auto distance = [&](const Eigen::Vector4i& tet, const Vec3& x) {  // 0 inside
    double least = std::numeric_limits<double>::infinity();
    bool inside = true;
    for (int i = 0; i < 4; ++i) {
      const Vec3 &a = mesh.vertices[tet[(i + 1) % 4]], &b = mesh.vertices[tet[(i + 2) % 4]],
                 &c = mesh.vertices[tet[(i + 3) % 4]], &apex = mesh.vertices[tet[i]];
      const Vec3 n = (b - a).cross(c - a);
      inside = inside && n.dot(x - a) * n.dot(apex - a) >= 0;
      least = std::min(least, std::sqrt(closest_point_triangle(x, a, b, c).distance2));
    }
    return inside ? 0.0 : least;
  };
  int outside = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    double brute_force = std::numeric_limits<double>::infinity();
    for (const Eigen::Vector4i& tet : mesh.tets) brute_force = std::min(brute_force, distance(tet, points[i]));
    const auto& n = embedding.node[i];
    EXPECT_NEAR(distance({n[0], n[1], n[2], n[3]}, points[i]), brute_force, 1e-12);
    outside += brute_force > 0 ? 1 : 0;
  }
  EXPECT_GT(outside, 100);
}

TEST(Embedding, VerticesOfTheMeshAreEmbeddedInThemselves) {
  const TetMesh mesh = irregular_box();
  const Embedding embedding = embed(mesh, mesh.vertices);
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    double own = 0;
    for (int j = 0; j < 4; ++j) {
      if (embedding.node[i][j] == static_cast<int>(i)) own = embedding.weight[i][j];
    }
    EXPECT_NEAR(own, 1, 1e-12);
  }
}

TEST(Embedding, PassesOverFlatTets) {
  TetMesh mesh = make_tet_box(Vec3::Ones(), {1, 1, 1});
  mesh.tets.insert(mesh.tets.begin(), Eigen::Vector4i(0, 1, 2, 3));  // four corners of a face
  const Embedding embedding = embed(mesh, std::vector<Vec3>{{0, 0, -0.5}, {0, 0, -2}});
  for (size_t i = 0; i < 2; ++i) {
    for (const double w : embedding.weight[i]) EXPECT_TRUE(std::isfinite(w));
  }
  mesh.tets.resize(1);
  EXPECT_THROW(embed(mesh, std::vector<Vec3>{{0, 0, 0}}), std::invalid_argument);
  EXPECT_THROW(embed({}, std::vector<Vec3>{{0, 0, 0}}), std::invalid_argument);
}

}  // namespace
}  // namespace stiction
