// D20 7.1: the model problems of Li et al. 2018 beside D20's Table 1, the average time of the contact solver in a step.
// D20 ran them inside Argus on a quad-core i5-8259U, with Argus' meshes and materials, which are not those of the scene
// files here: the columns are for orientation.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/benchmarks.hpp"
#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {

namespace {

struct Problem {
  const char *name, *file;
  double mu;                             // of all bodies; 0: that of the file
  double paper_ms, nodal_ms, nl_ica_ms;  // Table 1: D20's method, Li et al.'s nodal solver, NL-ICA
};

constexpr std::array<Problem, 5> kTable1{{{"belt", "belt.toml", 0, 45, 28, 189},
                                          {"cards 0.2", "cards.toml", 0.2, 2.4, 7.6, 8.7},
                                          {"cards 0.6", "cards.toml", 0.6, 92, 144, 495},
                                          {"dragging", "drag.toml", 0, 0.4, 1.6, 8.2},
                                          {"box & cone", "box_and_cone.toml", 0, 275, 292, 490}}};

}  // namespace

nlohmann::json bench_li2018(const std::string& folder, double part) {
  nlohmann::json rows = nlohmann::json::array();
  fmt::print("{:10} {:>7} {:>16} {:>11} {:>10} {:>9} {:>9} | {:>7} {:>7} {:>7}\n", "", "nodes", "contacts (max)",
             "iterations", "residual", "solver", "step", "D20", "nodal", "NL-ICA");
  fmt::print("{:10} {:>7} {:>16} {:>11} {:>10} {:>9} {:>9} | {:>7} {:>7} {:>7}\n", "", "", "a step", "a step",
             "max, um", "ms/step", "ms/step", "ms/step", "ms/step", "ms/step");
  for (const Problem& problem : kTable1) {
    Scene scene = load_scene(folder + "/" + problem.file);
    if (problem.mu > 0) {
      for (Collider& c : scene.colliders) c.friction = problem.mu;
      for (Shell& s : scene.shells) s.friction = problem.mu;
    }
    Simulation simulation(scene);
    const int steps = std::max(1, static_cast<int>(std::lround(part * scene.time.duration / scene.time.dt())));
    double t_solver = 0, t_step = 0, contacts = 0, iterations = 0, residual = 0;
    std::int64_t contacts_max = 0, crossings = 0;
    for (int i = 0; i < steps; ++i) {
      const StepReport report = simulation.step();
      t_solver += report.t_solver;
      t_step += report.t_step;
      contacts += static_cast<double>(report.contacts);
      iterations += report.admm_iterations;
      residual = std::max(residual, report.residual_m);
      contacts_max = std::max(contacts_max, report.contacts);
      crossings += report.crossings;
    }
    fmt::print("{:10} {:>7} {:>7.0f} {:>8} {:>11.1f} {:>10.1f} {:>9.1f} {:>9.1f} | {:>7} {:>7} {:>7}\n", problem.name,
               simulation.positions().size(), contacts / steps, fmt::format("({})", contacts_max), iterations / steps,
               residual * 1e6, t_solver / steps * 1e3, t_step / steps * 1e3, problem.paper_ms, problem.nodal_ms,
               problem.nl_ica_ms);
    std::fflush(stdout);
    rows.push_back({{"problem", problem.name},
                    {"nodes", simulation.positions().size()},
                    {"steps", steps},
                    {"contacts_mean", contacts / steps},
                    {"contacts_max", contacts_max},
                    {"admm_iterations_mean", iterations / steps},
                    {"residual_m_max", residual},
                    {"crossings", crossings},
                    {"solver_ms", t_solver / steps * 1e3},
                    {"step_ms", t_step / steps * 1e3},
                    {"d20_ms", problem.paper_ms},
                    {"nodal_ms", problem.nodal_ms},
                    {"nl_ica_ms", problem.nl_ica_ms}});
  }
  return rows;
}

}  // namespace stiction
