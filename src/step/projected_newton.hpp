// The time step: Projected Newton with the ADMM contact solver (D20 section 6, Algorithm 2).
#pragma once

#include <string>

#include "step/world.hpp"
#include "stiction/report.hpp"

namespace stiction {

/// What a step carries over to the next, besides the nodes and the bodies' own state.
struct StepState {
  std::vector<Vec3> lambda;           ///< W λ, the warm start of the contact forces, kg m/s
  std::vector<Vec3> contact_impulse;  ///< Bᵀ r of the last step, kg m/s
};

/// Advances the world from `time` by dt. Returns false, with the world in disorder and `failure` naming what went
/// wrong, if the result is not finite or a factorisation fails; the caller restores and retries.
bool advance(World& world, StepState& state, double time, double dt, StepReport& report, std::string& failure);

}  // namespace stiction
