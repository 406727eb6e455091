// Scene files that are right: every key arrives where it belongs, defaults are the structs', references resolve.
#include <gtest/gtest.h>

#include <filesystem>
#include <numbers>

#include "geometry/mesh_io.hpp"
#include "geometry/primitives.hpp"
#include "support/scene_text.hpp"

namespace stiction {
namespace {

constexpr const char* first_scene = R"(
[[collider]]
name = "ball"
shape = "sphere"
radius = 0.09
[[groom]]
on = "ball"
strands = 500
length = 0.17
)";

TEST(SceneFile, TheFirstSceneIsComplete) {
  const Scene scene = parse_scene(first_scene, "first.toml");
  ASSERT_EQ(scene.colliders.size(), 1u);
  EXPECT_EQ(scene.colliders[0].name, "ball");
  EXPECT_EQ(scene.colliders[0].radius, 0.09);
  EXPECT_EQ(scene.colliders[0].friction, 0.5);
  ASSERT_EQ(scene.rods.size(), 1u);
  const Rods& groom = scene.rods[0];
  EXPECT_EQ(groom.name, "groom0");
  EXPECT_EQ(groom.root, End::clamped);
  EXPECT_EQ(groom.root_attach, "ball");
  ASSERT_EQ(groom.strands.size(), 500u);
  for (const Strand& strand : groom.strands) {
    ASSERT_EQ(strand.nodes.size(), 31u);
    EXPECT_NEAR(strand.nodes[0].norm(), 0.09 + groom.radius, 1e-12);
    EXPECT_GE(strand.nodes[0].z(), 0);
    EXPECT_TRUE(strand.rest_nodes.empty());
  }
}

TEST(SceneFile, DefaultsAreThoseOfTheStructs) {
  const Scene scene = parse_scene("[[rod]]", "rod.toml");
  const TimeOptions time;
  const SolverOptions solver;
  const Rods rods;
  EXPECT_EQ(scene.name, "scene");
  EXPECT_EQ(scene.time.duration, time.duration);
  EXPECT_EQ(scene.world.gravity, WorldOptions{}.gravity);
  EXPECT_EQ(scene.solver.admm_iterations, solver.admm_iterations);
  EXPECT_EQ(scene.solver.final_velocity, solver.final_velocity);
  EXPECT_EQ(scene.contact.margin, ContactOptions{}.margin);
  EXPECT_EQ(scene.render.width, RenderOptions{}.width);
  ASSERT_EQ(scene.rods.size(), 1u);
  EXPECT_EQ(scene.rods[0].bend_modulus, rods.bend_modulus);
  EXPECT_EQ(scene.rods[0].root, rods.root);
  const Scene chain = parse_scene("[[chain]]", "chain.toml");
  ASSERT_EQ(chain.chains.size(), 1u);
  EXPECT_EQ(chain.chains[0].radius, Chains{}.radius);
  EXPECT_EQ(chain.chains[0].bend_modulus, Chains{}.bend_modulus);
  EXPECT_EQ(chain.chains[0].friction, Chains{}.friction);
  EXPECT_EQ(chain.chains[0].root, Chains{}.root);
}

TEST(SceneFile, ReadsEveryOption) {
  const Scene scene = parse_scene(R"(
name = "all"
[time]
duration = 3
fps = 30.0
steps_per_frame = 2
[world]
gravity = [0, 0, -1.62]
wind = [1, 2, 3]
gust_speed = 0.5
gust_period = 3
gust_wavelength = 4
[solver]
newton_iterations = 3
predictor_iterations = 4
admm_iterations = 50
gauss_seidel_iterations = 6
tolerance = 1e-6
ccd_interval = 7
repair_passes = 1
weight_sigma = 0.002
weight_beta = 20
final_velocity = "v"
warm_start_forces = false
accelerated = true
sleeping = false
sleeping_threshold = 0.02
sleeping_sweeps = 5
stages = 12
precision = "single"
max_step_halvings = 2
[contact]
margin = 0.4
max_recovery_speed = 0.2
compliance = 1e-3
cohesion = 1e-6
cohesion_distance = 1e-4
restitution = 0.5
self_collision = false
[render]
width = 640
height = 480
samples = 8
frame_scene = false
eye = [1, 0, 0]
target = [0, 0, 1]
field_of_view = 40
ground = false
curve_color = [0.1, 0.2, 0.3]
[[rod]]
)",
                                  "all.toml");
  EXPECT_EQ(scene.name, "all");
  EXPECT_EQ(scene.time.duration, 3);
  EXPECT_EQ(scene.time.fps, 30);
  EXPECT_EQ(scene.time.steps_per_frame, 2);
  EXPECT_EQ(scene.world.gravity, Vec3(0, 0, -1.62));
  EXPECT_EQ(scene.world.wind, Vec3(1, 2, 3));
  EXPECT_EQ(scene.world.gust_speed, 0.5);
  EXPECT_EQ(scene.world.gust_period, 3);
  EXPECT_EQ(scene.world.gust_wavelength, 4);
  EXPECT_EQ(scene.solver.newton_iterations, 3);
  EXPECT_EQ(scene.solver.predictor_iterations, 4);
  EXPECT_EQ(scene.solver.admm_iterations, 50);
  EXPECT_EQ(scene.solver.gauss_seidel_iterations, 6);
  EXPECT_EQ(scene.solver.tolerance, 1e-6);
  EXPECT_EQ(scene.solver.ccd_interval, 7);
  EXPECT_EQ(scene.solver.repair_passes, 1);
  EXPECT_EQ(scene.solver.weight_sigma, 0.002);
  EXPECT_EQ(scene.solver.weight_beta, 20);
  EXPECT_EQ(scene.solver.final_velocity, FinalVelocity::v);
  EXPECT_FALSE(scene.solver.warm_start_forces);
  EXPECT_TRUE(scene.solver.accelerated);
  EXPECT_FALSE(scene.solver.sleeping);
  EXPECT_EQ(scene.solver.sleeping_threshold, 0.02);
  EXPECT_EQ(scene.solver.sleeping_sweeps, 5);
  EXPECT_EQ(scene.solver.stages, 12);
  EXPECT_EQ(scene.solver.precision, Precision::single_);
  EXPECT_EQ(scene.solver.max_step_halvings, 2);
  EXPECT_EQ(scene.contact.margin, 0.4);
  EXPECT_EQ(scene.contact.max_recovery_speed, 0.2);
  EXPECT_EQ(scene.contact.compliance, 1e-3);
  EXPECT_EQ(scene.contact.cohesion, 1e-6);
  EXPECT_EQ(scene.contact.cohesion_distance, 1e-4);
  EXPECT_EQ(scene.contact.restitution, 0.5);
  EXPECT_FALSE(scene.contact.self_collision);
  EXPECT_EQ(scene.render.width, 640);
  EXPECT_EQ(scene.render.height, 480);
  EXPECT_EQ(scene.render.samples, 8);
  EXPECT_FALSE(scene.render.frame_scene);
  EXPECT_EQ(scene.render.eye, Vec3(1, 0, 0));
  EXPECT_EQ(scene.render.target, Vec3(0, 0, 1));
  EXPECT_EQ(scene.render.field_of_view, 40);
  EXPECT_FALSE(scene.render.ground);
  EXPECT_EQ(scene.render.curve_color, Vec3(0.1, 0.2, 0.3));
}

