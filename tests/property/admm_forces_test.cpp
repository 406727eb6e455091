// What the contact solver owes its callers after any number of iterations: W λ is what the contacts' forces do to the
// nodes, W λ = Bᵀ (r − ξ n), although it does not add them up contact by contact in every projection.
#include <gtest/gtest.h>

#include <random>

#include "friction/admm.hpp"

namespace stiction {
namespace {

constexpr int kComponents = 4, kNodes = 3;  // of each
constexpr double kDt = 0.01, kWeight = 0.7;

// Components of three nodes each, with a random positive definite matrix; A v = A v_k + impulse.
class RandomDynamics final : public LinearDynamics {
 public:
  RandomDynamics() {
    std::mt19937 engine(11);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Eigen::Matrix<double, 9, 9>& A : A_) {
      A = A.NullaryExpr([&] { return uniform(engine); });
      A = (A * A.transpose() + Eigen::Matrix<double, 9, 9>::Identity()).eval();
    }
    for (int j = 0; j < kComponents * kNodes; ++j) {
      v_k_.emplace_back(uniform(engine), uniform(engine), -1);
      component_.push_back(j / kNodes);
    }
  }
  std::span<const Vec3> iterate() const override { return v_k_; }
  std::span<const std::uint8_t> fixed() const override { return fixed_; }
  std::span<const int> component() const override { return component_; }
  int component_count() const override { return kComponents; }
  std::pair<int, int> nodes_of(int c) const override { return {c * kNodes, (c + 1) * kNodes}; }
  void activate(std::span<const int> components, std::span<const Contact>, std::span<double> w) override {
    for (const int c : components) {
      active_[c] = true;
      std::fill_n(w.begin() + c * kNodes, kNodes, kWeight);
    }
  }
  void solve(std::span<const Vec3> impulse, std::span<Vec3> v, double) override {
    for (int c = 0; c < kComponents; ++c) {
      if (!active_[c]) continue;
      Eigen::Matrix<double, 9, 1> b;
      for (int i = 0; i < kNodes; ++i) b.segment<3>(3 * i) = impulse[c * kNodes + i];
      const Eigen::Matrix<double, 9, 9> A_plus_W = A_[c] + kWeight * Eigen::Matrix<double, 9, 9>::Identity();
      const Eigen::Matrix<double, 9, 1> y = A_plus_W.ldlt().solve(b);
      for (int i = 0; i < kNodes; ++i) v[c * kNodes + i] = v_k_[c * kNodes + i] + y.segment<3>(3 * i);
    }
  }

 private:
  std::array<Eigen::Matrix<double, 9, 9>, kComponents> A_;
  std::vector<Vec3> v_k_;
  std::vector<int> component_;
  std::vector<std::uint8_t> fixed_ = std::vector<std::uint8_t>(kComponents * kNodes, 0);
  std::array<bool, kComponents> active_{};
};

// The i-th node of a component on the floor, held to it by some attraction.
Contact on_floor(int component, int i, double cohesion) {
  Contact c;
  const int node = component * kNodes + i;
  c.key = ContactKey::make(ContactKey::node_collider, static_cast<std::uint32_t>(node), 0, 0);
  c.node[0] = node;
  c.b[0] = 1;
  c.mu = 0.3;
  c.cohesion = cohesion;
  return c;
}

struct Solve {
  AdmmState state;
  RandomDynamics dynamics;
  int detections = 0;

  // A contact from the start; others, of components that had none, come with each of the first `found` detections.
  Solve(const AdmmOptions& options, int found) {
    state.contacts = {on_floor(0, 0, 5)};
    state.v.assign(dynamics.iterate().begin(), dynamics.iterate().end());
    state.lambda.assign(state.v.size(), Vec3(0.02, -0.01, 0.03));  // of a step before, and no contact's
    solve_admm(
        dynamics, options,
        [&](std::span<const Vec3>, ContactList& contacts) {
          if (++detections <= found)
            contacts.push_back(on_floor(detections % kComponents, detections / kComponents, 7));
        },
        state);
  }

  double off(std::span<const Vec3> impulse) const {
    std::vector<Vec3> sum(state.v.size(), Vec3::Zero());
    for (std::size_t i = 0; i < state.contacts.size(); ++i)
      sum[state.contacts[i].node[0]] += state.contacts[i].b[0] * state.impulse[i];
    double worst = 0;
    for (std::size_t j = 0; j < sum.size(); ++j) worst = std::max(worst, (impulse[j] - sum[j]).norm());
    return worst;
  }
};

AdmmOptions options_of(bool accelerated, double over_relaxation, double compliance) {
  AdmmOptions options;
  options.dt = kDt;
  options.solver.precision = Precision::double_;
  options.solver.tolerance = 1e-30;
  options.solver.accelerated = accelerated;
  options.solver.over_relaxation = over_relaxation;
  options.solver.ccd_interval = 3;
  options.solver.repair_passes = 0;
  options.contact.compliance = compliance;
  return options;
}

TEST(AdmmForces, AreInLambdaAfterAnyNumberOfIterations) {
  for (const bool accelerated : {false, true})
    for (const double over_relaxation : {1.0, 1.8})
      for (const double compliance : {0.0, 1e-5})
        for (int iterations = 1; iterations <= 13; ++iterations) {
          AdmmOptions options = options_of(accelerated, over_relaxation, compliance);
          options.solver.admm_iterations = iterations;
          const Solve run(options, 3);
          double largest = 0;
          for (const Vec3& r : run.state.impulse) largest = std::max(largest, r.norm());
          ASSERT_GT(largest, 0.1);
          ASSERT_EQ(run.state.contacts.size(), 1u + std::min(3, run.detections));
          EXPECT_LT(run.off(run.state.lambda), 1e-13)
              << iterations << " iterations, " << (accelerated ? "accelerated" : "over-relaxed by ") << over_relaxation;
        }
}

// What repair passes find pushes the nodes, too; λ is that of the last iteration.
TEST(AdmmForces, OfContactsThatRepairFindsAreOnTheNodes) {
  for (const bool accelerated : {false, true}) {
    AdmmOptions options = options_of(accelerated, 1.0, 0.0);
    options.solver.admm_iterations = 8;  // looks after 1, 3 and 6
    options.solver.repair_passes = 3;
    const Solve run(options, 5);
    ASSERT_EQ(run.state.contacts.size(), 6u);
    EXPECT_LT(run.off(run.state.on_nodes), 1e-13) << accelerated;
  }
}

}  // namespace
}  // namespace stiction
