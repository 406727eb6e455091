// All bodies as one linear system, as the friction solver sees it.
//
// Each body factors its own block P of A + W; without ties one solve by P is exact. Where ties couple bodies, what
// hangs on others by few of them is eliminated (step/tie_elimination.hpp), and the rest, P_K + N, is solved by
// conjugate gradients preconditioned by P_K (D20 6.2.5). With z = P⁻¹ r known, the product P d of the search direction
// follows from d = z + β d by the same recurrence on r: no body multiplies by A.
#pragma once

#include "friction/admm.hpp"
#include "friction/weights.hpp"
#include "step/tie_elimination.hpp"
#include "step/world.hpp"

namespace stiction {

class BodyDynamics final : public LinearDynamics {
 public:
  explicit BodyDynamics(World& world)
      : world_(world), options_(world.scene.solver), elimination_(world.ties, world.nodes, world.component_count) {
    begin_step();
  }

  /// Assembles every body at the iterate v_k.
  void assemble(std::span<const Vec3> v_k);

  /// Solves A v = f + impulse (no weight) for the marked components; false if a factor of A fails.
  /// Marked components include all that ties connect them with.
  bool solve_unweighted(std::span<const std::uint8_t> components, std::span<const Vec3> impulse, std::span<Vec3> v,
                        double tolerance);

  /// Starts a step: weights are what matrix and mass make them, nothing has been counted.
  void begin_step() {
    weight_factor_.assign(world_.nodes.x.size(), 1.0f);
    linear_iterations_ = linear_unsolved_ = 0;
  }
  /// Raises, in what follows of the step, the weights of nodes that missed the tolerance (friction/weights.hpp).
  void raise_weights(std::span<const std::uint8_t> missed) {
    raise_factors(missed, world_.nodes.component, world_.strand_count, weight_factor_);
  }

  /// Marks what ties connect with a marked component.
  void mark_groups(std::span<std::uint8_t> components) const;

  std::span<const Vec3> iterate() const override { return v_k_; }
  std::span<const std::uint8_t> fixed() const override { return world_.nodes.fixed; }
  std::span<const int> component() const override { return world_.nodes.component; }
  int component_count() const override { return world_.component_count; }
  std::pair<int, int> nodes_of(int component) const override { return world_.component_nodes[component]; }
  const Skin* skin() const override { return &world_.nodes.skin; }
  bool has_ties() const override { return !world_.ties.empty(); }
  void activate(std::span<const int> components, std::span<const Contact> contacts, std::span<double> w) override;
  void solve(std::span<const Vec3> impulse, std::span<Vec3> v, double tolerance) override;

  /// Components that entered the contact solve since the last assembly.
  std::span<const std::uint8_t> active() const { return active_; }
  bool factors_good() const { return failed_body_ == nullptr; }
  /// Name of the body whose factor failed.
  std::string failed_body() const { return failed_body_ ? failed_body_->name : ""; }
  /// Iterations of conjugate gradients in this step, and solves that ended above their tolerance.
  int linear_iterations() const { return linear_iterations_; }
  int linear_unsolved() const { return linear_unsolved_; }

 private:
  void factor(std::span<const double> w, std::span<const std::uint8_t> components);
  void solve_marked(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> components,
                    double tolerance);
  void solve_kept(std::span<Vec3> v, double tolerance);
  void load_kept();
  void multiply_kept(std::span<const Vec3> x, std::span<Vec3> out);
  template <class F>
  void for_each_kept(F&& f) const;
  void solve_bodies(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> components);

  World& world_;
  const SolverOptions& options_;
  std::vector<Vec3> v_k_;
  std::vector<double> eta_, no_weight_, lifted_;
  std::vector<float> weight_factor_;  // of each node
  bool has_eta_ = false;              // of this assembly
  std::vector<std::uint8_t> active_;
  std::vector<std::uint8_t> factored_, stale_;  // components whose factor is of A alone; those that need one
  const Body* failed_body_ = nullptr;
  TieElimination elimination_;
  std::vector<std::uint8_t> kept_, tied_, others_;  // components of a solve: see solve_marked
  std::vector<int> kept_nodes_;                     // those that are not prescribed
  std::vector<Vec3> b_, known_, q_;                 // right-hand side; what C is multiplied by, and what comes of it
  std::vector<Vec3> y_, r_, z_, d_, pd_;            // of conjugate gradients, at kept nodes
  int linear_iterations_ = 0, linear_unsolved_ = 0;
};

}  // namespace stiction
