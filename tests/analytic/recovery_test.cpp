// Solids whose vertices were collapsed to a point or thrown about (Overby et al. 2017, Fig. 2), stepped by plain
// Newton iterations, five a step as the simulation does by default.
//
// Collapsed to a point, F = 0: the corotated models have R = I there and open; the other three energies are even
// functions of F at 0, so that no force acts and the state is an equilibrium (an unstable one), in which they stay.
#include <gtest/gtest.h>

#include <random>

#include "bodies/solid.hpp"
#include "geometry/tet_mesh.hpp"
#include "support/body_driver.hpp"

namespace stiction {
namespace {

using Driver = test::BodyDriver<SolidBody>;

Solid soft_cube(Material material) {
  Solid solid;
  solid.name = "cube";
  solid.mesh = make_tet_box({0.2, 0.2, 0.2}, {3, 3, 3});
  solid.material = material;
  solid.young = 1e4;
  return solid;
}

int inverted_tets(const Solid& solid, std::span<const Vec3> x) {
  TetMesh mesh = solid.mesh;
  mesh.vertices.assign(x.begin(), x.end());
  int count = 0;
  for (const double volume : tet_volumes(mesh)) count += volume <= 0;
  return count;
}

void collapse(Driver& d) {
  for (Vec3& x : d.nodes.x) x = {0.01, 0.02, 0.03};
}

void scramble(Driver& d, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> place(-0.1, 0.1);
  for (Vec3& x : d.nodes.x) x = {place(engine), place(engine), place(engine)};
}

// Steps for a time; true if every value stayed finite.
bool run(Driver& d, double seconds = 1) {
  bool finite = true;
  for (int k = 0; k < seconds / d.context.dt && finite; ++k) {
    d.step(5);
    for (const Vec3& x : d.nodes.x) finite = finite && x.allFinite();
  }
  return finite;
}

void expect_recovered(Driver& d, const Solid& solid, double elastic_at_start, const std::string& what) {
  EXPECT_EQ(inverted_tets(solid, d.nodes.x), 0) << what;
  // What remains is a vibration: under two per cent of strain, and a thousandth of the energy.
  EXPECT_LT(d.body.max_stretch(d.nodes.x), 0.02) << what;
  EXPECT_LT(d.energy().elastic, 1e-3 * elastic_at_start) << what;
}

TEST(Recovery, CorotatedSolidsOpenFromAPoint) {
  for (const Material material : {Material::corotated, Material::fixed_corotated}) {
    const Solid solid = soft_cube(material);
    Driver d(solid);
    collapse(d);
    const double start = d.energy().elastic;
    EXPECT_EQ(inverted_tets(solid, d.nodes.x), 135);
    ASSERT_TRUE(run(d));
    expect_recovered(d, solid, start, std::to_string(static_cast<int>(material)));
    EXPECT_LT(d.body.max_stretch(d.nodes.x), 1e-4);  // R = I everywhere: nothing turns, all comes to rest
  }
}

TEST(Recovery, SolidsUntangleFromRandomPositions) {
  for (const Material material : {Material::corotated, Material::fixed_corotated, Material::stable_neo_hookean})
    for (const unsigned seed : {1u, 2u, 3u}) {
      const Solid solid = soft_cube(material);
      Driver d(solid);
      scramble(d, seed);
      const double start = d.energy().elastic;
      EXPECT_GT(inverted_tets(solid, d.nodes.x), 40);
      ASSERT_TRUE(run(d));
      expect_recovered(d, solid, start, std::to_string(static_cast<int>(material)) + ", seed " + std::to_string(seed));
    }
}

// No recovery is promised: St. Venant-Kirchhoff is at rest, too, where it is inside out, and random positions are
// beyond neo-Hookean's barrier. But all values stay finite, and lengths within bounds.
TEST(Recovery, StVenantKirchhoffAndNeoHookeanSurviveRandomPositions) {
  for (const Material material : {Material::st_venant_kirchhoff, Material::neo_hookean})
    for (const unsigned seed : {1u, 2u, 3u}) {
      Driver d(soft_cube(material));
      scramble(d, seed);
      ASSERT_TRUE(run(d)) << static_cast<int>(material) << ", seed " << seed;
      const BodyEnergy end = d.energy();
      EXPECT_TRUE(std::isfinite(end.elastic) && std::isfinite(end.kinetic));
      EXPECT_LT(d.body.max_stretch(d.nodes.x), material == Material::neo_hookean ? 1e4 : 1.0);
    }
}

TEST(Recovery, OtherMaterialsStayFiniteWhereNoForceActs) {
  for (const Material material : {Material::st_venant_kirchhoff, Material::neo_hookean, Material::stable_neo_hookean}) {
    Driver d(soft_cube(material));
    collapse(d);
    ASSERT_TRUE(run(d));
    EXPECT_EQ(d.body.max_stretch(d.nodes.x), 1);  // still a point
  }
}

// The point is an unstable equilibrium: a random part of a hundredth is enough to leave it.
TEST(Recovery, StableNeoHookeanOpensFromNearlyAPoint) {
  const Solid solid = soft_cube(Material::stable_neo_hookean);
  Driver d(solid);
  scramble(d, 4);
  for (Vec3& x : d.nodes.x) x *= 1e-2;
  const double start = d.energy().elastic;
  ASSERT_TRUE(run(d, 2));
  expect_recovered(d, solid, start, "stable neo-Hookean");
}

}  // namespace
}  // namespace stiction
