#include "geometry/sheets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "geometry/creatures.hpp"

namespace stiction {
namespace {

/// Number of triangles that run along each directed edge.
std::map<std::pair<int, int>, int> directed_edges(const TriangleMesh& mesh) {
  std::map<std::pair<int, int>, int> count;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) ++count[{t[i], t[(i + 1) % 3]}];
  }
  return count;
}

bool is_oriented_manifold(const TriangleMesh& mesh) {
  const auto edges = directed_edges(mesh);
  return std::all_of(edges.begin(), edges.end(), [](const auto& edge) { return edge.second == 1; });
}

/// Closed loops of boundary edges, by their numbers of edges, sorted; {-1} where the boundary is not made of loops.
std::vector<int> boundary_loops(const TriangleMesh& mesh) {
  const auto edges = directed_edges(mesh);
  std::map<int, int> next;
  for (const auto& [edge, count] : edges) {
    if (edges.contains({edge.second, edge.first})) continue;
    if (!next.emplace(edge.first, edge.second).second) return {-1};
  }
  std::vector<int> loops;
  while (!next.empty()) {
    const int start = next.begin()->first;
    int length = 0;
    for (int v = start; next.contains(v); ++length) {
      const int to = next[v];
      next.erase(v);
      v = to;
      if (v == start) {
        ++length;
        break;
      }
    }
    loops.push_back(length);
  }
  std::sort(loops.begin(), loops.end());
  return loops;
}

Vec3 normal(const TriangleMesh& mesh, const Eigen::Vector3i& t) {  // of the length of twice the area
  return (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
}

class Sheet : public testing::TestWithParam<Diagonals> {};

TEST_P(Sheet, CoversTheRectangleOnceFacingUp) {
  const TriangleMesh sheet = make_sheet(2.0, 1.5, 5, 4, GetParam());
  const bool cross = GetParam() == Diagonals::cross;
  EXPECT_EQ(sheet.vertices.size(), cross ? 30u + 20 : 30u);
  EXPECT_EQ(sheet.triangles.size(), cross ? 80u : 40u);
  EXPECT_TRUE(is_oriented_manifold(sheet));
  EXPECT_EQ(boundary_loops(sheet), std::vector<int>{18});
  double area = 0;
  for (const Eigen::Vector3i& t : sheet.triangles) {
    EXPECT_GT(normal(sheet, t).z(), 0);
    area += 0.5 * normal(sheet, t).z();
  }
  EXPECT_NEAR(area, 3.0, 1e-14);
  EXPECT_EQ(sheet.vertices[0], Vec3(-1, -0.75, 0));
  EXPECT_EQ(sheet.vertices[29], Vec3(1, 0.75, 0));
  for (const Vec3& x : sheet.vertices) EXPECT_EQ(x.z(), 0);
}

INSTANTIATE_TEST_SUITE_P(AllDiagonals, Sheet,
                         testing::Values(Diagonals::alternating, Diagonals::one_way, Diagonals::cross));

/// Number of edges along (1, 1) less that along (1, -1), of cells of one metre.
int diagonal_bias(Diagonals diagonals) {
  const TriangleMesh sheet = make_sheet(4, 4, 4, 4, diagonals);
  int bias = 0;
  std::set<std::pair<int, int>> seen;
  for (const Eigen::Vector3i& t : sheet.triangles) {
    for (int i = 0; i < 3; ++i) {
      const int a = t[i], b = t[(i + 1) % 3];
      if (!seen.insert(std::minmax(a, b)).second) continue;
      const Vec3 e = sheet.vertices[b] - sheet.vertices[a];
      bias += e.x() * e.y() > 0 ? 1 : e.x() * e.y() < 0 ? -1 : 0;
    }
  }
  return bias;
}

TEST(Sheets, OnlyOneWayPrefersADiagonal) {
  EXPECT_EQ(diagonal_bias(Diagonals::alternating), 0);
  EXPECT_EQ(diagonal_bias(Diagonals::cross), 0);
  EXPECT_EQ(diagonal_bias(Diagonals::one_way), 16);
}

TEST(Sheets, RefusesNothing) {
  EXPECT_THROW(make_sheet(1, 1, 0, 3), std::invalid_argument);
  EXPECT_THROW(make_sheet(1, -1, 3, 3), std::invalid_argument);
  EXPECT_THROW(make_band(1, 1, 2, 3), std::invalid_argument);
  EXPECT_THROW(make_band(0, 1, 12, 3), std::invalid_argument);
}

TEST(Band, IsARingThatFacesOutwards) {
  const double radius = 0.1, width = 0.03;
  const TriangleMesh band = make_band(radius, width, 48, 3);
  EXPECT_EQ(band.vertices.size(), 48u * 4);
  EXPECT_EQ(band.triangles.size(), 48u * 2 * 3);
  EXPECT_TRUE(is_oriented_manifold(band));
  EXPECT_EQ(boundary_loops(band), (std::vector<int>{48, 48}));
  double area = 0;
  for (const Eigen::Vector3i& t : band.triangles) {
    const Vec3 middle = (band.vertices[t[0]] + band.vertices[t[1]] + band.vertices[t[2]]) / 3;
    const Vec3 n = normal(band, t);
    EXPECT_GT(n.dot(Vec3(middle.x(), middle.y(), 0)), 0.99 * n.norm() * middle.head<2>().norm());
    area += 0.5 * n.norm();
  }
  // Less than the cylinder's by what the chords and the tilt of the triangles leave, of second order in a sector.
  const double sector = 2 * std::numbers::pi / 48;
  EXPECT_NEAR(area, 2 * std::numbers::pi * radius * width, sector * sector * radius * width);
  for (const Vec3& x : band.vertices) EXPECT_NEAR(x.head<2>().norm(), radius, 1e-15);
  EXPECT_DOUBLE_EQ(band.vertices.front().z(), -0.5 * width);
  EXPECT_DOUBLE_EQ(band.vertices.back().z(), 0.5 * width);
}

TEST(Band, EdgesAreNearlyEqualWhereTheRowsAreAsHighAsEquilateralTriangles) {
  const int around = 60, along = 4;
  const double edge = 2 * std::numbers::pi * 0.2 / around;
  const TriangleMesh band = make_band(0.2, along * edge * std::sqrt(3.0) / 2, around, along);
  for (const Eigen::Vector3i& t : band.triangles) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR((band.vertices[t[i]] - band.vertices[t[(i + 1) % 3]]).norm(), edge, 0.01 * edge);
    }
  }
}

