#include "bench/drops.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "stiction/simulation.hpp"

namespace stiction {

void add_sphere_and_floor(Scene& scene, double mu) {
  Collider sphere;
  sphere.name = "sphere";
  sphere.radius = 0.25;
  sphere.friction = mu;
  sphere.placement.position = {0, 0, 0.25};
  Collider floor;
  floor.name = "floor";
  floor.shape = ColliderShape::plane;
  floor.friction = mu;
  scene.colliders = {sphere, floor};
}

void print_drop_header() {
  fmt::print("{:>6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>9} {:>9} {:>9}\n", "dt", "nodes", "median", "max",
             "contacts", "its", "residual", "stretch", "overlap", "crossings", "halvings");
  fmt::print("{:>6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>9} {:>9} {:>9}\n", "ms", "", "ms/step", "ms/step",
             "max", "mean", "max, um", "max, %", "max, mm", "", "");
}

nlohmann::json run_drop(const Scene& scene, double duration) {
  Simulation simulation(scene);
  std::vector<double> times;
  double stretch = 0, penetration = 0, residual = 0, iterations = 0;
  std::int64_t contacts = 0, crossings = 0, halvings = 0;
  while (simulation.time() < duration - 1e-9) {
    const StepReport report = simulation.step();
    stretch = std::max(stretch, report.max_stretch);
    penetration = std::max(penetration, report.max_penetration_m);
    crossings += report.crossings;
    halvings += report.halvings;
    contacts = std::max(contacts, report.contacts);
    if (report.contacts == 0 && times.empty()) continue;
    times.push_back(report.t_step);
    residual = std::max(residual, report.residual_m);
    iterations += report.admm_iterations;
  }
  if (times.empty()) times.push_back(0);
  const auto steps = static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], worst = times.back(), dt = scene.time.dt();
  fmt::print("{:>6.0f} {:>6} {:>9.1f} {:>9.1f} {:>9} {:>9.1f} {:>10.1f} {:>10.2f} {:>9.4f} {:>9} {:>9}\n", dt * 1e3,
             simulation.positions().size(), median * 1e3, worst * 1e3, contacts, iterations / steps, residual * 1e6,
             stretch * 100, penetration * 1e3, crossings, halvings);
  return {{"dt", dt},
          {"nodes", simulation.positions().size()},
          {"step_ms_median", median * 1e3},
          {"step_ms_max", worst * 1e3},
          {"contacts_max", contacts},
          {"admm_iterations_mean", iterations / steps},
          {"residual_m_max", residual},
          {"stretch_max", stretch},
          {"penetration_m_max", penetration},
          {"crossings", crossings},
          {"halvings", halvings}};
}

}  // namespace stiction
