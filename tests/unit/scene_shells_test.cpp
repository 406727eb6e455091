// Shells, attachments, grooms on meshes and mesh colliders from scene files: defaults are the structs', every key
// arrives, sheets and grooms are as asked for, selections select what was asked for.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "geometry/creatures.hpp"
#include "geometry/distance.hpp"
#include "geometry/tet_mesh.hpp"
#include "support/scene_text.hpp"

namespace stiction {
namespace {

using namespace test;

constexpr double pi = std::numbers::pi;

Vec3 face_normal(const TriangleMesh& mesh, const Eigen::Vector3i& t) {
  return (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]).normalized();
}

/// Distance to the nearest of all triangles, one after the other.
double distance_to(const TriangleMesh& mesh, const Vec3& x) {
  double least2 = 1e30;
  for (const Eigen::Vector3i& t : mesh.triangles)
    least2 = std::min(
        least2, closest_point_triangle(x, mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]]).distance2);
  return std::sqrt(least2);
}

// ---- Shells --------------------------------------------------------------------------------------------------------

TEST(ShellScene, TheFirstClothSceneIsComplete) {
  const Scene scene = parse(R"(
[[shell]]
position = [0, 0, 0.3]
[[collider]]
shape = "sphere"
)");
  ASSERT_EQ(scene.shells.size(), 1u);
  const Shell& cloth = scene.shells[0];
  EXPECT_EQ(cloth.name, "shell0");
  EXPECT_NEAR(static_cast<double>(cloth.mesh.vertices.size()), 1000, 20);
  EXPECT_NEAR(area(cloth.mesh), 1, 1e-12);
  for (const Eigen::Vector3i& t : cloth.mesh.triangles)
    EXPECT_NEAR((face_normal(cloth.mesh, t) - Vec3::UnitZ()).norm(), 0, 1e-12);
  for (const Vec3& x : cloth.mesh.vertices) EXPECT_EQ(x.z(), 0.3);
  EXPECT_TRUE(cloth.rest_vertices.empty());
  EXPECT_TRUE(cloth.pins.empty());
}

TEST(ShellScene, DefaultsAreThoseOfTheStruct) {
  const Shell shell = parse("[[shell]]").shells.at(0), expected;
  EXPECT_EQ(shell.thickness, expected.thickness);
  EXPECT_EQ(shell.density, expected.density);
  EXPECT_EQ(shell.stretch_modulus, expected.stretch_modulus);
  EXPECT_EQ(shell.weft_modulus, expected.weft_modulus);
  EXPECT_EQ(shell.shear_modulus, expected.shear_modulus);
  EXPECT_EQ(shell.warp, expected.warp);
  EXPECT_EQ(shell.poisson, expected.poisson);
  EXPECT_EQ(shell.bend_modulus, expected.bend_modulus);
  EXPECT_EQ(shell.damping, expected.damping);
  EXPECT_EQ(shell.pressure, expected.pressure);
  EXPECT_EQ(shell.drag_normal, expected.drag_normal);
  EXPECT_EQ(shell.drag_tangential, expected.drag_tangential);
  EXPECT_EQ(shell.friction, expected.friction);
  EXPECT_EQ(shell.initial_velocity, expected.initial_velocity);
  EXPECT_EQ(parse("[[shell]]").solver.linear_tolerance, SolverOptions{}.linear_tolerance);
  EXPECT_EQ(parse("[[shell]]\n[solver]\nlinear_tolerance = 1e-3").solver.linear_tolerance, 1e-3);
}

