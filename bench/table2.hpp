// D20's Table 2: frames of a scene, timed and printed beside the paper's row.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/benchmarks.hpp"
#include "stiction/simulation.hpp"

namespace stiction {

struct Table2Row {
  const char* scene;
  int nominal, hairs;
  double contacts_mean, contacts_max, t_frame, t_solver, pct_linear, pct_projection;
  int cores;
  double peak_gb;
};

/// The paper's row of that scene and size, nominal or exact; null if it has none.
const Table2Row* table2_row(const std::string& scene, int hairs);

/// examples/d20/hairy_ball.toml with a short first rest.
Scene hairy_ball(const FramesOptions& options, int hairs);
/// Its state at options.start, kept in options.state_folder.
Snapshot hairy_ball_state(const Scene& scene, int hairs, const FramesOptions& options);

/// Times frames of the simulation from where it stands.
nlohmann::json time_frames(Simulation& simulation, const FramesOptions& options, int hairs, const Table2Row* row);

}  // namespace stiction
