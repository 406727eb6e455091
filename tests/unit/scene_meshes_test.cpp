// Shells, solids, frames, attachments and grooms on meshes from scene files: defaults are the structs', every key
// arrives, generators make valid records, selections select what was asked for.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <set>

#include "geometry/creatures.hpp"
#include "geometry/distance.hpp"
#include "geometry/embedding.hpp"
#include "geometry/mesh_io.hpp"
#include "geometry/primitives.hpp"
#include "geometry/tet_mesh.hpp"
#include "stiction/scene_file.hpp"

namespace stiction {
namespace {

constexpr double pi = std::numbers::pi;

Scene parse(const std::string& text) { return parse_scene(text, "test.toml"); }

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const SceneError& error) {
    return error.what();
  }
  return "";
}

Vec3 face_normal(const TriangleMesh& mesh, const Eigen::Vector3i& t) {
  return (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]).normalized();
}

double area(const TriangleMesh& mesh) {
  double sum = 0;
  for (const Eigen::Vector3i& t : mesh.triangles)
    sum += 0.5 * (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]).norm();
  return sum;
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

// ---- Solids --------------------------------------------------------------------------------------------------------

TEST(SolidScene, DefaultsAreThoseOfTheStruct) {
  const Solid solid = parse("[[solid]]").solids.at(0), expected;
  EXPECT_EQ(solid.name, "solid0");
  EXPECT_EQ(solid.material, expected.material);
  EXPECT_EQ(solid.young, expected.young);
  EXPECT_EQ(solid.poisson, expected.poisson);
  EXPECT_EQ(solid.density, expected.density);
  EXPECT_EQ(solid.damping, expected.damping);
  EXPECT_EQ(solid.mass_damping, expected.mass_damping);
  EXPECT_EQ(solid.contact_radius, expected.contact_radius);
  EXPECT_EQ(solid.friction, expected.friction);
  EXPECT_NEAR(static_cast<double>(solid.mesh.tets.size()), 2000, 400);
  EXPECT_NEAR(total_volume(solid.mesh), 0.008, 1e-12);
}

TEST(SolidScene, ReadsEveryOption) {
  const Solid solid = parse(R"(
[[solid]]
name = "bar"
size = [0.4, 0.1, 0.2]
cells = [4, 1, 2]
position = [0, 0, 1]
rotation = [0, 0, 1.5707963267948966]
rest_scale = [1.1, 1, 1]
material = "stable_neo_hookean"
young = 2e5
poisson = 0.45
density = 900
damping = 0.02
mass_damping = 0.5
contact_radius = 2e-3
friction = 0.6
initial_velocity = [0, 0, -1]
pins = [{box_min = [-1, 0.199, -1]}]
forces = [{vertex = 0, force = [1, 0, 0]}]
)")
                          .solids.at(0);
  EXPECT_EQ(solid.name, "bar");
  EXPECT_EQ(solid.mesh.tets.size(), 40u);
  EXPECT_EQ(solid.material, Material::stable_neo_hookean);
  EXPECT_EQ(solid.young, 2e5);
  EXPECT_EQ(solid.poisson, 0.45);
  EXPECT_EQ(solid.density, 900);
  EXPECT_EQ(solid.damping, 0.02);
  EXPECT_EQ(solid.mass_damping, 0.5);
  EXPECT_EQ(solid.contact_radius, 2e-3);
  EXPECT_EQ(solid.friction, 0.6);
  EXPECT_EQ(solid.initial_velocity, Vec3(0, 0, -1));
  EXPECT_NEAR(total_volume({solid.rest_vertices, solid.mesh.tets}), 1.1 * total_volume(solid.mesh), 1e-12);
  ASSERT_EQ(solid.pins.size(), 1u);
  EXPECT_EQ(solid.pins[0].nodes.size(), 6u);  // the end at local x = 0.2, turned to y
  EXPECT_EQ(solid.forces.at(0).vertex, 0);
  EXPECT_EQ(parse("[[solid]]\ncells = [1, 1, 1]\npins = [{corners = true}]").solids[0].pins.at(0).nodes.size(), 8u);
}