TEST(ShellScene, ReadsEveryOption) {
  const Shell shell = parse(R"(
[[shell]]
name = "flag"
nx = 4
ny = 2
width = 2
height = 0.5
diagonals = "one_way"
rotation = [1.5707963267948966, 0, 0]
rest_scale = [0.5, 2, 1]
thickness = 2e-3
density = 300
stretch_modulus = 2e5
weft_modulus = 1e5
shear_modulus = 3e4
warp = [0, 1, 0]
poisson = 0.2
bend_modulus = 3e5
damping = 0.01
pressure = 5
drag_normal = 0.1
drag_tangential = 0.02
friction = 0.7
initial_velocity = [1, 2, 3]
forces = [{vertex = 3, force = [0, 0, 1]}, {vertex = -1, keys = [[0, 0, 0, 0], [1, 0, 0, 2]]}]
)")
                          .shells.at(0);
  EXPECT_EQ(shell.name, "flag");
  EXPECT_EQ(shell.mesh.vertices.size(), 15u);
  EXPECT_EQ(shell.mesh.triangles.size(), 16u);
  EXPECT_NEAR((shell.mesh.vertices.front() - Vec3(-1, 0, -0.25)).norm(), 0, 1e-12);  // y has become z
  EXPECT_NEAR((shell.mesh.vertices.back() - Vec3(1, 0, 0.25)).norm(), 0, 1e-12);
  ASSERT_EQ(shell.rest_vertices.size(), 15u);
  EXPECT_NEAR((shell.rest_vertices.back() - shell.rest_vertices.front() - Vec3(1, 0, 1)).norm(), 0, 1e-12);
  EXPECT_EQ(shell.thickness, 2e-3);
  EXPECT_EQ(shell.density, 300);
  EXPECT_EQ(shell.stretch_modulus, 2e5);
  EXPECT_EQ(shell.weft_modulus, 1e5);
  EXPECT_EQ(shell.shear_modulus, 3e4);
  EXPECT_NEAR((shell.warp - Vec3(0, 0, 1)).norm(), 0, 1e-12);
  EXPECT_EQ(shell.poisson, 0.2);
  EXPECT_EQ(shell.bend_modulus, 3e5);
  EXPECT_EQ(shell.damping, 0.01);
  EXPECT_EQ(shell.pressure, 5);
  EXPECT_EQ(shell.drag_normal, 0.1);
  EXPECT_EQ(shell.drag_tangential, 0.02);
  EXPECT_EQ(shell.friction, 0.7);
  EXPECT_EQ(shell.initial_velocity, Vec3(1, 2, 3));
  ASSERT_EQ(shell.forces.size(), 2u);
  EXPECT_EQ(shell.forces[0].vertex, 3);
  EXPECT_EQ(shell.forces[0].force.at(0).value, Vec3(0, 0, 1));
  EXPECT_EQ(shell.forces[1].vertex, 14);
  EXPECT_EQ(shell.forces[1].force.at(1).value, Vec3(0, 0, 2));
}

TEST(ShellScene, SheetsHaveAboutTheVerticesAskedForInSquareCells) {
  for (const char* diagonals : {"alternating", "cross"})
    for (const auto& [width, height] : {std::pair{1.0, 1.0}, {2.0, 0.5}, {0.3, 3.0}})
      for (const int vertices : {100, 2000, 10000}) {
        const Shell shell =
            parse("[[shell]]\nwidth = " + std::to_string(width) + "\nheight = " + std::to_string(height) +
                  "\nvertices = " + std::to_string(vertices) + "\ndiagonals = \"" + diagonals + "\"")
                .shells.at(0);
        // Rows and columns are whole: off by half a column of vertices at most, which is 8 % of the smallest sheet.
        EXPECT_NEAR(static_cast<double>(shell.mesh.vertices.size()), vertices, 0.09 * vertices);
        double dy = height;
        for (const Vec3& x : shell.mesh.vertices)
          if (x.y() > -height / 2 + 1e-9) dy = std::min(dy, x.y() + height / 2);
        const double dx = shell.mesh.vertices[1].x() - shell.mesh.vertices[0].x();
        const bool is_cross = std::string(diagonals) == "cross";  // the middles of cells lie between the rows
        if (vertices > 100) {
          EXPECT_NEAR(dx / (is_cross ? 2 * dy : dy), 1, 0.1);
        }
        EXPECT_NEAR(area(shell.mesh), width * height, 1e-6);
      }
}

