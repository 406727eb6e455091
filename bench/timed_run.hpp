// What benchmarks of whole steps have in common: a state to start from that is made once and kept, and sums over steps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stiction/simulation.hpp"

namespace stiction {

/// The state of `scene` at `time` (s). It is kept in `folder`, named after `what` it is, and on the way every minute:
/// what was stopped, or is wanted at a later time, goes on from there. A state that was kept of a scene with another
/// start is refused.
Snapshot reach(const Scene& scene, double time, const std::filesystem::path& folder, const std::string& what);

/// Figures summed over timed steps.
struct TimedSteps {
  int steps = 0;
  double wall = 0, cpu = 0;                                                                           ///< s
  double t_dynamics = 0, t_broad = 0, t_collision = 0, t_solver = 0, t_linear = 0, t_projection = 0;  ///< s
  double contacts_mean = 0, contacts_max = 0, iterations_mean = 0;
  double contact_updates = 0;  ///< of single contacts in all sweeps
  int iterations_max = 0;
  std::int64_t crossings = 0;
  std::vector<double> residual, residual_ratio;  ///< δ∞ (m), and over that of the first iteration, of each step
  std::vector<double> coulomb_error;             ///< of each step, relative
  std::vector<double> residual_solved;           ///< δ∞ of the last iteration, before contacts of repair passes, m
  std::vector<int> iterations;                   ///< of each step
};

double largest(const std::vector<double>& values);

/// Advances by `steps` steps and prints a line about each to stderr.
TimedSteps time_steps(Simulation& simulation, int steps);

}  // namespace stiction
