// D20's hairy balls (Table 2): core-seconds of a frame inside a rotation, beside the paper's.
//
// The timed frames start from a state with contacts established: two seconds of rest and half a turn, reached with
// cheaper steps (one Newton iteration). It is kept in a checkpoint beside the results, since it takes longer than the
// frames themselves. The frames are timed with the scene's own settings.
#include <fmt/core.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numbers>
#include <thread>

#include "bench/benchmarks.hpp"
#include "io/checkpoint.hpp"
#include "io/resources.hpp"
#include "scene/generators.hpp"
#include "stiction/simulation.hpp"

namespace stiction {

namespace {

struct PaperRow {
  int nominal, hairs;
  double contacts_mean, contacts_max, t_frame, t_solver, pct_linear, pct_projection;
  int cores;
  double peak_gb;
};
constexpr std::array<PaperRow, 4> kTable2{{
    {16000, 15565, 212e3, 337e3, 84, 39, 53, 15, 8, 7.7},
    {32000, 31765, 555e3, 902e3, 193, 86, 51, 17, 8, 13.3},
    {64000, 63529, 1.4e6, 2.3e6, 393, 177, 56, 13, 16, 27.0},
    {127000, 127058, 3.9e6, 5.8e6, 618, 298, 61, 17, 24, 51.3},
}};

constexpr double kStart = 2.5;  // s: in the middle of the first turn

// VALIDATION's H1: 2 s of rest, then a turn about each axis and back, each followed by a second of rest.
Scene hairy_ball(int hairs) {
  Scene scene;
  scene.name = "hairy ball";
  Collider ball;
  ball.name = "ball";
  ball.radius = 0.09;
  double t = 2;
  ball.motion.rotation.push_back({t, Vec3::Zero()});
  for (const Vec3& axis : {Vec3(0, 0, 1), Vec3(1, 0, 0), Vec3(0, 1, 0)})
    for (const double angle : {2 * std::numbers::pi, 0.0}) {
      ball.motion.rotation.push_back({t + 1, angle * axis});
      ball.motion.rotation.push_back({t + 2, angle * axis});
      t += 2;
    }
  scene.colliders.push_back(ball);
  scene::GroomOptions groom;
  groom.strands = hairs;
  Rods hair;
  hair.name = "hair";
  hair.strands = scene::make_groom(groom);
  hair.root_attach = "ball";
  scene.rods.push_back(std::move(hair));
  return scene;
}

// Reaches kStart by cheap steps.
Snapshot preroll(const Scene& scene, const std::filesystem::path& kept) {
  const std::string fingerprint = fmt::format("hairy ball {} at {} s", scene.rods[0].strands.size(), kStart);
  if (std::filesystem::exists(kept)) return load_checkpoint(kept, fingerprint);
  Scene cheap = scene;
  cheap.solver.newton_iterations = 1;
  cheap.solver.admm_iterations = 20;
  Simulation simulation(std::move(cheap));
  while (simulation.time() < kStart - 1e-9) {
    const StepReport r = simulation.step();
    if (r.step % 12 == 0)
      fmt::print(stderr, "reaching {} s: {:.3f} s, {} contacts, {:.2f} s a step\n", kStart, r.time, r.contacts,
                 r.t_step);
  }
  Snapshot state = simulation.snapshot();
  save_checkpoint(kept, state, fingerprint);
  return state;
}

}  // namespace

nlohmann::json bench_hairy_ball(const HairyBallOptions& options) {
  const auto row = std::find_if(kTable2.begin(), kTable2.end(), [&](const PaperRow& r) {
    return r.nominal == options.hairs || r.hairs == options.hairs;
  });
  const int hairs = row != kTable2.end() ? row->hairs : options.hairs;
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);

  const Scene scene = hairy_ball(hairs);
  const std::filesystem::path kept =
      std::filesystem::path(options.state_folder) / fmt::format("hairy_ball_{}.h5", hairs);
  std::filesystem::create_directories(options.state_folder);
  const Snapshot start = preroll(scene, kept);
  Simulation simulation(scene);
  simulation.restore(start);

