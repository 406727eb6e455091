// The projection of D20 5.2 on its own: Figure 5, and what Algorithm 3 owes whatever the contacts.
//
//   W p = W p_0 + Bᵀ (r − ξ n),   u = B p + k + c r,   (u, r) in C_mu        with cohesion ξ and compliance c
#include "contact/projection.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>

namespace stiction {
namespace {

struct Problem {
  std::vector<double> inv_w;  // 1/kg; zero: prescribed
  std::vector<Vec3> p_0;
  std::vector<Contact> contacts;
  std::vector<double> k_N, compliance, cohesion;  // a value a contact: m/s, 1/kg, kg m/s

  int add_node(double weight, const Vec3& p) {
    inv_w.push_back(weight > 0 ? 1 / weight : 0);
    p_0.push_back(p);
    return static_cast<int>(inv_w.size()) - 1;
  }
  void add_contact(const Contact& contact, double offset = 0, double give = 0, double attraction = 0) {
    contacts.push_back(contact);
    k_N.push_back(offset);
    compliance.push_back(give);
    cohesion.push_back(attraction);
  }
};

struct Solution {
  std::vector<Vec3> p, r;
  std::size_t sequential = 0, at_hubs = 0, updates = 0;  // contacts; updates of contacts
};

/// Contacts appended one after the other: the first so many at once, the others so many at a time.
struct Parts {
  std::size_t first = std::numeric_limits<std::size_t>::max(), later = 1;
};

template <class T = double>
Solution solve(const Problem& problem, const SweepOptions& options, int stages = 8, int projections = 1,
               Parts parts = {}) {
  Projection<T> projection;
  projection.reset(problem.inv_w, stages);
  const std::size_t contacts = problem.contacts.size();
  for (std::size_t begin = 0, end = std::min(parts.first, contacts); begin < contacts;
       begin = end, end = std::min(end + parts.later, contacts)) {
    const auto part = [&](const auto& all) { return std::span(all).subspan(begin, end - begin); };
    projection.append(part(problem.contacts), part(problem.k_N), part(problem.compliance), part(problem.cohesion), {});
  }
  const int nodes = static_cast<int>(problem.p_0.size());
  for (int i = 0; i < projections; ++i) {  // each but the first starts from the forces of the one before
    for (int j = 0; j < nodes; ++j) projection.set_p(j, problem.p_0[j]);
    projection.project(options);
  }
  Solution solution;
  for (int j = 0; j < nodes; ++j) solution.p.push_back(projection.p(j));
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) solution.r.push_back(projection.impulse(i));
  solution.sequential = projection.sequential_count();
  solution.at_hubs = projection.hub_count();
  solution.updates = projection.update_count();
  return solution;
}

SweepOptions sweeps(int count, double sleeping_threshold = 0) {
  SweepOptions options;
  options.sweeps = count;
  options.sleeping_threshold = sleeping_threshold;
  return options;
}

/// Enough for all small problems here: doubling it changes nothing above rounding.
constexpr int kConverged = 4000;

double distance(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) worst = std::max(worst, (a[i] - b[i]).norm());
  return worst;
}

bool same_bits(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Vec3)) == 0;
}

/// A node against a surface at rest.
Contact against_surface(int node, const Vec3& n, double mu) {
  Contact c;
  c.node[0] = node;
  c.b[0] = 1;
  c.n = n;
  c.mu = mu;
  return c;
}