TEST(SceneFile, ReadsCollidersAndTheirMotion) {
  const Scene scene = parse_scene(R"(
[[collider]]
shape = "box"
size = [1, 2, 3]
position = [0, 0, 1]
rotation = [0, 0, 1.5707963267948966]
friction = 0.7
collides = false
position_keys = [[0, 0, 0, 0], [1, 0, 0, 2]]
rotation_keys = [[0, 0, 0, 0], [2, 0, 0, 12.566370614359172]]
[[collider]]
name = "ring"
shape = "mesh"
procedural = "torus"
radius = 0.2
minor_radius = 0.05
segments = 16
thickness = 0.001
[[collider]]
shape = "capsule"
radius = 0.1
length = 0.5
[[rod]]
)",
                                  "colliders.toml");
  ASSERT_EQ(scene.colliders.size(), 3u);
  const Collider& box = scene.colliders[0];
  EXPECT_EQ(box.name, "collider0");
  EXPECT_EQ(box.shape, ColliderShape::box);
  EXPECT_EQ(box.half_extents, Vec3(0.5, 1, 1.5));
  EXPECT_NEAR((box.placement.apply({1, 0, 0}) - Vec3(0, 1, 1)).norm(), 0, 1e-15);
  EXPECT_EQ(box.friction, 0.7);
  EXPECT_FALSE(box.collides);
  ASSERT_EQ(box.motion.rotation.size(), 2u);
  EXPECT_EQ(box.motion.position[1].value, Vec3(0, 0, 2));
  EXPECT_NEAR((box.motion.at(0.25).apply({1, 0, 0}) - Vec3(0, 1, 0.5)).norm(), 0, 1e-12);
  const Collider& torus = scene.colliders[1];
  EXPECT_EQ(torus.shape, ColliderShape::mesh);
  EXPECT_EQ(torus.thickness, 0.001);
  for (const Vec3& x : torus.mesh.vertices) EXPECT_NEAR(std::hypot(std::hypot(x.x(), x.y()) - 0.2, x.z()), 0.05, 1e-12);
  EXPECT_EQ(scene.colliders[2].length, 0.5);
}

