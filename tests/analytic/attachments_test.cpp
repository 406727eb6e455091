// Attachments against closed forms: a weight on a rod, a button on cloth, fur on a soft body, ties to a collider that
// moves.
#include <gtest/gtest.h>

#include "geometry/sheets.hpp"
#include "geometry/tet_mesh.hpp"
#include "support/scenes.hpp"

namespace stiction {
namespace {

using test::bare_scene;
using test::straight;

using test::kGravity;

double mass_of(const Simulation& s, const std::string& body) {
  const NodeRange nodes = s.body_nodes(body);
  double sum = 0;
  for (int j = nodes.first; j < nodes.first + nodes.count; ++j) sum += s.masses()[j];
  return sum;
}

Solid block(const std::string& name, const Vec3& size, const Vec3& centre, std::array<int, 3> cells) {
  Solid solid;
  solid.name = name;
  solid.mesh = make_tet_box(size, cells);
  for (Vec3& x : solid.mesh.vertices) x += centre;
  solid.young = 1e5;
  solid.damping = 0.01;
  return solid;
}

int vertex_at(const Solid& solid, const Vec3& x) {
  for (int j = 0; j < static_cast<int>(solid.mesh.vertices.size()); ++j)
    if ((solid.mesh.vertices[j] - x).norm() < 1e-9) return j;
  throw std::logic_error("no vertex there");
}

Collider locator(std::vector<VectorKey> position, std::vector<VectorKey> rotation = {}) {
  Collider handle;
  handle.name = "handle";
  handle.shape = ColliderShape::locator;
  handle.motion = {std::move(position), std::move(rotation)};
  return handle;
}

// A block hangs by one point on the tip of a hanging rod: the tie is longer by m g / k, the rod's root carries the
// block and the rod.
TEST(Attachments, WeightOnARod) {
  Scene scene = bare_scene(0.01);
  Rods rods;
  rods.name = "rod";
  rods.strands.push_back({straight({0, 0, 0.2}, {0, 0, 0}, 8), {}, 0});
  rods.radius = 2e-3;
  rods.stretch_modulus = rods.bend_modulus = 1e8;
  rods.damping = 0.05;
  scene.rods.push_back(rods);
  const Solid weight = block("weight", {0.05, 0.05, 0.05}, {0, 0, -0.03}, {2, 2, 2});
  scene.solids.push_back(weight);
  Attachment hook{"rod", "weight", false, {{0, 0, -0.005}}, 50, 0.1};
  scene.attachments.push_back(hook);
  Simulation s(scene);
  for (int i = 0; i < 300; ++i) s.step();
  const double m = mass_of(s, "weight"), total = m + mass_of(s, "rod");
  const Vec3 tip = s.positions()[s.strand(0, 0).first + 8];
  const Vec3 held = s.positions()[s.body_nodes("weight").first + vertex_at(weight, {0, 0, -0.005})];
  // The spring is exact; steps of Newton's method and what still moves leave some 1e-6.
  EXPECT_NEAR(tip.z() - held.z(), m * kGravity / hook.stiffness, 1e-5 * m * kGravity / hook.stiffness);
  EXPECT_LT((tip - held).head<2>().norm(), 1e-6);
  EXPECT_NEAR(s.root_reaction(0, 0).z(), total * kGravity, 1e-5 * total * kGravity);
}

// A rod and a block that a stretched tie throws about, both free: their momentum together stays what it was.
TEST(Attachments, TiesConserveMomentum) {
  Scene scene = bare_scene(0.005);
  scene.world.gravity.setZero();
  scene.solver.tolerance = 1e-9;
  scene.solver.linear_tolerance = 1e-6;
  scene.solids.push_back(block("block", {0.05, 0.05, 0.05}, {0, 0, 0}, {2, 2, 2}));
  Rods rods;
  rods.name = "rod";
  rods.strands.push_back({straight({0.01, 0, 0.13}, {0, 0, 0.031}, 5), {}, 0});
  rods.radius = 1e-3;
  rods.stretch_modulus = rods.bend_modulus = 1e7;
  rods.root = End::free;
  rods.initial_velocity = {0.2, 0, 0};
  scene.rods.push_back(rods);
  scene.attachments.push_back({"rod", "block", false, {{0.003, 0.001, 0.025}}, 20, 1e-3});
  Simulation s(scene);
  const Vec3 start = s.momentum("block") + s.momentum("rod");
  double exchanged = 0;
  for (int i = 0; i < 60; ++i) {
    const StepReport report = s.step();
    ASSERT_EQ(report.contacts, 0);
    exchanged = std::max(exchanged, s.momentum("block").norm());
    EXPECT_LT((s.momentum("block") + s.momentum("rod") - start).norm(), 1e-9 * start.norm());
  }
  EXPECT_GT(exchanged, 0.5 * start.norm());
}

// A button on a cloth that hangs by two corners. Its ties hold it against its weight, and the pins carry both.
TEST(Attachments, ButtonOnCloth) {
  Scene scene = bare_scene(0.01);
  scene.solver.tolerance = 1e-6;
  scene.solver.admm_iterations = 200;
  Shell cloth;
  cloth.name = "cloth";
  cloth.mesh = make_sheet(0.2, 0.2, 10, 10);
  for (Vec3& x : cloth.mesh.vertices) x = {x.x(), 0, x.y()};
  cloth.thickness = 1e-3;
  cloth.density = 300;
  cloth.damping = 0.02;
  cloth.pins.push_back({{110, 120}, ""});
  scene.shells.push_back(cloth);
  Solid button = block("button", {0.02, 0.004, 0.02}, {0, -0.0036, 0.03}, {2, 1, 2});
  button.young = 1e6;
  scene.solids.push_back(button);
  Attachment thread{"button", "cloth", false, {}, 100, 0.05};
  for (const double x : {-0.004, 0.004})
    for (const double z : {0.026, 0.034}) thread.points.emplace_back(x, -0.0016, z);
  scene.attachments.push_back(thread);
  Simulation s(scene);
  StepReport report;
  for (int i = 0; i < 200; ++i) report = s.step();
  EXPECT_LT(report.max_speed, 5e-3);
  EXPECT_EQ(report.crossings, 0);
  const double weight = kGravity * (mass_of(s, "cloth") + mass_of(s, "button"));
  EXPECT_NEAR(s.pin_reaction("cloth").z(), weight, 0.005 * weight);
  // The ties draw the button on to the cloth until they touch. The cloth bends a little under it.
  Vec3 centre = Vec3::Zero();
  const NodeRange nodes = s.body_nodes("button");
  for (int j = nodes.first; j < nodes.first + nodes.count; ++j) centre += s.positions()[j] / nodes.count;
  const int first = s.body_nodes("cloth").first;
  const Vec3 under = 0.5 * (s.positions()[first + 5 + 11 * 6] + s.positions()[first + 5 + 11 * 7]);
  const double touch = 0.002 + button.contact_radius + 0.5 * cloth.thickness;
  EXPECT_NEAR((centre - under).norm(), touch, 0.1 * touch);
}

// Fur on a soft block that falls on the floor: each root stays where it is on the skin, within what the force on it
// stretches its tie; roots do not collide with the skin that they grow from.
TEST(Attachments, FurFollowsASoftBody) {
  Scene scene = bare_scene(1.0 / 240);
  const Solid body = block("body", {0.1, 0.1, 0.1}, {0, 0, 0.06}, {3, 3, 3});
  scene.solids.push_back(body);
  scene.solids[0].young = 2e4;
  Collider floor;
  floor.name = "floor";
  floor.shape = ColliderShape::plane;
  scene.colliders.push_back(floor);
  Rods fur = test::hair_rod();
  fur.root = End::free;
  fur.damping = 0.01;
  std::vector<int> under;  // the vertex below each root
  for (const Vec3& x : body.mesh.vertices) {
    if (x.z() < 0.11 - 1e-9) continue;
    fur.strands.push_back({straight(x, x + Vec3(0.004, 0, 0.03), 6), {}, 0});
    under.push_back(vertex_at(body, x));
  }
  scene.rods.push_back(fur);
  Attachment roots{"hair", "body", true, {}, 20, 1e-3};
  scene.attachments.push_back(roots);
  Simulation s(scene);
  const int first = s.body_nodes("body").first;
  double farthest = 0, lowest = 1, stretch = 0;
  for (int i = 0; i < 240; ++i) {
    const StepReport report = s.step();
    EXPECT_LT(report.admm_iterations, 50);  // nothing contradicts
    stretch = std::max(stretch, report.max_stretch);
    for (std::size_t q = 0; q < under.size(); ++q) {
      const Vec3 root = s.positions()[s.strand(0, static_cast<int>(q)).first];
      farthest = std::max(farthest, (root - s.positions()[first + under[q]]).norm());
      lowest = std::min(lowest, root.z());
    }
  }
  EXPECT_LT(lowest, 0.1) << "the body moved";
  // Where the body stretches, the two ties of a hair want its first edge to stretch along, which it does not, so that
  // each gives by half of that; and they carry the hair, for some 20 g as it lands.
  const double edge = (fur.strands[0].nodes[1] - fur.strands[0].nodes[0]).norm();
  const double hair = mass_of(s, "hair") / static_cast<double>(under.size()) * kGravity;
  EXPECT_LT(farthest, 0.5 * stretch * edge + 20 * hair / roots.stiffness);
}

// A block held by a collider's point: carried at a speed, it hangs m g / k below it as at rest, since ties are damped
// relative to what they hold on to.
TEST(Attachments, FollowAColliderThatMoves) {
  Scene scene = bare_scene(0.005);
  const Solid carried = block("carried", {0.05, 0.05, 0.05}, {0, 0, -0.025}, {2, 2, 2});
  scene.solids.push_back(carried);
  scene.colliders.push_back(locator({{0, {0, 0, 0}}, {4, {4, 2, 0}}}));
  scene.attachments.push_back({"carried", "handle", false, {{0, 0, 0}}, 50, 0.1});
  scene.solids[0].initial_velocity = {1, 0.5, 0};
  Simulation s(scene);
  for (int i = 0; i < 400; ++i) s.step();
  const double m = mass_of(s, "carried");
  const Vec3 held = s.positions()[vertex_at(carried, {0, 0, 0})];
  const Vec3 expected = s.time() * Vec3(1, 0.5, 0) - Vec3(0, 0, m * kGravity / 50);
  EXPECT_LT((held - expected).norm(), 1e-4 * m * kGravity / 50);
}

// Steady on a turntable, m omega^2 r = k (r - arm).
TEST(Attachments, TurntableStretchesTheTieByTheCentrifugalForce) {
  const double omega = 5, arm = 0.2, k = 200;
  Scene scene = bare_scene(1e-3);
  scene.world.gravity.setZero();
  Solid carried = block("carried", {0.02, 0.02, 0.02}, {arm, 0, 0}, {2, 2, 2});
  carried.young = 1e6;
  scene.solids.push_back(carried);
  scene.colliders.push_back(locator({}, {{0, Vec3::Zero()}, {10, {0, 0, 10 * omega}}}));
  scene.attachments.push_back({"carried", "handle", false, {{arm, 0, 0}}, k, 1e-3});
  Simulation s(scene);
  std::vector<Vec3> v;
  for (const Vec3& x : s.positions()) v.push_back(omega * Vec3::UnitZ().cross(x));
  s.set_velocities(v);
  double mean = 0;
  for (int i = 0; i < 2000; ++i) {
    s.step();
    if (i >= 1000) mean += s.positions()[vertex_at(carried, {arm, 0, 0})].norm() / 1000;
  }
  const double m = mass_of(s, "carried");
  const double longer = arm / (1 - m * omega * omega / k) - arm;
  EXPECT_NEAR(mean - arm, longer, 1e-3 * longer);  // damping takes (xi omega)^2 of it, as it sees the tie turn
}

}  // namespace
}  // namespace stiction
