// Rods against closed forms: R1 to R3 and R6 of docs/results.md.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>

#include "support/scenes.hpp"

namespace stiction {
namespace {

using test::bare_scene;
using test::hair_rod;
using test::straight;

using test::kGravity;

// Shoots theta'' + Gamma (1 - s) cos(theta) = 0, theta(0) = 0, theta'(1) = 0 by RK4 and returns H/W, drop over reach.
double cantilever_ratio(double gamma) {
  const int n = 20000;
  const double h = 1.0 / n;
  double reach = 0, drop = 0;
  const auto tip_slope = [&](double slope) {
    double theta = 0, rate = slope;
    reach = drop = 0;
    const auto acceleration = [&](double s, double a) { return -gamma * (1 - s) * std::cos(a); };
    for (int i = 0; i < n; ++i) {
      const double s = i * h;
      reach += h * std::cos(theta + 0.5 * h * rate);
      drop += h * std::sin(theta + 0.5 * h * rate);
      const double k1t = rate, k1r = acceleration(s, theta);
      const double k2t = rate + 0.5 * h * k1r, k2r = acceleration(s + 0.5 * h, theta + 0.5 * h * k1t);
      const double k3t = rate + 0.5 * h * k2r, k3r = acceleration(s + 0.5 * h, theta + 0.5 * h * k2t);
      const double k4t = rate + h * k3r, k4r = acceleration(s + h, theta + h * k3t);
      theta += h / 6 * (k1t + 2 * k2t + 2 * k3t + k4t);
      rate += h / 6 * (k1r + 2 * k2r + 2 * k3r + k4r);
    }
    return rate;
  };
  double lo = 0, hi = 0.5 * gamma;  // at the clamp; linear theory is an upper bound
  for (int i = 0; i < 80; ++i) {
    const double mid = 0.5 * (lo + hi);
    (tip_slope(mid) > 0 ? hi : lo) = mid;
  }
  tip_slope(0.5 * (lo + hi));
  return drop / reach;
}

// A cantilever of load Gamma at rest; L counts from the middle of the clamped edge.
double simulated_ratio(double gamma, int edges) {
  Rods rods = hair_rod();
  const double length =
      std::cbrt(gamma * rods.bend_modulus * rods.radius * rods.radius / (4 * rods.density * kGravity));
  const double h = length / (edges - 0.5);
  rods.strands.push_back({straight({-0.5 * h, 0, 0}, {length, 0, 0}, edges), {}, 0});
  rods.damping = 0.02;
  Scene scene = bare_scene(0.01);
  scene.solver.newton_iterations = 4;
  scene.rods.push_back(rods);
  Simulation simulation(scene);
  test::settle(simulation, 6000, 1e-9);
  const Vec3 tip = simulation.positions().back();
  return -tip.z() / tip.x();
}

TEST(R1Cantilever, DropOverReachMatchesTheElastica) {
  EXPECT_NEAR(cantilever_ratio(1), 0.12456, 1e-5);
  EXPECT_NEAR(cantilever_ratio(10), 1.06680, 1e-5);
  EXPECT_NEAR(cantilever_ratio(100), 5.88810, 2e-5);
  for (const double gamma : {1.0, 10.0, 100.0})
    EXPECT_NEAR(simulated_ratio(gamma, 50) / cantilever_ratio(gamma), 1.0, 0.01) << "Gamma " << gamma;
}

TEST(R1Cantilever, ConvergesAtSecondOrder) {
  const double exact = cantilever_ratio(10);
  const double coarse = std::abs(simulated_ratio(10, 10) - exact), fine = std::abs(simulated_ratio(10, 40) - exact);
  const double slope = std::log(coarse / fine) / std::log(39.5 / 9.5);
  RecordProperty("slope", std::to_string(slope));
  EXPECT_NEAR(slope, 2.0, 0.2);
}

// R2: a ring of N edges, naturally straight, joined by clamping its first and last edge (which coincide) and twisted.
class TwistedRing {
 public:
  TwistedRing(int edges, double poisson) {
    const double radius = 0.05;
    Rods rods = hair_rod();
    rods.radius = 1e-3;
    rods.bend_modulus = 1e7;
    rods.stretch_modulus = 1e9;
    rods.poisson = poisson;
    rods.damping = 4e-3;
    rods.tip = End::clamped;
    rods.tip_attach = "handle";
    rods.twist = Twist::quasistatic;
    Strand ring;
    const double turn = 2 * std::numbers::pi / edges, side = 2 * radius * std::sin(turn / 2);
    for (int i = 0; i <= edges + 1; ++i)
      ring.nodes.push_back(radius * Vec3(std::cos(i * turn), std::sin(i * turn), 1e-5 * std::sin(2 * i * turn)));
    ring.nodes[0].z() = ring.nodes[1].z() = ring.nodes[edges].z() = ring.nodes[edges + 1].z() = 0;
    for (int i = 0; i <= edges + 1; ++i) ring.rest_nodes.emplace_back(i * side, 0, 0);
    const Vec3 middle = 0.5 * (ring.nodes[1] + ring.nodes[0]);  // of the clamped edge: the handle turns about it
    for (Vec3& x : ring.nodes) x -= middle;
    axis_ = (ring.nodes[1] - ring.nodes[0]).normalized();
    rods.strands.push_back(ring);
    scene_ = bare_scene(0.01);
    scene_.world.gravity.setZero();
    scene_.contact.self_collision = false;
    scene_.solver.newton_iterations = 4;
    scene_.rods.push_back(rods);
  }

