// Contacts couple bodies both ways: what one gains in a collision, the other loses, for every pair of kinds of bodies.
// And what follows from it: sheets that lie on themselves, bodies that touch themselves, rods carried by a sheet.
#include <gtest/gtest.h>

#include "geometry/implicit.hpp"
#include "geometry/sheets.hpp"
#include "geometry/tet_mesh.hpp"
#include "support/scenes.hpp"

namespace stiction {
namespace {

using test::bare_scene;
using test::straight;

enum class Kind { rods, chains, shell, solid, embedded, frames };
constexpr Kind kKinds[] = {Kind::rods, Kind::chains, Kind::shell, Kind::solid, Kind::embedded, Kind::frames};
constexpr const char* kNames[] = {"rods", "chains", "shell", "solid", "embedded", "frames"};

constexpr double kRadius = 2e-3;  // of every surface, m

// Half the height of a body of this kind, its thickness included, m.
double half_height(Kind kind) {
  const bool thin = kind == Kind::rods || kind == Kind::chains || kind == Kind::shell;
  return thin ? kRadius : 0.02 + kRadius;
}

struct Placing {
  std::string name;
  Pose pose;
  Vec3 velocity;
};

template <class Strands>
Strands make_strand(const Placing& at) {
  Strands body;
  body.name = at.name;
  body.strands.push_back({});
  for (const Vec3& x : straight({-0.05, 0, 0}, {0.05, 0, 0}, 8)) body.strands[0].nodes.push_back(at.pose.apply(x));
  body.radius = kRadius;
  body.stretch_modulus = body.bend_modulus = 1e6;
  body.root = body.tip = End::free;
  body.initial_velocity = at.velocity;
  return body;
}

std::vector<Vec3> placed(const Placing& at, std::vector<Vec3> x) {
  for (Vec3& v : x) v = at.pose.apply(v);
  return x;
}

Shell make_shell(const Placing& at) {
  Shell shell;
  shell.name = at.name;
  shell.mesh = make_sheet(0.1, 0.1, 4, 4);
  shell.mesh.vertices = placed(at, shell.mesh.vertices);
  shell.thickness = 2 * kRadius;
  shell.initial_velocity = at.velocity;
  return shell;
}

Solid make_solid(const Placing& at, bool embedded) {
  Solid solid;
  solid.name = at.name;
  const TetMesh box = make_tet_box({0.08, 0.06, 0.04}, {3, 2, 2});
  solid.mesh = box;
  if (embedded) {
    solid.surface = boundary_surface(box);
    solid.mesh = make_tet_lattice(solid.surface, 0.03);
    solid.surface.vertices = placed(at, solid.surface.vertices);
  }
  solid.mesh.vertices = placed(at, solid.mesh.vertices);
  solid.young = 1e5;
  solid.contact_radius = kRadius;
  solid.initial_velocity = at.velocity;
  return solid;
}

// A box carried by two frames, blended linearly along its length.
Frames make_frames(const Placing& at) {
  Frames body;
  body.name = at.name;
  const double length = 0.08, cell = 0.02;
  for (const double x : {-length / 2, length / 2}) body.frames.push_back(at.pose.apply({x, 0, 0}));
  body.frame_size = 0.04;
  const Vec3 gradient = at.pose.rotation * Vec3(1 / length, 0, 0);
  const auto weights = [&](const Vec3& X) {
    const double s = X[0] / length + 0.5;
    return std::vector<FrameWeight>{{0, 1 - s, -gradient}, {1, s, gradient}};
  };
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k) {
        const Vec3 X(cell * (i - 1.5), cell * (j - 1), cell * (k - 0.5));
        body.samples.push_back({at.pose.apply(X), cell * cell * cell, weights(X)});
      }
  body.surface = boundary_surface(make_tet_box({length, 0.06, 0.04}, {4, 3, 2}));
  for (const Vec3& X : body.surface.vertices) body.surface_weights.push_back(weights(X));
  body.surface.vertices = placed(at, body.surface.vertices);
  body.young = 1e5;
  body.contact_radius = kRadius;
  body.initial_velocity = at.velocity;
  return body;
}

void add_body(Scene& scene, Kind kind, const Placing& at) {
  switch (kind) {
    case Kind::rods:
      return scene.rods.push_back(make_strand<Rods>(at));
    case Kind::chains:
      return scene.chains.push_back(make_strand<Chains>(at));
    case Kind::shell:
      return scene.shells.push_back(make_shell(at));
    case Kind::solid:
      return scene.solids.push_back(make_solid(at, false));
    case Kind::embedded:
      return scene.solids.push_back(make_solid(at, true));
    case Kind::frames:
      return scene.frames.push_back(make_frames(at));
  }
}

// One falls on the other, askew and off centre; both are free, and there is no gravity. The contact solve goes on until
// the velocity changes by less than 1e-12 of the speed of approach.
Scene collision(Kind above, Kind below, double speed) {
  Scene scene = bare_scene(2e-3);
  scene.world.gravity.setZero();
  scene.solver.tolerance = 1e-12 * speed * scene.time.dt();
  scene.solver.admm_iterations = 20000;
  scene.solver.gauss_seidel_iterations = 20;
  scene.solver.sleeping = false;
  scene.solver.final_velocity = FinalVelocity::v;
  const Pose turned{Quat(Eigen::AngleAxisd(1.2, Vec3::UnitZ())),
                    {0.0087, 0.0058, half_height(above) + half_height(below) + 2e-4}};
  add_body(scene, above, {"above", turned, speed * Vec3(0.1, 0.07, -0.7)});
  add_body(scene, below, {"below", Pose{Quat::Identity(), Vec3::Zero()}, speed * Vec3(0, 0, 0.3)});
  return scene;
}

struct Exchange {
  Vec3 impulse, moment;  // of the contacts on a body; the moment is about the origin, at the start of the step
};

Exchange exchange_of(const Simulation& s, const std::vector<Vec3>& x_start, const std::string& name) {
  Exchange sum{Vec3::Zero(), Vec3::Zero()};
  const NodeRange nodes = s.body_nodes(name);
  for (int j = nodes.first; j < nodes.first + nodes.count; ++j) {
    sum.impulse += s.contact_impulses()[j];
    sum.moment += x_start[j].cross(s.contact_impulses()[j]);
  }
  return sum;
}

class EveryPairOfKinds : public testing::TestWithParam<std::pair<Kind, Kind>> {};

TEST_P(EveryPairOfKinds, MomentumIsExchangedInFull) {
  const auto [above, below] = GetParam();
  Simulation s(collision(above, below, 3.0));
  const Vec3 before_a = s.momentum("above"), before_b = s.momentum("below");
  const std::vector<Vec3> x_start(s.positions().begin(), s.positions().end());
  const StepReport report = s.step();
  ASSERT_LT(report.residual_m, s.scene().solver.tolerance);
  const Vec3 impulse_a = exchange_of(s, x_start, "above").impulse, impulse_b = exchange_of(s, x_start, "below").impulse;
  const Vec3 change_a = s.momentum("above") - before_a, change_b = s.momentum("below") - before_b;
  const double exchanged = impulse_a.norm();
  EXPECT_GT(impulse_a.z(), 0.1 * before_a.norm()) << "they hit each other";
  EXPECT_LT((impulse_a + impulse_b).norm(), 1e-13 * exchanged);  // rounding: up to 1.7e-14 seen between builds
  EXPECT_LT((change_a - impulse_a).norm(), 1e-10 * exchanged);
  EXPECT_LT((change_b - impulse_b).norm(), 1e-10 * exchanged);
  EXPECT_LT((change_a + change_b).norm(), 1e-10 * exchanged);
}

// Two surfaces touch at a distance, so that friction has a lever arm between them; a normal force has none where the
// normal is that of the start of the step, as of every contact that proximity finds.
TEST_P(EveryPairOfKinds, AngularMomentumIsExchangedInFullWithoutFriction) {
  const auto [above, below] = GetParam();
  Scene scene = collision(above, below, 0.3);
  scene.friction_pairs.push_back({"above", "below", 0.0});
  Simulation s(scene);
  const std::vector<Vec3> x_start(s.positions().begin(), s.positions().end());
  const StepReport report = s.step();
  ASSERT_EQ(report.contacts_ccd, 0);
  const Exchange a = exchange_of(s, x_start, "above"), b = exchange_of(s, x_start, "below");
  EXPECT_GT(a.moment.norm(), 1e-3 * a.impulse.norm()) << "it is off centre";
  EXPECT_LT((a.moment + b.moment).norm(), 1e-13 * 0.1 * a.impulse.norm());
}

std::vector<std::pair<Kind, Kind>> all_pairs() {
  std::vector<std::pair<Kind, Kind>> pairs;
  for (const Kind above : kKinds)
    for (const Kind below : kKinds)
      if (above < below) pairs.emplace_back(above, below);
  return pairs;
}

INSTANTIATE_TEST_SUITE_P(Coupling, EveryPairOfKinds, testing::ValuesIn(all_pairs()), [](const auto& pair) {
  return std::string(kNames[static_cast<int>(pair.param.first)]) + "_on_" + kNames[static_cast<int>(pair.param.second)];
});

Shell cloth(TriangleMesh mesh, double thickness) {
  Shell shell;
  shell.name = "cloth";
  shell.mesh = std::move(mesh);
  shell.thickness = thickness;
  shell.density = 300;
  shell.bend_modulus = 1e4;
  shell.damping = 5e-3;
  return shell;
}

// A sheet thicker than its triangles are wide would touch itself all over if neighbours could.
TEST(SelfContact, NeighboursAtRestNeverTouch) {
  for (const Diagonals cut : {Diagonals::alternating, Diagonals::one_way, Diagonals::cross}) {
    Scene scene = bare_scene(1e-3);
    scene.shells.push_back(cloth(make_sheet(0.1, 0.1, 20, 20, cut), 8e-3));
    Simulation s(scene);
    std::vector<Vec3> v(s.velocities().begin(), s.velocities().end());
    for (std::size_t j = 0; j < v.size(); ++j) v[j].z() = 2 * std::sin(60 * s.positions()[j].x());  // bends it
    s.set_velocities(v);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(s.step().contacts, 0);
  }
}

// A sheet folded over once on the floor. Its upper layer comes to lie on the lower one, a thickness above it.
TEST(SelfContact, FoldedSheetLiesOnItselfAThicknessApart) {
  const double length = 0.2, h = 2e-3, bend = 8e-3, flat = 0.5 * (length - std::numbers::pi * bend);
  Scene scene = bare_scene(1.0 / 240);
  Collider floor;
  floor.name = "floor";
  floor.shape = ColliderShape::plane;
  scene.colliders.push_back(floor);
  Shell shell = cloth(make_sheet(length, 0.06, 40, 12), h);
  shell.rest_vertices = shell.mesh.vertices;
  for (Vec3& x : shell.mesh.vertices) {
    const double along = x.x() + length / 2, angle = std::clamp((along - flat) / bend, 0.0, std::numbers::pi);
    const double beyond = std::max(0.0, along - flat - std::numbers::pi * bend);
    x.x() = std::min(along, flat) + bend * std::sin(angle) - beyond;
    x.z() = 0.5 * h + bend * (1 - std::cos(angle));
  }
  scene.shells.push_back(shell);
  Simulation s(scene);
  StepReport report;
  for (int i = 0; i < 200; ++i) {
    report = s.step();
    EXPECT_EQ(report.crossings, 0);
  }
  EXPECT_LT(report.max_speed, 0.01);
  for (int j = 0; j <= 12; ++j) {  // the end of the sheet
    const double above_floor = s.positions()[41 * j + 40].z();
    EXPECT_NEAR(above_floor, 1.5 * h, 0.1 * h);  // half a thickness, and a whole one
  }
}

// Two arms of a soft body are thrown at each other: the embedded surface touches itself, and they do not pass.
TEST(SelfContact, ArmsOfASoftBodyStopEachOther) {
  const double arm = 0.03, thick = 0.012;
  const Field field = field_union({field_capsule({-arm, 0, 0}, {arm, 0, 0}, thick, thick),
                                   field_capsule({-arm, 0, 0}, {-arm, 0, 0.1}, thick, thick),
                                   field_capsule({arm, 0, 0}, {arm, 0, 0.1}, thick, thick)},
                                  0.0);
  Box box;
  box.merge(Vec3(-0.06, -0.03, -0.03));
  box.merge(Vec3(0.06, 0.03, 0.13));
  Scene scene = bare_scene(2e-3);
  scene.world.gravity.setZero();
  Solid solid;
  solid.name = "horseshoe";
  solid.surface = polygonise(field, box, 8e-3);
  solid.mesh = make_tet_lattice(solid.surface, 0.014);
  solid.young = 2e4;
  solid.contact_radius = 1e-3;
  for (const bool touches : {true, false}) {
    scene.solids = {solid};
    scene.contact.self_collision = touches;
    Simulation s(scene);
    std::vector<Vec3> v(s.velocities().begin(), s.velocities().end());
    for (std::size_t j = 0; j < v.size(); ++j) {
      const Vec3& x = s.positions()[j];
      v[j].x() = (x.x() > 0 ? -1 : 1) * 20 * std::max(0.0, x.z());
    }
    s.set_velocities(v);
    double nearest = 1, overlap = 0;  // the arms' mirror symmetry is broken by the mesh alone
    std::int64_t contacts = 0, crossings = 0;
    for (int i = 0; i < 40; ++i) {
      const StepReport report = s.step();
      contacts += report.contacts;
      crossings += report.crossings;
      overlap = std::max(overlap, report.max_penetration_m);
      const Frame frame = s.frame();
      double left = -1, right = 1;  // innermost vertices of the arms, well above the base
      for (std::size_t k = 0; k < solid.surface.vertices.size(); ++k) {
        const Vec3& X = solid.surface.vertices[k];
        if (X.z() < 0.05) continue;
        if (X.x() < 0) left = std::max(left, frame.meshes[0][k].x());
        if (X.x() > 0) right = std::min(right, frame.meshes[0][k].x());
      }
      nearest = std::min(nearest, right - left);
    }
    if (touches) {
      EXPECT_GT(contacts, 0);
      EXPECT_EQ(crossings, 0);
      EXPECT_LT(overlap, 0.05 * 2 * solid.contact_radius);  // 0.013 of it found
      // Along x the vertices come closer than that, as arms that lean touch beside each other.
      EXPECT_GT(nearest, 0.0);
      EXPECT_LT(nearest, 3e-3);
    } else {
      EXPECT_LT(nearest, -2e-3) << "they are thrown hard enough to pass";
    }
  }
}

// Rods lie in a sheet that hangs by two edges: it sags under them, and its pins carry both.
TEST(Hammock, PinsCarryTheSheetAndTheRodsOnIt) {
  Scene scene = bare_scene(1.0 / 120);
  scene.solver.tolerance = 1e-7;  // what is left of the solve is a force: here 0.1 % of the weight, and 13 % at 1e-5
  scene.solver.admm_iterations = 400;
  Shell shell = cloth(make_sheet(0.3, 0.2, 18, 12), 1e-3);
  Pins pins;
  for (int j = 0; j <= 12; ++j)
    for (const int i : {0, 18}) pins.nodes.push_back(i + 19 * j);
  shell.pins.push_back(pins);
  shell.friction = 0.6;
  scene.shells.push_back(shell);
  const auto sag_and_load = [&](const Scene& of) {
    Simulation s(of);
    std::int64_t crossings = 0;
    for (int i = 0; i < 140; ++i) crossings += s.step().crossings;
    EXPECT_EQ(crossings, 0);
    double lowest = 0, weight = 0;
    for (const Vec3& x : s.positions().subspan(s.body_nodes("cloth").first, s.body_nodes("cloth").count))
      lowest = std::min(lowest, x.z());
    for (const double m : s.masses()) weight += 9.81 * m;
    const Vec3 load = s.pin_reaction("cloth");
    EXPECT_NEAR(load.z(), weight, 0.005 * weight);
    EXPECT_LT(load.head<2>().norm(), 0.005 * weight);
    return -lowest;
  };
  const double alone = sag_and_load(scene);
  Rods rods;
  rods.name = "rods";
  for (int i = 0; i < 5; ++i)
    rods.strands.push_back({straight({0.03 * (i - 2), -0.08, 4e-3}, {0.03 * (i - 2), 0.08, 4e-3}, 10), {}, 0});
  rods.radius = 2e-3;
  rods.density = 2000;
  rods.stretch_modulus = rods.bend_modulus = 1e8;
  rods.friction = 0.6;
  rods.root = End::free;
  scene.rods.push_back(rods);
  const double loaded = sag_and_load(scene);
  EXPECT_GT(loaded, 1.2 * alone);
}

// Where all that a contact acts on is held, it has no answer and must not be asked: here a fixed vertex of a collider
// lies at a pinned edge of the sheet, so near that they overlap. The rest of the sheet falls as without it.
TEST(Pins, ContactsAmongFixedVerticesDoNothing) {
  Scene scene = bare_scene(0.01);
  Shell shell = cloth(make_sheet(0.1, 0.1, 4, 4), 1e-3);
  shell.pins.push_back({{0, 5, 10, 15, 20}, ""});
  scene.shells.push_back(shell);
  Simulation alone(scene);
  Collider thorn;
  thorn.name = "thorn";
  thorn.shape = ColliderShape::mesh;
  thorn.mesh.vertices = {{-0.0502, 0.01, 2e-4}, {-0.1, 0, 0.02}, {-0.1, 0.02, 0.02}};
  thorn.mesh.triangles = {{0, 1, 2}};
  thorn.thickness = 5e-4;
  scene.colliders.push_back(thorn);
  Simulation touched(scene);
  for (int i = 0; i < 5; ++i) {
    alone.step();
    touched.step();
  }
  for (int j = 0; j < 25; ++j) EXPECT_LT((alone.positions()[j] - touched.positions()[j]).norm(), 1e-12);
}

// The same where a surface is embedded and some of its vertices lie on pinned nodes of the tets.
TEST(Pins, EmbeddedVerticesOnPinnedNodesCountAsFixed) {
  Scene scene = bare_scene(0.01);
  Solid solid;
  solid.name = "block";
  solid.mesh = make_tet_box({0.1, 0.1, 0.1}, {2, 2, 2});
  for (Vec3& x : solid.mesh.vertices) x.z() += 0.05;
  solid.surface = boundary_surface(solid.mesh);
  solid.pins.push_back({});
  for (int j = 0; j < static_cast<int>(solid.mesh.vertices.size()); ++j)
    if (solid.mesh.vertices[j].z() < 1e-9) solid.pins[0].nodes.push_back(j);
  scene.solids.push_back(solid);
  Simulation alone(scene);
  Collider floor;
  floor.name = "floor";
  floor.shape = ColliderShape::plane;
  scene.colliders.push_back(floor);
  Simulation touched(scene);
  for (int i = 0; i < 5; ++i) {
    alone.step();
    touched.step();
  }
  for (std::size_t j = 0; j < solid.mesh.vertices.size(); ++j)
    EXPECT_LT((alone.positions()[j] - touched.positions()[j]).norm(), 1e-12);
}

}  // namespace
}  // namespace stiction
