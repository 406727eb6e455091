#include "bench/table2.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bench/timed_run.hpp"
#include "bench/timing.hpp"
#include "io/resources.hpp"
#include "parallel/threads.hpp"

namespace stiction {

namespace {
constexpr std::array<Table2Row, 13> kTable2{{
    {"hairy-ball", 16000, 15565, 212e3, 337e3, 84, 39, 53, 15, 8, 7.7},
    {"hairy-ball", 32000, 31765, 555e3, 902e3, 193, 86, 51, 17, 8, 13.3},
    {"hairy-ball", 64000, 63529, 1.4e6, 2.3e6, 393, 177, 56, 13, 16, 27.0},
    {"hairy-ball", 127000, 127058, 3.9e6, 5.8e6, 618, 298, 61, 17, 24, 51.3},
    {"hair-band", 5000, 5445, 161e3, 219e3, 104, 56, 41, 32, 10, 5.8},
    {"hair-band", 13000, 13308, 569e3, 684e3, 242, 127, 38, 34, 20, 12.9},
    {"hair-band", 27000, 26615, 2.0e6, 2.4e6, 614, 331, 38, 34, 20, 26.54},
    {"long-hair-shirt", 0, 0, 2026, 3228, 62, 38, 87, 0.4, 8, 2.7},
    {"long-hair-shirt", 5000, 5445, 176e3, 340e3, 294, 116, 45, 36, 8, 11.9},
    {"long-hair-shirt", 27000, 27225, 1.14e6, 1.49e6, 839, 216, 35, 34, 18, 20},
    {"long-hair-shirt", 54000, 54450, 3.3e6, 4.4e6, 1329, 451, 31, 49, 24, 35},
    {"furry-rabbit", 29000, 29000, 78e3, 183e3, 350, 211, 60, 23, 14, 8.1},
    {"palm-tree", 0, 0, 43e3, 44e3, 36.5, 13, 96, 0, 24, 6},
}};
}  // namespace

const Table2Row* table2_row(const std::string& scene, int hairs) {
  const auto row = std::find_if(kTable2.begin(), kTable2.end(), [&](const Table2Row& r) {
    return r.scene == scene && (r.nominal == hairs || r.hairs == hairs);
  });
  return row == kTable2.end() ? nullptr : &*row;
}

nlohmann::json time_frames(Simulation& simulation, const FramesOptions& options, int hairs, const Table2Row* row) {
  const int threads = thread_count(options.threads);
  const int per_frame = simulation.scene().time.steps_per_frame;
  const TimedSteps timed = time_steps(simulation, options.steps > 0 ? options.steps : options.frames * per_frame);
  const double frames = static_cast<double>(timed.steps) / per_frame;
  const double t_frame = timed.wall / frames, core_seconds = t_frame * threads;
  nlohmann::json figures = {
      {"hairs", hairs},
      {"nodes", simulation.positions().size()},
      {"frames", frames},
      {"contacts_mean", timed.contacts_mean},
      {"contacts_max", timed.contacts_max},
      {"t_frame_s", t_frame},
      {"t_dynamics_s", timed.t_dynamics / frames},
      {"t_collision_s", timed.t_collision / frames},
      {"t_broad_s", timed.t_broad / frames},
      {"t_solver_s", timed.t_solver / frames},
      {"pct_linear", 100 * timed.t_linear / timed.t_solver},
      {"pct_projection", 100 * timed.t_projection / timed.t_solver},
      {"contact_update_ns", 1e9 * timed.t_projection * threads / std::max(1.0, timed.contact_updates)},  // core-ns
      {"contact_updates", timed.contact_updates},
      {"threads", threads},
      {"core_seconds", core_seconds},
      {"cpu_seconds", timed.cpu / frames},  // the same, but for time that others had the cores
      {"residual_m", timed.residual},
      {"residual_solved_m", timed.residual_solved},  // before the contacts of repair passes: D20's δ∞
      {"residual_ratio", timed.residual_ratio},
      {"coulomb_error_median", median(timed.coulomb_error)},
      {"residual_m_median", median(timed.residual)},
      {"residual_m_max", largest(timed.residual)},
      {"crossings", timed.crossings},
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
  print_row("stiction", timed.contacts_mean, timed.contacts_max, t_frame, figures["t_solver_s"], figures["pct_linear"],
            figures["pct_projection"], threads, static_cast<double>(peak_rss_bytes()) * 1e-9);
  if (row) {
    print_row("D20", row->contacts_mean, row->contacts_max, row->t_frame, row->t_solver, row->pct_linear,
              row->pct_projection, row->cores, row->peak_gb);
    const double paper = row->t_frame * row->cores;
    figures["paper_core_seconds"] = paper;
    figures["ratio"] = core_seconds / paper;
    fmt::print("core-seconds 1/{:.1f} of the paper's; ", paper / core_seconds);
  }
  fmt::print(
      "residual {:.2e} m (median), {:.2e} m (largest), {:.2e} m (median) before repair; error in Coulomb's "
      "law {:.1e}; {} crossings; {:.1f} s of processor time a frame\n",
      median(timed.residual), largest(timed.residual), median(timed.residual_solved), median(timed.coulomb_error),
      timed.crossings, timed.cpu / frames);
  return figures;
}

}  // namespace stiction
