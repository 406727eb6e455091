// Solids and frames against closed forms: the uniaxial bar (S3 of docs/results.md), the first bending frequency of a
// beam, the incline (S4) for tets, an embedded surface and a frame, and a stiff frame in the place of a rigid body.
#include "bodies/solid.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numbers>

#include "bodies/frames.hpp"
#include "geometry/tet_mesh.hpp"
#include "support/body_driver.hpp"
#include "support/incline.hpp"

namespace stiction {
namespace {

using test::BodyDriver;

struct Bar {
  Material material;
  const char* name;
  double table[2][2];  // a and b for P/E = 0.1 and 0.5, as printed
};

const Bar kBars[] = {{Material::neo_hookean, "neo-Hookean", {{1.10801, 0.96933}, {1.71357, 0.84183}}},
                     {Material::stable_neo_hookean, "stable neo-Hookean", {{1.10618, 0.96868}, {1.64026, 0.83682}}},
                     {Material::st_venant_kirchhoff, "St. Venant-Kirchhoff", {{1.08803, 0.97204}, {1.32472, 0.87951}}},
                     {Material::corotated, "corotated", {{1.1, 0.97}, {1.5, 0.85}}},
                     {Material::fixed_corotated, "fixed corotated", {{1.10342, 0.96976}, {1.57058, 0.85392}}}};
constexpr double kBarYoung = 1e5, kBarPoisson = 0.3;

// Axial and lateral nominal stress over E of F = diag(a, b, b), from each energy by hand.
Eigen::Vector2d bar_stress(Material material, double a, double b) {
  const double mu = 1 / (2 * (1 + kBarPoisson)), lambda = kBarPoisson / ((1 + kBarPoisson) * (1 - 2 * kBarPoisson));
  const double J = a * b * b;
  switch (material) {
    case Material::corotated: {
      const double trace = lambda * (a + 2 * b - 3);
      return {2 * mu * (a - 1) + trace, 2 * mu * (b - 1) + trace};
    }
    case Material::fixed_corotated:
      return {2 * mu * (a - 1) + lambda * (J - 1) * b * b, 2 * mu * (b - 1) + lambda * (J - 1) * a * b};
    case Material::st_venant_kirchhoff: {
      const double ea = (a * a - 1) / 2, eb = (b * b - 1) / 2, trace = lambda * (ea + 2 * eb);
      return {a * (2 * mu * ea + trace), b * (2 * mu * eb + trace)};
    }
    case Material::neo_hookean:
      return {mu * (a - 1 / a) + lambda * std::log(J) / a, mu * (b - 1 / b) + lambda * std::log(J) / b};
    case Material::stable_neo_hookean:
      break;
  }
  const double m = 4 * mu / 3, l = lambda + 5 * mu / 6, alpha = 1 + m / l - m / (4 * l);
  const double c = m * (1 - 1 / (a * a + 2 * b * b + 1));
  return {c * a + l * (J - alpha) * b * b, c * b + l * (J - alpha) * a * b};
}

// Stretches a, b under the nominal stress P/E, by Newton's method with differences.
Eigen::Vector2d bar_stretches(Material material, double load) {
  Eigen::Vector2d s(1, 1);
  for (int ramp = 1; ramp <= 10; ++ramp)
    for (int k = 0; k < 20; ++k) {
      const Eigen::Vector2d f = bar_stress(material, s[0], s[1]) - Eigen::Vector2d(load * ramp / 10, 0);
      Eigen::Matrix2d jacobian;
      const double h = 1e-6;
      jacobian.col(0) = (bar_stress(material, s[0] + h, s[1]) - bar_stress(material, s[0] - h, s[1])) / (2 * h);
      jacobian.col(1) = (bar_stress(material, s[0], s[1] + h) - bar_stress(material, s[0], s[1] - h)) / (2 * h);
      s -= jacobian.inverse() * f;
    }
  return s;
}

TEST(Bar, ClosedFormGivesThePrintedTable) {
  for (const Bar& bar : kBars)
    for (const int row : {0, 1}) {
      const Eigen::Vector2d s = bar_stretches(bar.material, row == 0 ? 0.1 : 0.5);
      EXPECT_NEAR(s[0], bar.table[row][0], 6e-6) << bar.name;  // five digits printed
      EXPECT_NEAR(s[1], bar.table[row][1], 6e-6) << bar.name;
    }
}

TEST(Bar, KernelsAreInEquilibriumAtTheClosedForm) {
  for (const Bar& bar : kBars)
    for (const double load : {0.1, 0.5}) {
      const Eigen::Vector2d ab = bar_stretches(bar.material, load);
      const double s[3] = {ab[0], ab[1], ab[1]};
      with_material(bar.material, [&](auto m) {
        const MaterialConstants constants = material_constants(bar.material, kBarYoung, kBarPoisson);
        const Principal<double> r = principal<decltype(m)::value>(s, constants);
        EXPECT_NEAR(r.p[0] / kBarYoung, load, 1e-10) << bar.name;
        EXPECT_NEAR(r.p[1] / kBarYoung, 0, 1e-10) << bar.name;
        EXPECT_NEAR(r.p[2] / kBarYoung, 0, 1e-10) << bar.name;
      });
    }
}

// A free bar pulled at both ends by tractions that are ramped in and held. Linear tets hold the homogeneous solution
// exactly: 1e-6 is what remains of the vibration and of Newton's iterations.
TEST(Bar, ABarOfTetsStretchesAsTheClosedFormSays) {
  const Vec3 size(0.3, 0.1, 0.1);
  for (const Bar& bar : kBars)
    for (const double load : {0.1, 0.5}) {
      Solid solid;
      solid.name = "bar";
      solid.mesh = make_tet_box(size, {3, 2, 2});
      solid.material = bar.material;
      solid.young = kBarYoung;
      solid.poisson = kBarPoisson;
      solid.damping = 0;
      const TriangleMesh boundary = boundary_surface(solid.mesh);
      std::vector<int> vertex_of;
      boundary_surface(solid.mesh, &vertex_of);
      for (const Eigen::Vector3i& t : boundary.triangles) {
        const Vec3 &p = boundary.vertices[t[0]], &q = boundary.vertices[t[1]], &r = boundary.vertices[t[2]];
        const Vec3 area = 0.5 * (q - p).cross(r - p);
        if (std::abs(area[0]) < 0.5 * area.norm()) continue;
        const Vec3 force = load * kBarYoung / 3 * Vec3(area[0], 0, 0);  // nominal: per area at rest
        for (int k = 0; k < 3; ++k) solid.forces.push_back({vertex_of[t[k]], {{0.0, Vec3::Zero()}, {2.0, force}}});
      }
      BodyDriver<SolidBody> d(solid, 0.1);
      for (int k = 0; k < 60; ++k) d.step(20, 1e-9);
      const Eigen::Vector2d s = bar_stretches(bar.material, load);
      Vec3 centre = Vec3::Zero();
      double mass = 0;
      for (int j = 0; j < d.nodes.size(); ++j) {
        centre += d.nodes.m[j] * d.nodes.x[j];
        mass += d.nodes.m[j];
      }
      centre /= mass;
      for (int j = 0; j < d.nodes.size(); ++j) {
        const Vec3& X = solid.mesh.vertices[j];
        const Vec3 expected = centre + Vec3(s[0] * X[0], s[1] * X[1], s[1] * X[2]);
        EXPECT_LT((d.nodes.x[j] - expected).norm(), 1e-6 * size[0]) << bar.name << ", P/E = " << load;
      }
    }
}

// Lowest frequency of a body with pins, Hz, by inverse iteration: A = M + dt² K at rest, A y = M x.
template <class BodyType>
double first_frequency(BodyDriver<BodyType>& d) {
  const std::vector<double> no_weight(d.nodes.size(), 0.0);
  const std::vector<std::uint8_t> all(1, 1);
  d.begin();
  d.body.assemble(d.nodes, d.v);
  if (!d.body.factor(no_weight, all)) return 0;
  std::vector<Vec3> x(d.nodes.size()), impulse(x), y(x);
  for (int j = 0; j < d.nodes.size(); ++j)
    x[j] = d.nodes.fixed[j] ? Vec3::Zero() : Vec3(0, 0.01 * d.nodes.x[j][0], d.nodes.x[j][0]);
  double quotient = 0;
  for (int k = 0; k < 40; ++k) {
    for (int j = 0; j < d.nodes.size(); ++j) impulse[j] = d.nodes.m[j] * x[j];
    d.body.solve(impulse, y, all);
    double yy = 0, yx = 0;
    for (int j = 0; j < d.nodes.size(); ++j) {
      yy += d.nodes.m[j] * y[j].squaredNorm();
      yx += d.nodes.m[j] * y[j].dot(x[j]);
    }
    quotient = yx / yy;  // 1 + dt² omega²
    for (int j = 0; j < d.nodes.size(); ++j) x[j] = y[j] / std::sqrt(yy);
  }
  return std::sqrt(quotient - 1) / d.context.dt / (2 * std::numbers::pi);
}

// A cantilever of 0.4 x 0.04 x 0.02 m. Linear tets are too stiff in bending, by an amount that falls with the square of
// the cell. Euler and Bernoulli neglect shear and rotary inertia; at L/h = 20 Timoshenko's frequency is 0.4 % lower.
TEST(Beam, FirstBendingFrequencyConvergesToBeamTheory) {
  const double L = 0.4, h = 0.02, E = 1e6, rho = 1000;
  const double theory =
      1.8751040687 * 1.8751040687 / (2 * std::numbers::pi) * std::sqrt(E * h * h / (12 * rho)) / (L * L);
  std::vector<double> f;
  for (const int n : {4, 8, 16}) {
    Solid solid;
    solid.name = "beam";
    solid.mesh = make_tet_box({L, 2 * h, h}, {10 * n, n / 2, n});
    solid.young = E;
    solid.poisson = 0;
    solid.density = rho;
    solid.pins.resize(1);
    for (std::size_t i = 0; i < solid.mesh.vertices.size(); ++i)
      if (solid.mesh.vertices[i][0] < -0.5 * L + 1e-9) solid.pins[0].nodes.push_back(static_cast<int>(i));
    BodyDriver<SolidBody> d(solid, 0.1);
    f.push_back(first_frequency(d));
    RecordProperty("hertz_" + std::to_string(n), std::to_string(f.back()));
  }
  const double slope = std::log2((f[0] - f[1]) / (f[1] - f[2]));
  const double limit = f[2] + (f[2] - f[1]) / 3;
  RecordProperty("slope", std::to_string(slope));
  EXPECT_GT(slope, 1.8);
  EXPECT_LT(slope, 2.2);
  EXPECT_LT(f[2] / theory, 1.015);
  EXPECT_NEAR(limit / theory, 1, 0.005);
}

// S4: a block on an incline. It is soft: it first
// squashes for some 0.1 s, and friction of points that slide outwards does not all point uphill. From then on it moves
// as a whole, and the law holds as for a point: v grows by a dt a step.
enum class Kind { tets, embedded, frame };

constexpr int kSettlingSteps = 25;

Scene incline(Kind kind, double angle, double mu, double dt) {
  Scene scene = test::tilted_plane(angle, mu, dt);
  scene.solver.tolerance = 1e-14;
  scene.solver.admm_iterations = 1000;

  const double radius = 1e-3, height = 0.04;
  TetMesh box = make_tet_box({0.2, 0.2, height}, {2, 2, 1});
  for (Vec3& x : box.vertices) x.z() += 0.5 * height + radius;
  if (kind == Kind::frame) {
    Frames block;
    block.name = "block";
    block.frames = {{0, 0, 0.5 * height + radius}};  // at the centre of mass
    for (int i = -2; i <= 2; ++i)
      for (int j = -2; j <= 2; ++j)
        block.samples.push_back(
            {block.frames[0] + Vec3(i * height, j * height, 0), std::pow(height, 3), {{0, 1.0, Vec3::Zero()}}});
    block.surface = boundary_surface(box);
    block.surface_weights.assign(block.surface.vertices.size(), {{0, 1.0, Vec3::Zero()}});
    block.young = 1e6;
    block.damping = 0.01;
    block.contact_radius = radius;
    block.friction = mu;
    scene.frames.push_back(block);
    return scene;
  }
  Solid block;
  block.name = "block";
  block.mesh = box;
  if (kind == Kind::embedded) {
    block.surface = boundary_surface(box);
    block.mesh = make_tet_lattice(block.surface, 0.06);
  }
  block.young = 1e6;
  block.damping = 0.01;
  block.contact_radius = radius;
  block.friction = mu;
  scene.solids.push_back(block);
  return scene;
}

Vec3 centre_of(const Simulation& simulation, std::span<const Vec3> field) {
  if (!simulation.scene().frames.empty()) return field[0];
  Vec3 sum = Vec3::Zero();
  double mass = 0;
  for (std::size_t j = 0; j < field.size(); ++j) {
    sum += simulation.masses()[j] * field[j];
    mass += simulation.masses()[j];
  }
  return sum / mass;
}

class S4Incline : public testing::TestWithParam<Kind> {};

TEST_P(S4Incline, SticksIfAndOnlyIfTheSlopeIsBelowTheCoefficient) {
  const double mu = 0.3, dt = 0.01;
  for (const double factor : {0.99, 1.01}) {
    const double angle = std::atan(mu * factor), a = test::slide_acceleration(angle, mu);
    Simulation simulation(incline(GetParam(), angle, mu, dt));
    for (int i = 0; i < kSettlingSteps; ++i) simulation.step();
    const double before = centre_of(simulation, simulation.velocities()).x();
    for (int i = 0; i < 10; ++i) simulation.step();
    const double after = centre_of(simulation, simulation.velocities()).x();
    if (factor < 1)
      EXPECT_LT(std::abs(after), 1e-9);
    else
      EXPECT_NEAR(after - before, 10 * dt * a, 1e-8);
  }
}

TEST_P(S4Incline, SlidesWithTheAccelerationOfImplicitEuler) {
  const double angle = test::kSlideAngle, mu = 0.3, dt = 0.01;
  const double a = test::slide_acceleration(angle, mu);
  Simulation simulation(incline(GetParam(), angle, mu, dt));
  for (int i = 0; i < kSettlingSteps; ++i) simulation.step();
  const std::vector<Vec3> x(simulation.positions().begin(), simulation.positions().end());
  const std::vector<Vec3> v(simulation.velocities().begin(), simulation.velocities().end());
  EXPECT_NEAR(centre_of(simulation, v).x() / (a * kSettlingSteps * dt), 1, 1e-4);  // what squashing left
  const int n = 20;
  for (int i = 0; i < n; ++i) simulation.step();
  // Of the centre of mass: a spin of 1e-5 rad/s about the normal, left from squashing, decays but slowly.
  const double speed = centre_of(simulation, v).x();
  EXPECT_NEAR((centre_of(simulation, simulation.velocities()).x() - speed) / (a * n * dt), 1, 1e-6);
  const double path = speed * n * dt + a * dt * dt * n * (n + 1) / 2;
  EXPECT_NEAR((centre_of(simulation, simulation.positions()) - centre_of(simulation, x)).x() / path, 1, 1e-6);
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(simulation.positions()[j].z(), x[j].z(), 1e-8);
}

std::string kind_name(const testing::TestParamInfo<Kind>& kind) {
  static const char* names[] = {"Tets", "EmbeddedSurface", "Frame"};
  return names[static_cast<int>(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(All, S4Incline, testing::Values(Kind::tets, Kind::embedded, Kind::frame), kind_name);

// A stiff frame for a rigid body: what it costs. A cube spins freely about an axis of inertia. Implicit Euler turns a
// rigid body by theta_1 = atan(omega dt), 2 sin theta_{n+1} = sin(theta_n + theta_{n+1}): a loss of (omega dt)² a step,
// as for any body here. The frame adds a strain of about rho omega² l²/E, and no iterations: three of Newton's are
// enough at any stiffness.
struct Spin {
  double excess;  // angle turned over that of the rigid body, minus one
  double lost;    // of the rate of spin
  int iterations;
};

Spin spin(double young, double dt) {
  const double rate = 10, edge = 0.05;
  Frames cube;
  cube.name = "cube";
  cube.frames = {Vec3::Zero()};
  cube.frame_size = edge;
  cube.young = young;
  for (int i = 0; i < 8; ++i)
    cube.samples.push_back(
        {edge * Vec3((i & 1) - 0.5, (i >> 1 & 1) - 0.5, (i >> 2) - 0.5), std::pow(edge, 3), {{0, 1.0, Vec3::Zero()}}});
  BodyDriver<FramesBody> d(cube, dt);
  for (int j = 0; j < 4; ++j) d.nodes.v[j] = Vec3(0, 0, rate).cross(d.nodes.x[j]);
  const auto heading = [&] {
    const Vec3 a = d.nodes.x[1] - d.nodes.x[0], b = d.nodes.x[2] - d.nodes.x[0];
    return std::atan2(a.y() - b.x(), a.x() + b.y());
  };
  Spin result{0, 0, 0};
  double theta = std::atan(rate * dt), rigid = 0, turned = 0, last = 0;
  for (int n = 0; n < std::lround(0.5 / dt); ++n) {
    if (n > 0) {
      const double previous = theta;
      for (int k = 0; k < 30; ++k)
        theta -=
            (2 * std::sin(theta) - std::sin(previous + theta)) / (2 * std::cos(theta) - std::cos(previous + theta));
    }
    rigid += theta;
    d.begin();
    int k = 1;
    while (d.iterate() > 1e-8 * rate * edge && k < 50) ++k;
    d.accept();
    result.iterations = std::max(result.iterations, k);
    turned += std::remainder(heading() - last, 2 * std::numbers::pi);
    last = heading();
  }
  result.excess = turned / rigid - 1;
  result.lost = 1 - (d.nodes.v[1] - d.nodes.v[0]).norm() / (rate * edge);
  return result;
}

TEST(StiffFrame, SpinsAsARigidBodyUnderImplicitEuler) {
  for (const double dt : {1e-3, 4e-3, 1e-2})
    for (const double young : {1e6, 1e8, 1e10}) {
      const Spin s = spin(young, dt);
      EXPECT_LT(std::abs(s.excess), 1e2 / young) << dt << " " << young;  // rho omega² l² = 1.3e2 Pa
      EXPECT_LE(s.iterations, 3) << dt << " " << young;
    }
  // First order in dt: omega² dt t of the spin is gone after the time t.
  EXPECT_NEAR(spin(1e8, 1e-3).lost, 100 * 1e-3 * 0.5, 5e-3);
}

}  // namespace
}  // namespace stiction