TEST(SceneFile, ReadsMaterialsForcesAndMasses) {
  const Scene scene = parse_scene(R"(
[[collider]]
name = "hand"
shape = "locator"
[[rod]]
name = "rope"
nodes = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 1, 0], [4, 1, 0]]
rest = "straight"
radius = 0.01
radius_b = 0.005
density = 1000
stretch_modulus = 1e7
bend_modulus = 1e6
poisson = 0.3
damping = 0
drag = 0.1
friction = 0.4
twist = "quasistatic"
root = "pinned"
root_attach = "hand"
tip = "clamped"
initial_velocity = [0, 1, 0]
forces = [{node = 2, force = [0, 0, 1]}, {strand = 0, node = -3, keys = [[0, 0, 0, 0], [1, 0, 0, 5]]}]
point_masses = [{strand = 0, node = -1, mass = 0.2}]
[[friction]]
a = "rope"
b = "hand"
friction = 0.9
)",
                                  "rope.toml");
  const Rods& rope = scene.rods.at(0);
  EXPECT_EQ(rope.radius, 0.01);
  EXPECT_EQ(rope.radius_b, 0.005);
  EXPECT_EQ(rope.density, 1000);
  EXPECT_EQ(rope.stretch_modulus, 1e7);
  EXPECT_EQ(rope.bend_modulus, 1e6);
  EXPECT_EQ(rope.poisson, 0.3);
  EXPECT_EQ(rope.damping, 0);
  EXPECT_EQ(rope.drag, 0.1);
  EXPECT_EQ(rope.friction, 0.4);
  EXPECT_EQ(rope.twist, Twist::quasistatic);
  EXPECT_EQ(rope.root, End::pinned);
  EXPECT_EQ(rope.tip, End::clamped);
  EXPECT_EQ(rope.root_attach, "hand");
  EXPECT_EQ(rope.initial_velocity, Vec3(0, 1, 0));
  ASSERT_EQ(rope.strands.size(), 1u);
  EXPECT_EQ(rope.strands[0].nodes[3], Vec3(3, 1, 0));
  ASSERT_EQ(rope.strands[0].rest_nodes.size(), 5u);
  EXPECT_NEAR(rope.strands[0].rest_nodes[4].x(), 3 + std::numbers::sqrt2, 1e-12);
  ASSERT_EQ(rope.forces.size(), 2u);
  EXPECT_EQ(rope.forces[0].node, 2);
  EXPECT_EQ(rope.forces[0].force.at(0).value, Vec3(0, 0, 1));
  EXPECT_EQ(rope.forces[1].node, -3);
  EXPECT_EQ(rope.forces[1].force.at(1).value, Vec3(0, 0, 5));
  ASSERT_EQ(rope.point_masses.size(), 1u);
  EXPECT_EQ(rope.point_masses[0].mass, 0.2);
  ASSERT_EQ(scene.friction_pairs.size(), 1u);
  EXPECT_EQ(scene.friction_pairs[0].friction, 0.9);
}

