// D20 7.3's furry rabbit from its scene file, on a coarser body: quills tied to a soft solid, an incline, and a cloth
// that hangs in the way, in one friction problem.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "geometry/distance.hpp"
#include "geometry/embedding.hpp"
#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {
namespace {

Scene furry_rabbit(int strands) {
  return load_scene(std::string(STICTION_SOURCE_DIR) + "/examples/d20/furry_rabbit.toml",
                    {"groom.0.strands=" + std::to_string(strands), "solid.0.tets=1000", "solid.0.faces=1000"});
}

// What a run leaves behind, over all of its steps.
struct Passage {
  explicit Passage(const Scene& scene);
  void run(int steps);

  Vec3 middle() const;                  // of the body, m
  double height(const Vec3& x) const {  // above the incline, m
    return incline.conjugate().toRotationMatrix().row(2).dot(x - scene.colliders[0].placement.position);
  }
  double lowest_of_skin() const;
  bool fur_touches_cloth() const;
  double cloth_pushed() const;  // along x, m
  void measure_fur();

  Scene scene;
  Simulation simulation;
  Quat incline;
  NodeRange body, fur, cloth;
  std::vector<Vec3> roots_start, cloth_start;
  Embedding roots, skin;
  std::int64_t crossings = 0, contacts = 0;
  double worst_strain = 0, worst_root_distance = 0, worst_force = 0, lowest_skin = 1, lowest_fur = 1;
  bool touched_incline = false, touched_cloth = false;
};

Passage::Passage(const Scene& s) : scene(s), simulation(s), incline(s.colliders[0].placement.rotation) {
  body = simulation.body_nodes("rabbit");
  fur = simulation.body_nodes("fur");
  cloth = simulation.body_nodes("cloth");
  const auto x = simulation.positions();
  for (std::size_t i = 0; i < scene.rods[0].strands.size(); ++i)
    roots_start.push_back(scene.rods[0].strands[i].nodes[0]);
  cloth_start.assign(x.begin() + cloth.first, x.begin() + cloth.first + cloth.count);
  roots = embed(scene.solids[0].mesh, roots_start);
  skin = embed(scene.solids[0].mesh, scene.solids[0].surface.vertices);
}

Vec3 Passage::middle() const {
  Vec3 sum = Vec3::Zero();
  double mass = 0;
  for (int j = body.first; j < body.first + body.count; ++j) {
    sum += simulation.masses()[j] * simulation.positions()[j];
    mass += simulation.masses()[j];
  }
  return sum / mass;
}

double Passage::lowest_of_skin() const {
  const auto x = simulation.positions().subspan(body.first, body.count);
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < scene.solids[0].surface.vertices.size(); ++i)
    lowest = std::min(lowest, height(skin.apply(i, x)));
  return lowest;
}

bool Passage::fur_touches_cloth() const {
  const auto x = simulation.positions();
  const double reach = 0.5 * scene.shells[0].thickness + scene.rods[0].radius;
  for (int j = fur.first; j < fur.first + fur.count; ++j) {
    if (simulation.contact_impulses()[j].isZero()) continue;
    for (const auto& t : scene.shells[0].mesh.triangles) {
      const auto at = [&](int k) { return x[cloth.first + t[k]]; };
      if (closest_point_triangle(x[j], at(0), at(1), at(2)).distance2 < 1.1 * reach * reach) return true;
    }
  }
  return false;
}

double Passage::cloth_pushed() const {
  double pushed = 0;
  for (int i = 0; i < cloth.count; ++i)
    pushed = std::max(pushed, simulation.positions()[cloth.first + i].x() - cloth_start[i].x());
  return pushed;
}