TEST(SolidScene, LatticesCarryTheirSurface) {
  for (const std::string shape : {"sphere", "rabbit"}) {
    const Solid solid = parse("[[solid]]\nshape = \"" + shape + "\"\nfaces = 1000\ntets = 1500").solids.at(0);
    EXPECT_NEAR(static_cast<double>(solid.mesh.tets.size()), 1500, 225) << shape;
    EXPECT_NEAR(static_cast<double>(solid.surface.triangles.size()), 1000, 50) << shape;
    EXPECT_TRUE(is_closed(solid.surface));
    EXPECT_GT(enclosed_volume(solid.surface), 0);
    for (const double volume : tet_volumes(solid.mesh)) EXPECT_GT(volume, 0);
    const Embedding embedding = embed(solid.mesh, solid.surface.vertices);
    for (const auto& weights : embedding.weight)
      for (const double w : weights) EXPECT_GE(w, -1e-9) << shape;  // inside the lattice: nothing is extrapolated
    const Solid bare =
        parse("[[solid]]\nshape = \"" + shape + "\"\nfaces = 1000\ntets = 1500\nembedded = false").solids[0];
    EXPECT_TRUE(bare.surface.triangles.empty());
  }
}

TEST(SolidScene, CopiesAreCongruentApartAndNamed) {
  const Scene scene = parse(R"(
[[solid]]
name = "brick"
size = [0.3, 0.2, 0.1]
cells = [1, 1, 1]
copies = [2, 3, 2]
turn_seed = 7
position = [0, 0, 5]
[[collider]]
name = "floor"
shape = "plane"
[[friction]]
a = "brick"
b = "floor"
friction = 0.3
[[friction]]
a = "brick"
b = "brick"
friction = 0.2
)");
  ASSERT_EQ(scene.solids.size(), 12u);
  EXPECT_EQ(scene.solids[0].name, "brick.0");
  EXPECT_EQ(scene.solids[11].name, "brick.11");
  EXPECT_EQ(scene.friction_pairs.size(), 12u + 12u * 13u / 2u);
  Vec3 mean = Vec3::Zero();
  std::set<double> heights;
  for (std::size_t a = 0; a < 12; ++a) {
    const std::vector<Vec3>& x = scene.solids[a].mesh.vertices;
    EXPECT_NEAR(total_volume(scene.solids[a].mesh), 0.006, 1e-12);
    EXPECT_NEAR((x.front() - x.back()).norm(), Vec3(0.3, 0.2, 0.1).norm(), 1e-12);
    Vec3 middle = Vec3::Zero();
    for (const Vec3& v : x) middle += v / static_cast<double>(x.size());
    mean += middle / 12;
    heights.insert(x.front().z() - middle.z());
    for (std::size_t b = 0; b < a; ++b)
      for (const Vec3& u : scene.solids[b].mesh.vertices)
        EXPECT_GT((u - middle).norm(), 0.5 * Vec3(0.3, 0.2, 0.1).norm());
  }
  EXPECT_NEAR((mean - Vec3(0, 0, 5)).norm(), 0, 1e-12);
  EXPECT_EQ(heights.size(), 12u);  // each is turned its own way
  const Scene plain = parse("[[solid]]\ncells = [1, 1, 1]\ncopies = [2, 1, 1]\nspacing = [0.5, 1, 1]");
  EXPECT_NEAR((plain.solids[1].mesh.vertices[0] - plain.solids[0].mesh.vertices[0] - Vec3(0.5, 0, 0)).norm(), 0, 1e-12);
}

class MeshFolder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }
  Scene load(const std::string& text) const {
    write("scene.toml", text);
    return load_scene((folder / "scene.toml").string());
  }
  std::string error(const std::string& text) const {
    try {
      load(text);
    } catch (const SceneError& e) {
      return e.what();
    }
    return "";
  }

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      ("stiction_meshes_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(MeshFolder, ReadsShellsSurfacesAndTets) {
  write_obj((folder / "box.obj").string(), make_box({0.1, 0.1, 0.1}));
  EXPECT_EQ(load("[[shell]]\nshape = \"file\"\nfile = \"box.obj\"").shells.at(0).mesh.triangles.size(), 12u);
  const Solid solid = load("[[solid]]\nshape = \"surface\"\nfile = \"box.obj\"\ntets = 300").solids.at(0);
  EXPECT_EQ(solid.surface.triangles.size(), 12u);
  EXPECT_GT(solid.mesh.tets.size(), 150u);
  const Frames rigid = load("[[frames]]\nmesh = \"file\"\nfile = \"box.obj\"").frames.at(0);
  EXPECT_EQ(rigid.surface.triangles.size(), 12u);

  write("tet.node", "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n");
  write("tet.ele", "1 4 0\n0 0 1 2 3\n");
  const Solid tet = load("[[solid]]\nshape = \"file\"\nfile = \"tet.node\"").solids.at(0);
  ASSERT_EQ(tet.mesh.tets.size(), 1u);
  EXPECT_NEAR(total_volume(tet.mesh), 1.0 / 6, 1e-15);
}

