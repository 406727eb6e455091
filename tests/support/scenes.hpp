// Small scenes that several tests build by hand.
#pragma once

#include <cmath>
#include <numbers>

#include "stiction/simulation.hpp"

namespace stiction::test {

inline constexpr double kGravity = 9.81;  ///< what scenes have, m/s²

/// Nodes at equal distances from a to b.
inline std::vector<Vec3> straight(const Vec3& a, const Vec3& b, int edges) {
  std::vector<Vec3> nodes;
  for (int i = 0; i <= edges; ++i) nodes.push_back(a + (b - a) * (static_cast<double>(i) / edges));
  return nodes;
}

/// A scene without gravity's help: one step size, one body to be added.
inline Scene bare_scene(double dt) {
  Scene scene;
  scene.time.steps_per_frame = 1;
  scene.time.fps = 1.0 / dt;
  return scene;
}

/// The hair of the closed forms: R = 0.05 mm, rho = 1300, E = 3 GPa, nu = 0.45; clamped root, free tip.
inline Rods hair_rod() {
  Rods rods;
  rods.name = "hair";
  rods.radius = 5e-5;
  rods.density = 1300;
  rods.stretch_modulus = rods.bend_modulus = 3e9;
  rods.poisson = 0.45;
  return rods;
}

/// Steps until every free node is slower than `speed` (m/s) or `steps` have gone by; returns the last report.
inline StepReport settle(Simulation& simulation, int steps, double speed) {
  StepReport report;
  for (int i = 0; i < steps; ++i) {
    report = simulation.step();
    if (report.max_speed < speed) break;
  }
  return report;
}

}  // namespace stiction::test
