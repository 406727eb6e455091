#include "geometry/implicit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>

#include "geometry/tet_mesh.hpp"

namespace stiction {
namespace {

constexpr double pi = std::numbers::pi;

Box cube(double half) {
  Box box;
  box.merge(Vec3::Constant(-half));
  box.merge(Vec3::Constant(half));
  return box;
}

/// Whether the faces at each vertex form a single fan.
bool vertices_are_manifold(const TriangleMesh& mesh) {
  std::vector<std::vector<std::pair<int, int>>> opposite(mesh.vertices.size());
  for (const Eigen::Vector3i& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) opposite[t[i]].emplace_back(t[(i + 1) % 3], t[(i + 2) % 3]);
  }
  return std::all_of(opposite.begin(), opposite.end(), [](const auto& fan) {
    std::map<int, int> next(fan.begin(), fan.end());
    if (fan.empty() || next.size() != fan.size()) return false;
    int start = fan[0].first;
    for (const auto& [from, to] : next) {  // an open fan begins where no face ends
      if (std::none_of(fan.begin(), fan.end(), [f = from](const auto& edge) { return edge.second == f; })) start = from;
    }
    size_t length = 0;
    for (int v = start; length < fan.size() && next.contains(v); ++length) v = next[v];
    return length == fan.size();
  });
}

int characteristic(const TriangleMesh& mesh) {  // V - E + F of a closed mesh
  return static_cast<int>(mesh.vertices.size()) - static_cast<int>(mesh.triangles.size()) / 2;
}

/// Smallest angle of a mesh's triangles, degrees.
double smallest_angle(const TriangleMesh& mesh) {
  double smallest = 180;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) {
      const Vec3 u = mesh.vertices[t[(i + 1) % 3]] - mesh.vertices[t[i]];
      const Vec3 v = mesh.vertices[t[(i + 2) % 3]] - mesh.vertices[t[i]];
      smallest = std::min(smallest, std::atan2(u.cross(v).norm(), u.dot(v)) * 180 / pi);
    }
  }
  return smallest;
}

std::pair<double, double> edge_range(const TriangleMesh& mesh) {
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) {
      const double length = (mesh.vertices[t[(i + 1) % 3]] - mesh.vertices[t[i]]).norm();
      shortest = std::min(shortest, length), longest = std::max(longest, length);
    }
  }
  return {shortest, longest};
}

/// Signed distance to the hull of two spheres by brute force over the spheres between them.
double hull_distance(const Vec3& x, const Vec3& a, const Vec3& b, double ra, double rb) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= 20000; ++i) {
    const double u = i / 20000.0;
    least = std::min(least, (x - (1 - u) * a - u * b).norm() - (1 - u) * ra - u * rb);
  }
  return least;
}

TEST(Field, CapsuleIsTheDistanceToTheHullOfTwoSpheres) {
  const Vec3 a(0.1, -0.2, 0), b(0.4, 0.3, 0.5);
  const Field capsule = field_capsule(a, b, 0.2, 0.05);
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < 100; ++i) {
    const Vec3 x(uniform(engine), uniform(engine), uniform(engine));
    const double brute_force = hull_distance(x, a, b, 0.2, 0.05);
    EXPECT_NEAR(capsule(x), brute_force, 1e-7);  // second order in the samples' spacing
  }
  const Field swallowed = field_capsule(a, a + Vec3(0.01, 0, 0), 0.2, 0.05);
  EXPECT_NEAR(swallowed(a + Vec3(0.3, 0, 0)), 0.1, 1e-15);
}

TEST(Field, EllipsoidHasUnitSlopeOnItsSurface) {
  const Quat turn(Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized()));
  const Vec3 centre(0.2, 0, -0.1), axes(0.5, 0.2, 0.3);
  const Field ellipsoid = field_ellipsoid(centre, axes, turn);
  std::mt19937 engine(4);
  std::normal_distribution<double> gauss;
  for (int i = 0; i < 100; ++i) {
    const Vec3 unit = Vec3(gauss(engine), gauss(engine), gauss(engine)).normalized();
    const Vec3 x = centre + turn * axes.cwiseProduct(unit);
    EXPECT_NEAR(ellipsoid(x), 0, 1e-15);
    const Vec3 outward = turn * unit.cwiseQuotient(axes).normalized();
    EXPECT_LT((field_gradient(ellipsoid, x, 1e-6) - outward).norm(), 1e-5);
  }
}

TEST(Field, BlendsAreSharpAwayFromTheCreaseAndGrowTheUnion) {
  const Field a = field_sphere({0, 0, 0}, 0.3), b = field_sphere({0.4, 0, 0}, 0.3);
  const Field sharp = field_union({a, b}, 0), soft = field_union({a, b}, 0.1);
  EXPECT_EQ(soft({-0.3, 0, 0}), sharp({-0.3, 0, 0}));
  const Vec3 crease(0.2, std::sqrt(0.09 - 0.04), 0);
  EXPECT_NEAR(sharp(crease), 0, 1e-15);
  EXPECT_NEAR(soft(crease), -0.1 / 4, 1e-15);
  EXPECT_NEAR(field_intersection(a, b, 0.1)(crease), 0.1 / 4, 1e-15);
  EXPECT_NEAR(field_difference(a, b, 0)({0.2, 0, 0}), 0.1, 1e-15);  // inside both
  EXPECT_NEAR(field_offset(a, 0.05)({0.4, 0, 0}), 0.05, 1e-15);
  EXPECT_NEAR(field_mirrored_y(field_sphere({0, 1, 0}, 0.3))({0, -1, 0}), -0.3, 1e-15);
}