void Passage::measure_fur() {
  const auto x = simulation.positions();
  const auto x_body = x.subspan(body.first, body.count);
  const double dt = scene.time.dt();
  for (std::size_t s = 0; s < roots_start.size(); ++s) {
    const NodeRange strand = simulation.strand(0, static_cast<int>(s));
    const std::vector<Vec3>& rest = scene.rods[0].strands[s].nodes;
    double force = 0;
    for (int i = 0; i < strand.count; ++i) {
      const int j = strand.first + i;
      const Vec3 impulse = simulation.contact_impulses()[j];
      force += impulse.norm() / dt;
      lowest_fur = std::min(lowest_fur, height(x[j]));
      touched_incline |= !impulse.isZero() && height(x[j]) < 1.1 * scene.rods[0].radius;
      if (i == 0) continue;
      const double strain = std::abs((x[j] - x[j - 1]).norm() / (rest[i] - rest[i - 1]).norm() - 1);
      worst_strain = std::max(worst_strain, strain);
    }
    worst_force = std::max(worst_force, force);
    worst_root_distance = std::max(worst_root_distance, (x[strand.first] - roots.apply(s, x_body)).norm());
  }
}

void Passage::run(int steps) {
  for (int i = 0; i < steps; ++i) {
    const StepReport report = simulation.step();
    crossings += report.crossings;
    contacts += report.contacts;
    measure_fur();
    lowest_skin = std::min(lowest_skin, lowest_of_skin());
  }
  touched_cloth = fur_touches_cloth();
}

/// A quill that is caught between body and ground is pulled along: its two springs share the force, and its edges take
/// it whole. Of a strain, 5 % are for turns within a step, which two Newton iterations leave.
void expect_roots_and_lengths_follow_the_forces(const Passage& passage) {
  const Rods& fur = passage.scene.rods[0];
  const double section = std::numbers::pi * fur.radius * fur.radius;
  EXPECT_GT(passage.worst_force, 0);
  EXPECT_LT(passage.worst_root_distance, passage.worst_force / passage.scene.attachments[0].stiffness);
  EXPECT_LT(passage.worst_strain, passage.worst_force / (fur.stretch_modulus * section) + 0.05);
}

TEST(D20Section7_3, FurryRabbitSlidesDownTheInclineIntoTheCloth) {
  Passage passage(furry_rabbit(300));
  const Scene& scene = passage.scene;
  const Vec3 start = passage.middle(), down = passage.incline * Vec3::UnitX();
  passage.run(72);
  const double t = passage.simulation.time();

  // Nothing drives the body down faster than its weight does; fur on the ground slows it little within three frames.
  const double g = -scene.world.gravity.z(), sine = -down.z(), v = scene.solids[0].initial_velocity.dot(down);
  const double way = (passage.middle() - start).dot(down);
  EXPECT_LT(way, v * t + 0.5 * g * sine * t * t);
  EXPECT_GT(way, v * t);

  // The body has come through its fur, down to its own thickness above the ground; nothing lies below.
  EXPECT_TRUE(passage.touched_incline);
  EXPECT_NEAR(passage.lowest_skin, scene.solids[0].contact_radius, 1e-4);
  EXPECT_GT(passage.lowest_fur, 0);

  // The quills reach the cloth first and push it away; by itself it sags by 2 mm.
  EXPECT_TRUE(passage.touched_cloth);
  EXPECT_GT(passage.cloth_pushed(), 0.05);

  EXPECT_EQ(passage.crossings, 0) << "of " << passage.contacts << " contacts";
  expect_roots_and_lengths_follow_the_forces(passage);
  EXPECT_LT(passage.worst_strain, 0.5);
}

// The first frame, in which the tips of the quills land and bend and the foremost ones meet the cloth.
TEST(D20Section7_3, ThousandsOfQuillsLandWithoutCrossing) {
  Passage passage(furry_rabbit(2900));
  passage.run(24);
  EXPECT_TRUE(passage.touched_incline);
  EXPECT_TRUE(passage.touched_cloth);
  EXPECT_GT(passage.cloth_pushed(), 0.005);
  EXPECT_GT(passage.lowest_fur, 0);
  EXPECT_EQ(passage.crossings, 0) << "of " << passage.contacts << " contacts";
  expect_roots_and_lengths_follow_the_forces(passage);
}

}  // namespace
}  // namespace stiction
