// The order of the projection's sweep (D20 6.2.8): what it converges to does not depend on it, and it depends on the
// contacts alone, not on the threads.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <numeric>

#include "support/projection_problem.hpp"

namespace stiction {
namespace {

using namespace test;

TEST(ProjectionOrder, DoesNotDependOnTheOrderOfContactsAtConvergence) {
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

TEST(ProjectionOrder, DoesNotDependOnTheNumberOfStagesAtConvergence) {
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

TEST(ProjectionOrder, IsTheSameToTheBitForAnyNumberOfThreads) {
  // Stages have tens of tasks, and a few contacts are left to the sequential rest.
  const Solution sparse = expect_same_on_any_threads(random_problem(6, 90000, 30000, 0.3, Ends::with_prescribed), 8);
  EXPECT_GT(sparse.sequential, 10u);
  EXPECT_LT(sparse.sequential, 1024u);
  EXPECT_EQ(sparse.at_hubs, 0u);
}

TEST(ProjectionOrder, MuchThatFitsInNoStageTakesStagesOfHubs) {
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
    problem.add_contact(between_edges(node, random(0, 1), random(0, 1), Vec3::UnitZ(), 0.3));
  };
  for (int j = 0; j < hubs; ++j) problem.add_node(100, {0, 0, -1});
  for (int i = 0; i < contacts; ++i) {
    const int hub = static_cast<int>(static_cast<std::int64_t>(i) * hubs / contacts);
    contact(hub, (hub + (other == OtherHub::next ? 1 : 1 + random.below(hubs - 1))) % hubs);
  }
  for (int i = 0; i < contacts; ++i) {
    const int j = problem.add_node(1, random.direction());
    contact(j, problem.add_node(1, random.direction()));
  }
  return problem;
}

TEST(ProjectionOrder, ContactsOfHubsAreSweptInStagesOfTheirOwn) {
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

TEST(ProjectionOrder, ContactsOfHubsThatComeLaterJoinTheStagesThere) {
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

TEST(ProjectionOrder, HubsThatAllMeetEachOtherAreLeftToTheSequentialRestWhereColoursEnd) {
  // 80 hubs, any two of which meet, and 64 colours.
  const Solution one = expect_same_on_any_threads(hub_problem(80, 30000, OtherHub::any), 64);
  EXPECT_EQ(one.at_hubs + one.sequential, 30000u);
  EXPECT_GT(one.at_hubs, 20000u);
  EXPECT_GT(one.sequential, 100u);
}

}  // namespace
}  // namespace stiction
