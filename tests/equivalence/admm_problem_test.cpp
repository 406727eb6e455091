// The whole contact solver, run to convergence on stored random problems, judged by the one residual.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "friction/solve_problem.hpp"
#include "io/problem_file.hpp"

namespace stiction {
namespace {

// Chains of nodes with stiff springs, touching at random: nu = 3 n / m <= 1 and k_N >= 0.
FrictionProblem random_problem(unsigned seed) {
  std::mt19937 engine(seed);
  const auto uniform = [&](double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(engine); };
  const auto vector = [&] { return Vec3(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)); };
  const int contacts = seed < 3 ? 2000 : static_cast<int>(std::pow(10.0, uniform(0.5, 3.2)));
  const int nodes = static_cast<int>(contacts * uniform(1.0, 2.0)) + 4;
  FrictionProblem p;
  p.node_count = nodes;
  p.f.resize(3 * nodes);
  std::vector<Eigen::Triplet<double>> A, B;
  for (int j = 0; j < nodes; ++j) {
    const double m = std::pow(10.0, uniform(-5, -4));
    p.mass.push_back(m);
    p.f.segment<3>(3 * j) = m * vector();
    for (int a = 0; a < 3; ++a) A.emplace_back(3 * j + a, 3 * j + a, m);
    if (j % 20 == 0) continue;  // start of a strand
    const Vec3 t = vector().normalized();
    const Mat3 K = std::pow(10.0, uniform(-4, -2)) * t * t.transpose() + 1e-5 * Mat3::Identity();
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) {
        A.emplace_back(3 * j + a, 3 * j + b, K(a, b));
        A.emplace_back(3 * j - 3 + a, 3 * j - 3 + b, K(a, b));
        A.emplace_back(3 * j + a, 3 * j - 3 + b, -K(a, b));
        A.emplace_back(3 * j - 3 + a, 3 * j + b, -K(a, b));
      }
  }
  for (int i = 0; i < contacts; ++i) {
    const int e = static_cast<int>(uniform(0, nodes - 1)), s_kind = static_cast<int>(uniform(0, 3));
    const auto place = [&](int node, double b) {
      for (int a = 0; a < 3; ++a) B.emplace_back(3 * i + a, 3 * node + a, b);
    };
    const double s = uniform(0, 1), t = uniform(0, 1);
    Vec3 k = Vec3::Zero();
    const Vec3 n = vector().normalized();
    if (s_kind == 0) {  // a node on a moving collider
      place(e, 1.0);
      k = 0.2 * vector();
      k += (std::abs(k.dot(n)) - k.dot(n)) * n;
    } else {
      int f = static_cast<int>(uniform(0, nodes - 1));
      while (std::abs(f - e) < 2) f = static_cast<int>(uniform(0, nodes - 1));  // no edge touches its neighbour
      place(e, 1 - s);
      place(e + 1, s);
      place(f, -(1 - t));
      place(f + 1, -t);
      k = uniform(0, 0.05) * n;
    }
    p.k.push_back(k);
    p.normal.push_back(n);
    p.mu.push_back(i % 5 == 0 ? 0.0 : uniform(0, 1));
    p.cohesion.push_back(0);
    p.compliance.push_back(0);
  }
  p.A.resize(3 * nodes, 3 * nodes);
  p.A.setFromTriplets(A.begin(), A.end());
  p.B.resize(3 * contacts, 3 * nodes);
  p.B.setFromTriplets(B.begin(), B.end());
  return p;
}

SolverOptions to_convergence() {
  SolverOptions options;
  options.tolerance = 0;  // jammed nodes build up force while velocities hardly move
  options.admm_iterations = 300;
  options.gauss_seidel_iterations = 50;
  options.sleeping = false;
  return options;
}

TEST(AdmmOnStoredProblems, ThirtyRandomProblemsReachTheResidual) {
  const auto folder = std::filesystem::temp_directory_path() / "stiction_problems";
  std::filesystem::create_directories(folder);
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto path = folder / ("problem_" + std::to_string(seed) + ".hdf5");
    save_problem(path, random_problem(seed));
    const FrictionProblem problem = load_problem(path);
    EXPECT_LE(3.0 * static_cast<double>(problem.contact_count()) / static_cast<double>(problem.A.rows()), 1.0);
    double error = 1;
    SolverOptions options = to_convergence();
    for (options.admm_iterations = 100; error > 1e-8 && options.admm_iterations <= 6400; options.admm_iterations *= 4)
      error = coulomb_error(problem, solve_admm(problem, options, 0.01).r);
    EXPECT_LT(error, 1e-8) << "seed " << seed << ", " << problem.contact_count() << " contacts";
  }
  std::filesystem::remove_all(folder);
}

