#include "bench/timed_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "io/checkpoint.hpp"

namespace stiction {

Snapshot reach(const Scene& scene, double time, const std::filesystem::path& folder, const std::string& what) {
  constexpr double seconds_between_saves = 60;
  std::filesystem::create_directories(folder);
  const std::filesystem::path kept = folder / (what + ".h5");
  Simulation simulation(scene);
  const std::string id = fmt::format("{} from {:016x}", what, simulation.state_hash());  // of where the scene starts
  if (std::filesystem::exists(kept)) {
    const Snapshot before = load_checkpoint(kept, id);
    if (before.time < time + scene.time.dt()) simulation.restore(before);
  }
  double unsaved = 0;
  std::int64_t crossings = 0;
  while (simulation.time() < time - 1e-9) {
    const StepReport r = simulation.step();
    crossings += r.crossings;
    if (r.step % 4 == 0)
      fmt::print(stderr, "reaching {} s: {:.3f} s, {} contacts to {:.2e} m, {} crossings, {:.2f} s a step\n", time,
                 r.time, r.contacts, r.residual_m, crossings, r.t_step);
    unsaved += r.t_step;
    if (unsaved < seconds_between_saves) continue;
    save_checkpoint(kept, simulation.snapshot(), id);
    unsaved = 0;
  }
  Snapshot state = simulation.snapshot();
  if (unsaved > 0) save_checkpoint(kept, state, id);
  return state;
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

TimedSteps time_steps(Simulation& simulation, int steps) {
  TimedSteps sum;
  sum.steps = steps;
  const std::clock_t start = std::clock();
  for (int i = 0; i < steps; ++i) {
    const StepReport r = simulation.step();
    sum.wall += r.t_step;
    sum.t_dynamics += r.t_dynamics;
    sum.t_collision += r.t_collision;
    sum.t_broad += r.t_broad;
    sum.t_solver += r.t_solver;
    sum.t_linear += r.t_linear;
    sum.t_projection += r.t_projection;
    sum.contacts_mean += static_cast<double>(r.contacts) / steps;
    sum.contacts_max = std::max(sum.contacts_max, static_cast<double>(r.contacts));
    sum.iterations_mean += static_cast<double>(r.admm_iterations) / steps;
    sum.iterations_max = std::max(sum.iterations_max, r.admm_iterations);
    sum.contact_updates += static_cast<double>(r.contact_updates);
    sum.crossings += r.crossings;
    sum.residual.push_back(r.residual_m);
    sum.residual_ratio.push_back(r.residual_ratio);
    sum.residual_solved.push_back(r.admm_history.empty() ? 0 : r.admm_history.back());
    sum.coulomb_error.push_back(r.coulomb_error);
    sum.iterations.push_back(r.admm_iterations);
    fmt::print(
        stderr,
        "step {}: {} contacts of {} candidates, {:.3f} s (dynamics {:.3f}, collision {:.3f} with {:.3f} of broad "
        "phases, solver {:.3f}), {} iterations to {:.2e} m, {} crossings\n",
        r.step, r.contacts, r.candidates, r.t_step, r.t_dynamics, r.t_collision, r.t_broad, r.t_solver,
        r.admm_iterations, r.residual_m, r.crossings);
  }
  sum.cpu = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return sum;
}

}  // namespace stiction
