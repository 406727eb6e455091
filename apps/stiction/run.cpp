// stiction run: simulates a scene into a folder, shows progress, checkpoints every frame, resumes to the same bytes.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.hpp"
#include "io/cache.hpp"
#include "io/checkpoint.hpp"
#include "io/output_folder.hpp"
#include "io/resources.hpp"
#include "parallel/threads.hpp"
#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {

namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t g_interrupted = 0;
void on_interrupt(int) { g_interrupted = 1; }

struct RunOptions {
  std::string scene, out;
  std::vector<std::string> overrides;
  int frames = 0, threads = 0;
  bool resume = false, quiet = false;
};

// Totals over the steps of a run; a resumed run reads the earlier ones back from stats.jsonl.
struct Totals {
  std::int64_t steps = 0, contacts_max = 0, crossings = 0, steps_with_crossings = 0;
  double residual_m_max = 0, max_stretch = 0, t_total_s = 0;
  std::vector<double> residuals;

  void add(const nlohmann::json& line) {
    ++steps;
    contacts_max = std::max(contacts_max, line.at("contacts").get<std::int64_t>());
    const auto crossed = line.at("crossings").get<std::int64_t>();
    crossings += crossed;
    steps_with_crossings += crossed > 0;
    residuals.push_back(line.at("residual_m").get<double>());
    residual_m_max = std::max(residual_m_max, residuals.back());
    max_stretch = std::max(max_stretch, line.at("max_stretch").get<double>());
    t_total_s += line.at("t_step").get<double>();
  }
  double median_residual() {
    if (residuals.empty()) return 0;
    const auto middle = residuals.begin() + static_cast<std::ptrdiff_t>(residuals.size() / 2);
    std::nth_element(residuals.begin(), middle, residuals.end());
    return *middle;
  }
};

nlohmann::json to_json(const StepReport& r, const Simulation& simulation) {
  const int steps_per_frame = simulation.scene().time.steps_per_frame;
  nlohmann::json line{{"step", r.step},
                      {"frame", (r.step + steps_per_frame - 1) / steps_per_frame},
                      {"time", r.time},
                      {"dt", r.dt},
                      {"contacts", r.contacts},
                      {"contacts_ccd", r.contacts_ccd},
                      {"newton_iterations", r.newton_iterations},
                      {"admm_iterations", r.admm_iterations},
                      {"residual_m", r.residual_m},
                      {"residual_p999_m", r.residual_p999_m},
                      {"residual_ratio", r.residual_ratio},
                      {"coulomb_error", r.coulomb_error},
                      {"max_penetration_m", r.max_penetration_m},
                      {"max_stretch", r.max_stretch},
                      {"max_speed", r.max_speed},
                      {"crossings", r.crossings},
                      {"deep_contacts", r.deep_contacts},
                      {"guarded_stencils", r.guarded_stencils},
                      {"sequential_contacts", r.sequential_contacts},
                      {"contact_updates", r.contact_updates},
                      {"broad_phases", r.broad_phases},
                      {"candidates", r.candidates},
                      {"halvings", r.halvings},
                      {"nu", r.nu},
                      {"mu_n_over_m", r.mu_n_over_m},
                      {"linear_iterations", r.linear_iterations},
                      {"linear_unsolved", r.linear_unsolved},
                      {"energy_kinetic", r.energy_kinetic},
                      {"energy_elastic", r.energy_elastic},
                      {"energy_gravity", r.energy_gravity},
                      {"t_step", r.t_step},
                      {"t_dynamics", r.t_dynamics},
                      {"t_collision", r.t_collision},
                      {"t_broad", r.t_broad},
                      {"t_solver", r.t_solver},
                      {"t_linear", r.t_linear},
                      {"t_projection", r.t_projection},
                      {"peak_rss_bytes", peak_rss_bytes()}};
  return line;
}

