// Shell elements: derivatives against central differences, positive semi-definite Hessians, and the body's invariance
// under rigid motion.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <numbers>

#include "bodies/shell.hpp"
#include "kernels/shell.hpp"
#include "support/random.hpp"

namespace stiction {
namespace {

using V = V3<double>;

using test::Random;

// A triangle of size about 1 in its rest plane and its three positions.
struct Triangle {
  RestTriangle<double> rest;
  std::array<V, 3> x;
};

// States of a triangle: F maps its plane to space, then a rotation.
enum class State { rest, stretched, sheared, compressed, flipped, any };

Triangle random_triangle(Random& random, State state) {
  const double u[3] = {random(-0.1, 0.1), random(0.8, 1.2), random(0.2, 0.8)};
  const double v[3] = {random(-0.1, 0.1), random(-0.1, 0.1), random(0.6, 1.2)};
  Triangle t{rest_triangle(u, v, 0.01), {}};
  Eigen::Matrix<double, 3, 2> F = Eigen::Matrix<double, 3, 2>::Identity();
  if (state == State::stretched) F.diagonal() << random(1, 2), random(1, 2);
  if (state == State::sheared) F(0, 1) = random(-1.5, 1.5);
  if (state == State::compressed) F.diagonal() << random(0.3, 0.9), random(0.3, 0.9);
  if (state == State::flipped) F(1, 1) = random(-1.2, -0.2);
  if (state == State::any)
    for (int a = 0; a < 6; ++a) F.data()[a] = random(-1.5, 1.5);
  F = (random.rotation().toRotationMatrix() * F).eval();
  for (int j = 0; j < 3; ++j) {
    const Vec3 p = F * Eigen::Vector2d(u[j], v[j]);
    t.x[j] = {p.x(), p.y(), p.z()};
  }
  return t;
}

constexpr State kStates[] = {State::rest,       State::stretched, State::sheared,
                             State::compressed, State::flipped,   State::any};

// Whether A + shift I has only positive pivots.
template <class M>
bool is_positive_definite(M A, double shift) {
  for (int k = 0; k < A.rows(); ++k) {
    const double pivot = A(k, k) + shift;
    if (!(pivot > 0)) return false;
    for (int i = k + 1; i < A.rows(); ++i)
      for (int j = k + 1; j < A.cols(); ++j) A(i, j) -= A(i, k) * A(k, j) / pivot;
  }
  return true;
}

const MembraneModuli<double> kCloth = orthotropic_moduli(3e5, 1e5, 2e4, 0.4);

Eigen::Matrix<double, 9, 9> membrane_matrix(const Triangle& t, const Sym2<double>& geometric_stress) {
  const auto F = deformation_gradient(t.x.data(), t.rest);
  Eigen::Matrix<double, 9, 9> H;
  for (int j = 0; j < 3; ++j)
    for (int l = 0; l < 3; ++l) {
      double block[9];
      membrane_hessian(kCloth, t.rest, F, geometric_stress, j, l, block);
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) H(3 * j + a, 3 * l + b) = block[3 * a + b];
    }
  return H;
}

Eigen::Matrix<double, 9, 1> membrane_force(const Triangle& t) {
  const auto F = deformation_gradient(t.x.data(), t.rest);
  V g[3];
  membrane_gradient(t.rest, F, membrane_stress(kCloth, green_strain(F)), g);
  Eigen::Matrix<double, 9, 1> r;
  for (int j = 0; j < 3; ++j)
    for (int a = 0; a < 3; ++a) r[3 * j + a] = g[j][a];
  return r;
}

TEST(ShellMembrane, GradientMatchesFiniteDifferences) {
  Random random(1);
  for (const State state : kStates)
    for (int trial = 0; trial < 20; ++trial) {
      const Triangle t = random_triangle(random, state);
      const auto g = membrane_force(t);
      const double step = 1e-5;
      for (int a = 0; a < 9; ++a) {
        const auto energy = [&](double h) {
          Triangle moved = t;
          moved.x[a / 3][a % 3] += h;
          return membrane_energy(kCloth, t.rest, green_strain(deformation_gradient(moved.x.data(), t.rest)));
        };
        // The energy (of order h E = 3e3 J) is a quartic: the differences' error is step² times its third derivative.
        EXPECT_NEAR(g[a], (energy(step) - energy(-step)) / (2 * step), 1e-5 * (1 + g.norm()));
      }
    }
}

// Without projection the Hessian is the exact one.
TEST(ShellMembrane, HessianWithTheFullStressMatchesFiniteDifferences) {
  Random random(2);
  for (const State state : kStates)
    for (int trial = 0; trial < 20; ++trial) {
      const Triangle t = random_triangle(random, state);
      const auto F = deformation_gradient(t.x.data(), t.rest);
      const auto H = membrane_matrix(t, membrane_stress(kCloth, green_strain(F)));
      const double step = 1e-5;
      for (int a = 0; a < 9; ++a) {
        Triangle plus = t, minus = t;
        plus.x[a / 3][a % 3] += step;
        minus.x[a / 3][a % 3] -= step;
        const Eigen::Matrix<double, 9, 1> column = (membrane_force(plus) - membrane_force(minus)) / (2 * step);
        EXPECT_LT((H.col(a) - column).norm(), 1e-7 * H.norm());
      }
    }
}

TEST(ShellMembrane, ProjectedHessianIsPositiveSemiDefiniteAndExactInTension) {
  Random random(3);
  for (const State state : kStates)
    for (int trial = 0; trial < 50; ++trial) {
      const Triangle t = random_triangle(random, state);
      const auto S = membrane_stress(kCloth, green_strain(deformation_gradient(t.x.data(), t.rest)));
      const auto H = membrane_matrix(t, positive_part(S));
      EXPECT_LT((H - H.transpose()).norm(), 1e-12 * H.norm());
      EXPECT_TRUE(is_positive_definite(H, 1e-12 * H.trace()));
      if (S.uu > 0 && S.uu * S.vv > S.uv * S.uv) {
        EXPECT_LT((H - membrane_matrix(t, S)).norm(), 1e-12 * H.norm());
      }
    }
}

// P = S₊ if and only if P and P - S are positive semi-definite and P (P - S) = 0.
TEST(ShellMembrane, PositivePartOfAStressIsItsProjection) {
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    const Sym2<double> S = trial == 0   ? Sym2<double>{0, 0, 0}
                           : trial == 1 ? Sym2<double>{2, 2, 0}
                           : trial == 2 ? Sym2<double>{-2, -2, 0}
                                        : Sym2<double>{random(-1, 1), random(-1, 1), random(-1, 1)};
    const auto P = positive_part(S), N = P - S;
    for (const auto& M : {P, N}) {
      EXPECT_GT(M.uu + M.vv, -1e-14);
      EXPECT_GT(M.uu * M.vv - M.uv * M.uv, -1e-14);
    }
    EXPECT_NEAR(P.uu * N.uu + P.uv * N.uv, 0, 1e-14);
    EXPECT_NEAR(P.uu * N.uv + P.uv * N.vv, 0, 1e-14);
    EXPECT_NEAR(P.uv * N.uu + P.vv * N.uv, 0, 1e-14);
    EXPECT_NEAR(P.uv * N.uv + P.vv * N.vv, 0, 1e-14);
  }
}