TEST(SceneFile, GroomsFollowTheirColliderAtTimeZero) {
  const Scene scene = parse_scene(R"(
[[collider]]
name = "top"
shape = "box"
size = [1, 1, 0.2]
position = [1, 0, 0]
rotation = [1.5707963267948966, 0, 0]
position_keys = [[0, 0, 0, 5], [1, 0, 0, 6]]
[[groom]]
on = "top"
strands = 20
style = "straight"
)",
                                  "box.toml");
  for (const Strand& strand : scene.rods.at(0).strands) {
    // The box's top looks along -y after the turn about x.
    EXPECT_NEAR(strand.nodes[0].y(), -0.1 - scene.rods[0].radius, 1e-12);
    EXPECT_NEAR(strand.nodes.back().y(), -0.1 - scene.rods[0].radius - 0.17, 1e-12);
    EXPECT_NEAR(strand.nodes[0].x(), 1, 0.0501);
    EXPECT_NEAR(strand.nodes[0].z(), 5, 0.0501);
  }
}

TEST(SceneFile, BundlesAreChainsOrRods) {
  const std::string text = "[[bundle]]\ncount = 12\nnodes = 11\nlength = 0.2\n";
  const Scene chains = parse_scene(text, "bundle.toml");
  ASSERT_EQ(chains.chains.size(), 1u);
  EXPECT_TRUE(chains.rods.empty());
  EXPECT_EQ(chains.chains[0].strands.size(), 12u);
  EXPECT_EQ(chains.chains[0].strands[3].nodes.size(), 11u);
  const Scene rods = parse_scene(text + "model = \"rod\"\npoisson = 0.3", "bundle.toml");
  EXPECT_TRUE(rods.chains.empty());
  ASSERT_EQ(rods.rods.size(), 1u);
  EXPECT_EQ(rods.rods[0].poisson, 0.3);
  EXPECT_EQ(rods.rods[0].radius, Chains{}.radius);
}

TEST(SceneFile, TurnsAndMovesShapes) {
  const Scene scene = parse_scene(R"(
[[rod]]
shape = "helix"
size = 0.02
pitch = 0.01
turns = 5
elements = 100
position = [0, 0, 1]
rotation = [0, 1.5707963267948966, 0]
[[rod]]
shape = "trefoil"
size = 0.03
length = 0.8
radius = 0.002
elements = 160
[[chain]]
shape = "arc"
size = 0.1
angle = 1.0
)",
                                  "shapes.toml");
  const std::vector<Vec3>& helix = scene.rods.at(0).strands.at(0).nodes;
  ASSERT_EQ(helix.size(), 101u);
  EXPECT_NEAR(helix.back().x(), 0.05, 1e-12);
  EXPECT_NEAR(helix.front().z(), 1 - 0.02, 1e-12);
  EXPECT_EQ(scene.rods.at(1).strands.at(0).nodes.size(), 161u);
  EXPECT_NEAR(scene.chains.at(0).strands.at(0).nodes.front().x(), 0.1, 1e-15);
}