TEST(ShellScene, BandsStartStretchedOverASmallerRestShape) {
  const Shell band =
      parse("[[shell]]\nshape = \"band\"\nradius = 0.1\nwidth = 0.03\nvertices = 600\nrest_scale = 0.8").shells.at(0);
  EXPECT_NEAR(static_cast<double>(band.mesh.vertices.size()), 600, 60);
  double longest = 0, shortest = 1;
  for (const Eigen::Vector3i& t : band.mesh.triangles)
    for (int k = 0; k < 3; ++k) {
      const double edge = (band.mesh.vertices[t[k]] - band.mesh.vertices[t[(k + 1) % 3]]).norm();
      EXPECT_NEAR((band.rest_vertices[t[k]] - band.rest_vertices[t[(k + 1) % 3]]).norm(), 0.8 * edge, 1e-12);
      longest = std::max(longest, edge);
      shortest = std::min(shortest, edge);
    }
  EXPECT_LT(longest, 1.4 * shortest);  // nearly equilateral
  for (const Vec3& x : band.mesh.vertices) EXPECT_NEAR(x.head<2>().norm(), 0.1, 1e-12);
  for (const Eigen::Vector3i& t : band.mesh.triangles) {
    const Vec3 middle = (band.mesh.vertices[t[0]] + band.mesh.vertices[t[1]] + band.mesh.vertices[t[2]]) / 3;
    EXPECT_GT(face_normal(band.mesh, t).dot(Vec3(middle.x(), middle.y(), 0)), 0);
  }
}

TEST(ShellScene, AShirtFitsTheCharacter) {
  const Scene scene = parse("[[shell]]\nshape = \"shirt\"\nvertices = 1200");
  const Shell& shirt = scene.shells.at(0);
  EXPECT_NEAR(static_cast<double>(shirt.mesh.vertices.size()), 1200, 24);
  const TriangleMesh body = make_character(3000);
  for (std::size_t i = 0; i < shirt.mesh.vertices.size(); i += 7) {
    const Vec3& x = shirt.mesh.vertices[i];
    EXPECT_LT(std::abs(winding_number(body, x)), 0.5) << i;  // outside the body
    EXPECT_LT(distance_to(body, x), 0.06) << i;
  }
}

TEST(ShellScene, PinsSelectVerticesByBoxCornerAndIndex) {
  const std::string head =
      "[[collider]]\nname = \"hand\"\nshape = \"locator\"\n[[shell]]\nnx = 10\nny = 10\n"
      "position = [0, 0, 1]\n";
  const Shell box = parse(head + "pins = [{box_min = [0.4, -1, 0], box_max = [1, 1, 2], attach = \"hand\"}]").shells[0];
  ASSERT_EQ(box.pins.size(), 1u);
  EXPECT_EQ(box.pins[0].attach, "hand");
  EXPECT_EQ(box.pins[0].nodes.size(), 22u);  // the columns x = 0.4 and x = 0.5
  for (const int i : box.pins[0].nodes) EXPECT_GE(box.mesh.vertices[i].x(), 0.4);
  const Shell corners = parse(head + "pins = [{corners = true}]").shells[0];
  EXPECT_EQ(corners.pins.at(0).nodes, (std::vector<int>{0, 10, 110, 120}));
  EXPECT_EQ(corners.pins[0].attach, "");
  const Shell listed = parse(head + "pins = [{vertices = [0, -1]}, {vertices = [5, 0]}]").shells[0];
  ASSERT_EQ(listed.pins.size(), 2u);
  EXPECT_EQ(listed.pins[0].nodes, (std::vector<int>{0, 120}));
  EXPECT_EQ(listed.pins[1].nodes, (std::vector<int>{5}));  // 0 is held already, in the same way
}

// ---- Attachments ---------------------------------------------------------------------------------------------------

TEST(AttachmentScene, ReadsEveryOption) {
  const Scene scene = parse(R"(
[[shell]]
name = "cloth"
[[rod]]
name = "rod"
[[attachment]]
a = "rod"
b = "cloth"
roots = true
points = [[0, 0, 0], [0.1, 0, 0]]
stiffness = 50
damping = 0.01
[[attachment]]
a = "cloth"
b = "rod"
points = [[0, 0, 0]]
)");
  ASSERT_EQ(scene.attachments.size(), 2u);
  EXPECT_EQ(scene.attachments[0].a, "rod");
  EXPECT_EQ(scene.attachments[0].b, "cloth");
  EXPECT_TRUE(scene.attachments[0].roots);
  EXPECT_EQ(scene.attachments[0].points.size(), 2u);
  EXPECT_EQ(scene.attachments[0].stiffness, 50);
  EXPECT_EQ(scene.attachments[0].damping, 0.01);
  EXPECT_EQ(scene.attachments[1].stiffness, Attachment{}.stiffness);
  EXPECT_EQ(scene.attachments[1].damping, Attachment{}.damping);
}