TEST(ShellMembrane, PacksComputeWhatScalarsDo) {
  Random random(5);
  std::array<Triangle, kLanes> t;
  RestTriangle<PackD> rest;
  V3<PackD> x[3];
  for (int lane = 0; lane < kLanes; ++lane) {
    t[lane] = random_triangle(random, State::any);
    rest.volume.set(lane, t[lane].rest.volume);
    for (int j = 0; j < 3; ++j) {
      rest.bu[j].set(lane, t[lane].rest.bu[j]);
      rest.bv[j].set(lane, t[lane].rest.bv[j]);
      for (int a = 0; a < 3; ++a) x[j][a].set(lane, t[lane].x[j][a]);
    }
  }
  const auto C = orthotropic_moduli<PackD>(3e5, 1e5, 2e4, 0.4);
  const auto F = deformation_gradient(x, rest);
  const auto S = membrane_stress(C, green_strain(F));
  V3<PackD> g[3];
  membrane_gradient(rest, F, S, g);
  PackD block[9];
  membrane_hessian(C, rest, F, positive_part(S), 2, 1, block);
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto force = membrane_force(t[lane]);
    for (int a = 0; a < 9; ++a) EXPECT_NEAR(g[a / 3][a % 3][lane], force[a], 1e-12 * force.norm());
    const auto H = membrane_matrix(
        t[lane],
        positive_part(membrane_stress(kCloth, green_strain(deformation_gradient(t[lane].x.data(), t[lane].rest)))));
    for (int a = 0; a < 9; ++a) EXPECT_NEAR(block[a][lane], H(6 + a / 3, 3 + a % 3), 1e-12 * H.norm());
  }
}

