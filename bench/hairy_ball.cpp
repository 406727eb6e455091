// Scenes of D20's Table 2. Hairy balls: core-seconds of a frame inside a rotation, beside the paper's. The timed frames
// start from a state with contacts established: some way into the first turn, after a rest that is cut to what the hair
// needs to fall. It is kept in a checkpoint beside the results, since it takes longer than the frames themselves.
#include <fmt/core.h>

#include <utility>

#include "bench/table2.hpp"
#include "bench/timed_run.hpp"
#include "stiction/scene_file.hpp"

namespace stiction {

namespace {

Scene load_sized(const FramesOptions& options, int hairs) {
  std::vector<std::string> overrides = options.overrides;
  if (hairs > 0) overrides.push_back(fmt::format("groom.0.strands={}", hairs));
  return load_scene(options.scene, overrides);
}

}  // namespace

Scene hairy_ball(const FramesOptions& options, int hairs) {
  constexpr double short_rest = 0.5;  // s
  Scene scene = load_sized(options, hairs);
  if (scene.colliders.empty() || scene.colliders[0].motion.rotation.empty())
    throw SceneError(options.scene + ": its first collider does not turn");
  std::vector<VectorKey>& turns = scene.colliders[0].motion.rotation;
  const double rest = turns.front().time;
  for (VectorKey& key : turns) key.time += short_rest - rest;
  return scene;
}

Snapshot hairy_ball_state(const Scene& scene, int hairs, const FramesOptions& options) {
  return reach(scene, options.start, options.state_folder, fmt::format("hairy_ball_{}", hairs));
}

nlohmann::json bench_hairy_ball(const FramesOptions& options) {
  const Table2Row* row = table2_row("hairy-ball", options.hairs);
  const int hairs = row ? row->hairs : options.hairs;
  const Scene scene = hairy_ball(options, hairs);
  Snapshot state = hairy_ball_state(scene, hairs, options);
  Simulation simulation(scene);
  simulation.restore(std::exchange(state, {}));
  return time_frames(simulation, options, hairs, row);
}

nlohmann::json bench_scene(const std::string& name, const FramesOptions& options) {
  const Table2Row* row = table2_row(name, options.hairs);
  const int hairs = row ? row->hairs : options.hairs;
  const Scene scene = load_sized(options, hairs);
  Simulation simulation(scene);
  if (options.start > 0)
    simulation.restore(reach(scene, options.start, options.state_folder, fmt::format("{}_{}", name, hairs)));
  return time_frames(simulation, options, hairs, row);
}

}  // namespace stiction