// ---- Grooms on meshes ----------------------------------------------------------------------------------------------

TEST(GroomScene, RootsStandOnAPlacedMeshWithItsThickness) {
  const Scene scene = parse(R"(
[[collider]]
name = "ring"
shape = "mesh"
procedural = "torus"
radius = 0.1
minor_radius = 0.03
thickness = 0.002
position = [1, 0, 0]
rotation = [0.5, 0, 0]
position_keys = [[0, 0, 0, 2], [1, 0, 0, 3]]
[[groom]]
on = "ring"
strands = 300
elements = 5
length = 0.02
radius = 1e-4
)");
  const Rods& groom = scene.rods.at(0);
  EXPECT_EQ(groom.root_attach, "ring");
  EXPECT_EQ(groom.root, End::clamped);
  TriangleMesh placed = scene.colliders[0].mesh;
  for (Vec3& x : placed.vertices) x = scene.colliders[0].motion.at(0).apply(scene.colliders[0].placement.apply(x));
  ASSERT_EQ(groom.strands.size(), 300u);
  for (const Strand& strand : groom.strands) {
    EXPECT_NEAR(distance_to(placed, strand.nodes[0]), 0.0021, 3e-5);  // at an inner edge a neighbour may be nearer
    EXPECT_LE(distance_to(placed, strand.nodes[0]), 0.0021 + 1e-12);
    EXPECT_GT(distance_to(placed, strand.nodes[1]), 0.0021);
    EXPECT_EQ(winding_number(placed, strand.nodes[0]) > 0.5, false);
  }
}

TEST(GroomScene, RegionsAndLeanArePaidAttentionTo) {
  const Scene scene = parse(R"(
[[collider]]
name = "ball"
shape = "mesh"
procedural = "sphere"
radius = 0.1
segments = 48
[[groom]]
on = "ball"
strands = 400
style = "straight"
length = 0.05
region_min = [-1, -1, 0.05]
lean = 1
lean_direction = [0, 0, -1]
)");
  double lowest = 1;
  for (const Strand& strand : scene.rods.at(0).strands) {
    EXPECT_GE(strand.nodes[0].z(), 0.05 - 1e-3);
    lowest = std::min(lowest, strand.nodes[0].z());
    const Vec3 normal = strand.nodes[0].normalized(), direction = (strand.nodes[1] - strand.nodes[0]).normalized();
    EXPECT_LT(direction.z(), normal.z());   // turned down
    EXPECT_GT(direction.dot(normal), 0.1);  // but not into the ball (facets turn the normal by up to 4 degrees)
  }
  EXPECT_LT(lowest, 0.056);  // the region is filled
}

TEST(GroomScene, AScalpIsThatOfTheHead) {
  const Scene scene = parse(R"(
[[collider]]
name = "head"
shape = "mesh"
procedural = "head"
height = 0.25
faces = 4000
position = [0, 0, 1]
[[groom]]
on = "head"
region = "scalp"
strands = 200
elements = 4
)");
  const Bust bust = make_head(0.25, 4000);
  for (const Strand& strand : scene.rods.at(0).strands)
    EXPECT_TRUE(on_scalp(strand.nodes[0] - Vec3(0, 0, 1), {bust.head.centre, bust.head.size}) ||
                distance_to(bust.mesh, strand.nodes[0] - Vec3(0, 0, 1)) < 2e-3);
  double highest = 0, lowest = 9;
  for (const Strand& strand : scene.rods[0].strands) {
    highest = std::max(highest, strand.nodes[0].z());
    lowest = std::min(lowest, strand.nodes[0].z());
  }
  EXPECT_GT(lowest, 1 + bust.head.centre.z() - 0.5 * bust.head.size);  // above the chin
  EXPECT_NEAR(highest, 1 + bust.head.centre.z() + 0.5 * bust.head.size, 0.03);
}