TEST_F(MeshFolder, BrokenMeshesAreRefusedWithBothPlaces) {
  TriangleMesh open = make_box({0.1, 0.1, 0.1});
  open.triangles.pop_back();
  write_obj((folder / "open.obj").string(), open);
  EXPECT_NE(error("[[solid]]\nshape = \"surface\"\nfile = \"open.obj\"")
                .find("scene.toml:3:8: solid.0.file: 'open.obj' is "
                      "not a closed surface"),
            std::string::npos);
  TriangleMesh inverted = make_box({0.1, 0.1, 0.1});
  for (Eigen::Vector3i& t : inverted.triangles) std::swap(t[0], t[1]);
  write_obj((folder / "inverted.obj").string(), inverted);
  EXPECT_NE(error("[[solid]]\nshape = \"surface\"\nfile = \"inverted.obj\"").find("inside out"), std::string::npos);
  EXPECT_NE(error("[[frames]]\nmesh = \"file\"\nfile = \"open.obj\"").find("not a closed surface"), std::string::npos);
  write("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n");
  EXPECT_NE(error("[[shell]]\nshape = \"file\"\nfile = \"flat.obj\"").find("triangle 0 has no area"),
            std::string::npos);
  write("idle.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nf 1 2 3\n");
  EXPECT_NE(error("[[shell]]\nshape = \"file\"\nfile = \"idle.obj\"").find("vertex 3 is in no triangle"),
            std::string::npos);
  write("fan.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 2 5\n");
  EXPECT_NE(error("[[shell]]\nshape = \"file\"\nfile = \"fan.obj\"").find("more than two triangles"),
            std::string::npos);
  write("bad.msh", "$MeshFormat\n9 9 9\n");
  EXPECT_NE(error("[[solid]]\nshape = \"file\"\nfile = \"bad.msh\"").find("bad.msh:"), std::string::npos);
}

// ---- Frames --------------------------------------------------------------------------------------------------------

/// Volume, centroid and second moments about it of the samples, with each one's own as a cube (bodies/frames.hpp).
struct SampleMoments {
  double volume = 0;
  Vec3 centroid = Vec3::Zero();
  Mat3 second = Mat3::Zero();
};

SampleMoments moments_of(const Frames& frames, bool with_own) {
  SampleMoments m;
  for (const FrameSample& s : frames.samples) {
    m.volume += s.volume;
    m.centroid += s.volume * s.position;
  }
  m.centroid /= m.volume;
  for (const FrameSample& s : frames.samples) {
    const Vec3 d = s.position - m.centroid;
    m.second += s.volume * d * d.transpose();
    if (with_own) m.second += std::pow(s.volume, 5.0 / 3) / 12 * Mat3::Identity();
  }
  return m;
}