TEST(AdmmOnStoredProblems, AcceleratedVariantReachesTheSameForces) {
  const FrictionProblem problem = random_problem(7);
  SolverOptions options = to_convergence();
  const ProblemSolution plain = solve_admm(problem, options, 0.01);
  options.accelerated = true;
  const ProblemSolution accelerated = solve_admm(problem, options, 0.01);
  EXPECT_LT(coulomb_error(problem, accelerated.r), 1e-8);
  EXPECT_LT((plain.v - accelerated.v).norm(), 1e-7 * plain.v.norm());
}

TEST(AdmmOnStoredProblems, SinglePrecisionFindsTheSameVelocities) {
  const FrictionProblem problem = random_problem(8);
  SolverOptions options = to_convergence();
  const ProblemSolution exact = solve_admm(problem, options, 0.01);
  options.precision = Precision::single_;
  options.admm_iterations = 500;
  const ProblemSolution single = solve_admm(problem, options, 0.01);
  // Displacements over a step of 10 ms, against the usual tolerance of 0.01 mm.
  EXPECT_LT(0.01 * (exact.v - single.v).lpNorm<Eigen::Infinity>(), 1e-6);
}

TEST(CoulombResidual, SeesAWrongForceAndAFeasibleButWrongVelocity) {
  const FrictionProblem problem = random_problem(9);
  const ProblemSolution solution = solve_admm(problem, to_convergence(), 0.01);
  std::vector<Vec3> scaled = solution.r;
  for (Vec3& r : scaled) r *= 1.01;
  EXPECT_GT(coulomb_error(problem, scaled), 1e-4);
  const std::vector<Vec3> none(solution.r.size(), Vec3::Zero());
  EXPECT_GT(coulomb_error(problem, none), 1e-2);
}

// A free node of 1 g on a surface that moves, with weights b of any sign and size: the force that makes it slide along,
// or leaves it behind, is known.
struct OneNode {
  FrictionProblem problem;
  OneNode(double b, double mu) {
    problem.node_count = 1;
    problem.A = 1e-3 * Eigen::MatrixXd::Identity(3, 3).sparseView();
    problem.B = b * Eigen::MatrixXd::Identity(3, 3).sparseView();
    problem.f.setZero(3);
    problem.f[2] = b > 0 ? -1e-3 : 1e-3;  // into the surface at 1 m/s
    problem.k = {Vec3(0.3, 0, 0)};
    problem.normal = {Vec3::UnitZ()};
    problem.mu = {mu};
    problem.cohesion = {0};
    problem.compliance = {0};
    problem.mass = {1e-3};
  }
};

TEST(CoulombResidual, KnowsTheForceOnANodeOfAnyWeightOnAMovingSurface) {
  for (const double b : {1.0, -1.0, 0.3})
    for (const double mu : {0.05, 2.0}) {
      const FrictionProblem problem = OneNode(b, mu).problem;
      // u = b v + k, m v = f + b r: to u_N = 0, and to u_T = 0 or the limit of friction.
      const double m = 1e-3, r_N = m / std::abs(b), to_stick = 0.3 * m / (b * b);
      const std::vector<Vec3> exact{Vec3(-std::min(to_stick, mu * r_N), 0, r_N)};
      EXPECT_LT(coulomb_error(problem, exact), 1e-14) << b << " " << mu;
      const ProblemSolution solution = solve_admm(problem, to_convergence(), 0.01);
      EXPECT_LT((solution.r[0] - exact[0]).norm(), 1e-9 * exact[0].norm()) << b << " " << mu;
    }
}

TEST(CoulombResidual, IsZeroWhereNothingIsHeldWithoutFriction) {
  FrictionProblem problem = OneNode(1.0, 0.0).problem;
  problem.k[0].setZero();
  problem.f *= -1;  // off the surface
  EXPECT_EQ(coulomb_error(problem, std::vector<Vec3>{Vec3::Zero()}), 0);
}

TEST(CoulombResidual, RefusesWhatItCannotJudge) {
  FrictionProblem indefinite = OneNode(1.0, 0.5).problem;
  indefinite.A.coeffRef(1, 1) = -1;
  const std::vector<Vec3> none{Vec3::Zero()};
  EXPECT_THROW(coulomb_error(indefinite, none), std::invalid_argument);
  EXPECT_THROW(solve_admm(indefinite, to_convergence(), 0.01), std::invalid_argument);
  FrictionProblem two = random_problem(9);
  two.compliance.back() = 1;
  EXPECT_THROW(coulomb_error(two, std::vector<Vec3>(two.contact_count(), Vec3::Zero())), std::invalid_argument);
}

}  // namespace
}  // namespace stiction