// Two triangles of size about 1 that meet at `angle`, turned at random.
std::array<V, 4> random_hinge(Random& random, double angle) {
  const Quat turn = random.rotation();
  const Vec3 ridge(random(0.7, 1.3), 0, 0);
  const Vec3 left(random(0.1, 0.9), random(0.5, 1), 0), right(random(0.1, 0.9), -random(0.5, 1), 0);
  const Vec3 folded = Eigen::AngleAxisd(angle, Vec3::UnitX()) * right;
  std::array<V, 4> x;
  const Vec3 points[4] = {Vec3::Zero(), ridge, left, folded};
  for (int j = 0; j < 4; ++j) {
    const Vec3 p = turn * points[j];
    x[j] = {p.x(), p.y(), p.z()};
  }
  return x;
}

TEST(ShellHinge, AngleIsSignedAndItsGradientMatchesFiniteDifferences) {
  Random random(6);
  for (const double angle : {0.0, 1e-9, 0.3, -0.3, 1.5, -1.5, 3.0, -3.0}) {
    for (int trial = 0; trial < 20; ++trial) {
      const auto x = random_hinge(random, angle);
      const auto rest = rest_hinge(x.data(), 1.0);
      const auto h = hinge_angle(x.data(), rest);
      EXPECT_NEAR(h.theta, angle, 1e-12);  // the second triangle turned down: a ridge
      const double step = 1e-6;
      for (int a = 0; a < 12; ++a) {
        auto plus = x, minus = x;
        plus[a / 3][a % 3] += step;
        minus[a / 3][a % 3] -= step;
        const double difference = (hinge_angle(plus.data(), rest).theta - hinge_angle(minus.data(), rest).theta);
        EXPECT_NEAR(h.gradient[a / 3][a % 3], difference / (2 * step), 1e-8);
      }
    }
  }
}

TEST(ShellHinge, CollapsedTrianglesGiveFiniteGradients) {
  Random random(7);
  const auto x = random_hinge(random, 0.5);
  const auto rest = rest_hinge(x.data(), 1.0);
  for (int collapsed = 0; collapsed < 3; ++collapsed) {
    auto y = x;
    if (collapsed == 0) y[2] = 0.5 * (y[0] + y[1]);  // one triangle is a segment
    if (collapsed == 1) y[1] = y[0];                 // no edge
    if (collapsed == 2) y[1] = y[2] = y[3] = y[0];   // a point
    const auto h = hinge_angle(y.data(), rest);
    EXPECT_TRUE(std::isfinite(h.theta));
    for (const V& g : h.gradient) EXPECT_LT(norm(g), 10 / kMinHingeRatio);  // 1 / height, heights above 0.5 at rest
  }
}