void expect_partition_of_unity(const Frames& frames) {
  const auto expect_one = [&](const std::vector<FrameWeight>& weights) {
    double sum = 0;
    Vec3 gradient = Vec3::Zero();
    for (const FrameWeight& w : weights) {
      ASSERT_GE(w.frame, 0);
      ASSERT_LT(w.frame, static_cast<int>(frames.frames.size()));
      EXPECT_GE(w.weight, 0);
      sum += w.weight;
      gradient += w.gradient;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(gradient.norm(), 0, 1e-9);
  };
  for (const FrameSample& s : frames.samples) expect_one(s.weights);
  ASSERT_EQ(frames.surface_weights.size(), frames.surface.vertices.size());
  for (const auto& weights : frames.surface_weights) expect_one(weights);
}

/// Least pivot over the entry of the diagonal that it is left from, in the Cholesky factorisation of Σ V N Nᵀ with the
/// shape functions N = w_i (1, (X - X_i) / h) at the samples: zero where some motion of the frames moves no sample.
double least_pivot(const Frames& frames) {
  const std::size_t n = 4 * frames.frames.size();
  std::vector<std::vector<double>> gram(n, std::vector<double>(n, 0));
  for (const FrameSample& s : frames.samples) {
    std::vector<std::pair<std::size_t, double>> row;
    for (const FrameWeight& w : s.weights) {
      const Vec3 local = (s.position - frames.frames[w.frame]) / frames.frame_size;
      row.emplace_back(4 * w.frame, w.weight);
      for (int a = 0; a < 3; ++a) row.emplace_back(4 * w.frame + 1 + a, w.weight * local[a]);
    }
    for (const auto& [i, a] : row)
      for (const auto& [j, b] : row) gram[i][j] += s.volume * a * b;
  }
  double least = 1;
  for (std::size_t k = 0; k < n; ++k) {
    double pivot = gram[k][k];
    for (std::size_t j = 0; j < k; ++j) pivot -= gram[k][j] * gram[k][j];
    least = std::min(least, pivot / gram[k][k]);
    gram[k][k] = std::sqrt(std::max(pivot, 1e-300));
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = 0; j < k; ++j) gram[i][k] -= gram[i][j] * gram[k][j];
      gram[i][k] /= gram[k][k];
    }
  }
  return least;
}

TEST(FramesScene, DefaultsAreThoseOfTheStruct) {
  const Frames frames = parse("[[frames]]").frames.at(0), expected;
  EXPECT_EQ(frames.name, "frames0");
  EXPECT_EQ(frames.material, expected.material);
  EXPECT_EQ(frames.young, expected.young);
  EXPECT_EQ(frames.poisson, expected.poisson);
  EXPECT_EQ(frames.density, expected.density);
  EXPECT_EQ(frames.damping, expected.damping);
  EXPECT_EQ(frames.drag, expected.drag);
  EXPECT_EQ(frames.contact_radius, expected.contact_radius);
  EXPECT_EQ(frames.friction, expected.friction);
}

TEST(FramesScene, ARigidBoxHasTheMomentsOfABox) {
  const Frames box = parse(
                         "[[frames]]\nsize = [0.2, 0.3, 0.1]\nposition = [1, 2, 3]\nrotation = [0.3, 0.2, 0.1]\n"
                         "young = 1e8\nfriction = 0.4\ncontact_radius = 2e-3\ninitial_velocity = [1, 0, 0]\ndrag = 0.1")
                         .frames.at(0);
  EXPECT_EQ(box.young, 1e8);
  EXPECT_EQ(box.friction, 0.4);
  EXPECT_EQ(box.contact_radius, 2e-3);
  EXPECT_EQ(box.drag, 0.1);
  ASSERT_EQ(box.frames.size(), 1u);
  EXPECT_NEAR((box.frames[0] - Vec3(1, 2, 3)).norm(), 0, 1e-12);
  const SampleMoments m = moments_of(box, true);
  EXPECT_NEAR(m.volume, 0.006, 1e-14);
  EXPECT_NEAR((m.centroid - Vec3(1, 2, 3)).norm(), 0, 1e-12);
  const Vec3 expected = 0.006 / 12 * Vec3(0.01, 0.04, 0.09);  // V edge² / 12, sorted
  const Vec3 found = Eigen::SelfAdjointEigenSolver<Mat3>(m.second).eigenvalues();
  EXPECT_NEAR((found - expected).norm(), 0, 1e-12);
  expect_partition_of_unity(box);
  EXPECT_GT(least_pivot(box), 1e-3);
}

TEST(FramesScene, ARigidSphereHasTheMomentsOfItsMesh) {
  const Frames ball = parse("[[frames]]\nmesh = \"sphere\"\nradius = 0.1\nsegments = 64").frames.at(0);
  const SampleMoments m = moments_of(ball, true);
  const double volume = 4 * pi / 3 * 1e-3;
  EXPECT_NEAR(m.volume, volume, 0.01 * volume);  // a polyhedron in the sphere
  EXPECT_NEAR(m.second(0, 0), volume * 0.01 / 5, 0.02 * volume * 0.01 / 5);
}

