// A sheet of 1 m and 2,025 vertices falls on a sphere and the floor, at two sizes of step: what does a step cost once
// they touch, and does the sheet keep its length and stay outside?
#include "bench/benchmarks.hpp"
#include "bench/drops.hpp"
#include "geometry/sheets.hpp"

namespace stiction {

nlohmann::json bench_cloth_sphere(double duration) {
  Shell cloth;  // cotton: 0.25 kg/m²
  cloth.name = "cloth";
  cloth.mesh = make_sheet(1, 1, 44, 44);
  for (Vec3& x : cloth.mesh.vertices) x.z() += 0.52;
  cloth.thickness = 1e-3;
  cloth.density = 250;
  cloth.stretch_modulus = 4e6;
  cloth.bend_modulus = 3e4;
  cloth.damping = 2e-2;
  cloth.friction = 0.4;
  nlohmann::json rows = nlohmann::json::array();
  print_drop_header();
  for (const double dt : {0.01, 0.04}) {
    Scene scene;
    scene.time.fps = 1 / dt;
    scene.time.steps_per_frame = 1;
    // Vertices move by more than an edge in a step, and the membrane is stiff: what limits the stretch is how far
    // Newton's method gets with the rotations, so there are many short contact solves.
    scene.solver.newton_iterations = 20;
    scene.solver.admm_iterations = 20;
    scene.solver.ccd_interval = 10;
    scene.solver.weight_beta = 100;
    add_sphere_and_floor(scene, 0.4);
    scene.shells.push_back(cloth);
    rows.push_back(run_drop(scene, duration));
  }
  return rows;
}

}  // namespace stiction
