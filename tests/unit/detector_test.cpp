// What the detector finds at the features of a mesh.
#include "collision/detector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "collision/rules.hpp"

namespace stiction {
namespace {

constexpr double kRadius = 1e-3;  // m, of the vertex and of the sheet each
constexpr double kRadii = 2 * kRadius;
constexpr double kDt = 1e-2;  // s

// A floor (z = 0, x > 0) and a wall that rises from its edge at x = 0, leaning away from it, with a vertex over the
// floor. Everything but the vertex is held.
struct Crease {
  static constexpr int floor = 0, wall = 1;
  Nodes nodes;
  Surface surface;
  Vec3 wall_normal;

  Crease(double rise, const Vec3& vertex) : wall_normal(std::sin(rise), 0, std::cos(rise)) {
    nodes.append(5);
    const double size = 0.1;
    nodes.x = {vertex, Vec3(0, -size, 0), Vec3(0, size, 0), Vec3(size, 0, 0),
               Vec3(-size * std::cos(rise), 0, size * std::sin(rise))};
    nodes.m.assign(5, 1e-3);
    nodes.fixed = {0, 1, 1, 1, 1};
    surface.points = {{.node = 0, .radius = kRadius, .body = 0}};
    surface.triangles = {{.a = 1, .b = 2, .c = 3, .radius = kRadius, .body = 1, .opposite = {-1, -1, 4}},
                         {.a = 2, .b = 1, .c = 4, .radius = kRadius, .body = 1, .opposite = {-1, -1, 3}}};
  }
};

std::vector<Vec3> moving(const Vec3& v) { return {v, Vec3::Zero(), Vec3::Zero(), Vec3::Zero(), Vec3::Zero()}; }

// The vertex lies deep in the floor's shell and slides along it towards the wall. It first comes within the radii of
// the wall at their common edge, where the normal leans over the floor: the contact is the floor's. But the floor's
// normal, which is that of the start of the step, does not hinder sliding. The wall has to stop the vertex itself.
void expect_stopped_by_wall(double rise, double height) {
  Crease crease(rise, Vec3(3 * kRadii, 0, height));
  Detector detector(crease.surface, {}, 2, FrictionTable({0.3, 0.3}), ContactOptions{});
  const auto v = moving(Vec3(-20 * kRadii / kDt, 0, 0));
  detector.begin_step(crease.nodes, {}, {}, kDt, v);

  ContactList first, later;
  detector.proximity(first);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].key, ContactKey::make(ContactKey::point_triangle, 0, Crease::floor, 0));
  EXPECT_NEAR((first[0].n - Vec3::UnitZ()).norm(), 0, 1e-12);  // so v keeps to it

  detector.continuous(v, later);
  ASSERT_EQ(detector.crossings(v), 1);  // what happens if nothing stops it
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].key, ContactKey::make(ContactKey::point_triangle, 0, Crease::wall, 0));
  // Over the distance at which a pair is caught again, the wall's face is nearest then; below, it may be the edge.
  if (height > kCaughtAgain * kRadii) {
    EXPECT_NEAR((later[0].n - crease.wall_normal).norm(), 0, 1e-6);
  }
  // A contact bounds motion along its normal by its gap: v breaks the bound, and what keeps it stays on this side.
  const double excess = later[0].gap + kDt * later[0].n.dot(v[0]);
  EXPECT_LT(excess, 0);
  EXPECT_EQ(detector.crossings(moving(v[0] - excess / kDt * later[0].n)), 0);
}

TEST(Detector, VertexThatSlidesIntoASharpCreaseIsStoppedByTheFaceItWouldPassThrough) {
  for (const double degrees : {20.0, 45.0, 60.0})
    for (const double height : {0.2 * kRadii, 0.4 * kRadii}) {
      SCOPED_TRACE(testing::Message() << degrees << " degrees, height " << height / kRadii << " radii");
      expect_stopped_by_wall(degrees * std::numbers::pi / 180, height);
    }
}

