// Scenes of D20's Table 2. Hairy balls: core-seconds of a frame inside a rotation, beside the paper's. The timed frames
// start from a state with contacts established: two seconds of rest and half a turn, reached with cheaper and longer
// steps (one Newton iteration, 1/48 s). It is kept in a checkpoint beside the results, since it takes longer than the
// frames themselves. The frames are timed with the scene's own settings.
#include <fmt/core.h>
#include <oneapi/tbb/global_control.h>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "bench/table2.hpp"
#include "bench/timed_run.hpp"
#include "scene/generators.hpp"
#include "stiction/scene_file.hpp"

namespace stiction {

namespace {

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

}  // namespace

nlohmann::json bench_hairy_ball(const FramesOptions& options) {
  const Table2Row* row = table2_row("hairy-ball", options.hairs);
  const int hairs = row ? row->hairs : options.hairs;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, thread_count(options.threads));
  const Scene scene = hairy_ball(hairs);
  Scene cheap = scene;
  cheap.time.steps_per_frame = 2;
  cheap.solver.newton_iterations = 1;
  cheap.solver.admm_iterations = 20;
  Snapshot start =
      reach(cheap, kStart, std::filesystem::path(options.state_folder) / fmt::format("hairy_ball_{}.h5", hairs),
            fmt::format("hairy ball {} at {} s", hairs, kStart));
  start.step = std::lround(kStart / scene.time.dt());
  Simulation simulation(scene);
  simulation.restore(start);
  return time_frames(simulation, options, hairs, row);
}

nlohmann::json bench_scene(const std::string& name, const std::string& file, const FramesOptions& options,
                           double start) {
  const Table2Row* row = table2_row(name, options.hairs);
  const int hairs = row ? row->hairs : options.hairs;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, thread_count(options.threads));
  std::vector<std::string> size;
  if (hairs > 0) size.push_back(fmt::format("groom.0.strands={}", hairs));
  const Scene scene = load_scene(file, size);
  Simulation simulation(scene);
  const auto kept =
      std::filesystem::path(options.state_folder) / fmt::format("{}_{}_{}ms.h5", name, hairs, std::lround(1e3 * start));
  if (start > 0) simulation.restore(reach(scene, start, kept, fmt::format("{} {} at {} s", name, hairs, start)));
  return time_frames(simulation, options, hairs, row);
}

}  // namespace stiction
