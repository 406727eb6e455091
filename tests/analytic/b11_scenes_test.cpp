// The scenes of B11 (Bertails-Descoubes et al. 2011) from their files: stacks of spaghetti with and without friction,
// and a knot and a plectoneme pulled tight without any.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {
namespace {

using std::numbers::pi;

Simulation b11_simulation(const std::string& file, const std::vector<std::string>& overrides = {}) {
  return Simulation(load_scene(std::string(STICTION_SOURCE_DIR) + "/examples/b11/" + file, overrides));
}

void advance_to(Simulation& simulation, double time) {
  while (simulation.time() < time - 1e-9) EXPECT_EQ(simulation.step().crossings, 0) << simulation.time();
}

// --- Spaghetti -----------------------------------------------------------------------------------------------------

/// Root mean square distance of all nodes from their centre, m.
double rms_radius(const Simulation& simulation) {
  const auto x = simulation.positions();
  const auto count = static_cast<double>(x.size());
  Vec3 center = Vec3::Zero();
  for (const Vec3& p : x) center += p / count;
  double sum2 = 0;
  for (const Vec3& p : x) sum2 += (p - center).squaredNorm();
  return std::sqrt(sum2 / count);
}

/// With friction, at rest from 0.6 s to `end` s; without, apart by 0.8 s.
void expect_heap_holds_by_friction_alone(const std::string& file, double end) {
  Simulation heap = b11_simulation(file);
  advance_to(heap, 0.6);
  const std::vector<Vec3> settled(heap.positions().begin(), heap.positions().end());
  while (heap.time() < end - 1e-9) {
    const StepReport report = heap.step();
    EXPECT_LT(report.max_speed, 1e-3) << report.time;
    EXPECT_EQ(report.crossings, 0) << report.time;
  }
  double moved = 0;  // jitter that went somewhere would be slow creep
  for (std::size_t j = 0; j < settled.size(); ++j) moved = std::max(moved, (heap.positions()[j] - settled[j]).norm());
  EXPECT_LT(moved, 0.1 * heap.scene().chains[0].radius);

  Simulation slippery = b11_simulation(file, {"bundle.0.friction=0"});
  advance_to(slippery, 0.8);
  EXPECT_GT(rms_radius(slippery), 2 * rms_radius(heap));
}

TEST(B11Spaghetti, SeventySixRestWithFrictionAndRunApartWithout) {
  expect_heap_holds_by_friction_alone("spaghetti.toml", 1.2);
}

TEST(B11Spaghetti, ThirtyOneRestWithFrictionAndRunApartWithout) {
  expect_heap_holds_by_friction_alone("spaghetti_31.toml", 4.0);
}

// --- Pulled tight --------------------------------------------------------------------------------------------------

/// Writhe of the curve with straight tails along x at both ends: Gauss's integral, exact for polylines (Klenin and
/// Langowski 2000). It is continuous as long as the curve does not pass through itself, and jumps by 2 where it does.
double writhe(std::span<const Vec3> nodes) {
  std::vector<Vec3> x{nodes.front() - Vec3(100, 0, 0)};
  x.insert(x.end(), nodes.begin(), nodes.end());
  x.push_back(nodes.back() + Vec3(100, 0, 0));
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    for (std::size_t j = i + 2; j + 1 < x.size(); ++j) {
      const std::array<Vec3, 4> r{x[j] - x[i], x[j + 1] - x[i], x[j + 1] - x[i + 1], x[j] - x[i + 1]};
      std::array<Vec3, 4> n;
      for (int k = 0; k < 4; ++k) n[k] = r[k].cross(r[(k + 1) % 4]).stableNormalized();
      double solid_angle = 0;
      for (int k = 0; k < 4; ++k) solid_angle += std::asin(std::clamp(n[k].dot(n[(k + 1) % 4]), -1.0, 1.0));
      const double side = (x[j + 1] - x[j]).cross(x[i + 1] - x[i]).dot(r[0]);
      sum += (side > 0 ? 1 : -1) * solid_angle / (2 * pi);
    }
  return sum;
}

/// Advances to `time` and expects no crossings, by the report's count and by the writhe.
void pull_to(Simulation& simulation, double time) {
  double before = writhe(simulation.positions());
  while (simulation.time() < time - 1e-9) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(simulation.step().crossings, 0) << simulation.time();
    const double now = writhe(simulation.positions());
    EXPECT_LT(std::abs(now - before), 1) << simulation.time();
    before = now;
  }
}

struct Rope {
  double length, EI, EA, F0;  ///< m, N m², N, N
};

Rope rope_of(const Simulation& simulation) {
  const Rods& rods = simulation.scene().rods[0];
  const double R = rods.radius;
  Rope rope{0, rods.bend_modulus * pi * std::pow(R, 4) / 4, rods.stretch_modulus * pi * R * R, 0};
  rope.F0 = rope.EI / std::pow(40 * R, 2);
  const std::vector<Vec3>& rest =
      rods.strands[0].rest_nodes.empty() ? rods.strands[0].nodes : rods.strands[0].rest_nodes;
  for (std::size_t i = 1; i < rest.size(); ++i) rope.length += (rest[i] - rest[i - 1]).norm();
  return rope;
}