TEST(SceneFile, StringsAndCommentsMayHoldAnything) {
  const Scene scene = parse_scene(
      "\xef\xbb\xbf# \xc3\xa4 [ \" '\nname = \"\"\"\\u00e4 \\\"\"\" [\\\n   x\"\"\"\"\" # '''\n[[rod]] # [\nname = "
      "'[\"'\n"
      "nodes = [ # [\n[0, 0, 0],\n  [\n1, 0, 0], [2, 0, 0]]\n[render]\nwidth = 3",
      "strings.toml");
  EXPECT_EQ(scene.name, "\xc3\xa4 \"\"\" [x\"\"");
  EXPECT_EQ(scene.rods.at(0).name, "[\"");
  EXPECT_EQ(scene.render.width, 3);
}

TEST(SceneFile, NonAsciiCharactersAreForComments) {
  try {
    parse_scene("# \xc3\xa4\nname = \"\xc3\xa4\"\n", "umlaut.toml");
    FAIL();
  } catch (const SceneError& e) {
    EXPECT_EQ(std::string(e.what()).find("umlaut.toml:2:9:"), 0u) << e.what();
  }
}

TEST(SceneFile, OverridesReplaceValues) {
  const Scene scene = parse_scene(first_scene, "first.toml",
                                  {"groom.0.strands=7", "solver.precision=single", "name=bare words", "time.fps=30",
                                   "world.gravity=[0, 0, 0]", "collider.0.name=ball", "render={width=100, height=50}",
                                   "groom.0.forces=[{force=[1, 0, 0]}]", "groom.0.forces.0.strand=3"});
  EXPECT_EQ(scene.rods.at(0).strands.size(), 7u);
  EXPECT_EQ(scene.solver.precision, Precision::single_);
  EXPECT_EQ(scene.name, "bare words");
  EXPECT_EQ(scene.time.fps, 30);
  EXPECT_EQ(scene.world.gravity, Vec3(0, 0, 0));
  EXPECT_EQ(scene.render.height, 50);
  EXPECT_EQ(scene.rods[0].forces.at(0).strand, 3);
}

class SceneFolder : public test::SceneFolderTest {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder / "meshes"); }
};

TEST_F(SceneFolder, MeshPathsAreRelativeToTheScene) {
  write_obj((folder / "meshes/box.obj").string(), make_box({1, 1, 1}));
  write("scene.toml", "[[collider]]\nshape = \"mesh\"\nfile = \"meshes/box.obj\"\n[[rod]]\n");
  const Scene scene = load("scene.toml");
  EXPECT_EQ(scene.colliders.at(0).mesh.vertices.size(), make_box({1, 1, 1}).vertices.size());
}

TEST_F(SceneFolder, ReadsMeshSequences) {
  for (int i = 1; i <= 3; ++i)
    write_obj((folder / ("meshes/b." + std::string(3, '0') + std::to_string(i) + ".obj")).string(),
              make_box(Vec3::Constant(i)));
  const std::string head = "[[rod]]\n[[collider]]\nshape = \"mesh\"\nsequence_fps = 10\n";
  write("pattern.toml", head + "sequence = \"meshes/b.%04d.obj\"\n");
  const Collider pattern = load("pattern.toml").colliders.at(0);
  ASSERT_EQ(pattern.mesh_sequence.size(), 3u);
  EXPECT_EQ(pattern.sequence_fps, 10);
  EXPECT_EQ(pattern.mesh_sequence[0], pattern.mesh.vertices);
  EXPECT_NEAR((pattern.mesh_sequence[2][0] - 3 * pattern.mesh_sequence[0][0]).norm(), 0, 1e-12);

  write("list.toml", head + "sequence = [\"meshes/b.0003.obj\", \"meshes/b.0001.obj\"]\n");
  EXPECT_EQ(load("list.toml").colliders.at(0).mesh_sequence.size(), 2u);

  write("short.toml", head + "sequence = \"meshes/b.%04d.obj\"\nsequence_count = 5\n");
  EXPECT_THROW(load("short.toml"), SceneError);
  write_obj((folder / "meshes/b.0004.obj").string(), make_sphere(1, 4, 8));
  const std::string message = test::scene_error([&] { load("pattern.toml"); });
  EXPECT_NE(message.find("pattern.toml:5:12: collider.0.sequence: "), std::string::npos) << message;
}

