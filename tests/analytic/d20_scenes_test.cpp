// D20's Figures 2 and 6 from their scene files, each reduced to numbers. (Figure 5: property/projection_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {
namespace {

Scene d20_scene(const std::string& file, const std::vector<std::string>& overrides) {
  return load_scene(std::string(STICTION_SOURCE_DIR) + "/examples/d20/" + file, overrides);
}

// --- Figure 2: a rope wound about three cylinders, a weight at its last node, a free tail at its first --------------

/// The contacts' friction is the geometric mean of 0.5 (cylinders) and the rope's.
Scene self_locking(double mu) {
  return d20_scene("self_locking.toml", {"rod.0.friction=" + std::to_string(mu * mu / 0.5)});
}

/// Angle by which the rope turns in all, rad.
double wrap(const Scene& scene) {
  const std::vector<Vec3>& x = scene.rods[0].strands[0].nodes;
  double sum = 0;
  for (std::size_t i = 1; i + 1 < x.size(); ++i) {
    const Vec3 a = x[i] - x[i - 1], b = x[i + 1] - x[i];
    sum += std::atan2(a.cross(b).norm(), a.dot(b));
  }
  return sum;
}

/// The weight over the weight of the tail, which hangs from the height of the first cylinder's axis.
double load_ratio(const Scene& scene) {
  const Rods& rope = scene.rods[0];
  const double length = scene.colliders[0].placement.position.z() - rope.strands[0].nodes[0].z();
  return rope.point_masses[0].mass / (rope.density * std::numbers::pi * rope.radius * rope.radius * length);
}

void advance(Simulation& simulation, double duration) {
  for (const double end = simulation.time() + duration - 1e-9; simulation.time() < end;)
    EXPECT_EQ(simulation.step().crossings, 0);
}

double height_of_weight(const Simulation& simulation) { return simulation.positions().back().z(); }

TEST(D20Figure2, LoadLiesBetweenWhatTheTwoCoefficientsHold) {
  const Scene scene = self_locking(0.5);
  const double theta = wrap(scene), ratio = load_ratio(scene);
  EXPECT_NEAR(theta, 3 * std::numbers::pi, 1e-2);  // nodes are written to 0.01 mm
  EXPECT_GT(ratio, 2 * std::exp(0.2 * theta));
  EXPECT_LT(ratio, 0.5 * std::exp(0.5 * theta));
}

TEST(D20Figure2, LocksAtHighFriction) {
  Simulation simulation(self_locking(0.5));
  advance(simulation, 1.0);
  const double settled = height_of_weight(simulation);
  double moved = 0;
  while (simulation.time() < 6.0) {
    advance(simulation, 0.1);
    moved = std::max(moved, std::abs(height_of_weight(simulation) - settled));
  }
  EXPECT_LT(moved, 1e-3);
}

TEST(D20Figure2, UnravelsCompletelyAtLowFriction) {
  const Scene scene = self_locking(0.2);
  Simulation simulation(scene);
  advance(simulation, 1.6);
  // All of the rope, its tail last, has slipped off the last cylinder and lies on the floor, 1.2 m below them.
  const double floor = scene.colliders.back().placement.position.z();
  for (const Vec3& x : simulation.positions()) EXPECT_LT(x.z(), floor + 0.1);
}

// The capstan equation at the weight's own ratio. The limit found lies between 1.00 and 1.01 of its coefficient; the
// weight of the rope on its way, which the ratio leaves out, is 0.2 % of that.
TEST(D20Figure2, LocksFromTheCapstansCoefficientOn) {
  const Scene scene = self_locking(0.5);
  const double mu = std::log(load_ratio(scene)) / wrap(scene);
  const auto slip = [&](double factor) {
    Simulation simulation(self_locking(factor * mu));
    advance(simulation, 0.25);
    const double settled = height_of_weight(simulation);
    advance(simulation, 0.5);
    return settled - height_of_weight(simulation);
  };
  EXPECT_GT(slip(0.98), 0.02);
  EXPECT_LT(slip(1.02), 1e-4);
}

// --- Figure 6: a ball moves into a patch of hairs and out again -----------------------------------------------------

/// Points of all strands at a fraction of their length.
std::vector<Vec3> section(const Simulation& simulation, double fraction) {
  std::vector<Vec3> points;
  const int strands = static_cast<int>(simulation.scene().rods[0].strands.size());
  for (int i = 0; i < strands; ++i) {
    const NodeRange range = simulation.strand(0, i);
    points.push_back(simulation.positions()[range.first + static_cast<int>(std::lround(fraction * (range.count - 1)))]);
  }
  return points;
}

double mean_distance_to_nearest(const std::vector<Vec3>& points) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    double nearest = INFINITY;
    for (std::size_t j = 0; j < points.size(); ++j)
      if (i != j) nearest = std::min(nearest, (points[i] - points[j]).norm());
    sum += nearest;
  }
  return sum / static_cast<double>(points.size());
}

/// Connected sets of points, linked where they are nearer than `link`.
int clusters(const std::vector<Vec3>& points, double link) {
  std::vector<std::size_t> parent(points.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i];
    return i;
  };
  int count = static_cast<int>(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if ((points[i] - points[j]).norm() > link || root(i) == root(j)) continue;
      parent[root(i)] = root(j);
      --count;
    }
  return count;
}

struct Clumping {
  double distance;  // from hair to nearest hair at three quarters of their length, m
  int tips;         // groups of tips within five diameters of each other
};

Clumping clumping(const Simulation& simulation) {
  const double link = 10 * simulation.scene().rods[0].radius;
  return {mean_distance_to_nearest(section(simulation, 0.75)), clusters(section(simulation, 1.0), link)};
}

TEST(D20Figure6, HairsStayInClumpsWithCohesionAndFallApartWithout) {
  // The scene with coarser hairs, stopped when the ball has left the patch.
  const auto after_the_ball = [](const std::vector<std::string>& cohesion) {
    std::vector<std::string> overrides = {"groom.0.elements=12", "time.duration=1.75"};
    overrides.insert(overrides.end(), cohesion.begin(), cohesion.end());
    const Scene scene = d20_scene("cohesion_patch.toml", overrides);
    Simulation simulation(scene);
    const Clumping before = clumping(simulation);
    EXPECT_EQ(before.tips, 401);
    EXPECT_GT(before.distance, 2e-3);  // of a lattice of 3 mm, jittered
    advance(simulation, scene.time.duration);
    return clumping(simulation);
  };
  const Clumping wet = after_the_ball({}), dry = after_the_ball({"contact.cohesion=0"});
  EXPECT_GT(dry.distance, 2 * wet.distance) << dry.distance << " and " << wet.distance << " m";
  EXPECT_GT(dry.tips, 2 * wet.tips) << dry.tips << " and " << wet.tips << " groups";
  EXPECT_LT(wet.distance, 6e-4);  // three diameters: most hairs touch another
  EXPECT_LT(wet.tips, 401 / 4);   // more than four hairs a clump
  RecordProperty("distance_wet_um", static_cast<int>(1e6 * wet.distance));
  RecordProperty("distance_dry_um", static_cast<int>(1e6 * dry.distance));
  RecordProperty("groups_wet", wet.tips);
  RecordProperty("groups_dry", dry.tips);
}

}  // namespace
}  // namespace stiction