// The rope that a frictionless knot takes up under a force F. A thin thread's is that of one circle, which minimises
// E I / 2r² · 2πr + F · 2πr: r = √(E I / 2F). A thick rope adds the braid where it passes itself, of the order of √(r
// R): half as much again at r = 10 R, and as much again at r = 3 R, where the knot is as tight as it gets.
TEST(B11Knot, TightensWithTheForceAndNeverPassesThroughItself) {
  Simulation simulation = b11_simulation("trefoil_knot.toml");
  const Rope rope = rope_of(simulation);
  const std::vector<VectorKey>& pull = simulation.scene().rods[0].forces[0].force;
  EXPECT_NEAR(pull[1].value.x() / rope.F0, 1, 1e-5);
  EXPECT_NEAR(pull.back().value.x() / rope.F0, 100, 1e-3);
  double before = INFINITY;
  for (std::size_t k = 1; k < pull.size(); ++k) {
    pull_to(simulation, pull[k].time);
    const double F = pull[k].value.x(), loop = 2 * pi * std::sqrt(rope.EI / (2 * F));
    const auto x = simulation.positions();
    const double taken_up = rope.length * (1 + F / rope.EA) - (x.back() - x.front()).norm();
    EXPECT_LT(taken_up, 1.01 * before) << F / rope.F0;  // it rings a little about its equilibrium
    EXPECT_GT(taken_up, loop) << F / rope.F0;
    EXPECT_LT(taken_up, 2.2 * loop) << F / rope.F0;
    before = taken_up;
  }
  // The pull arrives at the other end: the knot does not lock. A tenth for the rope's vibration, averaged.
  Vec3 held = Vec3::Zero();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(simulation.step().crossings, 0);
    held += simulation.root_reaction(0, 0) / 200;
  }
  EXPECT_NEAR(-held.x() / rope.F0, 100, 10);
}

// A plectoneme of two strands in contact without friction that wind at an angle α has the tension and the moment
//   F = E I / R² sin⁴α (1 / cos 2α + 1/2),   M = 2 E I / R cos α sin³α / cos 2α
// (Clauvelin, Audoly and Neukirch 2009), for plectonemes much longer than their end loop.
TEST(B11Plectoneme, IsPulledOutWithoutPassingThroughItself) {
  Simulation simulation = b11_simulation("plectoneme.toml");
  const Rope rope = rope_of(simulation);
  const double R = simulation.scene().rods[0].radius, C = rope.EI / (1 + simulation.scene().rods[0].poisson);
  const double turns = simulation.scene().colliders[0].motion.rotation.back().value.x() / (2 * pi);
  pull_to(simulation, 2.0);
  EXPECT_GT(writhe(simulation.positions()), turns - 1);

  std::vector<double> forces;  // means over windows, N
  while (simulation.time() < 5.0 - 1e-9 && (forces.empty() || forces.back() < 100 * rope.F0)) {
    Vec3 at_root = Vec3::Zero(), at_tip = Vec3::Zero();
    double wr = 0;
    constexpr int samples = 20, steps = 10;
    for (int i = 0; i < samples; ++i) {
      const double before = writhe(simulation.positions());
      for (int k = 0; k < steps; ++k) {
        EXPECT_EQ(simulation.step().crossings, 0) << simulation.time();
        at_root += simulation.root_reaction(0, 0) / (samples * steps);
        at_tip += simulation.tip_reaction(0, 0) / (samples * steps);
      }
      const double now = writhe(simulation.positions());
      EXPECT_LT(std::abs(now - before), 1) << simulation.time();
      wr += now / samples;
    }
    const double F = at_tip.x();
    forces.push_back(F);
    EXPECT_NEAR(F, -at_root.x(), 0.05 * F + 0.5 * rope.F0);  // but for inertia, drag and a little weight
    if (F < 5 * rope.F0 || F > 10 * rope.F0) continue;
    double low = 0, high = pi / 4;
    for (int i = 0; i < 50; ++i) {
      const double alpha = 0.5 * (low + high), s = std::sin(alpha);
      (rope.EI / (R * R) * std::pow(s, 4) * (1 / std::cos(2 * alpha) + 0.5) > F ? high : low) = alpha;
    }
    const double expected = 2 * rope.EI / R * std::cos(low) * std::pow(std::sin(low), 3) / std::cos(2 * low);
    const double moment = C * 2 * pi * (turns - wr) / rope.length;  // twist is linking less writhe
    EXPECT_NEAR(moment / expected, 1, 0.2) << F / rope.F0;          // for the end loop and the bends of the tails
  }
  EXPECT_LT(forces.front(), 2 * rope.F0);
  EXPECT_GT(forces.back(), 100 * rope.F0);
}

}  // namespace
}  // namespace stiction
