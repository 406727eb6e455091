// Soft solids and affine frames as bodies: forces and matrices against finite differences, rigid motion, masses,
// damping, drag, pins and what their constructors refuse.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <Eigen/Dense>

#include "bodies/frames.hpp"
#include "bodies/solid.hpp"
#include "geometry/tet_mesh.hpp"
#include "support/body_driver.hpp"
#include "support/random.hpp"

namespace stiction {
namespace {

using test::BodyDriver;
using SolidDriver = BodyDriver<SolidBody>;
using FramesDriver = BodyDriver<FramesBody>;

constexpr Material kMaterials[] = {Material::corotated, Material::fixed_corotated, Material::st_venant_kirchhoff,
                                   Material::neo_hookean, Material::stable_neo_hookean};

using test::Random;

Solid soft_box(Material material = Material::fixed_corotated, std::array<int, 3> cells = {2, 1, 1}) {
  Solid solid;
  solid.name = "box";
  solid.mesh = make_tet_box({0.2, 0.1, 0.1}, cells);
  solid.material = material;
  solid.young = 1e4;
  solid.damping = 0;
  return solid;
}

// Samples of a box in cubes of edge `cell`; its frames lie along x and are blended linearly.
Frames frame_bar(Material material = Material::corotated, int frames = 2, double cell = 0.05) {
  Frames bar;
  bar.name = "bar";
  bar.material = material;
  bar.young = 1e4;
  bar.damping = 0;
  bar.frame_size = 0.07;
  const double length = 0.2, spacing = frames > 1 ? length / (frames - 1) : 1;
  for (int i = 0; i < frames; ++i) bar.frames.push_back({frames > 1 ? i * spacing - length / 2 : 0.0, 0, 0});
  const auto weights = [&](const Vec3& X) {
    std::vector<FrameWeight> w;
    if (frames == 1) return std::vector<FrameWeight>{{0, 1.0, Vec3::Zero()}};
    const double s = (X[0] + length / 2) / spacing;
    const int i = std::clamp(static_cast<int>(s), 0, frames - 2);
    w.push_back({i, 1 - (s - i), Vec3(-1 / spacing, 0, 0)});
    w.push_back({i + 1, s - i, Vec3(1 / spacing, 0, 0)});
    return w;
  };
  const Eigen::Vector3i n(static_cast<int>(std::lround(length / cell)), static_cast<int>(std::lround(0.1 / cell)),
                          static_cast<int>(std::lround(0.1 / cell)));
  for (int i = 0; i < n[0]; ++i)
    for (int j = 0; j < n[1]; ++j)
      for (int k = 0; k < n[2]; ++k) {
        const Vec3 X(cell * (i + 0.5) - length / 2, cell * (j + 0.5) - 0.05, cell * (k + 0.5) - 0.05);
        bar.samples.push_back({X, cell * cell * cell, weights(X)});
      }
  bar.surface = boundary_surface(make_tet_box({length, 0.1, 0.1}, {4, 2, 2}));
  for (const Vec3& X : bar.surface.vertices) bar.surface_weights.push_back(weights(X));
  return bar;
}

// test(driver) for a box of every material, with the damping given, s.
template <class Test>
void for_each_solid(double damping, Test&& test) {
  for (const Material material : kMaterials) {
    Solid solid = soft_box(material);
    solid.damping = damping;
    SolidDriver d(solid);
    test(d);
  }
}

// The same for a bar of three frames.
template <class Test>
void for_each_bar(double damping, Test&& test) {
  for (const Material material : kMaterials) {
    Frames frames = frame_bar(material, 3);
    frames.damping = damping;
    FramesDriver d(frames);
    test(d);
  }
}

template <class Driver>
void disturb(Driver& d, double size) {
  Random random(5);
  for (Vec3& x : d.nodes.x) x += random.vector(size);
  d.begin();
}

template <class Driver>
void expect_force_is_minus_the_gradient(Driver& d) {
  disturb(d, 0.01);
  Eigen::MatrixXd A;
  Eigen::VectorXd g;
  d.assemble(A, g);  // v = v_t = 0: no inertia, q = x
  const double step = 1e-6, largest = g.cwiseAbs().maxCoeff() / d.context.dt;
  ASSERT_GT(largest, 0);
  for (int j = 0; j < d.nodes.size(); ++j)
    for (int a = 0; a < 3; ++a) {
      const double x = d.nodes.x[j][a];
      d.nodes.x[j][a] = x + step;
      const double after = d.energy().elastic;
      d.nodes.x[j][a] = x - step;
      const double before = d.energy().elastic;
      d.nodes.x[j][a] = x;
      EXPECT_NEAR(g[3 * j + a] / d.context.dt, (after - before) / (2 * step), 1e-6 * largest);
    }
}

TEST(SolidBody, ForceIsMinusTheGradientOfTheEnergy) {
  for_each_solid(0.0, [](auto& d) { expect_force_is_minus_the_gradient(d); });
}

TEST(FramesBody, ForceIsMinusTheGradientOfTheEnergy) {
  for_each_bar(0.0, [](auto& d) { expect_force_is_minus_the_gradient(d); });
}

// Where everything is in tension and still being stretched, nothing has to be projected: A is the derivative of g.
template <class Driver>
void expect_matrix_is_the_derivative(Driver& d) {
  Random random(5);
  for (Vec3& x : d.nodes.x) x = 1.1 * x + random.vector(5e-4);
  d.begin();
  for (int j = 0; j < d.nodes.size(); ++j) d.v[j] = 3 * d.nodes.x[j] + random.vector(0.01);
  Eigen::MatrixXd A, unused;
  Eigen::VectorXd g, plus, minus;
  d.assemble(A, g);
  EXPECT_LT((A - A.transpose()).norm(), 1e-14 * A.norm());
  const double step = 1e-5;
  for (int j = 0; j < d.nodes.size(); ++j)
    for (int a = 0; a < 3; ++a) {
      const double v = d.v[j][a];
      d.v[j][a] = v + step;
      d.assemble(unused, plus);
      d.v[j][a] = v - step;
      d.assemble(unused, minus);
      d.v[j][a] = v;
      const Eigen::VectorXd difference = (plus - minus) / (2 * step);
      EXPECT_LT((A.col(3 * j + a) - difference).norm(), 1e-7 * A.col(3 * j + a).norm());
    }
}

TEST(SolidBody, MatrixIsTheDerivativeOfTheForceInTension) {
  for (const Material material : kMaterials) {
    Solid solid = soft_box(material);
    solid.damping = 5e-3;
    solid.mass_damping = 3;
    SolidDriver d(solid);
    expect_matrix_is_the_derivative(d);
  }
}

TEST(FramesBody, MatrixIsTheDerivativeOfTheForceInTension) {
  for (const Material material : kMaterials) {
    Frames frames = frame_bar(material, 2);
    frames.damping = 5e-3;
    frames.drag = 20;
    FramesDriver d(frames);
    expect_matrix_is_the_derivative(d);
  }
}

template <class Driver>
void expect_positive_definite_when_scrambled(Driver& d) {
  Random random(5);
  for (Vec3& x : d.nodes.x) x = random.vector(0.2);
  d.begin();
  for (Vec3& v : d.v) v = random.vector(10);
  Eigen::MatrixXd A;
  Eigen::VectorXd g;
  d.assemble(A, g);
  ASSERT_TRUE(A.allFinite() && g.allFinite());
  EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(A).eigenvalues()[0], 0);
}

TEST(SolidBody, MatrixIsPositiveDefiniteHoweverScrambled) {
  for_each_solid(1e-3, [](auto& d) { expect_positive_definite_when_scrambled(d); });
}

TEST(FramesBody, MatrixIsPositiveDefiniteHoweverScrambled) {
  for_each_bar(1e-3, [](auto& d) { expect_positive_definite_when_scrambled(d); });
}

// x goes to R x + c within one step: neither elasticity nor damping answers, whatever the angle.
template <class Driver>
void expect_free_rigid_motion(Driver& d) {
  const Mat3 R = Eigen::AngleAxisd(1.2, Vec3(1, -2, 0.5).normalized()).toRotationMatrix();
  const Vec3 c(0.3, 0.1, -0.2);
  const std::vector<Vec3> rest = d.nodes.x;
  for (Vec3& x : d.nodes.x) x = R.transpose() * x;
  d.begin();
  for (int j = 0; j < d.nodes.size(); ++j) d.v[j] = (R * rest[j] + c - d.nodes.x[j]) / d.context.dt;
  Eigen::MatrixXd A;
  Eigen::VectorXd g;
  d.assemble(A, g);
  const BodyEnergy still = d.energy();
  for (int j = 0; j < d.nodes.size(); ++j) d.nodes.v[j] = d.v[j];  // without inertia g is what the material gives
  Eigen::VectorXd internal;
  d.assemble(A, internal);
  EXPECT_LT(internal.norm(), 1e-12 * g.norm());
  EXPECT_LT(std::abs(still.elastic), 1e-12 * 1e4 * 0.002);
}

TEST(SolidBody, FiniteRigidMotionMeetsNoForceAndNoDamping) {
  for_each_solid(0.1, [](auto& d) { expect_free_rigid_motion(d); });
}

TEST(FramesBody, FiniteRigidMotionMeetsNoForceAndNoDamping) {
  for_each_bar(0.1, [](auto& d) { expect_free_rigid_motion(d); });
}

// Internal forces, damping included, sum to nothing and turn nothing at the end-of-step positions.
template <class Driver>
void expect_balance(Driver& d) {
  disturb(d, 0.02);
  Random random(5);
  for (Vec3& v : d.v) v = random.vector(0.5);
  d.nodes.v = d.v;
  Eigen::MatrixXd A;
  Eigen::VectorXd g;
  d.assemble(A, g);
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
  double size = 0;
  for (int j = 0; j < d.nodes.size(); ++j) {
    const Vec3 f = g.segment<3>(3 * j), x = d.nodes.x[j] + d.context.dt * d.v[j];
    force += f;
    moment += x.cross(f);
    size += f.norm();
  }
  ASSERT_GT(size, 0);
  EXPECT_LT(force.norm(), 1e-13 * size);
  EXPECT_LT(moment.norm(), 1e-13 * size);
}

TEST(SolidBody, InternalForcesBalance) {
  for_each_solid(1e-2, [](auto& d) { expect_balance(d); });
}

TEST(FramesBody, InternalForcesBalance) {
  for_each_bar(1e-2, [](auto& d) { expect_balance(d); });
}

TEST(SolidBody, MassIsThatOfTheMesh) {
  SolidDriver d(soft_box(Material::corotated, {4, 3, 2}));
  double mass = 0;
  for (const double m : d.nodes.m) mass += m;
  EXPECT_NEAR(mass, 1000 * 0.2 * 0.1 * 0.1, 1e-13);
}

TEST(SolidBody, MassDampingSlowsTranslationByItsFactor) {
  Solid solid = soft_box();
  solid.mass_damping = 4;
  solid.initial_velocity = {1, 2, 3};
  SolidDriver d(solid, 0.01);
  d.step(3);
  for (const Vec3& v : d.nodes.v) EXPECT_LT((v - Vec3(1, 2, 3) / 1.04).norm(), 1e-12);
}

TEST(SolidBody, GravityAcceleratesAllOfIt) {
  SolidDriver d(soft_box(), 0.01);
  d.world.gravity = {0, 0, -10};
  d.step(2);
  for (const Vec3& v : d.nodes.v) EXPECT_LT((v - Vec3(0, 0, -0.1)).norm(), 1e-13);
}

TEST(SolidBody, ViscosityHasTheRateOfItsModulus) {
  // A box stretched by 1e-6 at rest in the step: the viscous stress is xi times the modulus times the strain rate, so
  // forces with damping xi are 1 + xi/dt times those without.
  const auto force = [](double xi) {
    Solid solid = soft_box(Material::st_venant_kirchhoff);
    solid.damping = xi;
    SolidDriver d(solid, 0.01);
    for (int j = 0; j < d.nodes.size(); ++j) d.v[j] = 1e-4 * d.nodes.x[j];
    d.nodes.v = d.v;
    Eigen::MatrixXd A;
    Eigen::VectorXd g;
    d.assemble(A, g);
    return g;
  };
  const Eigen::VectorXd without = force(0), with = force(0.03);
  EXPECT_LT((with - 4 * without).norm(), 1e-5 * with.norm());
}

TEST(SolidBody, MaxStretchIsThatOfTheWorstEdge) {
  SolidDriver d(soft_box());
  EXPECT_LT(d.body.max_stretch(d.nodes.x), 1e-14);
  for (Vec3& x : d.nodes.x) x[0] *= 1.25;
  EXPECT_NEAR(d.body.max_stretch(d.nodes.x), 0.25, 1e-14);
  for (Vec3& x : d.nodes.x) x.setZero();
  EXPECT_EQ(d.body.max_stretch(d.nodes.x), 1);
}

TEST(SolidBody, PinnedVerticesStayAndReportWhatHoldsThem) {
  Solid solid = soft_box();
  solid.young = 1e5;
  solid.damping = 0.02;
  Pins pins;
  for (std::size_t i = 0; i < solid.mesh.vertices.size(); ++i)
    if (solid.mesh.vertices[i][0] < -0.099) pins.nodes.push_back(static_cast<int>(i));
  solid.pins = {pins};
  SolidDriver d(solid, 0.01);
  d.world.gravity = {0, 0, -10};
  for (int k = 0; k < 300; ++k) d.step(6, 1e-10);
  for (const int i : pins.nodes) EXPECT_EQ(d.nodes.x[i], solid.mesh.vertices[i]);
  d.energy();
  EXPECT_LT((d.body.pin_reaction() - Vec3(0, 0, 2 * 10)).norm(), 1e-5);  // 2 kg
}

TEST(SolidBody, DoesNotDependOnThreads) {
  const auto assembled = [](int threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    Solid solid = soft_box(Material::stable_neo_hookean, {12, 8, 8});
    solid.damping = 1e-3;
    SolidDriver d(solid);
    disturb(d, 0.003);
    d.step(2);
    return d.nodes.x;
  };
  const std::vector<Vec3> one = assembled(1), two = assembled(2);
  EXPECT_TRUE(one == two);
}

TEST(FramesBody, SkinReproducesTheRestSurfaceAndAffineMotion) {
  FramesDriver d(frame_bar(Material::corotated, 4));
  const Frames spec = frame_bar(Material::corotated, 4);
  Random random(5);
  Mat3 L = Mat3::Identity();
  for (int a = 0; a < 3; ++a) L.col(a) += random.vector(0.5);
  for (const bool moved : {false, true}) {
    if (moved)
      for (Vec3& x : d.nodes.x) x = L * x + Vec3(1, 2, 3);
    for (std::size_t i = 0; i < spec.surface.vertices.size(); ++i) {
      Vec3 x = Vec3::Zero();
      double sum = 0;
      for (const auto& [j, w] : d.body.surface_skin()[i]) {
        x += w * d.nodes.x[j];
        sum += w;
      }
      EXPECT_NEAR(sum, 1, 1e-14);
      const Vec3& X = spec.surface.vertices[i];
      EXPECT_LT((x - (moved ? (L * X + Vec3(1, 2, 3)).eval() : X)).norm(), 1e-14);
    }
  }
  EXPECT_NEAR(d.body.max_stretch(d.nodes.x), (L.jacobiSvd().singularValues().array() - 1).abs().maxCoeff(), 1e-12);
}

TEST(FramesBody, KineticEnergyOfABoxIsExactForRigidMotion) {
  // Samples are cubes that fill the box and carry their own second moment, so the inertia is that of the box.
  for (const int frames : {1, 2, 3}) {
    FramesDriver d(frame_bar(Material::corotated, frames));
    const Vec3 omega(1.5, -0.7, 2.2), velocity(0.3, -0.4, 0.5);
    for (int j = 0; j < d.nodes.size(); ++j) d.nodes.v[j] = velocity + omega.cross(d.nodes.x[j]);
    const double mass = 500 * 0.2 * 0.1 * 0.1;
    const Vec3 size2(0.04, 0.01, 0.01);
    const Vec3 inertia = mass / 12 * Vec3(size2[1] + size2[2], size2[0] + size2[2], size2[0] + size2[1]);
    const double expected = 0.5 * mass * velocity.squaredNorm() + 0.5 * omega.dot(inertia.cwiseProduct(omega));
    EXPECT_NEAR(d.energy().kinetic, expected, 1e-13) << frames;
  }
}

TEST(FramesBody, OneFrameIsAnElementOfItsVolume) {
  // A single frame deforms homogeneously: its energy is the volume times that of a tet with the same F.
  FramesDriver d(frame_bar(Material::fixed_corotated, 1));
  SolidDriver solid(soft_box());
  Mat3 F = Mat3::Identity();
  F << 1.2, 0.1, 0, -0.2, 0.9, 0.3, 0, 0.1, 1.05;
  for (Vec3& x : d.nodes.x) x = F * x;
  for (Vec3& x : solid.nodes.x) x = F * x;
  EXPECT_NEAR(d.energy().elastic, solid.energy().elastic, 1e-13 * solid.energy().elastic);
}

TEST(FramesBody, SamplesOnALineStillGiveEveryFrameMass) {
  Frames curve = frame_bar(Material::corotated, 3);
  curve.samples.clear();
  for (int i = 0; i < 8; ++i) {
    const double x = 0.025 * (i + 0.5) - 0.1, s = (x + 0.1) / 0.1;
    const int f = std::min(static_cast<int>(s), 1);
    curve.samples.push_back({{x, 0, 0}, 1e-6, {{f, 1 - (s - f), {-10, 0, 0}}, {f + 1, s - f, {10, 0, 0}}}});
  }
  FramesDriver d(curve);
  d.world.gravity = {0, 0, -10};
  for (int k = 0; k < 5; ++k) d.step(2);  // free fall: all nodes alike
  for (const Vec3& v : d.nodes.v) EXPECT_LT((v - Vec3(0, 0, -0.5)).norm(), 1e-9);
}

TEST(FramesBody, DragDrawsTheBodyWithTheWind) {
  Frames frames = frame_bar(Material::corotated, 1);  // as symmetric as the box: it does not turn or deform
  frames.drag = 7;
  frames.initial_velocity = {0.5, 0, 1};
  FramesDriver d(frames, 0.01);
  d.world.wind = {2, 1, 0};
  d.step(3);
  // Implicit: m (v1 - v0) = dt c (wind - v1), c = 7 times the surface of the box.
  const double mass = 500 * 0.002, c = 7 * (2 * 0.01 + 4 * 0.02);
  const Vec3 expected = (mass * Vec3(0.5, 0, 1) + 0.01 * c * Vec3(2, 1, 0)) / (mass + 0.01 * c);
  Vec3 momentum = Vec3::Zero();
  double total = 0;
  Eigen::MatrixXd A;
  Eigen::VectorXd g;
  frames.drag = 0;
  FramesDriver still(frames, 1e-8);  // A is M
  still.assemble(A, g);
  for (int i = 0; i < d.nodes.size(); ++i)
    for (int j = 0; j < d.nodes.size(); ++j) {
      momentum += A(3 * i, 3 * j) * d.nodes.v[j];
      total += A(3 * i, 3 * j);
    }
  EXPECT_NEAR(total, mass, 1e-10);
  EXPECT_LT((momentum / mass - expected).norm(), 1e-9);
}

TEST(FramesBody, PinnedFramesStand) {
  Frames frames = frame_bar(Material::corotated, 3);
  frames.pins = {{{0}, ""}};
  FramesDriver d(frames);
  const std::vector<Vec3> rest = d.nodes.x;
  d.world.gravity = {0, 0, -10};
  for (int k = 0; k < 5; ++k) d.step(3);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(d.nodes.x[k], rest[k]);
  EXPECT_LT(d.nodes.x[8][2], rest[8][2] - 1e-3);
}

template <class F>
std::string refusal(F&& build) {
  try {
    build();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(SolidBody, RefusesBrokenMeshesAndMaterialsByName) {
  const auto with = [](auto&& change) {
    Solid solid = soft_box();
    change(solid);
    return refusal([&] { SolidDriver d(solid); });
  };
  EXPECT_EQ(with([](Solid& s) { std::swap(s.mesh.tets[3][0], s.mesh.tets[3][1]); }),
            "solid 'box': tet 3 is inverted or has no volume at rest");
  EXPECT_EQ(with([](Solid& s) { s.mesh.tets[2][1] = s.mesh.tets[2][0]; }),
            "solid 'box': tet 2 is inverted or has no volume at rest");
  EXPECT_EQ(with([](Solid& s) { s.mesh.tets[1][2] = 99; }), "solid 'box': tet 1 names a vertex that does not exist");
  EXPECT_EQ(with([](Solid& s) { s.mesh.vertices.push_back({1, 1, 1}); }), "solid 'box': vertex 12 belongs to no tet");
  EXPECT_EQ(with([](Solid& s) { s.mesh.tets.clear(); }), "solid 'box': the mesh has no tets");
  EXPECT_EQ(with([](Solid& s) { s.poisson = 0.5; }), "solid 'box': Poisson's ratio must lie in (-1, 0.5)");
  EXPECT_EQ(with([](Solid& s) { s.density = 0; }), "solid 'box': density must be positive");
  EXPECT_EQ(with([](Solid& s) { s.rest_vertices.resize(3); }),
            "solid 'box': rest_vertices must be as many as the mesh has vertices");
  EXPECT_EQ(with([](Solid& s) { s.pins = {{{12}, ""}}; }), "solid 'box': a pin names vertex 12, which does not exist");
}

TEST(FramesBody, RefusesWeightsThatAreNoPartitionOfUnity) {
  const auto with = [](auto&& change) {
    Frames frames = frame_bar(Material::corotated, 2);
    change(frames);
    return refusal([&] { FramesDriver d(frames); });
  };
  EXPECT_EQ(with([](Frames& f) { f.samples[4].weights[0].weight += 0.1; }),
            "frames 'bar': the weights of sample 4 do not sum to one");
  EXPECT_EQ(with([](Frames& f) { f.samples[4].weights[0].gradient[1] += 0.1; }),
            "frames 'bar': the gradients of the weights of sample 4 do not sum to zero");
  EXPECT_EQ(with([](Frames& f) { f.samples[5].weights[0].frame = 2; }),
            "frames 'bar': sample 5 names frame 2, which does not exist");
  EXPECT_EQ(with([](Frames& f) { f.surface_weights.pop_back(); }),
            "frames 'bar': surface_weights must be as many as the surface has vertices");
  EXPECT_EQ(with([](Frames& f) { f.samples[1].volume = 0; }), "frames 'bar': sample 1 has no volume");
  EXPECT_EQ(with([](Frames& f) {
              f.frames.push_back({1, 0, 0});
            }),
            "frames 'bar': some frame has no mass of its own: it needs samples");
}

}  // namespace
}  // namespace stiction
