// The projection of D20 5.2 on its own: Figure 5, and what Algorithm 3 owes whatever the contacts.
#include "contact/projection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "support/projection_problem.hpp"

namespace stiction {
namespace {

using namespace test;

/// argmin Σ w |p − p_0|² over the frictionless feasible set, by trying every set of active contacts.
std::vector<Vec3> orthogonal_projection(const Problem& problem) {
  const int m = static_cast<int>(problem.contacts.size()), n = 3 * static_cast<int>(problem.p_0.size());
  Eigen::MatrixXd G = Eigen::MatrixXd::Zero(m, n);  // normal rows of B
  Eigen::VectorXd k(m), inv_w(n), p_0(n);
  for (int j = 0; j < n; ++j) {
    inv_w[j] = problem.inv_w[j / 3];
    p_0[j] = problem.p_0[j / 3][j % 3];
  }
  for (int i = 0; i < m; ++i) {
    const Contact& c = problem.contacts[i];
    for (int j = 0; j < 4; ++j)
      if (c.node[j] != kNoNode) G.block<1, 3>(i, 3 * c.node[j]) += c.b[j] * c.n.transpose();
    k[i] = problem.k_N[i] - (c.node[3] == kNoNode ? c.surface_velocity.dot(c.n) : 0);
  }
  Eigen::VectorXd best = p_0;
  double best_distance = INFINITY;
  for (unsigned active = 0; active < 1u << m; ++active) {
    const int count = std::popcount(active);
    Eigen::MatrixXd A(count, n);
    Eigen::VectorXd a(count);
    for (int i = 0, row = 0; i < m; ++i) {
      if (!(active >> i & 1u)) continue;
      A.row(row) = G.row(i);
      a[row++] = k[i];
    }
    Eigen::VectorXd p = p_0;
    if (count > 0) {
      const Eigen::FullPivLU<Eigen::MatrixXd> lu(A * inv_w.asDiagonal() * A.transpose());
      if (lu.rank() < count) continue;
      p += inv_w.asDiagonal() * (A.transpose() * lu.solve(-(A * p_0 + a)));
    }
    if (((G * p + k).array() < -1e-10).any()) continue;
    double moved = 0;
    for (int j = 0; j < n; ++j)
      if (inv_w[j] > 0) moved += (p[j] - p_0[j]) * (p[j] - p_0[j]) / inv_w[j];
    if (moved < best_distance) {
      best_distance = moved;
      best = p;
    }
  }
  std::vector<Vec3> result;
  for (int j = 0; j < n; j += 3) result.push_back(best.segment<3>(j));
  return result;
}

/// The update of position-based dynamics: each penetrating contact is projected from where the last one left p.
Solution pbd(const Problem& problem, int count) {
  Solution solution{problem.p_0, std::vector<Vec3>(problem.contacts.size(), Vec3::Zero()), 0};
  for (int k = 0; k < count; ++k)
    for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
      const Contact& c = problem.contacts[i];
      Vec3& p = solution.p[c.node[0]];
      const double u_N = p.dot(c.n) + problem.k_N[i];
      if (u_N >= 0) continue;
      p -= u_N * c.n;
      solution.r[i] -= u_N / problem.inv_w[c.node[0]] * c.n;
    }
  return solution;
}

// --- D20 Figure 5 ---------------------------------------------------------------------------------------------------

// The first contact pushes towards the second, which on its own frees both: only the second may bear a force.
Problem two_offset_contacts() {
  Problem problem;
  problem.add_node(1, {-0.5, 0, -0.3});
  problem.add_contact(against_surface(0, Vec3::UnitZ(), 0));
  problem.add_contact(against_surface(0, {0.5, 0, std::sqrt(0.75)}, 0));
  return problem;
}

TEST(D20Figure5, TwoOffsetContactsEndAtTheOrthogonalProjection) {
  const Problem problem = two_offset_contacts();
  const Vec3 n_2 = problem.contacts[1].n, p_0 = problem.p_0[0];
  const Vec3 nearest = p_0 - p_0.dot(n_2) * n_2;
  ASSERT_GT(nearest.z(), 0.1);                                                 // free of the first contact
  EXPECT_LT(distance(solve(problem, sweeps(1)).p, pbd(problem, 1).p), 1e-15);  // PBD's first sweep; then taken back
  const Solution solution = solve(problem, sweeps(3));
  EXPECT_LT((solution.p[0] - nearest).norm(), 1e-15);
  EXPECT_LT(solution.r[0].norm(), 1e-15);
  EXPECT_NEAR(solution.r[1].norm(), -p_0.dot(n_2), 1e-15);
}

TEST(D20Figure5, PbdStopsElsewhereAndDoesPositiveWork) {
  const Problem problem = two_offset_contacts();
  const Vec3 n_1 = problem.contacts[0].n, p_0 = problem.p_0[0];
  const Solution once = pbd(problem, 1), often = pbd(problem, 1000);
  EXPECT_LT(distance(once.p, often.p), 1e-15);  // it has stopped: no contact penetrates
  const Vec3 p = often.p[0];
  // D20's two inequalities: the first contact pushes although it separates.
  EXPECT_GT(p.dot(n_1), 0.1);
  EXPECT_GT((p - p_0).dot(n_1), 0.1);
  EXPECT_GT(often.r[0].dot(n_1) * p.dot(n_1), 0.01);  // work that Signorini's law forbids
  const Vec3 nearest = orthogonal_projection(problem)[0];
  EXPECT_GT((p - p_0).norm(), 1.02 * (nearest - p_0).norm());
  EXPECT_GT((p - nearest).norm(), 0.1);
}

TEST(D20Figure5, FrictionlessContactsEndAtTheOrthogonalProjectionInTheNormOfW) {
  int pbd_is_off = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    // One node with two to six contacts, whose feasible set has an inside; then edges of several nodes.
    Random random(seed);
    Problem one;
    one.add_node(std::pow(10.0, random(-1, 1)), random.direction());
    for (int i = 2 + random.below(5); i > 0; --i)
      one.add_contact(against_surface(0, random.direction(), 0), random(0.01, 0.5));
    const std::vector<Vec3> nearest = orthogonal_projection(one);
    EXPECT_LT(distance(solve(one, sweeps(20 * kConverged)).p, nearest), 1e-9) << "seed " << seed;
    pbd_is_off += distance(pbd(one, kConverged).p, nearest) > 1e-3;
    const Problem edges = random_problem(seed, 12, 7, 0, Ends::with_prescribed);
    EXPECT_LT(distance(solve(edges, sweeps(kConverged)).p, orthogonal_projection(edges)), 1e-9) << "seed " << seed;
  }
  EXPECT_GT(pbd_is_off, 20);
}

