// Scenes of D20's Table 2. Hairy balls: core-seconds of a frame inside a rotation, beside the paper's. The timed frames
// start from a state with contacts established: half of the first turn, reached with cheaper steps (one Newton
// iteration). It is kept in a checkpoint beside the results, since it takes longer than the frames themselves. The
// frames are timed with the scene's own settings.
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

Scene hairy_ball(int hairs) {
  Scene scene;
  scene.name = "hairy ball";
  Collider ball;
  ball.name = "ball";
  ball.radius = 0.09;
  double t = 0;
  ball.motion.rotation.push_back({t, Vec3::Zero()});
  for (const Vec3& axis : {Vec3(0, 0, 1), Vec3(1, 0, 0), Vec3(0, 1, 0)})
    for (const double angle : {2 * std::numbers::pi, 0.0}) {
      ball.motion.rotation.push_back({t + 1, angle * axis});
      ball.motion.rotation.push_back({t + 2, angle * axis});
      t += 2;
    }
  scene.colliders.push_back(ball);
  scene.solver.precision = Precision::single_;  // a contact in 64 bytes
  scene::GroomOptions groom;
  groom.strands = hairs;
  Rods hair;
  hair.name = "hair";
  hair.strands = scene::make_groom(groom);
  hair.root_attach = "ball";
  scene.rods.push_back(std::move(hair));
  return scene;
}

namespace {
// The state of a scene at options.start.
Snapshot reach(const Scene& scene, const std::string& name, int hairs, const FramesOptions& options) {
  const std::string what = fmt::format("{}_{}_{}ms", name, hairs, std::lround(1e3 * options.start));
  return reach(scene, options.start, std::filesystem::path(options.state_folder) / (what + ".h5"), what);
}

}  // namespace

Snapshot hairy_ball_state(const Scene& scene, int hairs, const FramesOptions& options) {
  Scene cheap = scene;
  cheap.solver.newton_iterations = 1;
  cheap.solver.admm_iterations = 20;
  return reach(cheap, "hairy_ball", hairs, options);
}

nlohmann::json bench_hairy_ball(const FramesOptions& options) {
  const Table2Row* row = table2_row("hairy-ball", options.hairs);
  const int hairs = row ? row->hairs : options.hairs;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, thread_count(options.threads));
  const Scene scene = hairy_ball(hairs);
  Simulation simulation(scene);
  simulation.restore(hairy_ball_state(scene, hairs, options));
  return time_frames(simulation, options, hairs, row);
}

nlohmann::json bench_scene(const std::string& name, const std::string& file, const FramesOptions& options) {
  const Table2Row* row = table2_row(name, options.hairs);
  const int hairs = row ? row->hairs : options.hairs;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, thread_count(options.threads));
  std::vector<std::string> size;
  if (hairs > 0) size.push_back(fmt::format("groom.0.strands={}", hairs));
  const Scene scene = load_scene(file, size);
  Simulation simulation(scene);
  if (options.start > 0) simulation.restore(reach(scene, name, hairs, options));
  return time_frames(simulation, options, hairs, row);
}

}  // namespace stiction
