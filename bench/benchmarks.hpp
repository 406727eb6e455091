// The benchmarks behind `stiction bench`. Each returns its figures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stiction {

/// Bytes a second that the batched banded solve of `strands` strands (30 elements) moves, and a plain copy of the
/// same size in the same run.
nlohmann::json bench_rods_solve(int strands);

/// Times of the sparse Cholesky on sheets and lattices of tetrahedra, printed as a table; `large` adds 40,000 and
/// 20,000 nodes, `compare` Eigen's factor and CHOLMOD's where the build has it.
nlohmann::json bench_sparse_solve(bool large, bool compare);

/// What times frames of a scene of D20's Table 2.
struct FramesOptions {
  int hairs = 16000;                       ///< nominal sizes of the table stand for its exact ones
  int frames = 2;                          ///< timed
  int steps = 0;                           ///< timed, in place of frames
  int threads = 0;                         ///< 0: all
  double start = 0.625;                    ///< time of the scene that they start at, s
  std::string state_folder = "out/bench";  ///< that keeps the state at that time
  std::string scene = "examples/d20/hairy_ball.toml";
  std::vector<std::string> overrides;  ///< of the scene, KEY=VALUE
};

/// Core-seconds of frames inside a rotation of D20's hairy ball, printed beside the paper's row.
nlohmann::json bench_hairy_ball(const FramesOptions& options);

/// The same for another scene, as it is in its file. `name` is that of the row.
nlohmann::json bench_scene(const std::string& name, const FramesOptions& options);

/// Residuals, times and iterations to 0.01 mm of options.steps steps of the hairy ball with single choices of the
/// solver changed (D20's Table 3) and over the weight β (Figure 16), printed as a table.
nlohmann::json bench_ablation(const FramesOptions& options);

/// D20's Table 3 as the paper words it: the first solve from the geometry of the hairy ball at options.start, at
/// rest; printed beside the paper's figures.
nlohmann::json bench_table3(const FramesOptions& options);

/// What options.steps steps of the hairy ball gain from 1, 2, 4 and up to options.threads threads, beside a copy and a
/// loop of arithmetic; printed as a table.
nlohmann::json bench_scaling(const FramesOptions& options);

struct RabbitsOptions {
  int count = 120;                                  ///< as many at most, in a grid that is near a cube
  int steps = 40;                                   ///< timed
  double start = 0.3;                               ///< of these, s
  int threads = 0;                                  ///< 0: all
  std::string scene = "examples/d20/rabbits.toml";  ///< from which all but the count comes
  std::string state_folder = "out/bench";           ///< that keeps the state the steps start from
};

/// Seconds and iterations of steps of D20's 120 rabbits in a bowl (7.2, Figure 11), printed beside the paper's.
nlohmann::json bench_rabbits(const RabbitsOptions& options);

/// D20 7.1: belt, cards, dragging, box and cone from the scene files in `folder`, `part` of each one's duration;
/// printed beside D20's Table 1.
nlohmann::json bench_li2018(const std::string& folder, double part);

/// A sheet of 2,025 vertices that falls on a sphere, at steps of 10 and 40 ms, and 64 strands of 30 segments at 10 ms;
/// `duration` in s.
nlohmann::json bench_cloth_sphere(double duration);
nlohmann::json bench_strands_64(double duration);

}  // namespace stiction
