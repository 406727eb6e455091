// 64 strands of 30 segments fall on each other, on a sphere and on the floor: what does a step cost once they touch?
#include <cmath>
#include <numbers>

#include "bench/benchmarks.hpp"
#include "bench/drops.hpp"

namespace stiction {

nlohmann::json bench_strands_64(double duration) {
  constexpr int kStrands = 64, kSegments = 30;
  constexpr double kLength = 0.6;
  const double golden_angle = std::numbers::pi * (3 - std::sqrt(5.0));
  Rods rods;  // soft cords of 4 mm
  rods.name = "strands";
  rods.radius = 2e-3;
  rods.density = 1000;
  rods.stretch_modulus = 1e7;
  rods.bend_modulus = 1e6;
  rods.friction = 0.4;
  rods.root = End::free;
  for (int i = 0; i < kStrands; ++i) {  // a layer each, its direction far from those of its neighbours
    const Vec3 along(std::cos(golden_angle * i), std::sin(golden_angle * i), 0);
    const Vec3 center = 0.1 * std::sqrt((i + 0.5) / kStrands) * Vec3(along.y(), -along.x(), 0);
    Strand strand;
    for (int k = 0; k <= kSegments; ++k)
      strand.nodes.push_back(center + kLength * (static_cast<double>(k) / kSegments - 0.5) * along +
                             Vec3(0, 0, 0.51 + 0.006 * i));
    rods.strands.push_back(strand);
  }
  Scene scene;
  scene.time.fps = 100;
  scene.time.steps_per_frame = 1;
  // Loose ends turn by more than a radian in a step; Newton's method needs its iterations to turn them at their length.
  scene.solver.newton_iterations = 10;
  scene.solver.admm_iterations = 20;
  add_sphere_and_floor(scene, 0.4);
  scene.rods.push_back(rods);
  print_drop_header();
  return nlohmann::json::array({run_drop(scene, duration)});
}

}  // namespace stiction