TEST(GroomScene, RootsOnSoftBodiesAreTied) {
  for (const std::string body : {"[[solid]]\nname = \"body\"\nshape = \"sphere\"\nfaces = 400\ntets = 500\n",
                                 "[[shell]]\nname = \"body\"\nvertices = 200\n", "[[frames]]\nname = \"body\"\n"}) {
    const Scene scene = parse(body +
                              "[[groom]]\non = \"body\"\nstrands = 50\nelements = 4\nlength = 0.01\n"
                              "root_stiffness = 7\nroot_damping = 0.1\n");
    const Rods& groom = scene.rods.at(0);
    EXPECT_EQ(groom.root, End::free);
    EXPECT_EQ(groom.root_attach, "");
    ASSERT_EQ(scene.attachments.size(), 1u);
    EXPECT_EQ(scene.attachments[0].a, "groom0");
    EXPECT_EQ(scene.attachments[0].b, "body");
    EXPECT_TRUE(scene.attachments[0].roots);
    EXPECT_EQ(scene.attachments[0].stiffness, 7);
    EXPECT_EQ(scene.attachments[0].damping, 0.1);
    if (!scene.shells.empty()) {
      for (const Strand& strand : groom.strands)
        EXPECT_NEAR(strand.nodes[0].z(), 0.5 * scene.shells[0].thickness + groom.radius, 1e-12);
    }
  }
}

// ---- Colliders -----------------------------------------------------------------------------------------------------

TEST(ColliderScene, ConesAndBowlsAreClosedAndHaveTheirVolume) {
  const Scene scene = parse(R"(
[[rod]]
[[collider]]
shape = "mesh"
procedural = "cone"
radius = 0.2
length = 0.5
segments = 96
[[collider]]
shape = "mesh"
procedural = "bowl"
radius = 0.5
wall = 0.02
segments = 96
)");
  const TriangleMesh &cone = scene.colliders[0].mesh, &bowl = scene.colliders[1].mesh;
  EXPECT_TRUE(is_closed(cone));
  EXPECT_NEAR(enclosed_volume(cone), pi * 0.04 * 0.5 / 3, 0.002 * pi * 0.04 * 0.5 / 3);
  EXPECT_TRUE(is_closed(bowl));
  const double exact = 2 * pi / 3 * (std::pow(0.52, 3) - std::pow(0.5, 3));
  EXPECT_NEAR(enclosed_volume(bowl), exact, 0.01 * exact);
  EXPECT_LT(std::abs(winding_number(bowl, {0, 0, 0.2})), 0.01);  // open upwards
  EXPECT_NEAR(winding_number(bowl, {0, 0, 0.01}), 1, 0.01);
}

TEST(ColliderScene, AFollowerMovesWithTheRunningHead) {
  const std::string text = R"(
[time]
duration = 1
[[collider]]
name = "body"
shape = "mesh"
procedural = "character"
faces = 1500
run = true
sequence_fps = 48
position = [1, 2, 0]
rotation = [0, 0, 0.8]
position_keys = [[0, 0, 0, 0], [1, 3, 0, 0]]
[[collider]]
name = "skull"
shape = "locator"
follow_head_of = "body"
[[groom]]
on = "body"
region = "scalp"
root_attach = "skull"
strands = 50
elements = 4
)";
  const Scene scene = parse(text);
  const Collider &body = scene.colliders[0], &skull = scene.colliders[1];
  ASSERT_EQ(body.mesh_sequence.size(), 49u);
  EXPECT_EQ(body.sequence_fps, 48);
  EXPECT_EQ(scene.rods.at(0).root_attach, "skull");
  const RunCycle run = make_run_cycle(body.mesh, 48, 1);
  const Vec3 crown = character_head().centre;
  const Vec3 crown_t0 = body.placement.apply(crown);
  for (std::size_t i = 0; i < 49; ++i) {
    const double time = static_cast<double>(i) / 48;
    const Vec3 expected = body.motion.at(time).apply(body.placement.apply(run.head[i].apply(crown)));
    EXPECT_NEAR((skull.motion.at(time).apply(crown_t0) - expected).norm(), 0, 1e-9) << i;
  }
  const std::size_t line = text.find("root_attach");
  const std::string unattached = text.substr(0, line) + text.substr(text.find('\n', line) + 1);
  EXPECT_NE(scene_error([&] { parse(unattached); }).find("groom.0.on: 'body' is a sequence of meshes"),
            std::string::npos);
}

}  // namespace
}  // namespace stiction