// --- The law --------------------------------------------------------------------------------------------------------

TEST(Projection, ObeysSignoriniAndCoulombAtConvergence) {
  Violation sum;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Problem problem = random_problem(seed, 120, 70, seed % 2 == 0 ? 0.3 : 1.0, Ends::with_prescribed);
    const Violation v = violation(problem, solve(problem, sweeps(kConverged)), 1e-7);
    EXPECT_LT(v.momentum, 1e-11) << "seed " << seed;  // rounding, summed over thousands of sweeps
    EXPECT_LT(v.cone, 1e-12) << "seed " << seed;
    EXPECT_LT(v.penetration, 1e-11) << "seed " << seed;
    EXPECT_LT(v.complementarity, 1e-11) << "seed " << seed;
    EXPECT_LT(v.sliding, 1e-6) << "seed " << seed;  // the direction of a u_T of 1e-7
    sum.separated += v.separated;
    sum.stuck += v.stuck;
    sum.slid += v.slid;
  }
  for (const int count : {sum.separated, sum.stuck, sum.slid}) EXPECT_GT(count, 50);
}

TEST(Projection, KeepsForcesInTheConeAndTheMomentumEquationAfterAnySweep) {
  const Problem problem = random_problem(1, 120, 200, 0.3, Ends::with_prescribed);
  for (const int count : {1, 2, 3, 7}) {
    const Solution solution = solve(problem, sweeps(count));
    const Violation v = violation(problem, solution, 1e-7);
    EXPECT_LT(v.momentum, 1e-12) << count << " sweeps";
    EXPECT_LT(v.cone, 1e-12) << count << " sweeps";
    for (std::size_t i = 0; i < solution.r.size(); ++i)
      EXPECT_GE(solution.r[i].dot(problem.contacts[i].n), -1e-12) << count << " sweeps";
  }
}