// Bent to a cylinder, a strip of equilateral triangles holds D/2 kappa² per area whatever the direction: the angles of
// the three edges of a cell are 1/(2 sqrt 3) side (3 nHn - tHt), H the surface's second derivative.
TEST(ShellHinge, EquilateralTrianglesHoldThePlatesEnergyInEveryDirection) {
  const double D = 2.5, side = 1e-3, kappa = 0.1;
  for (const double direction : {0.0, 0.2, 0.5, 1.0}) {
    const double c = std::cos(direction), s = std::sin(direction);
    double energy = 0;
    for (int edge = 0; edge < 3; ++edge) {
      const double a = edge * std::numbers::pi / 3;
      const double height = 0.5 * std::sqrt(3.0) * side;
      const auto point = [&](double along, double up) -> V {
        const double px = along * std::cos(a) - up * std::sin(a), py = along * std::sin(a) + up * std::cos(a);
        const double q = c * px + s * py;
        return {px, py, 0.5 * kappa * q * q};
      };
      const V flat[4] = {{0, 0, 0}, {side, 0, 0}, {0.5 * side, height, 0}, {0.5 * side, -height, 0}};
      const V bent[4] = {point(-0.5 * side, 0), point(0.5 * side, 0), point(0, height), point(0, -height)};
      const auto rest = rest_hinge(flat, D);
      const double theta = hinge_angle(bent, rest).theta;
      energy += 0.5 * rest.stiffness * theta * theta;
    }
    const double cell = 0.5 * std::sqrt(3.0) * side * side;
    EXPECT_NEAR(energy / cell, 0.5 * D * kappa * kappa, 1e-6 * D * kappa * kappa);  // 1e-8: slopes squared
  }
}

// A bumpy patch of `n` by `n` cells, not flat at rest.
Shell patch(int n) {
  Shell shell;
  shell.name = "patch";
  for (int j = 0; j <= n; ++j)
    for (int i = 0; i <= n; ++i)
      shell.mesh.vertices.emplace_back(0.1 * i, 0.1 * j + 0.02 * std::sin(i), 0.03 * std::sin(1.7 * i + 0.9 * j));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int a = i + (n + 1) * j, b = a + 1, d = a + n + 1, c = d + 1;
      shell.mesh.triangles.emplace_back(a, b, c);
      shell.mesh.triangles.emplace_back(a, c, d);
    }
  shell.thickness = 0.01;
  shell.weft_modulus = 3e4;
  shell.shear_modulus = 1e4;
  shell.bend_modulus = 1e6;
  return shell;
}

// A shell alone, without contacts: begin_step, then Newton steps on A and g.
struct Driver {
  Nodes nodes;
  ShellBody body;
  WorldOptions world;
  double dt = 0.01, time = 0;
  std::vector<Vec3> v;
  double last_update = 0;

  explicit Driver(const Shell& spec) : body(spec, nodes, std::vector<int>(spec.pins.size(), -1)), v(nodes.v) {}

  StepContext context() const {
    StepContext r;
    r.dt = dt;
    r.time_end = time;
    r.world = &world;
    return r;
  }

  void step(int iterations) {
    time += dt;
    body.begin_step(context(), nodes, v);
    const std::vector<double> w(nodes.size(), 0.0);
    const std::vector<Vec3> impulse(nodes.size(), Vec3::Zero());
    const std::uint8_t all[1] = {1};
    for (int i = 0; i < iterations; ++i) {
      body.assemble(nodes, v);
      ASSERT_TRUE(body.factor(w, all));
      const std::vector<Vec3> before = v;
      body.solve(impulse, v, all);
      last_update = 0;
      for (std::size_t j = 0; j < v.size(); ++j) last_update = std::max(last_update, (v[j] - before[j]).norm());
    }
    body.end_step(nodes, v);
    for (int j = 0; j < nodes.size(); ++j) nodes.x[j] += dt * v[j];
    nodes.v = v;
  }
};