TEST(Polygonise, SphereConvergesInAreaAndVolumeWithGoodTriangles) {
  const Field sphere = field_sphere({0.01, 0.02, 0.03}, 0.5);
  double previous = 1;
  for (const double edge : {0.16, 0.08, 0.04}) {
    const TriangleMesh mesh = polygonise(sphere, cube(0.6), edge);
    EXPECT_TRUE(is_closed(mesh));
    EXPECT_TRUE(vertices_are_manifold(mesh));
    EXPECT_EQ(characteristic(mesh), 2);
    EXPECT_GT(smallest_angle(mesh), 30);
    const auto [shortest, longest] = edge_range(mesh);
    EXPECT_GT(shortest, 0.6 * edge);
    EXPECT_LT(longest, 1.6 * edge);  // 4/3, and what flips and smoothing undo
    for (const Vec3& x : mesh.vertices) EXPECT_NEAR(sphere(x), 0, 1e-9);
    const double error = 1 - enclosed_volume(mesh) / (4 * pi / 3 * 0.125);
    EXPECT_GT(error, 0);               // inscribed
    EXPECT_LT(error, 0.4 * previous);  // second order would be a quarter
    previous = error;
  }
}

TEST(Polygonise, KeepsTheGenusOfATorus) {
  const Field torus = [](const Vec3& x) { return std::hypot(x.head<2>().norm() - 0.4, x.z()) - 0.12; };
  const TriangleMesh mesh = polygonise(torus, cube(0.6), 0.05);
  EXPECT_TRUE(is_closed(mesh));
  EXPECT_TRUE(vertices_are_manifold(mesh));
  EXPECT_EQ(characteristic(mesh), 0);
  EXPECT_GT(smallest_angle(mesh), 25);
  EXPECT_NEAR(enclosed_volume(mesh), 2 * pi * 0.4 * pi * 0.12 * 0.12, 0.08 * enclosed_volume(mesh));
}

TEST(Polygonise, HitsTheNumberOfFacesExactly) {
  const Field body =
      field_union({field_sphere({0, 0, 0}, 0.3), field_capsule({0.2, 0, 0.2}, {0.3, 0.1, 0.6}, 0.1, 0.06)}, 0.08);
  const Field torus = [](const Vec3& x) { return std::hypot(x.head<2>().norm() - 0.4, x.z()) - 0.12; };
  for (const int faces : {300, 2498, 6000}) {
    for (const Field& field : {body, torus}) {
      const TriangleMesh mesh = polygonise_with(field, cube(0.8), faces);
      EXPECT_EQ(mesh.triangles.size(), static_cast<size_t>(faces));
      EXPECT_TRUE(is_closed(mesh));
      EXPECT_TRUE(vertices_are_manifold(mesh));
      EXPECT_GT(enclosed_volume(mesh), 0);
      EXPECT_GT(smallest_angle(mesh), 15);
      for (const Vec3& x : mesh.vertices) EXPECT_NEAR(field(x), 0, 1e-6);
    }
  }
}

TEST(Polygonise, CutsASurfaceWhereAnotherFieldVanishes) {
  const Field sphere = field_sphere(Vec3::Zero(), 0.5);
  const Field lower = field_half_space({0, 0, 0.25}, {0, 0, 1});
  const TriangleMesh cup = polygonise_part_with(sphere, lower, cube(0.6), 1500);
  EXPECT_EQ(cup.vertices.size(), 1500u);
  EXPECT_TRUE(vertices_are_manifold(cup));
  EXPECT_GT(smallest_angle(cup), 20);
  std::map<std::pair<int, int>, int> edges;
  for (const Eigen::Vector3i& t : cup.triangles) {
    for (int i = 0; i < 3; ++i) ++edges[{t[i], t[(i + 1) % 3]}];
  }
  double rim = 0;
  for (const auto& [edge, count] : edges) {
    EXPECT_EQ(count, 1);
    if (edges.contains({edge.second, edge.first})) continue;
    const Vec3 &a = cup.vertices[edge.first], &b = cup.vertices[edge.second];
    EXPECT_NEAR(a.z(), 0.25, 1e-9);
    EXPECT_NEAR(a.norm(), 0.5, 1e-9);
    rim += (b - a).norm();
  }
  EXPECT_NEAR(rim, 2 * pi * 0.5 * std::sqrt(0.75), 0.005);  // one circle, less its chords
}

TEST(Polygonise, RefusesAnEmptyBox) {
  EXPECT_THROW(polygonise(field_sphere({5, 0, 0}, 1), cube(1), 0.1), std::invalid_argument);
  EXPECT_THROW(polygonise(field_sphere({0, 0, 0}, 1), cube(2), 0), std::invalid_argument);
}

}  // namespace
}  // namespace stiction