Contact between_edges(const std::array<int, 4>& node, double s, double t, const Vec3& n, double mu) {
  Contact c;
  for (int j = 0; j < 4; ++j) c.node[j] = node[j];
  c.b = {1 - s, s, -(1 - t), -t};
  c.n = n;
  c.mu = mu;
  return c;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double uniform(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(engine_); }
  int index(int count) { return std::uniform_int_distribution<int>(0, count - 1)(engine_); }
  Vec3 direction() {
    std::normal_distribution<double> normal;
    Vec3 d(normal(engine_), normal(engine_), normal(engine_));
    return d.normalized();
  }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

enum class Ends { free_only, with_prescribed };

/// Edges of random nodes that touch, at random, each other and (with_prescribed) prescribed nodes and moving surfaces.
/// p = 0 separates at every contact, so a solution exists; fewer contacts than nodes, so it is well conditioned.
Problem random_problem(unsigned seed, int nodes, int contacts, double mu, Ends ends) {
  Random random(seed);
  Problem problem;
  for (int j = 0; j < nodes; ++j) {
    const bool prescribed = ends == Ends::with_prescribed && j % 7 == 0;
    const double weight = std::pow(10.0, random.uniform(-1, 1));
    problem.add_node(prescribed ? 0 : weight, prescribed ? Vec3(Vec3::Zero()) : Vec3(random.direction()));
  }
  for (int i = 0; i < contacts; ++i) {
    if (ends == Ends::with_prescribed && i % 4 == 0) {
      int node = random.index(nodes);
      while (problem.inv_w[node] == 0) node = random.index(nodes);
      Contact c = against_surface(node, random.direction(), mu);
      c.surface_velocity = 0.2 * random.direction();
      problem.add_contact(c, std::abs(c.surface_velocity.dot(c.n)) + random.uniform(0.01, 0.05));
      continue;
    }
    std::array<int, 4> node{};
    bool good = false;
    while (!good) {
      for (int& j : node) j = random.index(nodes);
      std::array<int, 4> sorted = node;
      std::sort(sorted.begin(), sorted.end());
      good = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
             std::any_of(node.begin(), node.end(), [&](int j) { return problem.inv_w[j] > 0; });
    }
    problem.add_contact(between_edges(node, random.uniform(0, 1), random.uniform(0, 1), random.direction(), mu),
                        random.uniform(0.01, 0.05));
  }
  return problem;
}

Problem rotated(Problem problem, const Quat& q) {
  for (Vec3& p : problem.p_0) p = q * p;
  for (Contact& c : problem.contacts) {
    c.n = q * c.n;
    c.surface_velocity = q * c.surface_velocity;
  }
  return problem;
}

/// The relative velocity at a contact, from p and r by the definition.
Vec3 relative_velocity(const Problem& problem, const Solution& solution, std::size_t i) {
  const Contact& c = problem.contacts[i];
  Vec3 u = problem.k_N[i] * c.n + problem.compliance[i] * solution.r[i];
  for (int j = 0; j < 4; ++j)
    if (c.node[j] != kNoNode) u += c.b[j] * solution.p[c.node[j]];
  if (c.node[3] == kNoNode) u -= c.surface_velocity;
  return u;
}

/// Largest violation of each line of the problem at the head of this file, m/s (impulses times the inverse mass).
struct Violation {
  double momentum = 0, cone = 0, penetration = 0, complementarity = 0, sliding = 0;
  int separated = 0, stuck = 0, slid = 0;
};

Violation violation(const Problem& problem, const Solution& solution, double tolerance) {
  Violation v;
  std::vector<Vec3> p = problem.p_0;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const Contact& c = problem.contacts[i];
    const Vec3 r = solution.r[i], u = relative_velocity(problem, solution, i);
    double s = problem.compliance[i];
    for (int j = 0; j < 4; ++j) {
      if (c.node[j] == kNoNode) continue;
      const double inv_w = problem.inv_w[c.node[j]];
      p[c.node[j]] += c.b[j] * inv_w * (r - problem.cohesion[i] * c.n);
      s += c.b[j] * c.b[j] * inv_w;
    }
    const double r_N = s * r.dot(c.n), u_N = u.dot(c.n);
    const Vec3 r_T = s * r - r_N * c.n, u_T = u - u_N * c.n;
    v.cone = std::max(v.cone, r_T.norm() - c.mu * r_N);
    v.penetration = std::max(v.penetration, -u_N);
    v.complementarity = std::max(v.complementarity, std::min(std::abs(r_N), std::abs(u_N)));
    if (u_T.norm() > tolerance)  // r_T = − μ r_N u_T / ‖u_T‖
      v.sliding = std::max(v.sliding, (r_T + c.mu * r_N * u_T.normalized()).norm());
    (r_N <= tolerance ? v.separated : u_T.norm() <= tolerance ? v.stuck : v.slid) += 1;
  }
  v.momentum = distance(p, solution.p);
  return v;
}

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
    one.add_node(std::pow(10.0, random.uniform(-1, 1)), random.direction());
    for (int i = 2 + random.index(5); i > 0; --i)
      one.add_contact(against_surface(0, random.direction(), 0), random.uniform(0.01, 0.5));
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
    problem.compliance[i] = i % 3 == 0 ? random.uniform(0, 1) : 0;
    problem.cohesion[i] = i % 5 == 0 ? random.uniform(0, 1) : 0;
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

