#include "geometry/tet_mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <set>

#include "geometry/distance.hpp"
#include "geometry/embedding.hpp"
#include "geometry/primitives.hpp"

namespace stiction {
namespace {

std::array<int, 3> sorted_face(const Eigen::Vector4i& tet, int skip) {
  std::array<int, 3> face = {tet[(skip + 1) % 4], tet[(skip + 2) % 4], tet[(skip + 3) % 4]};
  std::sort(face.begin(), face.end());
  return face;
}

/// Whether neighbouring tets share whole faces: none of more than two tets, and no vertex inside an edge or a face,
/// which would leave the boundary open.
bool conforms(const TetMesh& mesh) {
  std::map<std::array<int, 3>, int> tets_of;
  for (const Eigen::Vector4i& tet : mesh.tets) {
    for (int i = 0; i < 4; ++i) ++tets_of[sorted_face(tet, i)];
  }
  return std::all_of(tets_of.begin(), tets_of.end(), [](const auto& face) { return face.second <= 2; });
}

double area(const TriangleMesh& mesh) {
  double sum = 0;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const std::vector<Vec3>& x = mesh.vertices;
    sum += 0.5 * (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]).norm();
  }
  return sum;
}

TEST(TetBox, FillsTheBoxWithPositiveTets) {
  const Vec3 size(0.3, 0.2, 0.5);
  const TetMesh box = make_tet_box(size, {3, 2, 5});
  EXPECT_EQ(box.vertices.size(), 4u * 3 * 6);
  EXPECT_EQ(box.tets.size(), 5u * 3 * 2 * 5);
  for (const double volume : tet_volumes(box)) EXPECT_GT(volume, 0.1 * size.prod() / (3 * 2 * 5));
  EXPECT_NEAR(total_volume(box), size.prod(), 1e-15);
  EXPECT_TRUE(conforms(box));
  Vec3 lo = box.vertices[0], hi = lo;
  for (const Vec3& x : box.vertices) lo = lo.cwiseMin(x), hi = hi.cwiseMax(x);
  EXPECT_LT((hi - 0.5 * size).norm() + (lo + 0.5 * size).norm(), 1e-15);
}

TEST(TetBox, BoundaryIsTheBoxSeenFromOutside) {
  const Vec3 size(0.3, 0.2, 0.5);
  const TetMesh box = make_tet_box(size, {3, 2, 5});
  std::vector<int> vertex_of;
  const TriangleMesh surface = boundary_surface(box, &vertex_of);
  EXPECT_TRUE(is_closed(surface));
  EXPECT_NEAR(enclosed_volume(surface), size.prod(), 1e-15);  // negative were it inside out
  EXPECT_NEAR(area(surface), 2 * (0.3 * 0.2 + 0.2 * 0.5 + 0.5 * 0.3), 1e-14);
  EXPECT_EQ(surface.triangles.size(), 2u * 2 * (3 * 2 + 2 * 5 + 5 * 3));
  ASSERT_EQ(vertex_of.size(), surface.vertices.size());
  for (size_t i = 0; i < vertex_of.size(); ++i) EXPECT_EQ(surface.vertices[i], box.vertices[vertex_of[i]]);
}

TEST(TetBox, PrefersNoDiagonal) {
  // Second moments of the edge directions, weighted by length: even cell counts must give an isotropic tensor.
  const TetMesh box = make_tet_box(Vec3::Ones(), {4, 4, 4});
  std::set<std::pair<int, int>> edges;
  for (const Eigen::Vector4i& tet : box.tets) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < i; ++j) edges.insert(std::minmax(tet[i], tet[j]));
    }
  }
  Mat3 moment = Mat3::Zero();
  for (const auto& [i, j] : edges) {
    const Vec3 e = box.vertices[j] - box.vertices[i];
    moment += e * e.transpose() / e.norm();
  }
  EXPECT_LT((moment - moment.trace() / 3 * Mat3::Identity()).norm(), 1e-12 * moment.trace());
}

TEST(TetBox, RefusesNoCellsAndNoSize) {
  EXPECT_THROW(make_tet_box(Vec3::Ones(), {1, 0, 1}), std::invalid_argument);
  EXPECT_THROW(make_tet_box(Vec3(1, 0, 1), {1, 1, 1}), std::invalid_argument);
  EXPECT_THROW(make_tet_box(Vec3::Ones(), {1 << 15, 1 << 15, 1 << 15}), std::invalid_argument);
}

TEST(Winding, CountsOneInsideAndZeroOutside) {
  const TriangleMesh torus = make_torus(1.0, 0.3, 12, 24);
  EXPECT_NEAR(winding_number(torus, {1, 0, 0}), 1, 1e-12);
  EXPECT_NEAR(winding_number(torus, {0, 0, 0}), 0, 1e-12);
  EXPECT_NEAR(winding_number(torus, {3, 1, 2}), 0, 1e-12);
}

