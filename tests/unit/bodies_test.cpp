// Rods and chains as bodies: A and g against finite differences, balance of internal forces, solves, ends, forces.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "bodies/chains.hpp"
#include "bodies/rods.hpp"
#include "support/random.hpp"
#include "support/scenes.hpp"

namespace stiction {
namespace {

using test::Random;

// A crumpled strand: edges of random direction and about 1 cm.
std::vector<Vec3> crumpled(Random& random, int nodes) {
  std::vector<Vec3> x{random.vector()};
  Vec3 t = Vec3::UnitX();
  for (int i = 1; i < nodes; ++i) {
    t = (t + 0.6 * random.vector()).normalized();
    x.push_back(x.back() + random(0.008, 0.012) * t);
  }
  return x;
}

Rods soft_rods(Random& random, std::vector<int> node_counts) {
  Rods rods;
  rods.name = "rods";
  rods.radius = 1e-3;
  rods.radius_b = 7e-4;
  rods.stretch_modulus = 1e6;
  rods.bend_modulus = 1e7;
  rods.damping = 2e-3;
  rods.root = End::free;
  for (const int n : node_counts) rods.strands.push_back({crumpled(random, n), crumpled(random, n), 0});
  return rods;
}

// A body on its own, ready to assemble at any velocity.
template <class BodyType, class Value>
struct Harness {
  Nodes nodes;
  BodyType body;
  WorldOptions world;
  StepContext context;
  std::vector<Vec3> v;

  explicit Harness(const Value& value, double dt = 0.01) : body(value, nodes, -1, -1) {
    world.gravity.setZero();
    context.dt = dt;
    context.time_end = dt;
    context.world = &world;
    for (int j = 0; j < nodes.size(); ++j) nodes.component[j] = 0;
    v = nodes.v;
    body.begin_step(context, nodes, v);
  }