  const int steps = options.steps > 0 ? options.steps : options.frames * scene.time.steps_per_frame;
  std::vector<double> residual, contacts;
  StepReport sum;
  double wall = 0;
  std::int64_t crossings = 0;
  for (int i = 0; i < steps; ++i) {
    const StepReport r = simulation.step();
    wall += r.t_step;
    sum.t_dynamics += r.t_dynamics;
    sum.t_collision += r.t_collision;
    sum.t_solver += r.t_solver;
    sum.t_linear += r.t_linear;
    sum.t_projection += r.t_projection;
    crossings += r.crossings;
    residual.push_back(r.residual_m);
    contacts.push_back(static_cast<double>(r.contacts));
    fmt::print(stderr, "step {}: {} contacts, {:.3f} s (dynamics {:.3f}, collision {:.3f}, solver {:.3f}), {:.2e} m\n",
               i, r.contacts, r.t_step, r.t_dynamics, r.t_collision, r.t_solver, r.residual_m);
  }
  std::vector<double> sorted = residual;
  std::sort(sorted.begin(), sorted.end());
  double mean = 0;
  for (const double c : contacts) mean += c / static_cast<double>(contacts.size());
  const double frames = static_cast<double>(steps) / scene.time.steps_per_frame;
  const double t_frame = wall / frames, core_seconds = t_frame * threads;
  nlohmann::json figures = {
      {"hairs", hairs},
      {"nodes", simulation.positions().size()},
      {"frames", frames},
      {"contacts_mean", mean},
      {"contacts_max", *std::max_element(contacts.begin(), contacts.end())},
      {"t_frame_s", t_frame},
      {"t_dynamics_s", sum.t_dynamics / frames},
      {"t_collision_s", sum.t_collision / frames},
      {"t_solver_s", sum.t_solver / frames},
      {"pct_linear", 100 * sum.t_linear / sum.t_solver},
      {"pct_projection", 100 * sum.t_projection / sum.t_solver},
      {"threads", threads},
      {"core_seconds", core_seconds},
      {"residual_m", residual},
      {"residual_m_median", sorted[sorted.size() / 2]},
      {"residual_m_max", sorted.back()},
      {"crossings", crossings},
      {"peak_rss_bytes", peak_rss_bytes()},
      {"state_hash", fmt::format("{:016x}", simulation.state_hash())},
  };
  fmt::print("{:10} {:>20} {:>9} {:>10} {:>8} {:>7} {:>6} {:>8} {:>13}\n", "", "contacts mean (max)", "t_frame",
             "t_solver", "%linear", "%proj", "cores", "peak GB", "core-seconds");
  const auto print_row = [](const char* who, double c_mean, double c_max, double frame, double solver, double linear,
                            double projection, int cores, double gb) {
    fmt::print("{:10} {:>9.0f} ({:>8.0f}) {:>8.1f}s {:>9.1f}s {:>7.0f}% {:>6.0f}% {:>6} {:>8.1f} {:>13.1f}\n", who,
               c_mean, c_max, frame, solver, linear, projection, cores, gb, frame * cores);
  };
  print_row("stiction", mean, figures["contacts_max"], t_frame, figures["t_solver_s"], figures["pct_linear"],
            figures["pct_projection"], threads, static_cast<double>(peak_rss_bytes()) * 1e-9);
  if (row != kTable2.end()) {
    print_row("D20", row->contacts_mean, row->contacts_max, row->t_frame, row->t_solver, row->pct_linear,
              row->pct_projection, row->cores, row->peak_gb);
    const double paper = row->t_frame * row->cores;
    figures["paper_core_seconds"] = paper;
    figures["ratio"] = core_seconds / paper;
    fmt::print("ratio of core-seconds 1/{:.1f}; median of the residual {:.2e} m, max {:.2e} m; {} crossings\n",
               paper / core_seconds, sorted[sorted.size() / 2], sorted.back(), crossings);
  }
  return figures;
}

}  // namespace stiction