  // Twists by `angle`, waits, and reports whether the ring leaves its plane. The ring may turn about its clamped
  // edge at no cost (it is naturally straight and round), so the plane is the one that fits it best.
  bool buckles(double angle) const {
    Scene scene = scene_;
    Collider handle;
    handle.name = "handle";
    handle.shape = ColliderShape::locator;
    handle.motion.rotation = {{0, Vec3::Zero()}, {10.0, angle * axis_}};
    scene.colliders.push_back(handle);
    Simulation simulation(scene);
    for (int i = 0; i < 4000; ++i) {
      simulation.step();
      if (thickness(simulation.positions()) > 4e-3) return true;
    }
    return false;
  }

 private:
  // Root mean square distance from the best plane, m.
  static double thickness(std::span<const Vec3> x) {
    Vec3 mean = Vec3::Zero();
    for (const Vec3& p : x) mean += p / static_cast<double>(x.size());
    Mat3 covariance = Mat3::Zero();
    for (const Vec3& p : x) covariance += (p - mean) * (p - mean).transpose() / static_cast<double>(x.size());
    return std::sqrt(std::max(0.0, Eigen::SelfAdjointEigenSolver<Mat3>(covariance).eigenvalues()[0]));
  }

  Scene scene_;
  Vec3 axis_;
};

TEST(R2TwistedRing, LeavesThePlaneAtMichellsTwist) {
  const int edges = 60;
  for (const double poisson : {0.0, 0.3, 0.5}) {
    const double exact = 2 * std::numbers::pi * std::sqrt(3.0) * (1 + poisson);
    const double discrete = exact * (1 + 32.0 / (edges * edges));
    const TwistedRing ring(edges, poisson);
    EXPECT_FALSE(ring.buckles(exact * 0.99)) << "nu " << poisson;
    EXPECT_TRUE(ring.buckles(discrete * 1.01)) << "nu " << poisson;
  }
}

// R3: a = half span over the catenary's parameter solves sinh(a)/a = length/span.
TEST(R3Catenary, SagAndEndTension) {
  for (const double span : {0.6, 0.8}) {
    double lo = 1e-3, hi = 10;
    for (int i = 0; i < 200; ++i) {
      const double a = 0.5 * (lo + hi);
      (std::sinh(a) / a < 1 / span ? lo : hi) = a;
    }
    const double a = 0.5 * (lo + hi), c = 0.5 * span / a;
    const double sag = c * (std::cosh(a) - 1), tension = c * std::cosh(a);  // of the weight
    EXPECT_NEAR(sag, span == 0.6 ? 0.362782 : 0.265438, 1e-6);
    EXPECT_NEAR(tension, span == 0.6 ? 0.525950 : 0.603639, 1e-6);

    Rods rope = hair_rod();
    rope.radius = 1e-3;
    rope.bend_modulus = 1e3;
    rope.stretch_modulus = 1e9;
    rope.root = rope.tip = End::pinned;
    rope.damping = 0.01;
    rope.drag = 0.05;
    Strand strand;
    const int edges = 60;
    for (int i = 0; i <= edges; ++i) {  // a V of the right length
      const double s = static_cast<double>(i) / edges;
      const double depth = std::sqrt(0.25 - 0.25 * span * span);
      strand.nodes.emplace_back(span * s, 0, -depth * (1 - std::abs(2 * s - 1)));
    }
    for (int i = 0; i <= edges; ++i) strand.rest_nodes.emplace_back(static_cast<double>(i) / edges, 0, 0);
    rope.strands.push_back(strand);
    Scene scene = bare_scene(0.02);
    scene.solver.newton_iterations = 4;
    scene.contact.self_collision = false;
    scene.rods.push_back(rope);
    Simulation simulation(scene);
    test::settle(simulation, 3000, 1e-7);
    double lowest = 0, weight = 0;
    for (const Vec3& x : simulation.positions()) lowest = std::min(lowest, x.z());
    for (const double m : simulation.masses()) weight += m * kGravity;
    EXPECT_NEAR(-lowest / sag, 1.0, 0.005);
    EXPECT_NEAR(simulation.root_reaction(0, 0).norm() / weight / tension, 1.0, 0.005);
    EXPECT_NEAR(simulation.tip_reaction(0, 0).norm() / weight / tension, 1.0, 0.005);
  }
}

// R6: excites one mode of a cantilever and reads its frequency and decay off the zero crossings and peaks.
struct Vibration {
  double frequency, decay_per_step;
};

Vibration vibrate(int mode, double dt, int periods) {
  Rods rods = hair_rod();
  rods.radius = 1e-3;
  rods.density = 1200;
  rods.bend_modulus = rods.stretch_modulus = 1e9;
  rods.damping = 0;
  const int edges = 60;
  const double length = 0.2, h = length / (edges - 0.5);
  rods.strands.push_back({straight({-0.5 * h, 0, 0}, {length, 0, 0}, edges), {}, 0});
  Scene scene = bare_scene(dt);
  scene.world.gravity.setZero();
  scene.rods.push_back(rods);
  Simulation simulation(scene);

  const double beta = mode == 1 ? 1.8751040687 : 4.6940911330;  // roots of cos b cosh b = -1
  const double sigma = (std::sinh(beta) - std::sin(beta)) / (std::cosh(beta) + std::cos(beta));
  std::vector<Vec3> v(simulation.positions().size(), Vec3::Zero());
  std::vector<double> shape(v.size());
  for (std::size_t j = 0; j < v.size(); ++j) {
    const double s = std::max(0.0, beta * simulation.positions()[j].x() / length);
    shape[j] = std::cosh(s) - std::cos(s) - sigma * (std::sinh(s) - std::sin(s));
    v[j] = Vec3(0, 0, 1e-3 * shape[j]);
  }
  simulation.set_velocities(v);

  std::vector<double> amplitude;  // the deflection's share of the mode
  const double f_guess = mode == 1 ? 6.3854 : 40.017;
  const int steps = static_cast<int>(periods / f_guess / dt);
  for (int i = 0; i < steps; ++i) {
    simulation.step();
    double share = 0;
    for (std::size_t j = 0; j < v.size(); ++j)
      share += simulation.masses()[j] * shape[j] * simulation.positions()[j].z();
    amplitude.push_back(share);
  }
  std::vector<double> crossings, peaks;
  std::vector<int> peak_at;
  for (int i = 1; i + 1 < steps; ++i) {
    if (amplitude[i - 1] < 0 && amplitude[i] >= 0)
      crossings.push_back(i - amplitude[i] / (amplitude[i] - amplitude[i - 1]));
    if (amplitude[i] > amplitude[i - 1] && amplitude[i] >= amplitude[i + 1]) {
      peaks.push_back(amplitude[i]);
      peak_at.push_back(i);
    }
  }
  const double period = (crossings.back() - crossings.front()) / static_cast<double>(crossings.size() - 1) * dt;
  return {1 / period, std::pow(peaks.back() / peaks.front(), 1.0 / (peak_at.back() - peak_at.front()))};
}

TEST(R6Vibration, FrequencyAndDecayOfImplicitEuler) {
  for (const auto& [mode, exact, dt] : {std::tuple{1, 6.3854, 5e-4}, std::tuple{2, 40.017, 1e-4}}) {
    const double omega = 2 * std::numbers::pi * exact;
    const double shifted = std::atan(omega * dt) / dt / (2 * std::numbers::pi);
    const double decay = 1 / std::sqrt(1 + omega * omega * dt * dt);
    const Vibration v = vibrate(mode, dt, 6);
    EXPECT_NEAR(v.frequency / shifted, 1.0, 0.01) << "mode " << mode;
    EXPECT_NEAR((1 - v.decay_per_step) / (1 - decay), 1.0, 0.02) << "mode " << mode;
  }
}

}  // namespace
}  // namespace stiction
