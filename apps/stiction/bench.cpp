// stiction bench NAME: the benchmarks by name.
#include <fmt/core.h>

#include "bench/benchmarks.hpp"
#include "commands.hpp"
#include "io/output_folder.hpp"
#include "parallel/threads.hpp"
#include "provenance.hpp"

namespace stiction {

namespace {

// Writes a benchmark's figures, and where they come from, to `path` if there is one.
void keep(nlohmann::json figures, const std::string& path) {
  if (path.empty()) return;
  if (figures.is_array()) figures = {{"rows", std::move(figures)}};
  figures["commit"] = commit();
  figures["machine"] = machine();
  write_json_atomically(path, figures);
}

}  // namespace

void add_bench(CLI::App& app, int&) {
  auto json_path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("bench", "Run a benchmark");
  command->require_subcommand(1);
  command->add_option("--json", *json_path, "Write the figures to this file");
  auto strands = std::make_shared<int>(15565);
  CLI::App* rods = command->add_subcommand("rods-solve", "Bandwidth of the batched banded solve against a copy");
  rods->add_option("--strands", *strands, "Strands of 30 elements")->capture_default_str();
  rods->fallthrough();
  rods->callback([=] {
    const nlohmann::json figures = bench_rods_solve(*strands);
    fmt::print("{}\n", figures.dump(2));
    keep(figures, *json_path);
  });

  const auto add_start = [](CLI::App* frames, FramesOptions& options) {
    frames->add_option("--threads", options.threads, "Threads; 0: all")->capture_default_str();
    frames->add_option("--start", options.start, "Time of the scene that they start at, s")->capture_default_str();
    frames->add_option("--state", options.state_folder, "Folder that keeps the state to start from")
        ->capture_default_str();
    frames->add_option("--scene", options.scene, "Scene file")->capture_default_str();
    frames->add_option("--set", options.overrides, "Override a value of it: solver.admm_iterations=100")
        ->allow_extra_args(false);
    frames->fallthrough();
  };
  const auto add_frames = [&](const char* name, const char* text, const char* sizes, const FramesOptions& defaults) {
    auto options = std::make_shared<FramesOptions>(defaults);
    CLI::App* frames = command->add_subcommand(name, text);
    if (sizes) frames->add_option("--hairs", options->hairs, sizes)->capture_default_str();
    frames->add_option("--frames", options->frames, "Frames to time")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
    frames->add_option("--steps", options->steps, "Steps to time, in place of frames")->check(CLI::Range(1, 1000000));
    add_start(frames, *options);
    return std::pair(frames, options);
  };
  const auto [hairy, ball] = add_frames("hairy-ball", "D20's hairy balls: core-seconds of a frame (Table 2)",
                                        "16000, 32000, 64000, 127000, or any number", {});
  hairy->callback([json_path, ball = ball] {
    keep(on_threads(thread_count(ball->threads), [&] { return bench_hairy_ball(*ball); }), *json_path);
  });
  const auto add_ball = [&](const char* name, const char* text, int hairs, int steps, auto run) {
    auto options = std::make_shared<FramesOptions>();
    options->hairs = hairs;
    options->steps = steps;
    CLI::App* of_ball = command->add_subcommand(name, text);
    of_ball->add_option("--hairs", options->hairs, "Hairs")->capture_default_str()->check(CLI::Range(1, 1000000));
    if (steps > 0)  // it takes several
      of_ball->add_option("--steps", options->steps, "Steps of each row")
          ->capture_default_str()
          ->check(CLI::Range(1, 1000000));
    add_start(of_ball, *options);
    of_ball->callback(
        [=] { keep(on_threads(thread_count(options->threads), [&] { return run(*options); }), *json_path); });
  };
  add_ball("ablation", "The solver with single choices changed, on steps of the hairy ball (D20's Figure 16)", 2000, 4,
           bench_ablation);
  add_ball("table3", "D20's Table 3: the first solve from the hairy ball's geometry alone", 16000, 0, bench_table3);
  add_ball("scaling", "What a step of the hairy ball gains from threads, beside a copy and a loop of arithmetic", 16000,
           1, bench_scaling);
  const auto add_scene = [&](const char* name, const char* file, int hairs, const char* sizes, double start) {
    FramesOptions defaults;
    defaults.hairs = hairs;
    defaults.start = start;
    defaults.scene = file;
    const auto [scene, options] =
        add_frames(name, "A scene of D20's Table 2: core-seconds of a frame", sizes, defaults);
    scene->callback([=, options = options] {
      keep(on_threads(thread_count(options->threads), [&] { return bench_scene(name, *options); }), *json_path);
    });
  };
  add_scene("hair-band", "examples/d20/hair_band.toml", 5000, "5000, 13000, 27000, or any number", 0.25);
  add_scene("long-hair-shirt", "examples/d20/hair_on_shirt.toml", 5000, "5000, 27000, 54000, or any number", 0.25);
  add_scene("furry-rabbit", "examples/d20/furry_rabbit.toml", 29000, "29000, or any number", 0.0);
  add_scene("palm-tree", "examples/d20/palm_tree.toml", 0, nullptr, 1.0);

  const auto add_drop = [&](const char* name, const char* text, nlohmann::json (*run)(double)) {
    auto duration = std::make_shared<double>(1.0);
    CLI::App* drop = command->add_subcommand(name, text);
    drop->add_option("--duration", *duration, "Simulated time, s")->capture_default_str();
    drop->fallthrough();
    drop->callback([=] { keep(run(*duration), *json_path); });
  };
  add_drop("cloth-sphere", "A sheet of 2,025 vertices on a sphere, at steps of 10 and 40 ms", bench_cloth_sphere);
  add_drop("strands-64", "64 strands of 30 segments on a sphere and each other", bench_strands_64);

  auto folder = std::make_shared<std::string>("examples/d20");
  auto part = std::make_shared<double>(1.0);
  CLI::App* li = command->add_subcommand("li2018", "D20's model problems after Li et al. 2018 (Table 1)");
  li->add_option("--scenes", *folder, "Folder of the scene files")->capture_default_str();
  li->add_option("--part", *part, "Part of each scene's duration to run")->capture_default_str();
  li->fallthrough();
  li->callback([=] { keep(bench_li2018(*folder, *part), *json_path); });

  auto large = std::make_shared<bool>(false), compare = std::make_shared<bool>(false);
  CLI::App* sparse = command->add_subcommand("sparse-solve", "Sparse Cholesky of sheets and tetrahedral lattices");
  sparse->add_flag("--large", *large, "Also 40,000 and 20,000 nodes");
  sparse->add_flag("--compare", *compare, "Beside Eigen's factor, and CHOLMOD's where the build has it");
  sparse->fallthrough();
  sparse->callback([=] { keep(bench_sparse_solve(*large, *compare), *json_path); });

  auto rabbits = std::make_shared<RabbitsOptions>();
  CLI::App* heap = command->add_subcommand("rabbits", "D20's 120 rabbits in a bowl: a step in contact (Figure 11)");
  heap->add_option("--count", rabbits->count, "Rabbits")->capture_default_str()->check(CLI::Range(1, 100000));
  heap->add_option("--steps", rabbits->steps, "Steps to time")->capture_default_str()->check(CLI::Range(1, 1000000));
  heap->add_option("--start", rabbits->start, "Time that they start at, s")->capture_default_str();
  heap->add_option("--threads", rabbits->threads, "Threads; 0: all")->capture_default_str();
  heap->add_option("--scene", rabbits->scene, "Scene file")->capture_default_str();
  heap->add_option("--state", rabbits->state_folder, "Folder that keeps the state to start from")
      ->capture_default_str();
  heap->fallthrough();
  heap->callback(
      [=] { keep(on_threads(thread_count(rabbits->threads), [&] { return bench_rabbits(*rabbits); }), *json_path); });
}

}  // namespace stiction