// What a checkpoint belongs to: the scene's text, the overrides and the meshes, not how long it runs.
std::string fingerprint(const RunOptions& options, const Scene& scene) {
  std::string all = read_file(options.scene);
  for (const std::string& o : options.overrides) all += "\n--set " + o;
  const auto add_vertices = [&](const std::vector<Vec3>& vertices) {
    all.append(reinterpret_cast<const char*>(vertices.data()), vertices.size() * sizeof(Vec3));
  };
  for (const Collider& c : scene.colliders) {
    add_vertices(c.mesh.vertices);
    for (const auto& sample : c.mesh_sequence) add_vertices(sample);
  }
  std::uint64_t hash = 1469598103934665603ull;
  for (const char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return fmt::format("{:016x}", hash);
}

class ProgressBar {
 public:
  ProgressBar(int first, int frames, bool quiet)
      : first_(first), frames_(frames), shown_(!quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

  void show(int frame, const StepReport& r) {
    if (!shown_) return;
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const int done = frame - first_, left = frames_ - frame;
    const double eta = done > 0 ? elapsed / done * left : 0;
    const int width = 28, filled = frames_ > 0 ? width * frame / frames_ : width;
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    const std::string line = fmt::format("[{}] frame {}/{}  {} contacts  residual {:.3f} mm  {:.0f} s left", bar, frame,
                                         frames_, r.contacts, r.residual_m * 1e3, eta);
    if (terminal_)
      fmt::print(stderr, "\r{:<110}", line);
    else if (frame == frames_ || frame % 12 == 0)
      fmt::print(stderr, "{}\n", line);
    if (terminal_ && frame == frames_) fmt::print(stderr, "\n");
  }

 private:
  int first_, frames_;
  bool shown_, terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Everything a run writes to, opened and known to be good.
struct Outputs {
  fs::path checkpoint;
  std::string scene_id;
  JsonLines stats;
  CacheWriter cache;
};

Outputs open_outputs(const RunOptions& options, const Simulation& simulation, const std::string& scene_id, int frames,
                     Totals& totals) {
  const fs::path out = options.out, checkpoint = out / "checkpoint.h5", stats_path = out / "stats.jsonl";
  const std::int64_t done_frames = simulation.step_index() / simulation.scene().time.steps_per_frame;
  prepare_output(out);
  if (done_frames > 0) {
    JsonLines stats = JsonLines::resume(stats_path, simulation.step_index());
    std::istringstream lines(read_file(stats_path));
    for (std::string line; std::getline(lines, line);) totals.add(nlohmann::json::parse(line));
    return {checkpoint, scene_id, std::move(stats),
            CacheWriter::resume(out, simulation.frame_layout(), done_frames + 1)};
  }
  write_file_atomically(out / "scene.toml", read_file(options.scene));
  write_json_atomically(out / "overrides.json", nlohmann::json(options.overrides));
  Outputs outputs{checkpoint, scene_id, JsonLines(stats_path), CacheWriter(out, simulation.frame_layout(), frames + 1)};
  outputs.cache.append(simulation.frame());
  save_checkpoint(checkpoint, simulation.snapshot(), scene_id);
  return outputs;
}

// Simulates up to `frames`, a checkpoint a frame. Returns false when interrupted.
bool simulate(Simulation& simulation, int frames, Outputs& outputs, Totals& totals, bool quiet) {
  const int steps_per_frame = simulation.scene().time.steps_per_frame;
  const auto done_frames = static_cast<int>(simulation.step_index() / steps_per_frame);
  ProgressBar bar(done_frames, frames, quiet);
  StepReport report;
  for (int frame = done_frames + 1; frame <= frames; ++frame) {
    for (int i = 0; i < steps_per_frame; ++i) {
      report = simulation.step();
      const nlohmann::json line = to_json(report, simulation);
      outputs.stats.append(line);
      totals.add(line);
    }
    outputs.cache.append(simulation.frame());
    save_checkpoint(outputs.checkpoint, simulation.snapshot(), outputs.scene_id);
    bar.show(frame, report);
    if (g_interrupted && frame < frames) {
      fmt::print(stderr, "\ninterrupted after frame {}; continue with --resume\n", frame);
      return false;
    }
  }
  return true;
}

int run(const RunOptions& options) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error like a full disk
  const Scene scene = load_scene(options.scene, options.overrides);
  const int frames = options.frames > 0 ? options.frames : scene.time.frames();
  const std::string scene_id = fingerprint(options, scene);
  Simulation simulation(scene);
  const fs::path out = options.out, checkpoint = out / "checkpoint.h5";
  if (fs::exists(checkpoint)) {
    if (!options.resume)
      throw IoError(out, "holds an earlier run; continue it with --resume, or choose another folder");
    simulation.restore(load_checkpoint(checkpoint, scene_id));
  }
  std::signal(SIGINT, on_interrupt);  // from the first checkpoint on, an interrupted run ends with a whole frame
  std::signal(SIGTERM, on_interrupt);
  Totals totals;
  Outputs outputs = open_outputs(options, simulation, scene_id, frames, totals);
  try {
    if (!simulate(simulation, frames, outputs, totals, options.quiet)) return kInterrupted;
  } catch (const IoError& e) {  // a full disk: what was written before is good
    fmt::print(stderr, "\n{}; the last checkpoint is kept, continue with --resume\n", e.what());
    return kFailed;
  }

  const nlohmann::json summary{{"scene", scene.name},
                               {"frames", frames},
                               {"steps", totals.steps},
                               {"contacts_max", totals.contacts_max},
                               {"crossings", totals.crossings},
                               {"steps_with_crossings", totals.steps_with_crossings},
                               {"residual_m_median", totals.median_residual()},
                               {"residual_m_max", totals.residual_m_max},
                               {"max_stretch", totals.max_stretch},
                               {"t_total_s", totals.t_total_s},
                               {"peak_rss_bytes", peak_rss_bytes()},
                               {"state_hash", fmt::format("{:016x}", simulation.state_hash())}};
  write_json_atomically(out / "summary.json", summary);
  if (!options.quiet) {
    fmt::print(
        "{} frames in {:.1f} s; {} contacts at most; {} crossings in {} of {} steps; median residual {:.4f} mm\n",
        frames, totals.t_total_s, totals.contacts_max, totals.crossings, totals.steps_with_crossings, totals.steps,
        totals.median_residual() * 1e3);
    fmt::print("{}\n", (out / "cache.xdmf").string());
  }
  return kDone;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Simulate a scene");
  command->add_option("scene", options->scene, "Scene file (TOML)")->required();
  command->add_option("-o,--out", options->out, "Output folder")->required();
  command->add_option("--frames", options->frames, "Frames to simulate (default: the scene's duration)")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", options->threads, "Threads (default: all cores)")->check(CLI::PositiveNumber);
  command->add_option("--set", options->overrides, "Override a value: key=value, e.g. groom.0.strands=100")
      ->allow_extra_args(false);
  command->add_flag("--resume", options->resume, "Continue from the folder's checkpoint");
  command->add_flag("--quiet", options->quiet, "No progress, no closing words");
  command->callback(
      [options, &exit_code] { exit_code = on_threads(thread_count(options->threads), [&] { return run(*options); }); });
}

}  // namespace stiction