TEST(ShellBody, GradientOfTheWholeMatchesFiniteDifferences) {
  Random random(8);
  const Shell spec = patch(4);
  Nodes nodes;
  ShellBody body(spec, nodes, {});
  std::vector<Vec3> x = nodes.x, g(x.size()), ignored(x.size());
  for (Vec3& p : x) p += 0.03 * Vec3(random(-1, 1), random(-1, 1), random(-1, 1));
  const double energy = body.elastic(x, g);
  EXPECT_GT(energy, 0);
  const double step = 1e-6;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (int a = 0; a < 3; ++a) {
      const double x_ia = x[i][a];
      x[i][a] = x_ia + step;
      const double plus = body.elastic(x, ignored);
      x[i][a] = x_ia - step;
      const double minus = body.elastic(x, ignored);
      x[i][a] = x_ia;
      EXPECT_NEAR(g[i][a], (plus - minus) / (2 * step), 1e-6 * (1 + g[i].norm()));
    }
}

TEST(ShellBody, RestShapeMovedRigidlyHasNoForce) {
  Random random(9);
  const Shell spec = patch(5);
  Nodes nodes;
  ShellBody body(spec, nodes, {});
  for (int trial = 0; trial < 5; ++trial) {
    const Quat turn = random.rotation();
    std::vector<Vec3> x = nodes.x, g(x.size());
    for (Vec3& p : x) p = turn * p + Vec3(1, 2, -3);
    EXPECT_LT(body.elastic(x, g), 1e-20);
    for (const Vec3& f : g) EXPECT_LT(f.norm(), 1e-10);  // rounding of positions of order 1: 1e-16 E h
  }
}

TEST(ShellBody, InnerForcesHaveNoSumAndNoMoment) {
  Random random(10);
  const Shell spec = patch(5);
  Nodes nodes;
  ShellBody body(spec, nodes, {});
  std::vector<Vec3> x = nodes.x, g(x.size());
  for (Vec3& p : x) p += 0.05 * Vec3(random(-1, 1), random(-1, 1), random(-1, 1));
  body.elastic(x, g);
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();
  double scale = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    force += g[i];
    moment += x[i].cross(g[i]);
    scale += g[i].norm();
  }
  EXPECT_LT(force.norm(), 1e-13 * scale);
  EXPECT_LT(moment.norm(), 1e-13 * scale);
}

// The damped gradient at the end of a rigid turn about a strained shape is the elastic one alone.
TEST(ShellBody, FiniteRigidMotionIsNotDamped) {
  Random random(11);
  Shell spec = patch(4);
  spec.damping = 1.0;
  Driver driver(spec);
  driver.world.gravity.setZero();
  Nodes& nodes = driver.nodes;
  for (Vec3& p : nodes.x) p += 0.02 * Vec3(random(-1, 1), random(-1, 1), random(-1, 1));
  const Quat turn(Eigen::AngleAxisd(1.2, Vec3(1, 2, 3).normalized()));
  std::vector<Vec3> v(nodes.size()), x_end(nodes.size()), g(nodes.size());
  for (int i = 0; i < nodes.size(); ++i) {
    x_end[i] = turn * nodes.x[i] + Vec3(0.3, -0.2, 0.1);
    v[i] = (x_end[i] - nodes.x[i]) / driver.dt;
  }
  nodes.v = v;  // no inertia in g
  driver.body.begin_step(driver.context(), nodes, v);
  driver.body.assemble(nodes, v);
  std::vector<Eigen::Triplet<double>> A;
  std::vector<double> minus_g(3 * static_cast<std::size_t>(nodes.size()));
  driver.body.append_matrix(A, minus_g, 0);
  driver.body.elastic(x_end, g);
  double scale = 0;
  for (const Vec3& f : g) scale = std::max(scale, driver.dt * f.norm());
  for (int i = 0; i < nodes.size(); ++i)
    for (int a = 0; a < 3; ++a) EXPECT_NEAR(minus_g[3 * i + a], -driver.dt * g[i][a], 1e-10 * scale);
}

