// Solids and frames from scene files, and bodies on meshes from files: defaults are the structs', every key arrives,
// generators make valid records, broken meshes are refused.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <numbers>
#include <set>
#include <string>

#include "geometry/creatures.hpp"
#include "geometry/embedding.hpp"
#include "geometry/mesh_io.hpp"
#include "geometry/primitives.hpp"
#include "geometry/tet_mesh.hpp"
#include "support/scene_text.hpp"

namespace stiction {
namespace {

using namespace test;

constexpr double pi = std::numbers::pi;

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

// ---- Files ---------------------------------------------------------------------------------------------------------

class MeshFolder : public SceneFolderTest {
 protected:
  Scene load_text(const std::string& text) const {
    write("scene.toml", text);
    return load("scene.toml");
  }
  std::string error(const std::string& text) const {
    return scene_error([&] { load_text(text); });
  }
};

TEST_F(MeshFolder, ReadsShellsSurfacesAndTets) {
  write_obj((folder / "box.obj").string(), make_box({0.1, 0.1, 0.1}));
  EXPECT_EQ(load_text("[[shell]]\nshape = \"file\"\nfile = \"box.obj\"").shells.at(0).mesh.triangles.size(), 12u);
  const Solid solid = load_text("[[solid]]\nshape = \"surface\"\nfile = \"box.obj\"\ntets = 300").solids.at(0);
  EXPECT_EQ(solid.surface.triangles.size(), 12u);
  EXPECT_GT(solid.mesh.tets.size(), 150u);
  const Frames rigid = load_text("[[frames]]\nmesh = \"file\"\nfile = \"box.obj\"").frames.at(0);
  EXPECT_EQ(rigid.surface.triangles.size(), 12u);

  write("tet.node", "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n");
  write("tet.ele", "1 4 0\n0 0 1 2 3\n");
  const Solid tet = load_text("[[solid]]\nshape = \"file\"\nfile = \"tet.node\"").solids.at(0);
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

}  // namespace
}  // namespace stiction
