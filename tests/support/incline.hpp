// The incline (R4 and S4 of docs/results.md), in the frame of its plane: gravity is tilted instead.
#pragma once

#include <gtest/gtest.h>

#include <numbers>

#include "support/scenes.hpp"

namespace stiction::test {

inline constexpr double kSlideAngle = std::numbers::pi / 6;  // beyond what a friction of 0.3 holds

/// Down an incline of `angle`, at a friction of mu, m/s².
inline double slide_acceleration(double angle, double mu) {
  return kGravity * (std::sin(angle) - mu * std::cos(angle));
}

/// A plane, z = 0, that feels gravity tilted by `angle`. Contacts are solved to convergence: Coulomb's law is compared
/// at 1e-6.
inline Scene tilted_plane(double angle, double mu, double dt) {
  Scene scene = bare_scene(dt);
  scene.world.gravity = kGravity * Vec3(std::sin(angle), 0, -std::cos(angle));
  Collider plane;
  plane.name = "plane";
  plane.shape = ColliderShape::plane;
  plane.friction = mu;
  scene.colliders.push_back(plane);
  scene.solver.tolerance = 1e-15;
  scene.solver.admm_iterations = 2000;
  scene.solver.gauss_seidel_iterations = 20;
  scene.solver.sleeping = false;
  return scene;
}

/// What `incline(angle, mu, dt)` makes sticks where the slope is below the coefficient and slides where it is above.
template <class Incline>
void expect_sticks_below_the_coefficient(Incline&& incline, int steps) {
  const double mu = 0.3, dt = 0.01;
  for (const double factor : {0.99, 1.01}) {
    const double angle = std::atan(mu * factor);
    Simulation simulation(incline(angle, mu, dt));
    StepReport report;
    for (int i = 0; i < steps; ++i) report = simulation.step();
    if (factor < 1)
      EXPECT_LT(report.max_speed, 1e-9);
    else
      EXPECT_NEAR(report.max_speed, steps * dt * slide_acceleration(angle, mu), 1e-6);
  }
}

/// Every node of what `incline(angle, mu, dt)` lays at `height` over the plane slides as a point does by implicit
/// Euler.
template <class Incline>
void expect_slides_as_a_point(Incline&& incline, int steps, double height) {
  const double mu = 0.3, dt = 0.01, a = slide_acceleration(kSlideAngle, mu), n = steps;
  Simulation simulation(incline(kSlideAngle, mu, dt));
  const std::vector<Vec3> x_start(simulation.positions().begin(), simulation.positions().end());
  for (int i = 0; i < steps; ++i) simulation.step();
  for (std::size_t j = 0; j < x_start.size(); ++j) {
    EXPECT_NEAR(simulation.velocities()[j].x() / (a * n * dt), 1.0, 1e-6);
    EXPECT_NEAR((simulation.positions()[j].x() - x_start[j].x()) / (a * dt * dt * n * (n + 1) / 2), 1.0, 1e-6);
    EXPECT_NEAR(simulation.positions()[j].z(), height, 1e-9);
  }
}

}  // namespace stiction::test
