// D20 Figure 11 from its scene file, with 8 of the 120 rabbits in a bowl that fits them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {
namespace {

constexpr double kBowl = 0.35;  // inner radius, m; the rim is at z = 0

/// Two layers of four, at the speed of a fall of 11 cm.
Scene eight_rabbits() {
  return load_scene(std::string(STICTION_SOURCE_DIR) + "/examples/d20/rabbits.toml",
                    {"solid.0.copies=[2, 2, 2]", "solid.0.spacing=[0.24, 0.24, 0.21]", "solid.0.position=[0, 0, -0.14]",
                     "solid.0.initial_velocity=[0, 0, -1.5]", "collider.0.radius=" + std::to_string(kBowl),
                     "collider.0.position=[0, 0, -0.36]"});
}

double energy(const StepReport& r) { return r.energy_kinetic + r.energy_elastic + r.energy_gravity; }

TEST(Rabbits, AreThePapersSize) {
  const Scene scene = load_scene(std::string(STICTION_SOURCE_DIR) + "/examples/d20/rabbits.toml");
  EXPECT_EQ(scene.solids.size(), 120u);
  EXPECT_NEAR(scene.time.dt(), 1e-3, 1e-15);
  for (const Solid& rabbit : scene.solids) {
    EXPECT_EQ(rabbit.surface.triangles.size(), 2498u);
    EXPECT_NEAR(static_cast<double>(rabbit.mesh.tets.size()), 2132, 0.01 * 2132);
  }
}

/// What contacts gave to a body over the last step, kg m/s.
Vec3 contact_impulse(const Simulation& s, const std::string& body) {
  const NodeRange nodes = s.body_nodes(body);
  Vec3 sum = Vec3::Zero();
  for (int i = nodes.first; i < nodes.first + nodes.count; ++i) sum += s.contact_impulses()[i];
  return sum;
}

double mass(const Simulation& s, const std::string& body) {
  const NodeRange nodes = s.body_nodes(body);
  double sum = 0;
  for (int i = nodes.first; i < nodes.first + nodes.count; ++i) sum += s.masses()[i];
  return sum;
}

/// Distance of the farthest point of each rabbit's skin from the middle of the rim, m.
std::vector<double> reach(const Simulation& s) {
  const Frame frame = s.frame();
  std::vector<double> farthest;
  for (std::size_t i = 0; i < s.scene().solids.size(); ++i) {
    farthest.push_back(0);
    for (const Vec3& x : frame.meshes[i]) farthest.back() = std::max(farthest.back(), x.norm());
  }
  return farthest;
}

// Neither backward Euler nor contacts without restitution add energy. The velocity that a step ends with obeys the
// contacts and is within ε∞/Δt of the one that obeys the dynamics: so is the balance of momentum, times the mass.
TEST(Rabbits, EightReachTheToleranceInEveryStepAndLieInTheBowlAndOnEachOther) {
  Simulation s(eight_rabbits());
  const auto& solids = s.scene().solids;
  const Vec3 g = s.scene().world.gravity;
  const double tolerance = s.scene().solver.tolerance, m = mass(s, solids[0].name);
  std::vector<Vec3> momentum;
  for (const Solid& rabbit : solids) momentum.push_back(s.momentum(rabbit.name));
  std::vector<double> carried(solids.size(), 0.0);  // impulse along z while clear of the bowl
  double last = INFINITY, kinetic = 0, fastest = 0, imbalance = 0;
  int iterations = 0, steps = 0;
  while (s.time() < 0.19 - 1e-9) {
    const StepReport r = s.step();
    EXPECT_LE(r.residual_m, tolerance) << "at " << r.time << " s";
    EXPECT_EQ(r.crossings, 0) << "at " << r.time << " s";
    EXPECT_LE(energy(r), last) << "at " << r.time << " s";
    last = energy(r);
    kinetic = r.energy_kinetic;
    fastest = std::max(fastest, kinetic);
    iterations += r.admm_iterations;
    steps += r.contacts > 0 ? 1 : 0;

    const std::vector<double> farthest = reach(s);
    for (std::size_t i = 0; i < solids.size(); ++i) {
      const Vec3 now = s.momentum(solids[i].name), impulse = contact_impulse(s, solids[i].name);
      imbalance = std::max(imbalance, (now - momentum[i] - impulse - r.dt * m * g).norm() * r.dt);
      momentum[i] = now;
      EXPECT_LT(farthest[i], kBowl) << solids[i].name << " at " << r.time << " s";
      if (farthest[i] < kBowl - 0.005) carried[i] += impulse.z();
    }
  }
  EXPECT_LE(imbalance, m * tolerance);
  // The upper four are stopped by those below before they reach the bowl, if they do: by 1 m/s or so.
  for (std::size_t i = 4; i < solids.size(); ++i) EXPECT_GT(carried[i], 0.4 * m) << solids[i].name;
  EXPECT_LT(kinetic, 0.5 * fastest);
  RecordProperty("mean_iterations_in_contact", iterations / steps);
}

}  // namespace
}  // namespace stiction
