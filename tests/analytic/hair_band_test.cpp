// D20 7.3, a stretched band around a curly groom, from its scene file. The skull narrows upwards where the band lies,
// by 0.12 to 0.16 on average, so that its tension drives it up and off unless friction holds it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stiction/scene_file.hpp"
#include "stiction/simulation.hpp"

namespace stiction {
namespace {

constexpr int kSettling = 24, kSteps = 24;  // 1/6 s each

Scene hair_band(int strands, std::vector<std::string> overrides) {
  overrides.push_back("groom.0.strands=" + std::to_string(strands));
  return load_scene(std::string(STICTION_SOURCE_DIR) + "/examples/d20/hair_band.toml", overrides);
}

std::vector<Vec3> band_of(const Simulation& simulation) {
  const NodeRange range = simulation.body_nodes("band");
  const auto nodes = simulation.positions().subspan(range.first, range.count);
  return {nodes.begin(), nodes.end()};
}

double mean_height(const std::vector<Vec3>& nodes) {
  double sum = 0;
  for (const Vec3& x : nodes) sum += x.z();
  return sum / static_cast<double>(nodes.size());
}

/// Strands that run through the band's opening: with a node between its rims, nearer to its axis than it is.
int strands_inside(const Simulation& simulation) {
  const std::vector<Vec3> band = band_of(simulation);
  Vec3 centre = Vec3::Zero();
  double low = INFINITY, high = -INFINITY;
  for (const Vec3& x : band) {
    centre += x / static_cast<double>(band.size());
    low = std::min(low, x.z());
    high = std::max(high, x.z());
  }
  const auto is_inside = [&](const Vec3& x) {
    if (x.z() < low || x.z() > high) return false;
    const auto is_nearer = [&](const Vec3& a, const Vec3& b) {
      return (a - x).head<2>().norm() < (b - x).head<2>().norm();
    };
    const Vec3& nearest = *std::min_element(band.begin(), band.end(), is_nearer);
    return (x - centre).head<2>().norm() < (nearest - centre).head<2>().norm();
  };
  int count = 0;
  for (int i = 0; i < static_cast<int>(simulation.scene().rods[0].strands.size()); ++i) {
    const NodeRange range = simulation.strand(0, i);
    const auto nodes = simulation.positions().subspan(range.first, range.count);
    count += std::any_of(nodes.begin(), nodes.end(), is_inside) ? 1 : 0;
  }
  return count;
}

struct Slip {
  double rise;             // of the band from its place at the start, m
  double creep;            // its part after it has settled, m
  int under, under_start;  // strands under it at the end and at the start
  double crossings;        // over contacts, summed over steps
};

Slip slip_of(const Scene& scene) {
  Simulation simulation(scene);
  Slip slip{};
  slip.under_start = strands_inside(simulation);
  const double start = mean_height(band_of(simulation));
  double settled = 0, contacts = 0;
  for (int i = 0; i < kSettling + kSteps; ++i) {
    if (i == kSettling) settled = mean_height(band_of(simulation));
    const StepReport report = simulation.step();
    slip.crossings += static_cast<double>(report.crossings);
    contacts += static_cast<double>(report.contacts);
  }
  slip.rise = mean_height(band_of(simulation)) - start;
  slip.creep = mean_height(band_of(simulation)) - settled;
  slip.under = strands_inside(simulation);
  slip.crossings /= contacts;
  return slip;
}

TEST(D20HairBand, StaysByFrictionAlone) {
  constexpr int strands = 2000;
  const Slip slip = slip_of(hair_band(strands, {}));
  EXPECT_LT(std::abs(slip.creep), 2e-5);  // 5 um found, upwards
  EXPECT_LT(std::abs(slip.rise), 1e-3);   // 0.85 mm found, downwards
  EXPECT_GT(slip.under_start, strands / 3);
  EXPECT_GT(slip.under, 0.9 * slip.under_start);
  EXPECT_LT(slip.crossings, 1e-5);
}

TEST(D20HairBand, SlipsOffWhereTheSkullIsSteeperThanFrictionHolds) {
  for (const char* mu : {"0", "0.08"}) {
    std::vector<std::string> overrides;
    for (const char* body : {"collider", "groom", "shell"})
      overrides.push_back(std::string(body) + ".0.friction=" + mu);
    EXPECT_GT(slip_of(hair_band(300, overrides)).rise, 15e-3) << mu;
  }
}

}  // namespace
}  // namespace stiction
