// The same scene gives the same bytes: for any number of threads, and after a stop and a resume.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <random>

#include "stiction/scene_file.hpp"
#include "support/scenes.hpp"

namespace stiction {
namespace {

// Hair on a turning ball, dense enough that strands touch within a few steps and stages run in parallel.
Scene busy_scene() {
  return parse_scene(R"(
    [time]
    fps = 24
    [[collider]]
    name = "ball"
    shape = "sphere"
    radius = 0.09
    rotation_keys = [[0, 0, 0, 0], [1, 0, 0, 6.283185307179586]]
    [[groom]]
    on = "ball"
    strands = 400
    elements = 12
    length = 0.17
    radius = 2e-4
    bend_modulus = 1e7
  )",
                     "busy");
}

std::uint64_t hash_after(int steps, int threads, const SolverOptions& solver, StepReport* last = nullptr) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  Scene scene = busy_scene();
  scene.solver = solver;
  Simulation simulation(scene);
  StepReport report;
  for (int i = 0; i < steps; ++i) report = simulation.step();
  if (last) *last = report;
  return simulation.state_hash();
}

constexpr int kSteps = 30;

TEST(Determinism, OneTwoAndFourThreadsGiveTheSameBytes) {
  for (const bool accelerated : {false, true}) {
    SolverOptions solver;
    solver.accelerated = accelerated;
    StepReport report;
    const std::uint64_t one = hash_after(kSteps, 1, solver, &report);
    EXPECT_GT(report.contacts, 1000);  // else the test shows nothing
    EXPECT_EQ(one, hash_after(kSteps, 2, solver));
    EXPECT_EQ(one, hash_after(kSteps, 4, solver));
  }
}

TEST(Determinism, SinglePrecisionIsDeterministicToo) {
  SolverOptions solver;
  solver.precision = Precision::single_;
  EXPECT_EQ(hash_after(kSteps, 1, solver), hash_after(kSteps, 4, solver));
}

TEST(Determinism, RestoredSnapshotContinuesToTheSameBytes) {
  std::mt19937 engine(std::random_device{}());
  const int stop = std::uniform_int_distribution<int>(1, kSteps - 1)(engine);
  Simulation whole(busy_scene());
  Snapshot snapshot;
  for (int i = 0; i < kSteps; ++i) {
    if (i == stop) snapshot = whole.snapshot();
    whole.step();
  }
  Simulation resumed(busy_scene());
  resumed.restore(snapshot);
  for (int i = stop; i < kSteps; ++i) resumed.step();
  EXPECT_EQ(whole.state_hash(), resumed.state_hash()) << "stopped after step " << stop;
}

TEST(Determinism, StateHashSeesASingleBit) {
  Simulation simulation(busy_scene());
  const std::uint64_t before = simulation.state_hash();
  Snapshot snapshot = simulation.snapshot();
  double& value = snapshot.arrays.front().values.back();
  value = std::nextafter(value, 10.0);
  simulation.restore(snapshot);
  EXPECT_NE(before, simulation.state_hash());
}

}  // namespace
}  // namespace stiction
