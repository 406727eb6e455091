// D20's 120 rabbits (7.2, Figure 11): seconds of a step in contact and iterations to 0.01 mm, beside the paper's.
//
// Steps are timed after a preroll of the same scene, from free fall to some while after the first contacts. The
// preroll keeps its state in a checkpoint, since it takes longer than the steps themselves.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bench/benchmarks.hpp"
#include "bench/timed_run.hpp"
#include "io/resources.hpp"
#include "parallel/threads.hpp"
#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {
namespace {

// D20 7.2: 5.5 s a step on 6 cores, 24 % of it in the contact solver; 16.9 s on one core.
constexpr double kPaperStep = 5.5, kPaperSolver = 24, kPaperSingle = 16.9;
constexpr int kPaperCores = 6;

/// About `count` rabbits, near a cube, in a bowl that fits them (the scene's own at 120).
Scene rabbits_scene(const RabbitsOptions& options) {
  const int nx = std::max(1, static_cast<int>(std::cbrt(options.count) + 1e-9));
  const int ny = std::max(1, static_cast<int>(std::sqrt(options.count / nx) + 1e-9));
  const int nz = std::max(1, options.count / (nx * ny));
  if (nx == 4 && ny == 5 && nz == 6) return load_scene(options.scene);
  // Spheres about the rabbits of the lowest layer, 2 cm clear of the wall; the rim of the bowl is at z = 0.
  constexpr double spacing = 0.24, rabbit = 0.125, clear = 0.02;
  const double corner = 0.5 * spacing * std::hypot(nx - 1, ny - 1), radius = corner + rabbit + 3 * clear;
  const double depth = std::sqrt(std::pow(radius - rabbit - clear, 2) - corner * corner);
  return load_scene(options.scene, {fmt::format("solid.0.copies=[{}, {}, {}]", nx, ny, nz),
                                    fmt::format("solid.0.position=[0, 0, {}]", 0.5 * spacing * (nz - 1) - depth),
                                    fmt::format("collider.0.radius={}", radius),
                                    fmt::format("collider.0.position=[0, 0, {}]", -radius - 0.01)});
}

}  // namespace

nlohmann::json bench_rabbits(const RabbitsOptions& options) {
  if (options.count < 1 || options.steps < 1) throw std::invalid_argument("count and steps must be positive");
  const int threads = thread_count(options.threads);
  const Scene scene = rabbits_scene(options);
  Simulation simulation(scene);
  simulation.restore(reach(scene, options.start, options.state_folder, fmt::format("rabbits_{}", scene.solids.size())));

  const TimedSteps timed = time_steps(simulation, options.steps);
  std::vector<double> frame_iterations;  // mean of each frame: Figure 11
  const int per_frame = scene.time.steps_per_frame;
  for (int first = 0; first < timed.steps; first += per_frame) {
    const int last = std::min(first + per_frame, timed.steps);
    double sum = 0;
    for (int i = first; i < last; ++i) sum += timed.iterations[i];
    frame_iterations.push_back(sum / (last - first));
  }
  const auto reached = std::count_if(timed.residual.begin(), timed.residual.end(),
                                     [&](double r) { return r <= scene.solver.tolerance; });
  const double n = timed.steps, t_step = timed.wall / n, core_seconds = t_step * threads, cpu = timed.cpu / n;
  const auto rabbits = static_cast<double>(scene.solids.size());
  const double paper = kPaperStep * kPaperCores;
  nlohmann::json figures = {
      {"rabbits", scene.solids.size()},
      {"nodes", simulation.positions().size()},
      {"start_s", options.start},
      {"steps", options.steps},
      {"contacts_mean", timed.contacts_mean},
      {"t_step_s", t_step},
      {"t_dynamics_s", timed.t_dynamics / n},
      {"t_collision_s", timed.t_collision / n},
      {"t_solver_s", timed.t_solver / n},
      {"pct_solver", 100 * timed.t_solver / timed.wall},
      {"threads", threads},
      {"core_seconds", core_seconds},
      {"cpu_seconds", cpu},  // the same, but for time that others had the cores
      {"paper_core_seconds", paper * rabbits / 120},
      {"paper_single_core_s", kPaperSingle * rabbits / 120},
      {"iterations_mean", timed.iterations_mean},
      {"iterations_max", timed.iterations_max},
      {"iterations_frames", frame_iterations},
      {"reached", reached},
      {"residual_m", timed.residual},
      {"residual_m_max", largest(timed.residual)},
      {"crossings", timed.crossings},
      {"peak_rss_bytes", peak_rss_bytes()},
      {"state_hash", fmt::format("{:016x}", simulation.state_hash())},
  };
  fmt::print("{:10} {:>8} {:>9} {:>8} {:>8} {:>6} {:>13} {:>21}\n", "", "rabbits", "contacts", "t_step", "%solver",
             "cores", "core-seconds", "iterations mean (max)");
  fmt::print("{:10} {:>8} {:>9.0f} {:>7.2f}s {:>7.0f}% {:>6} {:>13.2f} {:>13.1f} ({:>5})\n", "stiction", rabbits,
             timed.contacts_mean, t_step, 100 * timed.t_solver / timed.wall, threads, core_seconds,
             timed.iterations_mean, timed.iterations_max);
  fmt::print("{:10} {:>8} {:>9} {:>7.2f}s {:>7.0f}% {:>6} {:>13.2f}\n", "D20", 120, "", kPaperStep, kPaperSolver,
             kPaperCores, paper);
  fmt::print("{:10} {:>8} {:>9} {:>7.2f}s {:>8} {:>6} {:>13.2f}\n", "D20", 120, "", kPaperSingle, "", 1, kPaperSingle);
  fmt::print("{:.2f} s of processor time a step\n", cpu);
  fmt::print(
      "core-seconds a rabbit 1/{:.1f} of the paper's (1/{:.1f} of one core's); {} of {} steps reach {} m, the worst "
      "{:.2e} m; {} "
      "crossings\n",
      paper / 120 / (core_seconds / rabbits), kPaperSingle / 120 / (core_seconds / rabbits), reached, options.steps,
      scene.solver.tolerance, largest(timed.residual), timed.crossings);
  return figures;
}

}  // namespace stiction
