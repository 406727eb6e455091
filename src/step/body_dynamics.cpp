#include "step/body_dynamics.hpp"

#include <algorithm>

namespace stiction {

void BodyDynamics::assemble(std::span<const Vec3> v_k) {
  v_k_.assign(v_k.begin(), v_k.end());
  active_.assign(world_.component_count, 0);
  eta_.clear();
  failed_body_ = nullptr;
  for (Body* body : world_.bodies) body->assemble(world_.nodes, v_k_);
}

bool BodyDynamics::solve_unweighted(std::span<const std::uint8_t> components, std::span<const Vec3> impulse,
                                    std::span<Vec3> v) {
  const std::vector<double> no_weight(world_.nodes.x.size(), 0.0);
  factor(no_weight, components);
  for (Body* body : world_.bodies) body->solve(impulse, v, components);
  return factors_good();
}

void BodyDynamics::activate(std::span<const int> components, std::span<double> w) {
  if (eta_.empty()) {
    eta_.assign(world_.nodes.x.size(), 0.0);
    for (const Body* body : world_.bodies) body->smallest_eigenvalues(eta_);
  }
  std::vector<std::uint8_t> stale(world_.component_count, 0);
  for (const int c : components) stale[c] = active_[c] = 1;
  for (std::size_t j = 0; j < w.size(); ++j) {
    const int c = world_.nodes.component[j];
    if (c < 0 || !stale[c]) continue;
    const double eta = eta_[j];
    w[j] = std::max(options_.weight_sigma * eta, std::min(options_.weight_beta * world_.nodes.m[j], eta));  // D20 6.2.6
  }
  factor(w, stale);
}

void BodyDynamics::factor(std::span<const double> w, std::span<const std::uint8_t> components) {
  for (Body* body : world_.bodies)
    if (!body->factor(w, components)) failed_body_ = body;
}

void BodyDynamics::solve(std::span<const Vec3> impulse, std::span<Vec3> v) {
  for (Body* body : world_.bodies) body->solve(impulse, v, active_);
}

}  // namespace stiction