TEST(Projection, ConservesMomentumBetweenFreeNodes) {
  Problem problem = random_problem(2, 100, 150, 0.4, Ends::free_only);
  Random random(3);
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {  // whatever the law
    problem.compliance[i] = i % 3 == 0 ? random(0, 1) : 0;
    problem.cohesion[i] = i % 5 == 0 ? random(0, 1) : 0;
  }
  const auto momentum = [&](const std::vector<Vec3>& p) {
    Vec3 sum = Vec3::Zero();
    for (std::size_t j = 0; j < p.size(); ++j) sum += p[j] / problem.inv_w[j];
    return sum;
  };
  double scale = 0;
  for (std::size_t j = 0; j < problem.p_0.size(); ++j) scale += problem.p_0[j].norm() / problem.inv_w[j];
  for (const int count : {1, 5, 100}) {
    const Solution solution = solve(problem, sweeps(count), 8, 3);
    EXPECT_GT(distance(solution.p, problem.p_0), 0.1);
    EXPECT_LT((momentum(solution.p) - momentum(problem.p_0)).norm() / scale, 1e-14) << count << " sweeps";
  }
}

// --- What the result must not depend on -----------------------------------------------------------------------------

TEST(Projection, TurnsWithTheFrame) {
  // Every operation is: so after any number of sweeps, converged or not.
  const Problem problem = random_problem(4, 100, 150, 0.3, Ends::with_prescribed);
  const Quat q(Eigen::AngleAxisd(1.1, Vec3(1, -2, 3).normalized()));
  for (const int count : {1, 10, 200}) {
    std::vector<Vec3> expected = solve(problem, sweeps(count)).p;
    for (Vec3& p : expected) p = q * p;
    EXPECT_LT(distance(solve(rotated(problem, q), sweeps(count)).p, expected), 1e-11) << count << " sweeps";
  }
}

TEST(Projection, FollowsAFrameThatMovesWithAConstantVelocity) {
  Problem problem = random_problem(5, 100, 150, 0.3, Ends::with_prescribed);
  const Vec3 V(3, -2, 1);
  std::vector<Vec3> expected = solve(problem, sweeps(50)).p;
  for (Vec3& p : expected) p += V;
  for (Vec3& p : problem.p_0) p += V;
  for (Contact& c : problem.contacts) c.surface_velocity += V;
  EXPECT_LT(distance(solve(problem, sweeps(50)).p, expected), 1e-11);
}

TEST(Projection, StartsFromTheForcesOfTheLastProjection) {
  const Problem problem = random_problem(7, 120, 200, 0.3, Ends::with_prescribed);
  const Solution once = solve(problem, sweeps(30)), split = solve(problem, sweeps(10), 8, 3);
  EXPECT_LT(distance(once.p, split.p), 1e-12);
  EXPECT_LT(distance(once.r, split.r), 1e-12);
}

