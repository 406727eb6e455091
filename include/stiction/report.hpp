// What a time step reports about itself. One of these is a line of stats.jsonl.
#pragma once

#include <cstdint>
#include <vector>

namespace stiction {

struct StepReport {
  std::int64_t step = 0;
  double time = 0;                ///< at the end of the step, s
  double dt = 0;                  ///< s
  std::int64_t contacts = 0;      ///< at the end of the last solve
  std::int64_t contacts_ccd = 0;  ///< of these, found by continuous detection
  int newton_iterations = 0;
  int admm_iterations = 0;     ///< over all Newton iterations
  int linear_iterations = 0;   ///< of conjugate gradients, where attachments couple bodies
  int linear_unsolved = 0;     ///< solves by these that ended above their tolerance
  double residual_m = 0;       ///< δ∞ of the last solve, m
  double residual_p999_m = 0;  ///< 99.9th percentile over nodes, m
  double residual_ratio = 0;   ///< δ∞ of the last over that of the first iteration
  double coulomb_error = 0;    ///< the one residual, relative
  double max_penetration_m = 0;
  double max_stretch = 0;  ///< largest |strain| of an edge
  double max_speed = 0;    ///< m/s
  std::int64_t crossings = 0;
  std::int64_t deep_contacts = 0;        ///< overlaps whose recovery was bounded
  std::int64_t guarded_stencils = 0;     ///< nearly anti-parallel edges
  std::int64_t sequential_contacts = 0;  ///< swept outside the parallel stages
  std::int64_t contact_updates = 0;      ///< of single contacts in all sweeps; none while a contact sleeps
  int broad_phases = 0;
  std::int64_t candidates = 0;  ///< pairs that continuous detection looked at
  int halvings = 0;             ///< times that the step was halved and redone
  double mu_n_over_m = 0;       ///< mean friction coefficient times contacts over degrees of freedom (D20 7.3)
  double nu = 0;                ///< 3 contacts over degrees of freedom (B11 4.4)
  double energy_kinetic = 0, energy_elastic = 0, energy_gravity = 0;                                 ///< J
  double t_step = 0, t_dynamics = 0, t_collision = 0, t_solver = 0, t_linear = 0, t_projection = 0;  ///< s
  double t_broad = 0;                ///< of t_collision: finding and extending candidates, s
  std::vector<double> admm_history;  ///< δ∞ of each iteration of the last solve, m
};

}  // namespace stiction