  int size() const { return 3 * nodes.size() + body.auxiliary_count(); }
  // A, dense, and -g at the iterate v; auxiliary degrees of freedom after the nodes.
  void assemble(Eigen::MatrixXd& A, Eigen::VectorXd& minus_g) {
    body.assemble(nodes, v);
    std::vector<Eigen::Triplet<double>> entries;
    std::vector<double> g(size(), 0.0);
    body.append_matrix(entries, g, 3 * nodes.size());
    A = Eigen::MatrixXd::Zero(size(), size());
    for (const auto& t : entries) A(t.row(), t.col()) += t.value();
    minus_g = Eigen::Map<const Eigen::VectorXd>(g.data(), size());
  }
};

using RodsHarness = Harness<RodsBody, Rods>;
using ChainsHarness = Harness<ChainsBody, Chains>;

// dt times the elastic gradient at rest velocity must be the derivative of the elastic energy: without damping,
// E(x + h e_a) - E(x - h e_a) over 2 h.
template <class BodyType, class Value>
void expect_gradient_of_energy(const Value& value) {
  Harness<BodyType, Value> h(value);
  Eigen::MatrixXd A;
  Eigen::VectorXd minus_g;
  h.assemble(A, minus_g);  // at v = 0: no inertia, q = x
  const std::vector<Vec3> none(h.nodes.size(), Vec3::Zero());
  const auto energy_at = [&](int j, int a, double step) {
    Harness<BodyType, Value> moved(value);
    moved.v[j][a] = step / moved.context.dt;
    moved.body.end_step(moved.nodes, moved.v);  // transports frames from the start to the moved positions
    moved.nodes.x[j][a] += step;
    return moved.body.measure(moved.nodes, none, none, moved.world).elastic;
  };
  const double step = 1e-7;
  double largest = 0;
  for (int j = 0; j < h.nodes.size(); ++j) largest = std::max(largest, minus_g.segment<3>(3 * j).norm());
  for (int j = 0; j < h.nodes.size(); ++j)
    for (int a = 0; a < 3; ++a) {
      const double difference = (energy_at(j, a, step) - energy_at(j, a, -step)) / (2 * step);
      EXPECT_NEAR(-minus_g[3 * j + a] / h.context.dt, difference, 2e-6 * largest / h.context.dt) << j << " " << a;
    }
}

TEST(RodsBody, ForceIsMinusTheGradientOfTheEnergy) {
  Random random(7);
  Rods rods = soft_rods(random, {9});
  rods.damping = 0;
  expect_gradient_of_energy<RodsBody>(rods);
}

TEST(ChainsBody, ForceIsMinusTheGradientOfTheEnergy) {
  Random random(7);
  Chains chains;
  chains.name = "chains";
  chains.damping = 0;
  chains.stretch_modulus = 1e6;
  chains.strands.push_back({crumpled(random, 9), crumpled(random, 9), 0});
  expect_gradient_of_energy<ChainsBody>(chains);
}

TEST(RodsBody, FreeRodHasNoNetForceAndNoNetMoment) {
  Random random(7);
  RodsHarness h(soft_rods(random, {12, 7, 12, 5, 9, 12, 3, 12, 12, 2}));
  Eigen::MatrixXd A;
  Eigen::VectorXd minus_g;
  h.assemble(A, minus_g);
  for (int s = 0; s < h.body.component_count; ++s) {
    const int first = h.body.layout().first_node(s), count = h.body.layout().node_count(s);
    Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
    double size = 0, moment_size = 0;
    for (int i = first; i < first + count; ++i) {
      const Vec3 f = minus_g.segment<3>(3 * i);
      force += f;
      moment += h.nodes.x[i].cross(f);
      size += f.norm();
      moment_size += h.nodes.x[i].norm() * f.norm();
      if (i + 1 < first + count) {  // the twist's generalised force is a moment along the edge
        const Vec3 t = (h.nodes.x[i + 1] - h.nodes.x[i]).normalized();
        moment += minus_g[3 * h.nodes.size() + i - h.body.first_node] * t;
      }
    }
    EXPECT_LT(force.norm(), 1e-12 * size) << "strand " << s;
    EXPECT_LT(moment.norm(), 1e-12 * moment_size) << "strand " << s;
  }
}

// A curved rod spins freely: whatever the damping, it keeps the spin that implicit Euler lets it keep.
TEST(RodsBody, RigidMotionIsNotDamped) {
  const auto energy_kept = [](double damping) {
    Random random(7);
    Rods rods = soft_rods(random, {10});
    rods.bend_modulus = rods.stretch_modulus = 1e8;
    rods.strands[0].rest_nodes = rods.strands[0].nodes;
    rods.damping = damping;
    Scene scene = test::bare_scene(0.001);
    scene.world.gravity.setZero();
    scene.contact.self_collision = false;
    scene.solver.newton_iterations = 5;
    scene.rods.push_back(rods);
    Simulation simulation(scene);
    Vec3 center = Vec3::Zero();
    double mass = 0;
    for (int j = 0; j < 10; ++j) {
      center += simulation.masses()[j] * simulation.positions()[j];
      mass += simulation.masses()[j];
    }
    center /= mass;
    std::vector<Vec3> v;
    for (const Vec3& x : simulation.positions()) v.push_back(Vec3(3, -2, 4).cross(x - center));
    simulation.set_velocities(v);
    const double start = simulation.step().energy_kinetic;
    StepReport report;
    for (int i = 0; i < 200; ++i) report = simulation.step();
    return report.energy_kinetic / start;
  };
  const double light = energy_kept(1e-4), heavy = energy_kept(1.0);
  EXPECT_GT(light, 0.9);
  EXPECT_NEAR(heavy / light, 1.0, 0.01);
}

TEST(RodsBody, MatrixIsPositiveDefiniteAndSolvesItsSystem) {
  Random random(7);
  RodsHarness h(soft_rods(random, {12, 7, 12, 5, 9, 12, 3, 12, 12, 2}));
  for (Vec3& v : h.v) v = random.vector();
  Eigen::MatrixXd A;
  Eigen::VectorXd minus_g;
  h.assemble(A, minus_g);
  EXPECT_LT((A - A.transpose()).norm(), 1e-14 * A.norm());

  std::vector<double> w(h.nodes.size());
  std::vector<Vec3> impulse(h.nodes.size()), v(h.nodes.size());
  Eigen::VectorXd rhs = minus_g;
  Eigen::MatrixXd weighted = A;
  for (int j = 0; j < h.nodes.size(); ++j) {
    w[j] = random(1e-6, 1e-4);
    impulse[j] = 1e-5 * random.vector();
    rhs.segment<3>(3 * j) += impulse[j];
    weighted.diagonal().segment<3>(3 * j).array() += w[j];
  }
  EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(weighted).eigenvalues()[0], 0);
  const std::vector<std::uint8_t> all(h.body.component_count, 1);
  ASSERT_TRUE(h.body.factor(w, all));
  h.body.solve(impulse, v, all);
  const Eigen::VectorXd exact = weighted.ldlt().solve(rhs);
  for (int j = 0; j < h.nodes.size(); ++j)
    EXPECT_LT((v[j] - h.v[j] - exact.segment<3>(3 * j)).norm(), 1e-9 * exact.norm()) << j;
}

TEST(RodsBody, SmallestEigenvaluesAreThoseOfTheDiagonalBlocks) {
  Random random(7);
  RodsHarness h(soft_rods(random, {6, 4}));
  Eigen::MatrixXd A;
  Eigen::VectorXd minus_g;
  h.assemble(A, minus_g);
  std::vector<double> eta(h.nodes.size());
  h.body.smallest_eigenvalues(eta);
  for (int j = 0; j < h.nodes.size(); ++j) {
    const Mat3 block = A.block<3, 3>(3 * j, 3 * j);
    EXPECT_NEAR(eta[j], Eigen::SelfAdjointEigenSolver<Mat3>(block).eigenvalues()[0], 1e-9 * block.norm());
  }
}

// A limp chain is held across by its mass alone, a billionth of how it is held along: rounding would take it below
// zero.
TEST(ChainsBody, SmallestEigenvaluesAreNoLessThanTheMass) {
  Random random(8);
  Chains chains;
  chains.name = "chains";
  chains.stretch_modulus = 2e12;
  chains.bend_modulus = 0;
  chains.root = End::free;
  for (int s = 0; s < 100; ++s) {
    const Vec3 x = random.vector();
    chains.strands.push_back({test::straight(x, x + 0.1 * random.vector().normalized(), 20), {}, 0});
  }
  ChainsHarness h(chains);
  h.body.assemble(h.nodes, h.v);
  std::vector<double> eta(h.nodes.size());
  h.body.smallest_eigenvalues(eta);
  for (int j = 0; j < h.nodes.size(); ++j) EXPECT_GE(eta[j], h.nodes.m[j]) << j;
}

TEST(RodsBody, ClampedEndsFollowAndReactWithTheWeight) {
  Rods rods = test::hair_rod();
  rods.strands.push_back({test::straight({0, 0, 0}, {0, 0, -0.1}, 20), {}, 0});
  rods.point_masses.push_back({0, -1, 1e-5});
  Scene scene = test::bare_scene(0.01);
  scene.rods.push_back(rods);
  Simulation simulation(scene);
  test::settle(simulation, 500, 1e-9);
  double weight = 0;
  for (const double m : simulation.masses()) weight += 9.81 * m;
  EXPECT_NEAR(simulation.root_reaction(0, 0).z(), weight, 1e-6 * weight);
  EXPECT_NEAR(simulation.masses().back(), 1300 * std::numbers::pi * 2.5e-9 * 0.0025 + 1e-5, 1e-12);
}

TEST(RodsBody, DragCarriesAFreeRodToTheWindsSpeed) {
  Rods rods = test::hair_rod();
  rods.root = End::free;
  rods.drag = 1e-3;
  rods.strands.push_back({test::straight({0, 0, 0}, {0, 0.1, 0}, 10), {}, 0});
  Scene scene = test::bare_scene(0.01);
  scene.world.gravity.setZero();
  scene.world.wind = {2, 0, 0};
  scene.rods.push_back(rods);
  Simulation simulation(scene);
  simulation.step();
  // One implicit step: v = c dt / (m + c dt) wind, per length: m = rho S.
  const double m = 1300 * std::numbers::pi * 2.5e-9, c_dt = 1e-3 * 0.01;
  for (const Vec3& v : simulation.velocities()) EXPECT_NEAR(v.x(), 2 * c_dt / (m + c_dt), 1e-9);
}

TEST(RodsBody, KeyframedForceAcceleratesItsNode) {
  Rods rods = test::hair_rod();
  rods.root = End::free;
  rods.strands.push_back({test::straight({0, 0, 0}, {0, 0.1, 0}, 10), {}, 0});
  rods.forces.push_back({0, 5, {{0, Vec3::Zero()}, {1, Vec3(1e-6, 0, 0)}}});
  Scene scene = test::bare_scene(0.01);
  scene.world.gravity.setZero();
  scene.rods.push_back(rods);
  Simulation simulation(scene);
  double mass = 0, impulse = 0;
  for (const double m : simulation.masses()) mass += m;
  for (int i = 1; i <= 20; ++i) {
    simulation.step();
    impulse += 0.01 * 1e-6 * 0.01 * i;
  }
  Vec3 momentum = Vec3::Zero();
  for (std::size_t j = 0; j < simulation.masses().size(); ++j)
    momentum += simulation.masses()[j] * simulation.velocities()[j];
  EXPECT_NEAR(momentum.x() / impulse, 1.0, 1e-9);
}

TEST(Simulation, RefusesASceneMadeByHandThatIsInconsistent) {
  Scene scene = test::bare_scene(0.01);
  Rods rods = test::hair_rod();
  rods.strands.push_back({test::straight({0, 0, 0}, {0.1, 0, 0}, 10), {}, 0});
  scene.rods = {rods, rods};  // the same name twice
  EXPECT_THROW(Simulation{scene}, std::invalid_argument);
  scene.rods = {rods};
  scene.rods[0].forces.push_back({0, 11, {}});
  EXPECT_THROW(Simulation{scene}, std::invalid_argument);
  scene.rods[0].forces.clear();
  scene.rods[0].strands[0].nodes.resize(1);
  EXPECT_THROW(Simulation{scene}, std::invalid_argument);
}

// A clamped handle turns the root about the rod's axis: the twist spreads evenly, dynamic or quasi-static.
TEST(RodsBody, TwistSpreadsEvenlyBetweenClampedEnds) {
  for (const Twist twist : {Twist::dynamic, Twist::quasistatic}) {
    Rods rods = test::hair_rod();
    rods.tip = End::clamped;
    rods.root_attach = "handle";
    rods.twist = twist;
    rods.damping = 0.01;
    rods.strands.push_back({test::straight({0, 0, 0}, {0.1, 0, 0}, 10), {}, 0});
    Scene scene = test::bare_scene(0.01);
    scene.world.gravity.setZero();
    Collider handle;
    handle.name = "handle";
    handle.shape = ColliderShape::locator;
    handle.motion.rotation = {{0, Vec3::Zero()}, {0.5, Vec3(9, 0, 0)}};  // more than a whole turn
    scene.colliders.push_back(handle);
    scene.rods.push_back(rods);
    Simulation simulation(scene);
    for (int i = 0; i < 150; ++i) simulation.step();
    for (int j = 0; j < 10; ++j) EXPECT_NEAR(simulation.twist_angle(0, 0, j), 9.0 * (9 - j) / 9, 1e-6);
  }
}

}  // namespace
}  // namespace stiction