TEST(Projection, DoesNotDependOnTheOrderOfContactsAtConvergence) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Problem problem = random_problem(seed, 120, 70, 0.3, Ends::with_prescribed);
    std::vector<std::size_t> order(problem.contacts.size());
    std::iota(order.begin(), order.end(), 0);
    Random random(100 + seed);
    std::shuffle(order.begin(), order.end(), random.engine());
    Problem shuffled = problem;
    for (std::size_t i = 0; i < order.size(); ++i) {
      shuffled.contacts[i] = problem.contacts[order[i]];
      shuffled.k_N[i] = problem.k_N[order[i]];
    }
    EXPECT_GT(distance(solve(problem, sweeps(1)).p, solve(shuffled, sweeps(1)).p), 1e-3);  // before, it does
    const Solution a = solve(problem, sweeps(kConverged)), b = solve(shuffled, sweeps(kConverged));
    EXPECT_LT(distance(a.p, b.p), 1e-9) << "seed " << seed;
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_LT((b.r[i] - a.r[order[i]]).norm(), 1e-9) << "seed " << seed;
  }
}

TEST(Projection, DoesNotDependOnTheNumberOfStagesAtConvergence) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Problem problem = random_problem(seed, 120, 70, 0.3, Ends::with_prescribed);
    const Solution reference = solve(problem, sweeps(kConverged), 8);
    for (const int stages : {1, 2, 3, 64}) {
      const Solution solution = solve(problem, sweeps(kConverged), stages);
      EXPECT_LT(distance(solution.p, reference.p), 1e-9) << "seed " << seed << ", stages " << stages;
      EXPECT_EQ(solution.sequential > 0, stages < 64) << "seed " << seed << ", stages " << stages;
    }
  }
}

/// Twenty sweeps, each of all contacts, on 1, 2 and 4 threads. Returns what one gives.
Solution expect_same_on_any_threads(const Problem& problem, int stages, Parts parts = {}) {
  Solution one;
  for (const int threads : {1, 2, 4}) {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    tbb::task_arena arena(threads);
    const auto on_threads = [&](double sleeping_threshold) {
      Solution solution;
      arena.execute([&] { solution = solve(problem, sweeps(10, sleeping_threshold), stages, 2, parts); });
      return solution;
    };
    EXPECT_EQ(on_threads(0).updates, 20 * problem.contacts.size());
    const Solution many = on_threads(1e-4);
    if (threads == 1) one = many;
    EXPECT_TRUE(same_bits(one.p, many.p)) << threads << " threads";
    EXPECT_TRUE(same_bits(one.r, many.r)) << threads << " threads";
  }
  return one;
}

TEST(Projection, IsTheSameToTheBitForAnyNumberOfThreads) {
  // Stages have tens of tasks, and a few contacts are left to the sequential rest.
  const Solution sparse = expect_same_on_any_threads(random_problem(6, 90000, 30000, 0.3, Ends::with_prescribed), 8);
  EXPECT_GT(sparse.sequential, 10u);
  EXPECT_LT(sparse.sequential, 1024u);
  EXPECT_EQ(sparse.at_hubs, 0u);
}