class Shirt : public testing::TestWithParam<int> {};

TEST_P(Shirt, IsAManifoldOpenAtNeckHemAndCuffs) {
  ShirtOptions options;
  options.vertices = GetParam();
  const TriangleMesh shirt = make_tube_shirt(options);
  EXPECT_EQ(shirt.vertices.size(), static_cast<size_t>(options.vertices));
  EXPECT_TRUE(is_oriented_manifold(shirt));
  EXPECT_EQ(boundary_loops(shirt).size(), 4u);
  std::set<std::pair<int, int>> edges;
  for (const Eigen::Vector3i& t : shirt.triangles) {
    for (int i = 0; i < 3; ++i) edges.insert(std::minmax(t[i], t[(i + 1) % 3]));
  }
  const auto characteristic =
      static_cast<int>(shirt.vertices.size() + shirt.triangles.size()) - static_cast<int>(edges.size());
  EXPECT_EQ(characteristic, 2 - 4);  // a sphere with four holes

  double mean = 0, shortest = 1, longest = 0;
  for (const auto& [a, b] : edges) {
    const double length = (shirt.vertices[a] - shirt.vertices[b]).norm();
    mean += length / static_cast<double>(edges.size());
    shortest = std::min(shortest, length), longest = std::max(longest, length);
  }
  EXPECT_GT(shortest, 0.5 * mean);
  EXPECT_LT(longest, 1.9 * mean);  // longer than 4/3 only where smoothing has drawn it out since the last split
}

TEST_P(Shirt, KeepsClearOfTheBodyByTheEase) {
  ShirtOptions options;
  options.vertices = GetParam();
  options.ease = 0.015;
  const TriangleMesh shirt = make_tube_shirt(options);
  const Field body = character_shirt_form().body;
  for (const Eigen::Vector3i& t : shirt.triangles) {
    const Vec3 &a = shirt.vertices[t[0]], &b = shirt.vertices[t[1]], &c = shirt.vertices[t[2]];
    for (const Vec3& x : {a, b, c}) EXPECT_GT(body(x), 0.99 * options.ease);
    EXPECT_LT(body(a), 1.01 * (options.ease + options.flare));
    EXPECT_GT(body((a + b + c) / 3), 0.3 * options.ease);  // chords cut across the curve of an arm
    EXPECT_GT(normal(shirt, t).dot(field_gradient(body, (a + b + c) / 3, 1e-4)), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Vertices, Shirt, testing::Values(1200, 2500, 4000));

TEST(Shirts, SleevesEndWhereAskedFor) {
  const ShirtForm form = character_shirt_form();
  for (const double sleeve : {0.3, 0.5, 1.0}) {
    ShirtOptions options;
    options.vertices = 1500;
    options.sleeve = sleeve;
    double reach = 0;
    for (const Vec3& x : make_tube_shirt(options).vertices) reach = std::max(reach, x.y());
    const Vec3 end = sleeve <= 0.5 ? Vec3(form.shoulder + 2 * sleeve * (form.elbow - form.shoulder)) : form.wrist;
    EXPECT_NEAR(reach, end.y(), 0.07);  // and an arm's radius more across a slanting cuff
    EXPECT_GT(reach, end.y());
  }
  ShirtOptions options;
  options.vertices = 10;
  EXPECT_THROW(make_tube_shirt(options), std::invalid_argument);
}

}  // namespace
}  // namespace stiction
