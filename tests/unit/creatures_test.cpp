#include "geometry/creatures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "geometry/bvh.hpp"
#include "geometry/sheets.hpp"
#include "geometry/tet_mesh.hpp"

namespace stiction {
namespace {

int characteristic(const TriangleMesh& closed) {
  return static_cast<int>(closed.vertices.size()) - static_cast<int>(closed.triangles.size()) / 2;
}

Box bounds_of(std::span<const Vec3> points) {
  Box box;
  for (const Vec3& x : points) box.merge(x);
  return box;
}

/// Whether a segment passes through the inside of a triangle.
bool pierces(const Vec3& p, const Vec3& q, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 n = (b - a).cross(c - a);
  const double at_p = n.dot(p - a), at_q = n.dot(q - a);
  if (at_p * at_q >= 0) return false;
  const Vec3 x = p + at_p / (at_p - at_q) * (q - p);
  return n.dot((b - a).cross(x - a)) > 0 && n.dot((c - b).cross(x - b)) > 0 && n.dot((a - c).cross(x - c)) > 0;
}

/// Pairs of triangles without a common vertex, one from each mesh, that cut each other. The same mesh twice: its own.
int crossings(const TriangleMesh& first, const TriangleMesh& second) {
  const bool same = &first == &second;
  const auto boxes_of = [](const TriangleMesh& mesh) {
    std::vector<Box> boxes(mesh.triangles.size());
    for (size_t i = 0; i < boxes.size(); ++i) {
      for (const int v : mesh.triangles[i]) boxes[i].merge(mesh.vertices[v]);
    }
    return boxes;
  };
  Bvh bvh;
  const std::vector<Box> boxes = boxes_of(second);
  bvh.build(std::vector<MovingBox>(boxes.begin(), boxes.end()));
  const std::vector<Box> queries = boxes_of(first);
  int count = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    bvh.query(queries[i], [&](int j) {
      const Eigen::Vector3i &s = first.triangles[i], &t = second.triangles[j];
      for (int k = 0; same && k < 3; ++k) {
        if ((t.array() == s[k]).any()) return;
      }
      bool cut = false;
      for (int k = 0; k < 3; ++k) {
        const auto& x = first.vertices;
        const auto& y = second.vertices;
        cut = cut || pierces(x[s[k]], x[s[(k + 1) % 3]], y[t[0]], y[t[1]], y[t[2]]);
        cut = cut || pierces(y[t[k]], y[t[(k + 1) % 3]], x[s[0]], x[s[1]], x[s[2]]);
      }
      count += cut ? 1 : 0;
    });
  }
  return count;
}

/// Least over the vertices in a region of how far the surface is on the other side, against the normal.
template <typename Region>
double thinnest(const TriangleMesh& mesh, const Region& region) {
  std::vector<Vec3> normal(mesh.vertices.size(), Vec3::Zero());
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const Vec3 n = (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
    for (const int v : t) normal[v] += n;
  }
  double least = std::numeric_limits<double>::infinity();
  for (size_t v = 0; v < mesh.vertices.size(); ++v) {
    if (!region(mesh.vertices[v])) continue;
    const Vec3 inward = -normal[v].normalized();
    for (const Eigen::Vector3i& t : mesh.triangles) {
      if ((t.array() == static_cast<int>(v)).any()) continue;
      const Vec3 &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
      const Vec3 p = mesh.vertices[v] + 1e-6 * inward;
      if (!pierces(p, p + inward, a, b, c)) continue;
      const Vec3 n = (b - a).cross(c - a);
      least = std::min(least, n.dot(a - p) / n.dot(inward));
    }
  }
  return least;
}

/// The paper's, one metre tall.
const TriangleMesh& rabbit_2498() {
  static const TriangleMesh mesh = make_rabbit(2498, 1.0);
  return mesh;
}

TEST(Rabbit, IsASingleClosedBodyWithTheFacesAndHeightAskedFor) {
  for (const int faces : {1000, 2498}) {
    const TriangleMesh rabbit = make_rabbit(faces, 0.3);
    EXPECT_EQ(rabbit.triangles.size(), static_cast<size_t>(faces));
    EXPECT_TRUE(is_closed(rabbit));
    EXPECT_EQ(characteristic(rabbit), 2);  // no handles between ears or feet
    EXPECT_GT(enclosed_volume(rabbit), 0);
    EXPECT_EQ(crossings(rabbit, rabbit), 0);
    const Box box = bounds_of(rabbit.vertices);
    EXPECT_NEAR(box.lo.z(), 0, 1e-15);
    EXPECT_NEAR(box.hi.z(), 0.3, 1e-15);
  }
}

TEST(Rabbit, StandsOverItsCentreOfMass) {
  const TriangleMesh& rabbit = rabbit_2498();
  Vec3 moment = Vec3::Zero();
  double volume = 0;
  Box feet;
  for (const Eigen::Vector3i& t : rabbit.triangles) {
    const Vec3 &a = rabbit.vertices[t[0]], &b = rabbit.vertices[t[1]], &c = rabbit.vertices[t[2]];
    const double tet = a.dot(b.cross(c)) / 6;
    volume += tet;
    moment += tet * (a + b + c) / 4;
  }
  for (const Vec3& x : rabbit.vertices) {
    if (x.z() < 0.02) feet.merge(x);
  }
  const Vec3 centre = moment / volume;
  EXPECT_GT(centre.x(), feet.lo.x() + 0.1);
  EXPECT_LT(centre.x(), feet.hi.x() - 0.1);
  EXPECT_NEAR(centre.y(), 0, 0.01);
}

TEST(Rabbit, EarsAreAtLeastFourPercentOfItsHeightThick) {
  const TriangleMesh& rabbit = rabbit_2498();
  EXPECT_GT(thinnest(rabbit, [](const Vec3& x) { return x.z() > 0.75 && x.z() < 0.93; }), 0.04);
}

TEST(Rabbit, HasTwoEarsAboveTheHeadAndATailBehind) {
  const TriangleMesh& rabbit = rabbit_2498();
  bool left = false, right = false;
  for (const Vec3& x : rabbit.vertices) {
    if (x.z() < 0.8) continue;
    EXPECT_GT(std::abs(x.y()), 0.02);  // a gap between them
    (x.y() > 0 ? left : right) = true;
  }
  EXPECT_TRUE(left && right);
  const Box box = bounds_of(rabbit.vertices);
  const auto rearmost = std::min_element(rabbit.vertices.begin(), rabbit.vertices.end(),
                                         [](const Vec3& a, const Vec3& b) { return a.x() < b.x(); });
  EXPECT_NEAR(rearmost->y(), 0, 0.05);
  EXPECT_LT(box.lo.x(), -0.4);
}

TEST(Rabbit, FitsALatticeOfTheTetsInThePaper) {
  const TetMesh lattice = make_tet_lattice_with(rabbit_2498(), 2132);
  EXPECT_NEAR(static_cast<double>(lattice.tets.size()), 2132, 0.01 * 2132);
}

TEST(Head, IsClosedWithTheScalpOnTop) {
  const double size = 0.24;
  const Bust bust = make_head(size, 6000);
  EXPECT_EQ(bust.mesh.triangles.size(), 6000u);
  EXPECT_TRUE(is_closed(bust.mesh));
  EXPECT_EQ(characteristic(bust.mesh), 2);
  EXPECT_EQ(crossings(bust.mesh, bust.mesh), 0);
  const Box box = bounds_of(bust.mesh.vertices);
  EXPECT_NEAR(box.lo.z(), 0, 1e-3 * size);
  EXPECT_NEAR(box.hi.z(), bust.head.centre.z() + 0.5 * size, 0.02 * size);
  EXPECT_GT(box.hi.y() - box.lo.y(), 1.5 * size);  // shoulders

  double area = 0;
  for (const int i : bust.scalp) {
    const Eigen::Vector3i& t = bust.mesh.triangles[i];
    const Vec3 &a = bust.mesh.vertices[t[0]], &b = bust.mesh.vertices[t[1]], &c = bust.mesh.vertices[t[2]];
    const Vec3 n = (b - a).cross(c - a), from_middle = (a + b + c) / 3 - bust.head.centre;
    area += 0.5 * n.norm();
    EXPECT_GT(n.normalized().dot(from_middle.normalized()), 0.5);
    EXPECT_GT(from_middle.z(), -0.3 * size);
  }
  EXPECT_NEAR(area, 1.2 * size * size, 0.3 * size * size);  // about half a sphere of the skull's radius, 0.38 sizes
}

TEST(Head, ScalpExcludesFaceEarsAndShoulders) {
  const HeadPlace head{{1, 2, 3}, 0.2};
  EXPECT_TRUE(on_scalp(head.centre + 0.2 * Vec3(-0.06, 0, 0.5), head));    // crown
  EXPECT_TRUE(on_scalp(head.centre + 0.2 * Vec3(-0.48, 0, 0.1), head));    // back
  EXPECT_FALSE(on_scalp(head.centre + 0.2 * Vec3(0.43, 0, -0.09), head));  // nose
  EXPECT_FALSE(on_scalp(head.centre + 0.2 * Vec3(0.35, 0, 0.2), head));    // forehead
  EXPECT_FALSE(on_scalp(head.centre + 0.2 * Vec3(-0.06, 0.36, 0.05), head));
  EXPECT_FALSE(on_scalp(head.centre + 0.2 * Vec3(-0.3, 0.5, -0.9), head));
}

class Character : public testing::Test {
 protected:
  static const TriangleMesh& body() {
    static const TriangleMesh mesh = make_character(6000);
    return mesh;
  }
};

TEST_F(Character, IsClosedAndStandsWithTheArmsOffTheBody) {
  EXPECT_EQ(body().triangles.size(), 6000u);
  EXPECT_TRUE(is_closed(body()));
  EXPECT_EQ(characteristic(body()), 2);
  EXPECT_EQ(crossings(body(), body()), 0);
  const Box box = bounds_of(body().vertices);
  EXPECT_NEAR(box.lo.z(), 0, 2e-3);
  EXPECT_NEAR(box.hi.z(), 1.72, 0.01);
  EXPECT_FALSE(scalp_triangles(body(), character_head()).empty());
}

TEST_F(Character, WearsAShirtThatCutsNeitherItNorItself) {
  ShirtOptions options;
  options.vertices = 3000;
  const TriangleMesh shirt = make_tube_shirt(options);
  EXPECT_EQ(crossings(shirt, body()), 0);
  EXPECT_EQ(crossings(shirt, shirt), 0);
}

TEST_F(Character, RunStartsAtRestAndSmoothly) {
  const double fps = 120;
  const RunCycle run = make_run_cycle(body(), fps, 2);
  ASSERT_EQ(run.vertices.size(), 241u);
  ASSERT_EQ(run.head.size(), 241u);
  double first_step = 0, fastest = 0, sharpest = 0;
  for (size_t v = 0; v < body().vertices.size(); ++v) {
    EXPECT_LT((run.vertices[0][v] - body().vertices[v]).norm(), 1e-14);
    first_step = std::max(first_step, (run.vertices[1][v] - run.vertices[0][v]).norm() * fps);
    for (size_t i = 2; i < run.vertices.size(); ++i) {
      const Vec3 before = run.vertices[i - 1][v] - run.vertices[i - 2][v];
      const Vec3 after = run.vertices[i][v] - run.vertices[i - 1][v];
      fastest = std::max(fastest, after.norm() * fps);
      sharpest = std::max(sharpest, (after - before).norm() * fps * fps);
    }
  }
  EXPECT_LT(first_step, 0.02);  // m/s
  EXPECT_GT(fastest, 3);
  EXPECT_LT(fastest, 12);
  EXPECT_LT(sharpest, 150);  // feet turn round at about (2π 1.4/s)² 1 m = 77 m/s²
}

TEST_F(Character, HeadMovesRigidlyWithItsPose) {
  const RunCycle run = make_run_cycle(body(), 24, 1.5);
  const HeadPlace head = character_head();
  int checked = 0;
  for (size_t v = 0; v < body().vertices.size(); ++v) {
    if (!on_scalp(body().vertices[v], head)) continue;
    ++checked;
    for (size_t i = 0; i < run.head.size(); ++i) {
      EXPECT_LT((run.head[i].apply(body().vertices[v]) - run.vertices[i][v]).norm(), 1e-12);
    }
  }
  EXPECT_GT(checked, 50);
  double lowest = 2, highest = 0;
  for (size_t i = 12; i < run.head.size(); ++i) {
    lowest = std::min(lowest, run.head[i].apply(head.centre).z());
    highest = std::max(highest, run.head[i].apply(head.centre).z());
  }
  EXPECT_GT(highest - lowest, 0.03);  // it bobs
}

TEST_F(Character, RunsInPlaceOnTheGroundSwingingLimbsInTurn) {
  const RunCycle run = make_run_cycle(body(), 48, 2);
  double lowest = 1;
  for (size_t i = 24; i < run.vertices.size(); ++i) {
    const Box box = bounds_of(run.vertices[i]);
    lowest = std::min(lowest, box.lo.z());
    EXPECT_LT(box.hi.x(), 1);
    EXPECT_GT(box.lo.x(), -1);
  }
  EXPECT_NEAR(lowest, 0, 0.03);

  // Feet against each other, and each hand against the foot of its side.
  const auto track = [&](const auto& region) {
    std::vector<int> members;
    for (size_t v = 0; v < body().vertices.size(); ++v) {
      if (region(body().vertices[v])) members.push_back(static_cast<int>(v));
    }
    std::vector<double> x;
    for (size_t i = 24; i < run.vertices.size(); ++i) {
      double sum = 0;
      for (const int v : members) sum += run.vertices[i][v].x();
      x.push_back(sum / static_cast<double>(members.size()));
    }
    return x;
  };
  const auto correlation = [](std::vector<double> a, std::vector<double> b) {
    const auto centre = [](std::vector<double>& s) {
      double mean = 0;
      for (const double value : s) mean += value / static_cast<double>(s.size());
      for (double& value : s) value -= mean;
    };
    centre(a), centre(b);
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
    return ab / std::sqrt(aa * bb);
  };
  const auto foot_l = track([](const Vec3& p) { return p.z() < 0.06 && p.y() > 0; });
  const auto foot_r = track([](const Vec3& p) { return p.z() < 0.06 && p.y() < 0; });
  const auto hand_l = track([](const Vec3& p) { return p.y() > 0.53; });
  const auto hand_r = track([](const Vec3& p) { return p.y() < -0.53; });
  EXPECT_LT(correlation(foot_l, foot_r), -0.7);
  EXPECT_LT(correlation(hand_l, hand_r), -0.7);
  EXPECT_LT(correlation(hand_l, foot_l), -0.5);
}

TEST_F(Character, ArmsStayClearOfTheTorsoInTheRun) {
  const RunCycle run = make_run_cycle(body(), 24, 1.3);
  TriangleMesh arms, torso;  // of the rest pose: forearms and hands, and what is between the arms
  for (const Eigen::Vector3i& t : body().triangles) {
    const Vec3 middle = (body().vertices[t[0]] + body().vertices[t[1]] + body().vertices[t[2]]) / 3;
    if (std::abs(middle.y()) > 0.34) arms.triangles.push_back(t);
    if (std::abs(middle.y()) < 0.17 && middle.z() > 0.85) torso.triangles.push_back(t);
  }
  for (const std::vector<Vec3>& x : run.vertices) {
    arms.vertices = torso.vertices = x;
    EXPECT_EQ(crossings(arms, torso), 0);
  }
}

TEST(Palm, WeightsArePartitionsOfUnityOverNeighbouringFrames) {
  const PalmTree palm = make_palm();
  EXPECT_EQ(palm.leaves.size(), 16u);
  std::vector<const PalmPart*> parts = {&palm.trunk};
  for (const PalmPart& leaf : palm.leaves) parts.push_back(&leaf);
  for (const PalmPart* part : parts) {
    ASSERT_EQ(part->frame.size(), part->mesh.vertices.size());
    ASSERT_EQ(part->weight.size(), part->mesh.vertices.size());
    const double spacing = (part->frames[1] - part->frames[0]).norm();
    for (size_t v = 0; v < part->frame.size(); ++v) {
      const auto [i, j] = part->frame[v];
      const auto [wi, wj] = part->weight[v];
      EXPECT_EQ(j, i + 1);
      EXPECT_GE(i, 0);
      EXPECT_LT(j, static_cast<int>(part->frames.size()));
      EXPECT_GE(std::min(wi, wj), 0);
      EXPECT_NEAR(wi + wj, 1, 1e-15);
      // The blend of the frames is the point of the curve that the vertex sits about.
      const Vec3 on_curve = wi * part->frames[i] + wj * part->frames[j];
      EXPECT_LT((part->mesh.vertices[v] - on_curve).norm(), 0.8 * spacing);
    }
  }
}

TEST(Palm, LeavesGrowFromTheTopOfTheTrunkAndTouchNothing) {
  const PalmTree palm = make_palm();
  EXPECT_TRUE(is_closed(palm.trunk.mesh));
  EXPECT_GT(enclosed_volume(palm.trunk.mesh), 0);
  EXPECT_NEAR(bounds_of(palm.trunk.mesh.vertices).lo.z(), 0, 0.02);
  for (size_t i = 0; i < palm.leaves.size(); ++i) {
    EXPECT_LT((palm.leaves[i].frames[0] - palm.trunk.frames.back()).norm(), 0.12);
    EXPECT_EQ(crossings(palm.leaves[i].mesh, palm.leaves[i].mesh), 0);
    EXPECT_EQ(crossings(palm.leaves[i].mesh, palm.trunk.mesh), 0);
    for (size_t j = 0; j < i; ++j) EXPECT_EQ(crossings(palm.leaves[i].mesh, palm.leaves[j].mesh), 0);
    double length = 0;
    for (size_t k = 1; k < palm.leaves[i].frames.size(); ++k) {
      length += (palm.leaves[i].frames[k] - palm.leaves[i].frames[k - 1]).norm();
    }
    EXPECT_NEAR(length, 1.6, 0.05);
    EXPECT_LT(palm.leaves[i].frames.back().z(), palm.leaves[i].frames[2].z());  // it droops
  }
}

}  // namespace
}  // namespace stiction