// Angular momentum of a free spin, with strong damping and without.
TEST(ShellBody, DampingDoesNotSlowASpin) {
  Shell spec = patch(4);
  for (Vec3& p : spec.mesh.vertices) p.z() = 0;
  const auto spin = [&](double damping) {
    spec.damping = damping;
    Driver driver(spec);
    driver.world.gravity.setZero();
    driver.dt = 1e-4;
    Vec3 centre = Vec3::Zero();
    double mass = 0;
    for (int i = 0; i < driver.nodes.size(); ++i) {
      centre += driver.nodes.m[i] * driver.nodes.x[i];
      mass += driver.nodes.m[i];
    }
    centre /= mass;
    for (int i = 0; i < driver.nodes.size(); ++i)
      driver.nodes.v[i] = Vec3(0.3, 0.5, 2.0).cross(driver.nodes.x[i] - centre);
    driver.v = driver.nodes.v;
    for (int i = 0; i < 100; ++i) driver.step(3);
    Vec3 momentum = Vec3::Zero();
    for (int i = 0; i < driver.nodes.size(); ++i)
      momentum += driver.nodes.m[i] * (driver.nodes.x[i] - centre).cross(driver.nodes.v[i]);
    return momentum;
  };
  const Vec3 undamped = spin(0.0), damped = spin(0.1);
  EXPECT_LT((damped - undamped).norm(), 1e-4 * undamped.norm());
}

