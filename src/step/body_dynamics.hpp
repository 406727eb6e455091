// All bodies as one linear system, as the friction solver sees it.
#pragma once

#include "friction/admm.hpp"
#include "step/world.hpp"

namespace stiction {

class BodyDynamics final : public LinearDynamics {
 public:
  BodyDynamics(World& world, const SolverOptions& options) : world_(world), options_(options) {}

  /// Assembles every body at the iterate v_k.
  void assemble(std::span<const Vec3> v_k);

  /// Factors A (no weight) for the marked components and solves A v = f + impulse there; false if a factor fails.
  bool solve_unweighted(std::span<const std::uint8_t> components, std::span<const Vec3> impulse, std::span<Vec3> v);

  std::span<const Vec3> iterate() const override { return v_k_; }
  std::span<const std::uint8_t> fixed() const override { return world_.nodes.fixed; }
  std::span<const int> component() const override { return world_.nodes.component; }
  int component_count() const override { return world_.component_count; }
  void activate(std::span<const int> components, std::span<double> w) override;
  void solve(std::span<const Vec3> impulse, std::span<Vec3> v) override;

  /// Components that entered the contact solve since the last assembly.
  std::span<const std::uint8_t> active() const { return active_; }
  bool factors_good() const { return failed_body_ == nullptr; }
  /// Name of the body whose factor failed.
  std::string failed_body() const { return failed_body_ ? failed_body_->name : ""; }

 private:
  void factor(std::span<const double> w, std::span<const std::uint8_t> components);

  World& world_;
  SolverOptions options_;
  std::vector<Vec3> v_k_;
  std::vector<double> eta_;
  std::vector<std::uint8_t> active_;
  const Body* failed_body_ = nullptr;
};

}  // namespace stiction