TEST(Closed, NeedsBothSidesOfEachEdge) {
  TriangleMesh box = make_box(Vec3::Ones());
  EXPECT_TRUE(is_closed(box));
  std::swap(box.triangles[0][0], box.triangles[0][1]);
  EXPECT_FALSE(is_closed(box));
  box.triangles.erase(box.triangles.begin());
  EXPECT_FALSE(is_closed(box));
}

class TetLattice : public testing::TestWithParam<const char*> {
 protected:
  TriangleMesh surface() const {
    const std::string name = GetParam();
    if (name == "sphere") return make_sphere(0.1, 16, 32);
    if (name == "torus") return make_torus(0.1, 0.025, 16, 40);
    if (name == "needle") return make_capsule(0.004, 0.3, 4, 12);  // thinner than a cell
    return make_box(Vec3(0.1, 0.05, 0.08));                        // faces on the lattice's own planes
  }
  const double cell = 0.02;
};

TEST_P(TetLattice, KeepsATetExactlyWhereItMeetsTheBody) {
  const TriangleMesh body = surface();
  const TetMesh lattice = make_tet_lattice(body, cell);
  EXPECT_TRUE(conforms(lattice));
  for (const double volume : tet_volumes(lattice)) EXPECT_NEAR(volume, std::pow(cell, 3) / 12, 1e-12 * cell * cell);

  // Samples inside the body are in a tet; so are all vertices.
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Vec3> points = body.vertices;
  for (int i = 0; i < 3000; ++i) {
    const Vec3 x(0.16 * uniform(engine), 0.16 * uniform(engine), 0.16 * uniform(engine));
    if (winding_number(body, x) > 0.5) points.push_back(x);
  }
  const Embedding embedding = embed(lattice, points);
  for (const auto& weight : embedding.weight) {
    for (const double w : weight) EXPECT_GE(w, -1e-9);
  }

  // A kept tet has a vertex inside or crosses the surface: it is no further out than its own size.
  const double longest_edge = cell;
  for (const Eigen::Vector4i& tet : lattice.tets) {
    Vec3 centre = Vec3::Zero();
    for (const int v : tet) centre += 0.25 * lattice.vertices[v];
    double nearest = winding_number(body, centre) > 0.5 ? 0 : std::numeric_limits<double>::infinity();
    for (const Eigen::Vector3i& t : body.triangles) {
      if (nearest == 0) break;
      const double d2 =
          closest_point_triangle(centre, body.vertices[t[0]], body.vertices[t[1]], body.vertices[t[2]]).distance2;
      nearest = std::min(nearest, std::sqrt(d2));
    }
    EXPECT_LT(nearest, longest_edge);
  }
}

TEST_P(TetLattice, IsClosedAroundTheBody) {
  const TriangleMesh body = surface();
  const TetMesh lattice = make_tet_lattice(body, cell);
  const TriangleMesh hull = boundary_surface(lattice, nullptr);
  EXPECT_NEAR(enclosed_volume(hull), total_volume(lattice), 1e-12 * total_volume(lattice));
  EXPECT_GT(total_volume(lattice), enclosed_volume(body));
  EXPECT_LT(total_volume(lattice), enclosed_volume(body) + 1.5 * cell * area(body));  // a layer of a cell and a half
}

INSTANTIATE_TEST_SUITE_P(Bodies, TetLattice, testing::Values("sphere", "torus", "needle", "box"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(TetLatticeCount, MirrorsASymmetricBody) {
  const TetMesh lattice = make_tet_lattice(make_sphere(0.1, 16, 32), 0.03);
  const auto key = [](const Vec3& x) {
    return std::array<long, 3>{std::lround(1e9 * x[0]), std::lround(1e9 * x[1]), std::lround(1e9 * x[2])};
  };
  std::set<std::array<long, 3>> vertices;
  for (const Vec3& x : lattice.vertices) vertices.insert(key(x));
  for (const Vec3& x : lattice.vertices) {
    EXPECT_TRUE(vertices.contains(key({-x[0], x[1], x[2]})));
    EXPECT_TRUE(vertices.contains(key({x[0], -x[1], x[2]})));
    EXPECT_TRUE(vertices.contains(key({x[0], x[1], -x[2]})));
  }
}

TEST(TetLatticeCount, ComesNearTheNumberAskedFor) {
  // A torus has no symmetric shells of lattice points as large as a sphere's: 3 % is what the jumps leave.
  const TriangleMesh torus = make_torus(0.1, 0.04, 24, 48);
  for (const int target : {500, 2132, 10000}) {
    EXPECT_NEAR(static_cast<double>(make_tet_lattice_with(torus, target).tets.size()), target, 0.03 * target);
  }
}

TEST(TetLatticeCount, RefusesAnOpenSurface) {
  EXPECT_THROW(make_tet_lattice(make_plane_quad(1), 0.1), std::invalid_argument);
  EXPECT_THROW(make_tet_lattice(make_box(Vec3::Ones()), 0), std::invalid_argument);
  EXPECT_THROW(make_tet_lattice(make_box(Vec3::Ones()), 1e-6), std::invalid_argument);
}

}  // namespace
}  // namespace stiction
