// The time step: Projected Newton with the ADMM contact solver (D20 section 6, Algorithm 2).
#pragma once

#include <string>

#include "step/body_dynamics.hpp"
#include "stiction/report.hpp"

namespace stiction {

/// What a step carries over to the next, besides the nodes and the bodies' own state, and the arrays it works in.
struct StepState {
  explicit StepState(World& world)
      : lambda(world.nodes.x.size(), Vec3::Zero()),
        velocity_change(world.component_count, 0.0),
        impulse_change(velocity_change),
        contact_impulse(lambda),
        no_impulse(lambda),
        all(world.component_count, 1),
        dynamics(world) {}

  std::vector<Vec3> lambda;             ///< W λ, the warm start of the contact forces, kg m/s
  std::vector<double> velocity_change;  ///< of each component in the last step, root mean square, m/s
  std::vector<double> impulse_change;   ///< of each component's W λ in the last step, relative; 1: not to be trusted
  std::vector<Vec3> contact_impulse;    ///< Bᵀ r of the last step, kg m/s
  const std::vector<Vec3> no_impulse;
  const std::vector<std::uint8_t> all;  ///< components
  BodyDynamics dynamics;
  AdmmState admm;
  std::vector<Vec3> v;                    ///< iterate; at the end the step's velocity, m/s
  std::vector<std::uint8_t> free;         ///< components solved without contacts in this iteration
  std::vector<std::uint8_t> missed;       ///< nodes that missed the tolerance in the last solve
  std::vector<std::uint8_t> kept_on;      ///< components that the last step's contact impulses go on to push
  std::vector<Vec3> kept;                 ///< these impulses, kg m/s
  std::vector<double> free_change;        ///< of a component's velocity without contacts, root mean square, m/s
  std::vector<Vec3> v_hat, r;             ///< velocities that forces lead to, and impulses of the one residual
  std::vector<double> inverse_mass, k_N;  ///< of the one residual
  std::vector<std::pair<ContactKey, std::uint32_t>> order;
  ContactList sorted_contacts;
  std::vector<Vec3> sorted_impulse;
};

/// Advances the world from `time` by dt. Returns false, with the world in disorder and `failure` naming what went
/// wrong, if the result is not finite, a factorisation fails or too many pairs may meet; the caller restores and
/// retries.
bool advance(World& world, StepState& state, double time, double dt, StepReport& report, std::string& failure);

}  // namespace stiction
