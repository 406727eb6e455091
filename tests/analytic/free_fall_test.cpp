// A strand that nothing holds or touches, whatever the solver does before contacts.
#include <gtest/gtest.h>

#include "stiction/simulation.hpp"

namespace stiction {
namespace {

Scene falling_strand(int predictor_iterations) {
  Scene scene;
  Rods hair;
  hair.root = End::free;
  Strand strand;
  for (int i = 0; i <= 10; ++i) strand.nodes.emplace_back(0.01 * i, 0.002 * i * i, 0);
  hair.strands.push_back(strand);
  scene.rods.push_back(hair);
  scene.solver.predictor_iterations = predictor_iterations;
  return scene;
}

// Implicit Euler without forces but gravity is exact in velocities: -g t for every node.
TEST(FreeFall, HasGravityTimesTimeWithAnyNumberOfPredictorIterations) {
  for (const int predictor_iterations : {0, 1, 3}) {
    Simulation simulation(falling_strand(predictor_iterations));
    for (int step = 0; step < 5; ++step) simulation.step();
    const Vec3 expected = simulation.time() * simulation.scene().world.gravity;
    for (const Vec3& v : simulation.velocities())
      EXPECT_LT((v - expected).norm(), 1e-9 * expected.norm()) << predictor_iterations << " predictor iterations";
  }
}

}  // namespace
}  // namespace stiction
