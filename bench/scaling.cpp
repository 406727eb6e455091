// What one step of the hairy ball gains from more threads, beside what a plain copy and a loop of arithmetic gain on
// the same machine: the two limits of any program that is not faster than its memory and its units.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bench/table2.hpp"
#include "bench/timed_run.hpp"
#include "bench/timing.hpp"
#include "parallel/loops.hpp"
#include "parallel/stopwatch.hpp"
#include "parallel/threads.hpp"

namespace stiction {
namespace {

constexpr int kRepeats = 5;
constexpr std::size_t kCopied = std::size_t{1} << 26;  // doubles: half a gigabyte, beyond every cache
constexpr std::size_t kChains = std::size_t{1} << 14;
constexpr int kSteps = 4096;      // of multiply-adds
constexpr int kLanesAtOnce = 32;  // independent of each other, so that the units are busy

// Median seconds of f().
template <class F>
double seconds(F&& f) {
  std::vector<double> times(kRepeats);
  for (double& t : times) {
    const Stopwatch watch(t);
    f();
  }
  return median(times);
}

struct Machine {
  Machine() : from(kCopied), to(kCopied), sums(kChains) {
    for_each_index(kCopied, [&](std::size_t i) { from[i] = to[i] = static_cast<double>(i); });
  }
  double copy_seconds() {
    return seconds([&] { copy_in_chunks(from, to); });
  }
  double compute_seconds() {
    return seconds([&] {
      for_each_index(kChains, [&](std::size_t i) {
        std::array<double, kLanesAtOnce> lane{};
        for (int k = 0; k < kSteps; ++k)
          for (double& x : lane) x = x * 0.999 + static_cast<double>(i);
        sums[i] = lane[0];
      });
    });
  }

  std::vector<double> from, to, sums;
};

}  // namespace

nlohmann::json bench_scaling(const FramesOptions& options) {
  const Table2Row* row = table2_row("hairy-ball", options.hairs);
  const int hairs = row ? row->hairs : options.hairs, most = thread_count(options.threads);
  const Scene scene = hairy_ball(options, hairs);
  const Snapshot state = hairy_ball_state(scene, hairs, options);
  Simulation simulation(scene);
  simulation.restore(state);
  simulation.step();  // the first one searches more widely
  Machine machine;
  nlohmann::json figures = {{"hairs", hairs}, {"start_s", options.start}, {"rows", nlohmann::json::array()}};
  fmt::print("{:>7} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7}\n", "threads", "step", "copy", "compute", "gain", "copy",
             "compute");
  for (int threads = 1;; threads = std::min(2 * threads, most)) {
    figures["rows"].push_back(on_threads(threads, [&]() -> nlohmann::json {
      simulation.restore(state);
      const TimedSteps timed = time_steps(simulation, options.steps);
      return {{"threads", threads},
              {"step_s", timed.wall / options.steps},
              {"t_dynamics_s", timed.t_dynamics / options.steps},
              {"t_collision_s", timed.t_collision / options.steps},
              {"t_linear_s", timed.t_linear / options.steps},
              {"t_projection_s", timed.t_projection / options.steps},
              {"copy_s", machine.copy_seconds()},
              {"compute_s", machine.compute_seconds()},
              {"state_hash", fmt::format("{:016x}", simulation.state_hash())}};
    }));
    const auto& one = figures["rows"].front();
    const auto& now = figures["rows"].back();
    const auto value = [&](const char* key) { return now[key].get<double>(); };
    const auto gain = [&](const char* key) { return one[key].get<double>() / value(key); };
    fmt::print("{:>7} {:>9.2f}s {:>5.0f} GB/s {:>9.3f}s {:>7.2f} {:>7.2f} {:>7.2f}\n", threads, value("step_s"),
               2e-9 * sizeof(double) * kCopied / value("copy_s"), value("compute_s"), gain("step_s"), gain("copy_s"),
               gain("compute_s"));
    if (threads == most) break;
  }
  return figures;
}

}  // namespace stiction