TEST(Projection, GoesOnFromAVelocityThatHasItsForces) {
  Problem problem = random_problem(7, 120, 200, 0.3, Ends::with_prescribed);
  for (std::size_t i = 0; i < problem.cohesion.size(); i += 3) problem.cohesion[i] = 0.1;
  Projection<double> projection;
  projection.reset(problem.inv_w, 8);
  projection.append(problem.contacts, problem.k_N, problem.compliance, problem.cohesion, {});
  const int nodes = static_cast<int>(problem.p_0.size());
  for (int j = 0; j < nodes; ++j) projection.set_p(j, problem.p_0[j]);
  SweepOptions options = sweeps(10);
  for (int i = 0; i < 3; ++i) {
    projection.project(options);
    options.add_forces = false;
  }
  const Solution once = solve(problem, sweeps(30));
  std::vector<Vec3> p;
  for (int j = 0; j < nodes; ++j) p.push_back(projection.p(j));
  EXPECT_LT(distance(once.p, p), 1e-12);
  for (std::size_t i = 0; i < once.r.size(); ++i) EXPECT_LT((once.r[i] - projection.impulse(i)).norm(), 1e-12);
}

TEST(Projection, SinglePrecisionAgreesWithDouble) {
  // Velocities of 1 m/s: 1e-6 of them, times some tens for the sweeps, is far below D20's 0.01 mm in a step of 10 ms.
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Problem problem = random_problem(seed, 120, 70, 0.3, Ends::with_prescribed);
    const double off = distance(solve<float>(problem, sweeps(500)).p, solve<double>(problem, sweeps(500)).p);
    EXPECT_LT(off, 2e-5) << "seed " << seed;
    EXPECT_GT(off, 0) << "seed " << seed;
  }
}

// --- Sleeping (D20 6.3.3) -------------------------------------------------------------------------------------------

TEST(Sleeping, SitsOutTheGivenNumberOfSweeps) {
  const Problem problem = random_problem(8, 100, 150, 0.3, Ends::with_prescribed);
  SweepOptions asleep = sweeps(0, 1e9);  // everything falls asleep at once
  asleep.sleeping_sweeps = 4;
  for (const auto& [count, awake] : {std::pair{5, 1}, std::pair{6, 2}, std::pair{10, 2}, std::pair{11, 3}}) {
    asleep.sweeps = count;
    EXPECT_TRUE(same_bits(solve(problem, asleep).p, solve(problem, sweeps(awake)).p)) << count << " sweeps";
  }
}

TEST(Sleeping, ConvergesToTheSameResult) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Problem problem = random_problem(seed, 120, 70, 0.3, Ends::with_prescribed);
    const Solution awake = solve(problem, sweeps(kConverged));
    // What sleeps is off by at most the threshold, and the others by what that moves them.
    const Solution asleep = solve(problem, sweeps(2 * kConverged, 1e-9));
    EXPECT_LT(distance(asleep.p, awake.p), 1e-7) << "seed " << seed;
    EXPECT_FALSE(same_bits(asleep.p, awake.p));
  }
}

// --- One contact with compliance or cohesion, in closed form --------------------------------------------------------

// D20 6.3.2: the slack takes the share c / s of the approach, s = 1/w + c.
TEST(Compliance, SharesTheApproachBetweenNodeAndSlack) {
  const double w = 2, c = 0.3, s = 1 / w + c, v = 1.5, mu = 0.4;
  for (const double v_T : {0.0, 0.5 * mu * v, 0.99 * mu * v, 1.01 * mu * v, 5 * mu * v}) {
    Problem problem;
    problem.add_node(w, {v_T, 0, -v});
    problem.add_contact(against_surface(0, Vec3::UnitZ(), mu), 0, c);
    const double r_N = v / s, r_T = std::min(v_T / s, mu * r_N);
    for (const int projections : {1, 3}) {  // the slack starts at zero in each
      const Solution solution = solve(problem, sweeps(3), 8, projections);
      EXPECT_LT((solution.r[0] - Vec3(-r_T, 0, r_N)).norm(), 1e-14) << "v_T " << v_T;
      EXPECT_LT((solution.p[0] - Vec3(v_T - r_T / w, 0, -v + r_N / w)).norm(), 1e-14) << "v_T " << v_T;
    }
  }
}

