// Fibres thrown on fibres, so fast that in one step each would pass through all the others.
#include <gtest/gtest.h>

#include <numbers>
#include <span>

#include "support/scenes.hpp"

namespace stiction {
namespace {

constexpr int kSide = 10;                                      // a block has kSide layers of kSide fibres
constexpr double kSpacing = 3e-4, kLength = 0.02, kSpeed = 7;  // m, m, m/s
constexpr double kDt = 1.0 / 144;                              // s
constexpr int kEdges = 4;

// Layers from `z` on, each kSpacing further on; fibres lie along one axis, layers not quite in line.
Rods block(const char* name, const Vec3& along, double z, double next) {
  const Vec3 across = Vec3::UnitZ().cross(along);
  Rods rods;
  rods.name = name;
  rods.radius = 4e-5;
  rods.root = rods.tip = End::free;
  for (int layer = 0; layer < kSide; ++layer)
    for (int i = 0; i < kSide; ++i) {
      const double shift = 0.3 * ((7 * layer) % 13) / 13.0;
      const Vec3 middle = kSpacing * (i - 0.5 * kSide + shift) * across + (z + layer * next) * Vec3::UnitZ();
      const Vec3 tilted = along + 0.004 * ((3 * i + layer) % 5) * Vec3::UnitZ();
      const Vec3 half = 0.5 * kLength * tilted;
      const std::vector<Vec3> nodes = test::straight(middle - half, middle + half, kEdges);
      rods.strands.push_back({nodes, nodes});
    }
  return rods;
}

// Up, by mass: ends weigh half as much.
double mean_speed(std::span<const Vec3> v) {
  double sum = 0;
  for (std::size_t j = 0; j < v.size(); ++j) {
    const std::size_t k = j % (kEdges + 1);
    sum += (k == 0 || k == kEdges ? 0.5 : 1.0) * v[j].z();
  }
  return sum / (2 * kSide * kSide * kEdges);
}

// Two blocks, one on the other; the upper is thrown.
Scene blocks() {
  Scene scene = test::bare_scene(kDt);
  scene.world.gravity = Vec3::Zero();
  scene.rods = {block("moving", Vec3::UnitX(), kSpacing, kSpacing),
                block("resting", Vec3::UnitY(), -kSpacing, -kSpacing)};
  scene.rods[0].initial_velocity = Vec3(0, 0, -kSpeed);
  return scene;
}

TEST(Impact, FibresThrownOnFibresShareTheirMomentumAndMeetWhatLiesBeforeThem) {
  ASSERT_GT(kDt * kSpeed, 4 * kSide * kSpacing);  // both blocks lie within the first step's way
  Simulation simulation(blocks());
  const double mass = 1300 * std::numbers::pi * 4e-5 * 4e-5 * kLength * kSide * kSide;  // of a block, kg

  for (int i = 0; i < 3; ++i) {
    const StepReport report = simulation.step();
    EXPECT_EQ(report.crossings, 0);
    EXPECT_NEAR(mean_speed(simulation.velocities()), -0.5 * kSpeed, 1e-3 * kSpeed);
    // Every fibre of one block is in the way of every fibre of the other, but a few stop it: 11,600 contacts found, in
    // six passes, and 34,000 if each had one with all that it meets.
    EXPECT_LT(report.contacts, 2 * kSide * kSide * kSide * kSide);
    if (i == 2) {
      EXPECT_NEAR(report.energy_kinetic, 0.25 * mass * kSpeed * kSpeed, 0.002 * mass * kSpeed * kSpeed);
    }
  }
}

// A fibre that contradicting contacts held with large forces, and that they have let go.
TEST(Impact, ForcesThatNothingHoldsAnyMoreThrowNoFibreThroughTheOthers) {
  Scene scene = blocks();
  scene.world.gravity = Vec3(0, 0, -9.81);  // by which a step takes fibres past many others
  Simulation simulation(scene);
  for (int i = 0; i < 2; ++i) simulation.step();
  Snapshot snapshot = simulation.snapshot();
  const StepReport undisturbed = simulation.step();
  for (Snapshot::Array& array : snapshot.arrays) {
    if (array.name != "lambda") continue;
    const NodeRange fibre = simulation.strand(0, 55);
    for (int k = 0; k < 3 * fibre.count; ++k) array.values[3 * fibre.first + k] = k % 3 == 2 ? 1e-4 : 0;  // kg m/s
  }
  simulation.restore(snapshot);
  const StepReport report = simulation.step();
  // 3,350 contacts and 5 µm; with these forces it would be 5,800 and 0.24 mm.
  EXPECT_LT(report.contacts, 1.2 * static_cast<double>(undisturbed.contacts));
  EXPECT_LT(report.residual_m, 5e-5);
}

TEST(Impact, AStepThatWouldNeedTooManyPairsIsHalved) {
  Scene scene = blocks();
  scene.contact.max_candidates = 60'000;
  Simulation simulation(scene);
  const StepReport report = simulation.step();
  EXPECT_GT(report.halvings, 0);
  EXPECT_EQ(report.crossings, 0);
  EXPECT_NEAR(mean_speed(simulation.velocities()), -0.5 * kSpeed, 1e-3 * kSpeed);

  scene.contact.max_candidates = 10;
  try {
    Simulation(scene).step();
    FAIL() << "ten pairs are not enough at any size";
  } catch (const SimulationError& error) {
    EXPECT_NE(std::string(error.what()).find("more than 10 pairs"), std::string::npos) << error.what();
  }
}

// Whether a step is halved depends on its candidates, so these must not depend on where a run was taken up.
TEST(Impact, ARestoredStepHasTheCandidatesOfTheFirstTime) {
  Simulation simulation(blocks());
  for (int i = 0; i < 2; ++i) simulation.step();
  const Snapshot snapshot = simulation.snapshot();
  const StepReport first = simulation.step();
  Simulation other(blocks());
  other.restore(snapshot);
  EXPECT_EQ(other.step().candidates, first.candidates);
}

}  // namespace
}  // namespace stiction
