// The same scene gives the same bytes: for any number of threads, and after a stop and a resume.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <random>
#include <set>

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

// A furry ball in a lattice, a sheet, and a palm leaf's worth of frames: every kind of body, and ties between two.
Scene coupled_scene() {
  return parse_scene(R"(
    [time]
    fps = 100
    steps_per_frame = 1
    [solver]
    predictor_iterations = 1
    [[collider]]
    name = "floor"
    shape = "plane"
    [[solid]]
    name = "ball"
    shape = "sphere"
    radius = 0.05
    faces = 400
    tets = 300
    embedded = true
    position = [0, 0, 0.075]
    initial_velocity = [0, 0, -1]
    [[groom]]
    name = "fur"
    on = "ball"
    strands = 60
    elements = 5
    length = 0.02
    style = "straight"
    radius = 3e-4
    bend_modulus = 1e8
    [[shell]]
    name = "cloth"
    shape = "sheet"
    width = 0.2
    height = 0.2
    nx = 12
    ny = 12
    position = [0, 0, 0.16]
    initial_velocity = [0, 0, -2]
    [[frames]]
    name = "beam"
    shape = "beam"
    position = [0, 0, 0.2]
    initial_velocity = [0, 0, -2]
  )",
                     "coupled");
}

TEST(Determinism, CoupledBodiesGiveTheSameBytesForAnyThreadsAndAfterAResume) {
  constexpr int steps = 20, stop = 11;
  std::vector<std::uint64_t> hashes;
  for (const int threads : {1, 2, 4}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    Simulation simulation(coupled_scene());
    StepReport report;
    int linear_iterations = 0;
    for (int i = 0; i < steps; ++i) {
      report = simulation.step();
      linear_iterations += report.linear_iterations;
    }
    EXPECT_GT(report.contacts, 50);
    EXPECT_GT(linear_iterations, 0);
    hashes.push_back(simulation.state_hash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
  Simulation before(coupled_scene()), resumed(coupled_scene());
  for (int i = 0; i < stop; ++i) before.step();
  resumed.restore(before.snapshot());
  for (int i = stop; i < steps; ++i) resumed.step();
  EXPECT_EQ(hashes[0], resumed.state_hash());
}

// Which thread takes which elements, and by which of its copies of the loop, differs from run to run.
TEST(Determinism, ASheetGivesTheSameBytesInEveryRun) {
  const Scene scene = parse_scene(R"(
    [time]
    fps = 100
    steps_per_frame = 1
    [[shell]]
    shape = "sheet"
    width = 1
    height = 1
    nx = 40
    ny = 40
  )",
                                  "sheet");
  std::set<std::uint64_t> hashes;
  for (const int threads : {1, 2, 2, 3, 4}) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    Simulation simulation(scene);
    for (int i = 0; i < 20; ++i) simulation.step();
    hashes.insert(simulation.state_hash());
  }
  EXPECT_EQ(hashes.size(), 1u);
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