Eigen::SparseMatrix<double> matrix_of(const ShellBody& body, int nodes) {
  std::vector<Eigen::Triplet<double>> entries;
  std::vector<double> minus_g(3 * static_cast<std::size_t>(nodes));
  body.append_matrix(entries, minus_g, 0);
  Eigen::SparseMatrix<double> A(3 * nodes, 3 * nodes);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

// In tension the only parts left out of A are the second derivatives of the hinges' angles; a flat, stretched patch
// with flat rest shape has no moments, so there A is exact.
TEST(ShellBody, MatrixOfAStretchedPatchMatchesDifferencesOfTheGradient) {
  Random random(12);
  Shell spec = patch(3);
  for (Vec3& p : spec.mesh.vertices) p.z() = 0;
  spec.damping = 0.004;
  Driver driver(spec);
  Nodes& nodes = driver.nodes;
  std::vector<Vec3> v(nodes.size());
  for (int i = 0; i < nodes.size(); ++i) v[i] = 0.2 * nodes.x[i] / driver.dt;  // by 20 % all round
  driver.body.begin_step(driver.context(), nodes, v);
  const auto gradient = [&](const std::vector<Vec3>& at) {
    driver.body.assemble(nodes, at);
    std::vector<Eigen::Triplet<double>> entries;
    std::vector<double> minus_g(3 * static_cast<std::size_t>(nodes.size()));
    driver.body.append_matrix(entries, minus_g, 0);
    return Eigen::VectorXd(-Eigen::Map<Eigen::VectorXd>(minus_g.data(), static_cast<int>(minus_g.size())));
  };
  gradient(v);
  const Eigen::SparseMatrix<double> A = matrix_of(driver.body, nodes.size());
  const double step = 1e-5;
  for (int c = 0; c < A.cols(); ++c) {
    auto plus = v, minus = v;
    plus[c / 3][c % 3] += step;
    minus[c / 3][c % 3] -= step;
    const Eigen::VectorXd column = (gradient(plus) - gradient(minus)) / (2 * step);
    EXPECT_LT((Eigen::VectorXd(A.col(c)) - column).norm(), 1e-6 * A.norm());
  }
}

// Positions at random, triangles crushed and turned over: the matrix stays positive definite.
TEST(ShellBody, MatrixIsPositiveDefiniteInTangledStates) {
  Random random(13);
  Driver driver(patch(4));
  Nodes& nodes = driver.nodes;
  for (int trial = 0; trial < 10; ++trial) {
    std::vector<Vec3> v(nodes.size());
    for (Vec3& u : v) u = 0.1 * Vec3(random(-1, 1), random(-1, 1), random(-1, 1)) / driver.dt;
    driver.body.begin_step(driver.context(), nodes, v);
    driver.body.assemble(nodes, v);
    double lightest = 1e300;
    for (const double m : nodes.m) lightest = std::min(lightest, m);
    // A = M + a semi-definite part.
    EXPECT_TRUE(is_positive_definite(Eigen::MatrixXd(matrix_of(driver.body, nodes.size())), -0.99 * lightest));
  }
}

TEST(ShellBody, NewtonConvergesOnAStep) {
  Shell spec = patch(6);
  spec.pins = {{{0, 6}, ""}};
  Driver driver(spec);
  for (int i = 0; i < 20; ++i) driver.step(3);
  driver.step(12);
  EXPECT_LT(driver.last_update, 1e-9);
  EXPECT_EQ(driver.nodes.x[0], spec.mesh.vertices[0]);
}

TEST(ShellBody, MassIsDensityTimesVolumeAndStretchIsTheLongestEdges) {
  Shell spec = patch(3);
  for (Vec3& p : spec.mesh.vertices) p = Vec3(p.x(), std::round(p.y() * 10) / 10, 0);
  Nodes nodes;
  nodes.append(7);  // another body's
  ShellBody body(spec, nodes, {});
  double mass = 0;
  for (const double m : nodes.m) mass += m;
  EXPECT_NEAR(mass, spec.density * spec.thickness * 0.09, 1e-12);
  EXPECT_EQ(body.max_stretch(nodes.x), 0.0);
  std::vector<Vec3> x = nodes.x;
  for (Vec3& p : x) p.x() *= 1.07;
  EXPECT_NEAR(body.max_stretch(x), 0.07, 1e-12);
}

TEST(ShellBody, BadInputIsNamed) {
  const auto message = [](const std::function<void(Shell&)>& spoil, std::vector<int> colliders = {}) {
    Shell spec = patch(2);
    spoil(spec);
    Nodes nodes;
    try {
      ShellBody body(spec, nodes, colliders);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message([](Shell& s) { s.mesh.triangles.emplace_back(0, 1, 1); }),
            "shell 'patch': triangle 8 (0 1 1) has no area at rest");
  EXPECT_EQ(message([](Shell& s) { s.mesh.triangles.emplace_back(0, 4, 1); }),
            "shell 'patch': edge 0 4 has more than two triangles");
  EXPECT_EQ(message([](Shell& s) { s.mesh.triangles.emplace_back(0, 4, 9); }),
            "shell 'patch': triangle 8 (0 4 9) names a vertex outside 0 ... 8");
  EXPECT_EQ(message([](Shell& s) { s.mesh.vertices.emplace_back(0, 0, 1); }),
            "shell 'patch': vertex 9 belongs to no triangle");
  EXPECT_EQ(message(
                [](Shell& s) {
                  s.pins = {{{0, 12}, ""}};
                },
                {-1}),
            "shell 'patch': pinned vertex 12 is outside 0 ... 8");
  EXPECT_EQ(message([](Shell& s) { s.rest_vertices.resize(3); }), "shell 'patch': has 9 vertices but 3 at rest");
  EXPECT_EQ(message([](Shell& s) {
              for (Vec3& p : s.mesh.vertices) p = Vec3(0, p.x(), p.y());
            }),
            "shell 'patch': the warp is normal to triangle 0");
}

}  // namespace
}  // namespace stiction