TEST_F(SceneFolder, MeshErrorsNameBothFiles) {
  write("meshes/bad.obj", "v 0 0 0\nv 1 0 0\nf 1 2 9\n");
  write("scene.toml", "[[rod]]\n[[collider]]\nshape = \"mesh\"\nfile = \"meshes/bad.obj\"\n");
  const std::string message = test::scene_error([&] { load("scene.toml"); });
  EXPECT_NE(message.find("scene.toml:4:8: collider.0.file: "), std::string::npos) << message;
  EXPECT_NE(message.find("bad.obj:3:"), std::string::npos) << message;
}

TEST(SceneReference, HasASectionATableAndEveryKeyOnce) {
  const std::string text = scene_reference();
  for (const char* heading : {"## `[time]`", "## `[world]`", "## `[solver]`", "## `[contact]`", "## `[render]`",
                              "## `[[collider]]`", "## `[[groom]]`", "## `[[rod]]`", "## `[[bundle]]`",
                              "## `[[chain]]`", "## `[[friction]]`", "## `forces = [{...}, ...]`"}) {
    const std::size_t first = text.find(heading);
    ASSERT_NE(first, std::string::npos) << heading;
    EXPECT_EQ(text.find(heading, first + 1), std::string::npos) << heading;
  }
  EXPECT_NE(text.find("| `duration` | number | s | `2` | > 0, <= 100000 | Simulated time. |"), std::string::npos);
  EXPECT_NE(text.find("| `gravity` | [x, y, z] | m/s² | `[0, 0, -9.81]` |"), std::string::npos);
  EXPECT_NE(text.find("| `precision` | string |  | `\"double\"` | `single`, `double` |"), std::string::npos);
}

TEST(Examples, AreValid) {
  const std::filesystem::path folder = std::filesystem::path(STICTION_SOURCE_DIR) / "examples";
  const Scene ball = load_scene((folder / "hairy_ball.toml").string());
  EXPECT_EQ(ball.rods.at(0).strands.size(), 500u);
  EXPECT_EQ(ball.time.frames(), 48);
  // One turn a second about +z: back at the start after one second, at rest until two, reversed after that.
  const Motion& motion = ball.colliders.at(0).motion;
  EXPECT_NEAR((motion.at(0.25).apply({1, 0, 0}) - Vec3(0, 1, 0)).norm(), 0, 1e-9);
  EXPECT_NEAR((motion.at(1.5).apply({1, 0, 0}) - Vec3(1, 0, 0)).norm(), 0, 1e-9);
  EXPECT_NEAR((motion.at(2.25).apply({1, 0, 0}) - Vec3(0, -1, 0)).norm(), 0, 1e-9);
  EXPECT_NEAR((motion.at(4.25).apply({0, 1, 0}) - Vec3(0, 0, 1)).norm(), 0, 1e-9);
  EXPECT_NEAR((motion.at(10.25).apply({0, 0, 1}) - Vec3(-1, 0, 0)).norm(), 0, 1e-9);
  EXPECT_EQ(load_scene((folder / "first_scene.toml").string()).rods.at(0).strands.size(), 500u);

  // The paper's sequence rests first, with hair that lies 80 degrees from the normal.
  const Scene paper = load_scene((folder / "d20" / "hairy_ball.toml").string());
  EXPECT_NEAR((paper.colliders.at(0).motion.at(2.25).apply({1, 0, 0}) - Vec3(0, 1, 0)).norm(), 0, 1e-9);
  for (const Strand& strand : paper.rods.at(0).strands) {
    const Vec3 first_edge = (strand.nodes[1] - strand.nodes[0]).normalized();
    EXPECT_NEAR(first_edge.dot(strand.nodes[0].normalized()), 0.17, 1e-3);
    EXPECT_LT(first_edge.z(), 0.2);
  }
}

}  // namespace
}  // namespace stiction
