// Scripted bodies drag and carry what touches them: analytic shapes and meshes alike.
#include <gtest/gtest.h>

#include "geometry/primitives.hpp"
#include "support/scenes.hpp"

namespace stiction {
namespace {

using test::bare_scene;
using test::hair_rod;
using test::straight;

using test::kGravity;

Rods resting_rod(double height, double mu) {
  Rods rod = hair_rod();
  rod.radius = 1e-3;
  rod.friction = mu;
  rod.root = End::free;
  rod.strands.push_back({straight({-0.05, 0.003, height + rod.radius}, {0.05, 0.003, height + rod.radius}, 20), {}, 0});
  return rod;
}

Collider slab_mesh(double mu) {
  Collider slab;
  slab.name = "slab";
  slab.shape = ColliderShape::mesh;
  slab.mesh = make_box(Vec3(0.5, 0.5, 0.02));
  slab.placement.position = {0, 0, -0.02};
  slab.friction = mu;
  return slab;
}

Collider slab_box(double mu) {
  Collider slab = slab_mesh(mu);
  slab.shape = ColliderShape::box;
  slab.half_extents = {0.5, 0.5, 0.02};
  return slab;
}

// A slab that sets off sideways at 0.5 m/s: friction accelerates the rod by mu g until it keeps up.
TEST(MovingCollider, DragsByFrictionUntilTheRodKeepsUp) {
  for (const bool mesh : {false, true}) {
    const double mu = 0.4, dt = 0.005, speed = 0.5;
    Scene scene = bare_scene(dt);
    scene.colliders.push_back(mesh ? slab_mesh(mu) : slab_box(mu));
    scene.colliders[0].motion.position = {{0, Vec3::Zero()}, {10, Vec3(0, 10 * speed, 0)}};
    scene.rods.push_back(resting_rod(0, mu));
    scene.solver.admm_iterations = 300;
    scene.solver.tolerance = 1e-10;
    Simulation simulation(scene);
    const int slipping = static_cast<int>(0.5 * speed / (mu * kGravity) / dt);  // half of the time to catch up
    for (int i = 0; i < slipping; ++i) simulation.step();
    for (const int j : {0, 10, 20})
      EXPECT_NEAR(simulation.velocities()[j].y(), mu * kGravity * dt * slipping, 1e-3) << (mesh ? "mesh" : "box");
    for (int i = 0; i < 60; ++i) simulation.step();
    for (const int j : {0, 10, 20}) EXPECT_NEAR(simulation.velocities()[j].y(), speed, 1e-4);
    for (const int j : {0, 10, 20}) EXPECT_NEAR(simulation.positions()[j].z(), 1e-3, 2e-5);
  }
}

// A lift that accelerates upwards carries the rod: contact impulses balance weight and inertia.
TEST(MovingCollider, LiftCarriesTheRodWithItsWeightAndInertia) {
  const double dt = 0.005;
  Scene scene = bare_scene(dt);
  scene.colliders.push_back(slab_mesh(0.3));
  auto& keys = scene.colliders[0].motion.position;
  const double a = 2.0;
  for (int i = 0; i <= 100; ++i) {
    const double t = i * dt;
    keys.push_back({t, Vec3(0, 0, 0.5 * a * t * t)});
  }
  scene.rods.push_back(resting_rod(0, 0.3));
  scene.solver.admm_iterations = 300;
  scene.solver.tolerance = 1e-10;
  Simulation simulation(scene);
  for (int i = 0; i < 60; ++i) simulation.step();
  double mass = 0, impulse = 0;
  for (int j = 0; j <= 20; ++j) {
    mass += simulation.masses()[j];
    impulse += simulation.contact_impulses()[j].z();
  }
  EXPECT_NEAR(impulse / (dt * mass * (kGravity + a)), 1.0, 1e-3);
}

// A sequence of meshes of one topology: the top face rises by 1 cm in 0.5 s and lifts the rod with it.
TEST(MeshSequence, LiftsWhatLiesOnIt) {
  Scene scene = bare_scene(0.005);
  Collider slab = slab_mesh(0.3);
  slab.sequence_fps = 2.0;
  slab.mesh_sequence.push_back(slab.mesh.vertices);
  slab.mesh_sequence.push_back(slab.mesh.vertices);
  for (Vec3& x : slab.mesh_sequence.back())
    if (x.z() > 0) x.z() += 0.01;
  scene.colliders.push_back(slab);
  scene.rods.push_back(resting_rod(0, 0.3));
  Simulation simulation(scene);
  for (int i = 0; i < 200; ++i) simulation.step();
  for (const int j : {0, 10, 20}) EXPECT_NEAR(simulation.positions()[j].z(), 0.011, 5e-5);
}

// What the rod feels, the mesh below it feels the other way; both hold the rod's weight.
TEST(MeshCollider, FeelsTheImpulsesThatItGives) {
  Scene scene = bare_scene(0.005);
  scene.colliders.push_back(slab_mesh(0.3));
  scene.rods.push_back(resting_rod(0, 0.3));
  Simulation simulation(scene);
  for (int i = 0; i < 100; ++i) simulation.step();
  const NodeRange rod = simulation.strand(0, 0);
  Vec3 on_rod = Vec3::Zero(), on_all = Vec3::Zero();
  double weight = 0;
  for (std::size_t j = 0; j < simulation.positions().size(); ++j) {
    const bool of_rod = static_cast<int>(j) >= rod.first && static_cast<int>(j) < rod.first + rod.count;
    on_all += simulation.contact_impulses()[j];
    if (!of_rod) continue;
    on_rod += simulation.contact_impulses()[j];
    weight += 9.81 * 0.005 * simulation.masses()[j];
  }
  EXPECT_NEAR(on_rod.z(), weight, 0.02 * weight);
  EXPECT_LT(on_all.norm(), 1e-12 * on_rod.norm());
}

// A turning cylinder below a rod laid across it along its axis: the surface velocity is omega r.
TEST(TurningCylinder, SurfaceVelocityEntersTheFriction) {
  Scene scene = bare_scene(0.002);
  Collider drum;
  drum.name = "drum";
  drum.shape = ColliderShape::cylinder;
  drum.radius = 0.2;
  drum.length = 1.0;
  drum.friction = 0.2;
  drum.placement.rotation = Quat(Eigen::AngleAxisd(std::numbers::pi / 2, Vec3::UnitY()));  // axis along x
  drum.motion.rotation = {{0, Vec3::Zero()}, {10, Vec3(10, 0, 0)}};                        // 1 rad/s about x
  scene.colliders.push_back(drum);
  Rods rod = resting_rod(0, 0.2);
  for (Vec3& x : rod.strands[0].nodes) x = Vec3(x.x(), 0, 0.2 + 1e-3);
  scene.rods.push_back(rod);
  scene.solver.admm_iterations = 300;
  scene.solver.tolerance = 1e-10;
  Simulation simulation(scene);
  const int steps = 20;  // 40 ms: still slipping, as 0.2 m/s takes 0.1 s at mu g
  for (int i = 0; i < steps; ++i) simulation.step();
  EXPECT_NEAR(simulation.velocities()[10].y(), -0.2 * kGravity * 0.002 * steps, 2e-3);
}

// Nodes and edges of a rod rest on every analytic shape at its radius, also where only an edge touches (a thin rod
// across a capsule, between two nodes).
TEST(AnalyticShapes, ARodRestsOnTopAtItsRadius) {
  for (const ColliderShape shape :
       {ColliderShape::sphere, ColliderShape::capsule, ColliderShape::cylinder, ColliderShape::box}) {
    Scene scene = bare_scene(0.005);
    Collider c;
    c.name = "support";
    c.shape = shape;
    c.radius = 0.03;
    c.length = 0.1;
    c.half_extents = {0.03, 0.03, 0.03};
    if (shape == ColliderShape::capsule || shape == ColliderShape::cylinder)
      c.placement.rotation = Quat(Eigen::AngleAxisd(std::numbers::pi / 2, Vec3::UnitX()));
    scene.colliders.push_back(c);
    Rods rod = hair_rod();
    rod.radius = 1e-3;
    rod.root = End::free;
    rod.stretch_modulus = rod.bend_modulus = 1e10;
    rod.damping = 0.02;
    rod.friction = 0.8;
    rod.strands.push_back({straight({-0.1, 0, 0.0315}, {0.1, 0, 0.0315}, 5), {}, 0});  // the middle edge spans 4 cm
    scene.rods.push_back(rod);
    Simulation simulation(scene);
    for (int i = 0; i < 100; ++i) simulation.step();
    const auto x = simulation.positions();
    EXPECT_NEAR(0.5 * (x[2].z() + x[3].z()), 0.031, 1e-4) << static_cast<int>(shape);
  }
}

// The closest points of two parallel clamped strands lie on clamped nodes, which no force can move.
TEST(ClampedStrands, TouchingRootsAreNoContact) {
  Rods rods = hair_rod();
  rods.radius = 1e-3;
  for (const double y : {0.0, 1.1 * 2e-3})
    rods.strands.push_back({straight({0, y, 0}, {0.1, y + (y > 0 ? 0.01 : 0.0), 0}, 10), {}, 0});
  Scene scene = bare_scene(0.005);
  scene.rods.push_back(rods);
  Simulation simulation(scene);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(std::isfinite(simulation.step().max_speed));
}

// A straight chain slides above a rung without touching it: its nodes, passing by, must not be felt.
TEST(SlidingPast, NodesOfAStraightStrandAreNotFelt) {
  Scene scene = bare_scene(0.01);
  scene.world.gravity.setZero();
  Chains slider;
  slider.name = "slider";
  slider.friction = 0;
  slider.strands.push_back({straight({-0.2, 0, 1.1 * 2e-3}, {0.2, 0, 1.1 * 2e-3}, 80), {}, 0});
  slider.initial_velocity = {1, 0, 0};
  Rods rung = hair_rod();
  rung.radius = 1e-3;
  rung.root = rung.tip = End::clamped;
  rung.strands.push_back({straight({0, -0.05, 0}, {0, 0.05, 0}, 4), {}, 0});
  scene.rods.push_back(rung);
  scene.chains.push_back(slider);
  Simulation simulation(scene);
  for (int i = 0; i < 15; ++i) simulation.step();
  const NodeRange nodes = simulation.strand(1, 0);
  for (int j = nodes.first; j < nodes.first + nodes.count; ++j) {
    EXPECT_NEAR(simulation.velocities()[j].x(), 1.0, 1e-3);
    EXPECT_LT(std::abs(simulation.velocities()[j].z()), 1e-2);
  }
}

// A fibre that is driven right through a thin plate in one step is counted, though it ends outside again.
TEST(Crossings, PassingThroughAThinPlateIsCounted) {
  Scene scene = bare_scene(0.01);
  scene.world.gravity.setZero();
  scene.contact.margin = 0;
  Collider plate = slab_box(0.0);
  plate.half_extents.z() = 1e-3;
  plate.placement.position = {0, 0, 0};
  plate.motion.position = {{0, Vec3::Zero()}, {0.01, Vec3(0, 0, 0.02)}};  // up through the fibre, which is held
  scene.colliders.push_back(plate);
  Rods held = hair_rod();
  held.radius = 1e-4;
  held.root = held.tip = End::clamped;
  held.stretch_modulus = 1e3;
  held.strands.push_back({straight({-0.01, 0, 0.01}, {0.01, 0, 0.01}, 4), {}, 0});
  held.density = 1e7;  // too heavy to be carried along by what the solver may do in one iteration
  scene.rods.push_back(held);
  scene.solver.newton_iterations = scene.solver.admm_iterations = 1;
  scene.solver.gauss_seidel_iterations = 1;
  scene.solver.repair_passes = 0;
  scene.solver.final_velocity = FinalVelocity::v;
  EXPECT_GT(Simulation(scene).step().crossings, 0);
}

// Strands of the same rod that touch are contacts; neighbours along it are not.
TEST(SelfContact, NeighboursAlongTheStrandAreExcludedByArcLength) {
  Rods rod = hair_rod();
  rod.radius = 2e-3;  // edges of 1 mm: shorter than the radius
  rod.strands.push_back({straight({0, 0, 0}, {0.05, 0, 0}, 50), {}, 0});
  Scene scene = bare_scene(0.005);
  scene.world.gravity.setZero();
  scene.rods.push_back(rod);
  EXPECT_EQ(Simulation(scene).step().contacts, 0);

  Strand& hairpin = scene.rods[0].strands[0];  // two legs 3.5 mm apart: within the sum of the radii
  for (int i = 0; i <= 50; ++i)
    hairpin.nodes[i] = i <= 24 ? Vec3(0.001 * i, 0, 0) : Vec3(0.001 * (49.5 - i), i == 25 ? 0.00175 : 0.0035, 0);
  EXPECT_GT(Simulation(scene).step().contacts, 10);
}

}  // namespace
}  // namespace stiction
