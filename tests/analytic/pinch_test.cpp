// D20 Figure 7 from its scene file: a cloth between two balls that overlap, with contacts that give way and without.
#include <gtest/gtest.h>

#include <algorithm>

#include "../support/scene_text.hpp"
#include "stiction/simulation.hpp"

namespace stiction {
namespace {

struct Pinched {
  double elastic_before = 0;  // just before the balls touch the cloth, J
  double elastic = 0;         // largest of the last half second, J
  double swing = 0;           // largest less smallest, the same, J
  double kinetic = 0;         // mean of the last half second: the balls stand still by then, J
  double stretch = 0;         // largest strain of an edge then
};

Pinched pinch(double compliance) {
  const std::string file = std::string(STICTION_SOURCE_DIR) + "/examples/d20/pinched_cloth.toml";
  Simulation s(load_scene(file, {"contact.compliance=" + std::to_string(compliance)}));
  Pinched result;
  double lowest = std::numeric_limits<double>::infinity();
  int late = 0;
  while (s.time() < s.scene().time.duration - 1e-9) {
    const StepReport report = s.step();
    if (s.time() < 0.4) result.elastic_before = report.energy_elastic;
    if (s.time() < s.scene().time.duration - 0.5) continue;
    result.elastic = std::max(result.elastic, report.energy_elastic);
    lowest = std::min(lowest, report.energy_elastic);
    result.kinetic += report.energy_kinetic;
    result.stretch = std::max(result.stretch, report.max_stretch);
    ++late;
  }
  result.kinetic /= late;
  result.swing = result.elastic - lowest;
  return result;
}

// What balls that overlap ask of a cloth has no solution. Hard contacts throw it from one ball to the other and stretch
// it to many times the energy that it hangs with; those that give way let it lie between them.
TEST(D20Figure7, PinchedClothSettlesWithComplianceAndJittersWithout) {
  const Pinched hard = pinch(0), soft = pinch(0.01);
  EXPECT_GT(hard.elastic, 200 * hard.elastic_before);  // 98 mJ of 0.11
  EXPECT_GT(hard.elastic, 20 * soft.elastic);          // 1.6 mJ
  EXPECT_GT(hard.swing, 30 * soft.swing);              // 11 mJ against 0.14
  EXPECT_GT(hard.kinetic, 5 * soft.kinetic);           // 5.8 uJ against 0.43
  EXPECT_GT(hard.stretch, 0.5);
  EXPECT_LT(soft.stretch, 0.2);
}

// A stiff block of 1.4 mm in a slot of 1 mm: undoing the overlap at once takes several joules of elastic energy, and
// hundreds of iterations until the forces for it have grown. Velocity 0 obeys all contacts that do not ask for it.
StepReport block_in_a_narrow_slot(int iterations) {
  Simulation s(test::parse(R"(
[world]
gravity = [0, 0, 0]
[time]
steps_per_frame = 4
[solver]
newton_iterations = 1
admm_iterations = )" + std::to_string(iterations) +
                           R"(
[[collider]]
name = "below"
shape = "plane"
position = [0, 0, -5e-4]
[[collider]]
name = "above"
shape = "plane"
position = [0, 0, 5e-4]
rotation = [3.141592653589793, 0, 0]
[[solid]]
shape = "box"
size = [0.02, 0.02, 0.0012]
cells = [10, 10, 1]
young = 1e8
contact_radius = 1e-4
)"));
  return s.step();
}

TEST(Overlap, IsLeftForALaterStepByNodesThatFindNoVelocityToUndoIt) {
  const StepReport early = block_in_a_narrow_slot(99), late = block_in_a_narrow_slot(250);
  EXPECT_GT(early.residual_m, 1e-4);
  EXPECT_GT(early.energy_elastic, 1.0);
  EXPECT_LT(late.residual_m, 1e-5);
  EXPECT_LT(late.energy_elastic, 1e-10);
  EXPECT_LT(late.max_speed, 1e-10);
  EXPECT_NEAR(late.max_penetration_m, 2e-4, 1e-9);
  EXPECT_LT(late.coulomb_error, 1e-6);
}

}  // namespace
}  // namespace stiction