TEST(Compliance, LetsContradictingContactsShareTheViolation) {
  // Pressed from both sides, each asking for half a unit too much: hard contacts have no answer, equally soft ones a
  // violation shared by symmetry: u = p + k + c r = 0 on both sides with p = 0.
  Problem problem;
  problem.add_node(1, Vec3::Zero());
  problem.add_contact(against_surface(0, Vec3::UnitZ(), 0), -0.5, 0.1);
  problem.add_contact(against_surface(0, -Vec3::UnitZ(), 0), -0.5, 0.1);
  const Solution solution = solve(problem, sweeps(200));
  EXPECT_LT(solution.p[0].norm(), 1e-12);
  for (const Vec3& r : solution.r) EXPECT_NEAR(r.norm(), 0.5 / 0.1, 1e-11);
}

// D20 6.3.1: −ξ <= r_N. A contact that is pulled apart holds up to the impulse ξ.
TEST(Cohesion, HoldsUpToItsImpulseAndLetsGoBeyond) {
  const double w = 0.5, xi = 0.02;
  for (const double pull : {0.0, 0.5, 0.99, 1.01, 3.0}) {  // over ξ
    Problem problem;
    problem.add_node(w, {0, 0, pull * xi / w});
    problem.add_contact(against_surface(0, Vec3::UnitZ(), 0.3), 0, 0, xi);
    const Solution solution = solve(problem, sweeps(3));
    EXPECT_NEAR(solution.p[0].z(), std::max(0.0, pull - 1) * xi / w, 1e-16) << "pull " << pull;
    EXPECT_NEAR(solution.r[0].z(), std::max(0.0, 1 - pull) * xi, 1e-16) << "pull " << pull;
  }
}

TEST(Cohesion, RaisesTheLimitOfFriction) {
  // Sheared while it is pulled: friction resists up to μ (ξ − pull).
  const double w = 0.5, xi = 0.02, mu = 0.3, pull = 0.4;
  for (const double shear : {0.99, 1.01}) {
    const double limit = mu * (1 - pull) * xi;
    Problem problem;
    problem.add_node(w, {shear * limit / w, 0, pull * xi / w});
    problem.add_contact(against_surface(0, Vec3::UnitZ(), mu), 0, 0, xi);
    const Vec3 p = solve(problem, sweeps(3)).p[0];
    EXPECT_NEAR(p.x(), std::max(0.0, shear - 1) * limit / w, 1e-16);
    EXPECT_NEAR(p.z(), 0, 1e-16);
  }
}

TEST(Cohesion, ClosesAGapNoFurtherThanTouch) {
  // Two free nodes at rest, a gap of k dt: the attraction draws them together, each by its own weight, until they
  // touch.
  const double w[2] = {1, 3}, xi = 0.3, s = 1 / w[0] + 1 / w[1];
  for (const double k : {0.5 * s * xi, 2 * s * xi}) {
    Problem problem;
    for (const double weight : w) problem.add_node(weight, Vec3::Zero());
    Contact c;
    c.node = {0, kNoNode, kNoNode, 1};
    c.b = {1, 0, 0, -1};
    problem.add_contact(c, k, 0, xi);
    const Solution solution = solve(problem, sweeps(3));
    const double impulse = std::min(xi, k / s);
    EXPECT_NEAR(solution.p[0].z(), -impulse / w[0], 1e-15);
    EXPECT_NEAR(solution.p[1].z(), impulse / w[1], 1e-15);
  }
}

// With the weights that it has, a block is a multiple of the identity, and both local solvers are the same map.
TEST(Projection, GeneralLocalProblemsGiveTheIsotropicResult) {
  for (const double mu : {0.0, 0.3, 1.0}) {
    const Problem problem = random_problem(21, 60, 40, mu, Ends::with_prescribed);
    SweepOptions options = sweeps(20);
    const Solution isotropic = solve(problem, options);
    options.isotropic = false;
    const Solution general = solve(problem, options);
    EXPECT_LT(distance(isotropic.p, general.p), 1e-11) << "mu " << mu;
    EXPECT_LT(distance(isotropic.r, general.r), 1e-10) << "mu " << mu;
  }
}

}  // namespace
}  // namespace stiction