TEST(FramesScene, ABeamHasItsVolumeAndTheSecondMomentsOfItsSection) {
  const Frames beam = parse(
                          "[[frames]]\nshape = \"beam\"\nlength = 2\nsection = [0.2, 0.1]\ncount = 8\n"
                          "pins = [{frames = [0, -1]}]")
                          .frames.at(0);
  ASSERT_EQ(beam.frames.size(), 8u);
  EXPECT_EQ(beam.pins.at(0).nodes, (std::vector<int>{0, 7}));
  EXPECT_NEAR(beam.frames[0].x(), -0.875, 1e-12);
  const SampleMoments m = moments_of(beam, false);
  EXPECT_NEAR(m.volume, 0.04, 1e-14);
  EXPECT_NEAR(m.second(1, 1), 0.04 * 0.04 / 12, 1e-14);  // Gauss points are exact for squares
  EXPECT_NEAR(m.second(2, 2), 0.04 * 0.01 / 12, 1e-14);
  EXPECT_NEAR(m.second(0, 0), 0.04 * 4 / 12, 1e-14);
  expect_partition_of_unity(beam);
  EXPECT_TRUE(is_closed(beam.surface));
  EXPECT_GT(least_pivot(beam), 1e-5);
}

TEST(FramesScene, GradientsOfWeightsAreTheirSlopes) {
  // Weights are linear along each axis between frames: over two samples in the same cells the slope is the gradient.
  const Frames sheet = parse("[[frames]]\nshape = \"sheet\"\nnx = 3\nny = 4\nrotation = [0, 0, 0.7]").frames.at(0);
  ASSERT_EQ(sheet.frames.size(), 12u);
  EXPECT_NEAR(moments_of(sheet, false).volume, 0.01, 1e-14);
  expect_partition_of_unity(sheet);
  EXPECT_GT(least_pivot(sheet), 1e-7);
  int compared = 0;
  for (const FrameSample& a : sheet.samples)
    for (const FrameSample& b : sheet.samples) {
      const Vec3 d = b.position - a.position;
      if (a.weights.size() != b.weights.size() || d.norm() > 0.1 || d.norm() < 0.05) continue;
      bool same = true;
      for (std::size_t k = 0; k < a.weights.size(); ++k) same = same && a.weights[k].frame == b.weights[k].frame;
      if (!same) continue;
      for (std::size_t k = 0; k < a.weights.size(); ++k) {
        const Vec3 mean = 0.5 * (a.weights[k].gradient + b.weights[k].gradient);  // exact: weights are bilinear
        EXPECT_NEAR(b.weights[k].weight - a.weights[k].weight, mean.dot(d), 1e-12);
      }
      ++compared;
    }
  EXPECT_GT(compared, 100);
}

TEST(FramesScene, APalmStandsOnItsPinnedFoot) {
  const Frames palm = parse(
                          "[[frames]]\nshape = \"palm\"\nleaves = 8\nleaf_frames = 4\ntrunk_frames = 5\n"
                          "leaf_thickness = 0.02\npins = [{frames = [0]}]")
                          .frames.at(0);
  ASSERT_EQ(palm.frames.size(), 5u + 8u * 3u);
  EXPECT_NEAR(palm.frames[0].norm(), 0, 1e-12);
  expect_partition_of_unity(palm);
  EXPECT_GT(least_pivot(palm), 1e-9);  // every frame has samples of its own
  std::set<int> used;
  for (const auto& weights : palm.surface_weights)
    for (const FrameWeight& w : weights) used.insert(w.frame);
  EXPECT_EQ(used.size(), palm.frames.size());
  double leaf_area = 0;
  const PalmTree tree = make_palm([] {
    PalmOptions o;
    o.leaves = 8;
    o.leaf_frames = 4;
    o.trunk_frames = 5;
    return o;
  }());
  for (const PalmPart& leaf : tree.leaves) leaf_area += area(leaf.mesh);
  const double trunk_volume = enclosed_volume(tree.trunk.mesh);
  const double leaf_volume = moments_of(palm, false).volume - trunk_volume;
  EXPECT_NEAR(leaf_volume, 0.02 * leaf_area, 0.15 * trunk_volume);  // discs against a polygonal, ringed trunk
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
  EXPECT_NE(error_of(unattached).find("groom.0.on: 'body' is a sequence of meshes"), std::string::npos);
}

}  // namespace
}  // namespace stiction
