// Friction against closed forms: incline and capstan (R4 and R5 of docs/results.md), and rebound.
#include <gtest/gtest.h>

#include "support/incline.hpp"

namespace stiction {
namespace {

using test::bare_scene;
using test::hair_rod;
using test::straight;

// A straight rod that lies across an incline.
Scene incline(double angle, double mu, double dt) {
  Scene scene = test::tilted_plane(angle, mu, dt);
  Rods rod = hair_rod();
  rod.radius = 1e-3;
  rod.friction = mu;
  rod.root = End::free;
  rod.strands.push_back({straight({0, 0, rod.radius}, {0.02, 0.1, rod.radius}, 10), {}, 0});
  scene.rods.push_back(rod);
  return scene;
}

TEST(R4Incline, SticksIfAndOnlyIfTheSlopeIsBelowTheCoefficient) {
  test::expect_sticks_below_the_coefficient(incline, 50);
}

TEST(R4Incline, SlidesWithTheAccelerationOfImplicitEuler) {
  EXPECT_NEAR(test::slide_acceleration(test::kSlideAngle, 0.3), 2.35629, 1e-5);
  test::expect_slides_as_a_point(incline, 40, 1e-3);
}

// R5: a rope over a fixed cylinder, pulled by T1 on one side and T2 on the other; ends hang straight down.
struct Capstan {
  double slip;            // of the rope over the last second, m
  double discrete_ratio;  // T2/T1 at slip for the contacts that formed
};

Capstan pull(double mu, double wrap, double load_ratio_over_discrete, int contact_edges) {
  const double radius = 0.05, rope_radius = 1e-3, T1 = 0.1;
  const double rho = radius + rope_radius;  // of the centreline
  // A polygon about the cylinder whose edges touch it in their middles, then straight tails.
  const double turn = wrap / contact_edges, half = std::tan(turn / 2) * rho;
  std::vector<Vec3> nodes;
  const double start = std::numbers::pi / 2 + wrap / 2;
  const auto corner = [&](int i) -> Vec3 {
    const double angle = start - (i + 0.5) * turn;
    return Vec3(std::cos(angle), 0, std::sin(angle)) * (rho / std::cos(turn / 2));
  };
  // Vertices i = 0 … n-1 each turn by wrap/n; edges between them touch; the tails are tangent lines.
  std::vector<Vec3> arc;
  for (int i = 0; i < contact_edges; ++i) arc.push_back(corner(i));
  const Vec3 out_first = (arc[0] - arc[1]).normalized(), out_last = (arc.back() - arc[arc.size() - 2]).normalized();
  const Eigen::AngleAxisd bend_first(-turn, Vec3::UnitY()), bend_last(turn, Vec3::UnitY());
  const int tail = 12;
  for (int i = tail; i >= 1; --i) nodes.push_back(arc[0] + bend_first * out_first * (2 * half * i));
  nodes.insert(nodes.end(), arc.begin(), arc.end());
  for (int i = 1; i <= tail; ++i) nodes.push_back(arc.back() + bend_last * out_last * (2 * half * i));

  Scene scene = bare_scene(0.005);
  scene.world.gravity.setZero();
  Collider cylinder;
  cylinder.name = "drum";
  cylinder.shape = ColliderShape::cylinder;
  cylinder.radius = radius;
  cylinder.length = 1.0;
  cylinder.friction = mu;
  cylinder.placement.rotation = Quat(Eigen::AngleAxisd(std::numbers::pi / 2, Vec3::UnitX()));
  scene.colliders.push_back(cylinder);
  Rods rope = hair_rod();
  rope.name = "rope";
  rope.radius = rope_radius;
  rope.friction = mu;
  rope.density = 5e4;  // heavy for its tension: the load moves it by millimetres a step, not metres
  rope.bend_modulus = 1e4;
  rope.stretch_modulus = 1e8;
  rope.damping = 0.01;
  rope.root = End::free;
  rope.strands.push_back({nodes, {}, 0});
  Strand& strand = rope.strands.back();
  strand.rest_nodes = straight(Vec3::Zero(), Vec3((static_cast<double>(nodes.size()) - 1) * 2 * half, 0, 0),
                               static_cast<int>(nodes.size()) - 1);
  const double step = mu * std::tan(wrap / (2 * contact_edges));
  const double discrete = std::pow((1 + step) / (1 - step), contact_edges);
  const double T2 = T1 * discrete * load_ratio_over_discrete;
  const Vec3 down_first = (nodes.front() - nodes[1]).normalized(),
             down_last = (nodes.back() - nodes[nodes.size() - 2]).normalized();
  // Both sides are first loaded alike, then the second is raised to its load.
  rope.forces.push_back({0, 0, {{0, T1 * down_first}}});
  rope.forces.push_back({0, -1, {{0, T1 * down_last}, {0.2, T1 * down_last}, {1.0, T2 * down_last}}});
  scene.rods.push_back(rope);
  scene.contact.self_collision = false;
  scene.solver.newton_iterations = 2;
  scene.solver.admm_iterations = 400;
  scene.solver.gauss_seidel_iterations = 50;
  scene.solver.tolerance = 1e-9;
  Simulation simulation(scene);
  for (int i = 0; i < 240; ++i) simulation.step();
  const Vec3 before = simulation.positions().back();
  for (int i = 0; i < 100; ++i) simulation.step();
  return {(simulation.positions().back() - before).dot(down_last), discrete};
}

TEST(R5Capstan, HoldsJustBelowAndSlidesJustAboveTheDiscreteRatio) {
  const double mu = 0.3, pi = std::numbers::pi;
  EXPECT_NEAR(std::exp(mu * pi), 2.5663, 1e-4);
  EXPECT_NEAR(std::exp(mu * 2 * pi), 6.5861, 1e-4);
  for (const auto& [wrap, edges, ratio] : {std::tuple{pi, 32, 2.5685}, std::tuple{2 * pi, 64, 6.5970}}) {
    const Capstan below = pull(mu, wrap, 0.99, edges), above = pull(mu, wrap, 1.01, edges);
    EXPECT_NEAR(below.discrete_ratio, ratio, 1e-4);
    // Half a second under 1 % of excess load moves a free rope of this mass by centimetres; holding means microns.
    EXPECT_LT(below.slip, 1e-5) << "wrap " << wrap;
    EXPECT_GT(above.slip, 1e-3) << "wrap " << wrap;
  }
}

TEST(Restitution, ReboundsWithTheGivenShareOfTheApproachSpeed) {
  Scene scene = incline(0, 0, 0.001);
  scene.contact.restitution = 0.5;
  scene.rods[0].initial_velocity = {0, 0, -1};
  for (Vec3& x : scene.rods[0].strands[0].nodes) x.z() += 0.0005;
  scene.world.gravity.setZero();
  Simulation simulation(scene);
  for (int i = 0; i < 5; ++i) simulation.step();
  for (const Vec3& v : simulation.velocities()) EXPECT_NEAR(v.z(), 0.5, 1e-6);
}

}  // namespace
}  // namespace stiction