// The other side of the rule: on a flat sheet the neighbour's contact suffices, and the edge between is not felt.
TEST(Detector, VertexThatSlidesOverAFlatEdgeFeelsOnlyTheFaceBelow) {
  Crease flat(0.0, Vec3(3 * kRadii, 0, 0.9 * kRadii));
  Detector detector(flat.surface, {}, 2, FrictionTable({0.3, 0.3}), ContactOptions{});
  const auto v = moving(Vec3(-6 * kRadii / kDt, 0, 0));
  detector.begin_step(flat.nodes, {}, {}, kDt, v);
  ContactList contacts;
  detector.proximity(contacts);
  ASSERT_EQ(contacts.size(), 1u);
  EXPECT_EQ(detector.crossings(v), 0);
  detector.continuous(v, contacts);
  EXPECT_EQ(contacts.size(), 1u);
}

// A sphere about the origin that turns about z, and a node or an upright edge in front of it at the equator.
struct BeforeSphere {
  Nodes nodes;
  Surface surface;
  Collider sphere;
  Pose start, end;

  BeforeSphere(double radius, double angle, double x, bool edge) {
    const double half = 2e-3;
    nodes.append(2);
    nodes.x = {Vec3(x, 0, edge ? -half : 0), Vec3(x, 0, half)};
    nodes.m.assign(2, 1e-6);
    if (edge)
      surface.edges = {{.a = 0, .b = 1, .radius = kHair, .body = 0}};
    else
      surface.points = {{.node = 0, .radius = kHair, .body = 0}};
    sphere.shape = ColliderShape::sphere;
    sphere.radius = radius;
    end.rotation = Quat(Eigen::AngleAxisd(angle, Vec3::UnitZ()));
  }

  static constexpr double kHair = 3.7e-5;  // m
};

// The surface moves on by 6 mm below hair that does not follow. With respect to the plane of their contact it sinks
// by 0.19 mm meanwhile, five radii, and the plane would take the hair along.
TEST(Detector, HairThatSlipsOnATurningBallIsKeptOutOfIt) {
  const double radius = 0.09, angle = 2 * std::numbers::pi / 96, hair = BeforeSphere::kHair;
  for (const bool edge : {false, true}) {
    SCOPED_TRACE(edge ? "edge" : "node");
    const BeforeSphere scene(radius, angle, radius + hair, edge);
    Detector detector(scene.surface, std::span(&scene.sphere, 1), 1, FrictionTable({0.2, 0.2}), ContactOptions{});
    std::vector<Vec3> v(2, Vec3::Zero());
    detector.begin_step(scene.nodes, std::span(&scene.start, 1), std::span(&scene.end, 1), kDt, v);
    ContactList first, later;
    detector.proximity(first);
    ASSERT_EQ(first.size(), 1u);

    // As far in as the first contact lets it, and then as far as the second does.
    const auto follow = [&](const Contact& c) {
      const Vec3 push = (c.gap / kDt + c.n.dot(v[0] - c.surface_velocity)) * c.n;
      for (Vec3& v_node : v) v_node -= push;
    };
    follow(first[0]);
    EXPECT_NEAR(radius + hair + kDt * v[0].x(), radius * std::cos(angle) + hair, 1e-9);
    detector.continuous(v, later);
    ASSERT_EQ(later.size(), 1u);
    follow(later[0]);
    EXPECT_NEAR(radius + hair + kDt * v[0].x(), radius + hair, 1e-9);
  }
}

TEST(Detector, WhatWouldPassThroughATurningBallIsSentBackNotOn) {
  const double radius = 1e-3;
  for (const bool edge : {false, true}) {
    SCOPED_TRACE(edge ? "edge" : "node");
    const BeforeSphere scene(radius, 0.4, 1.2 * radius, edge);
    Detector detector(scene.surface, std::span(&scene.sphere, 1), 1, FrictionTable({0.2, 0.2}), ContactOptions{});
    const std::vector<Vec3> v(2, Vec3(-3 * radius / kDt, 0, 0));
    detector.begin_step(scene.nodes, std::span(&scene.start, 1), std::span(&scene.end, 1), kDt, v);
    ContactList contacts;
    detector.continuous(v, contacts);
    ASSERT_EQ(contacts.size(), 1u);
    EXPECT_GT(contacts[0].n.x(), 0.5);
  }
}

}  // namespace
}  // namespace stiction