TEST(Projection, MuchThatFitsInNoStageTakesStagesOfHubs) {
  // Nodes have few contacts, but there are fewer stages yet: hubs are small, and many are of one colour.
  const Solution dense = expect_same_on_any_threads(random_problem(6, 12000, 30000, 0.3, Ends::with_prescribed), 8);
  EXPECT_EQ(dense.sequential, 0u);
  EXPECT_GT(dense.at_hubs, 5000u);
  EXPECT_LT(dense.at_hubs, 25000u);
}

enum class OtherHub { next, any };

/// Light edges that touch those between heavy nodes, hundreds of them at each, as under a band, sorted by the hub; then
/// as many again that touch each other alone.
Problem hub_problem(int hubs, int contacts, OtherHub other) {
  Random random(31);
  Problem problem;
  const auto contact = [&](int i, int j) {
    const std::array<int, 4> node{i, j, problem.add_node(1, random.direction()),
                                  problem.add_node(1, random.direction())};
    problem.add_contact(between_edges(node, random.uniform(0, 1), random.uniform(0, 1), Vec3::UnitZ(), 0.3));
  };
  for (int j = 0; j < hubs; ++j) problem.add_node(100, {0, 0, -1});
  for (int i = 0; i < contacts; ++i) {
    const int hub = static_cast<int>(static_cast<std::int64_t>(i) * hubs / contacts);
    contact(hub, (hub + (other == OtherHub::next ? 1 : 1 + random.index(hubs - 1))) % hubs);
  }
  for (int i = 0; i < contacts; ++i) {
    const int j = problem.add_node(1, random.direction());
    contact(j, problem.add_node(1, random.direction()));
  }
  return problem;
}

TEST(Projection, ContactsOfHubsAreSweptInStagesOfTheirOwn) {
  // 250 blocks share each hub: 64 of them would fit in the stages, but go with the others.
  const Problem problem = hub_problem(40, 20000, OtherHub::next);
  const Solution one = expect_same_on_any_threads(problem, 64);
  EXPECT_EQ(one.at_hubs, 20000u);
  EXPECT_EQ(one.sequential, 0u);
  const Solution converged = solve(problem, sweeps(400), 64);
  const Violation v = violation(problem, converged, 1e-7);
  EXPECT_LT(v.momentum, 1e-11);
  EXPECT_LT(v.cone, 1e-12);
  EXPECT_LT(v.penetration, 1e-9);
  EXPECT_LT(v.complementarity, 1e-9);
  EXPECT_LT(v.sliding, 1e-6);
  for (const int count : {v.separated, v.slid}) EXPECT_GT(count, 50);
}

TEST(Projection, ContactsOfHubsThatComeLaterJoinTheStagesThere) {
  // Parts of 500 alone would be too few for stages of their own. Hubs that are new keep the blocks that find a stage.
  const Problem problem = hub_problem(40, 20000, OtherHub::next);
  const Solution one = expect_same_on_any_threads(problem, 64, {.first = 10000, .later = 500});
  EXPECT_GT(one.at_hubs, 15000u);
  EXPECT_EQ(one.sequential, 0u);
  const Violation v = violation(problem, solve(problem, sweeps(400), 64, 1, {.first = 10000, .later = 500}), 1e-7);
  EXPECT_LT(v.momentum, 1e-11);
  EXPECT_LT(v.cone, 1e-12);
  EXPECT_LT(v.penetration, 1e-9);
}

TEST(Projection, HubsThatAllMeetEachOtherAreLeftToTheSequentialRestWhereColoursEnd) {
  // 80 hubs, any two of which meet, and 64 colours.
  const Solution one = expect_same_on_any_threads(hub_problem(80, 30000, OtherHub::any), 64);
  EXPECT_EQ(one.at_hubs + one.sequential, 30000u);
  EXPECT_GT(one.at_hubs, 20000u);
  EXPECT_GT(one.sequential, 100u);
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
