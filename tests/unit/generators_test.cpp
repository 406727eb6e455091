// Procedural strands and roots on meshes: counts, lengths, spread, determinism, and that nothing starts in touch.
#include "scene/generators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "geometry/primitives.hpp"
#include "scene/scatter.hpp"

namespace stiction::scene {
namespace {

double polyline_length(const std::vector<Vec3>& nodes) {
  double length = 0;
  for (std::size_t i = 1; i < nodes.size(); ++i) length += (nodes[i] - nodes[i - 1]).norm();
  return length;
}

/// Distance between two segments by alternating projection: slow to converge but independent of the generators' own.
double segment_distance(const Vec3& a0, const Vec3& a1, const Vec3& b0, const Vec3& b1) {
  const auto project = [](const Vec3& x, const Vec3& p0, const Vec3& p1) -> Vec3 {
    const Vec3 d = p1 - p0;
    return p0 + std::clamp((x - p0).dot(d) / d.squaredNorm(), 0.0, 1.0) * d;
  };
  double best = std::numeric_limits<double>::infinity();
  for (const Vec3& start : {a0, a1}) {
    Vec3 on_a = start, on_b = b0;
    for (int i = 0; i < 60; ++i) {
      on_b = project(on_a, b0, b1);
      on_a = project(on_b, a0, a1);
    }
    best = std::min(best, (on_a - on_b).norm());
  }
  return best;
}

/// Smallest distance between two polylines; far edges are skipped by their midpoints, nothing nearer than `bound` is.
double polyline_distance(const std::vector<Vec3>& a, const std::vector<Vec3>& b, double bound) {
  double least = bound;
  for (std::size_t i = 1; i < a.size(); ++i)
    for (std::size_t j = 1; j < b.size(); ++j) {
      const double reach = 0.5 * ((a[i] - a[i - 1]).norm() + (b[j] - b[j - 1]).norm()) + least;
      if ((0.5 * (a[i] + a[i - 1] - b[j] - b[j - 1])).norm() > reach) continue;
      least = std::min(least, segment_distance(a[i - 1], a[i], b[j - 1], b[j]));
    }
  return least;
}

double least_distance(const std::vector<Strand>& strands, double bound) {
  double least = bound;
  for (std::size_t i = 0; i < strands.size(); ++i)
    for (std::size_t j = i + 1; j < strands.size(); ++j)
      least = polyline_distance(strands[i].nodes, strands[j].nodes, least);
  return least;
}

bool same_bytes(const std::vector<Strand>& a, const std::vector<Strand>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].nodes.size() != b[i].nodes.size() || a[i].radius != b[i].radius) return false;
    if (std::memcmp(a[i].nodes.data(), b[i].nodes.data(), a[i].nodes.size() * sizeof(Vec3)) != 0) return false;
  }
  return true;
}

void expect_equal_edges(const std::vector<Vec3>& nodes, double edge) {
  for (std::size_t i = 1; i < nodes.size(); ++i) EXPECT_NEAR((nodes[i] - nodes[i - 1]).norm(), edge, 1e-9 * edge) << i;
}

TEST(Random, IsTheSameEverywhere) {
  // From an implementation in Python; a change would change every scene that has a seed.
  EXPECT_EQ(Random(1, 0).next(), 17405687883870564846ULL);
  EXPECT_EQ(Random(7, 3).next(), 1636221917143832206ULL);
}

TEST(Random, StreamsDiffer) {
  const std::uint64_t first = Random(7, 3).next();
  EXPECT_NE(first, Random(7, 4).next());
  EXPECT_NE(first, Random(8, 3).next());
}

TEST(Random, IsUniform) {
  Random random(1, 0);
  double sum = 0, squares = 0;
  int histogram[5] = {};
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
    const int k = random.integer(-2, 2);
    ASSERT_TRUE(k >= -2 && k <= 2);
    ++histogram[k + 2];
  }
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));      // five standard deviations of the mean
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt(0.09 / n));  // variance of u²: 1/5 - 1/9 < 0.09
  for (const int count : histogram) EXPECT_NEAR(count, n / 5, 5 * std::sqrt(n * 0.16));
}

TEST(Groom, HasTheStrandsAskedFor) {
  GroomOptions options;
  options.elements_jitter = 5;
  options.length_jitter = 0.2;
  options.radius_jitter = 0.3;
  const std::vector<Strand> strands = make_groom(options);
  ASSERT_EQ(strands.size(), 500u);
  std::size_t fewest = 100, most = 0;
  double shortest = 1, longest = 0;
  for (const Strand& strand : strands) {
    fewest = std::min(fewest, strand.nodes.size());
    most = std::max(most, strand.nodes.size());
    shortest = std::min(shortest, polyline_length(strand.nodes));
    longest = std::max(longest, polyline_length(strand.nodes));
    EXPECT_GE(strand.radius, 0.7 * options.radius);
    EXPECT_LE(strand.radius, 1.3 * options.radius);
  }
  EXPECT_EQ(fewest, 26u);
  EXPECT_EQ(most, 36u);
  EXPECT_GE(shortest, 0.8 * options.length);
  EXPECT_LT(shortest, 0.82 * options.length);
  EXPECT_LE(longest, 1.2 * options.length);
  EXPECT_GT(longest, 1.18 * options.length);
}

class GroomStyles : public testing::TestWithParam<std::tuple<GroomStyle, GroomDomain>> {};

TEST_P(GroomStyles, StrandsHaveTheirLengthAndLeaveTheSurfaceAlongItsNormal) {
  GroomOptions options;
  std::tie(options.style, options.domain) = GetParam();
  options.strands = 200;
  const bool is_patch = options.domain == GroomDomain::patch;
  for (const Strand& strand : make_groom(options)) {
    ASSERT_EQ(strand.nodes.size(), 31u);
    EXPECT_NEAR(polyline_length(strand.nodes), options.length, 1e-9);
    expect_equal_edges(strand.nodes, options.length / 30);
    const Vec3 root = strand.nodes[0], normal = is_patch ? Vec3(0, 0, 1) : Vec3(root.normalized());
    const double height = is_patch ? root.z() : root.norm() - options.domain_radius;
    EXPECT_NEAR(height, options.radius, 1e-14);
    EXPECT_NEAR((strand.nodes[1] - root).normalized().dot(normal), 1, 1e-12);
    if (options.domain == GroomDomain::hemisphere) {
      EXPECT_GE(root.z(), 0);
    }
    if (is_patch) {
      EXPECT_LE(root.head<2>().cwiseAbs().maxCoeff(), 0.05);
    }
    // The curl starts gently: no early turn is sharper than the sharpest later on.
    for (std::size_t i = 1; i + 1 < strand.nodes.size(); ++i) {
      const Vec3 a = (strand.nodes[i] - strand.nodes[i - 1]).normalized();
      const Vec3 b = (strand.nodes[i + 1] - strand.nodes[i]).normalized();
      EXPECT_GT(a.dot(b), i < 4 ? 0.98 : 0.3) << i;
      if (options.style == GroomStyle::straight) {
        EXPECT_NEAR(a.dot(b), 1, 1e-12);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GroomStyles,
    testing::Combine(testing::Values(GroomStyle::straight, GroomStyle::wavy, GroomStyle::curly, GroomStyle::frizzy),
                     testing::Values(GroomDomain::sphere, GroomDomain::hemisphere, GroomDomain::patch)));

TEST(Groom, CurlsAtTheRadiusAndRateAskedFor) {
  GroomOptions options;
  options.domain = GroomDomain::patch;
  options.strands = 9;
  options.elements = 300;
  options.frizz = 0;
  for (const Strand& strand : make_groom(options)) {
    const Vec3 root = strand.nodes[0];
    double phase = 0;
    for (std::size_t i = 150; i + 1 < strand.nodes.size(); ++i) {
      const Vec3 a = strand.nodes[i] - root, b = strand.nodes[i + 1] - root;
      EXPECT_NEAR(a.head<2>().norm(), options.curl_radius, 1e-2 * options.curl_radius);
      phase += std::atan2(a.x() * b.y() - a.y() * b.x(), a.head<2>().dot(b.head<2>()));
    }
    const double rise = strand.nodes.back().z() - strand.nodes[150].z();
    EXPECT_NEAR(std::abs(phase), options.curl_rate * rise, 1e-3 * options.curl_rate * rise);
  }
}

TEST(Groom, RootsAreSpreadEvenly) {
  for (const GroomDomain domain : {GroomDomain::sphere, GroomDomain::hemisphere, GroomDomain::patch}) {
    GroomOptions options;
    options.domain = domain;
    options.elements = 2;
    const double r = options.domain_radius;
    const double area = domain == GroomDomain::patch
                            ? options.patch_size.prod()
                            : (domain == GroomDomain::sphere ? 4 : 2) * std::numbers::pi * r * r;
    const std::vector<Strand> strands = make_groom(options);
    double nearest = 1, mean = 0;
    for (const Strand& a : strands) {
      double own = 1;
      for (const Strand& b : strands)
        if (&a != &b) own = std::min(own, (a.nodes[0] - b.nodes[0]).norm());
      nearest = std::min(nearest, own);
      mean += own / static_cast<double>(strands.size());
    }
    // Random points would have a mean of 0.5 and a least distance near 0, in units of sqrt(area a point).
    const double unit = std::sqrt(area / options.strands);
    EXPECT_GT(nearest, 0.6 * unit);
    EXPECT_GT(mean, 0.8 * unit);
  }
}

TEST(Groom, SameSeedSameBytes) {
  GroomOptions options;
  options.length_jitter = 0.1;
  options.radius_jitter = 0.1;
  options.elements_jitter = 2;
  const std::vector<Strand> strands = make_groom(options);
  EXPECT_TRUE(same_bytes(strands, make_groom(options)));
  options.seed = 2;
  EXPECT_FALSE(same_bytes(strands, make_groom(options)));
}

TEST(Groom, StartsWithoutTouch) {
  GroomOptions options;
  EXPECT_GT(least_distance(make_groom(options), 0.01), 2 * options.radius);
  // Curls of 2 mm at roots 2.2 mm apart: neighbours' curls overlap, and only drawing phases again keeps them clear.
  options.domain = GroomDomain::patch;
  options.patch_size = {0.05, 0.05};
  EXPECT_GT(least_distance(make_groom(options), 0.01), 2 * options.radius);
}

/// Least and mean distance to the nearest neighbour, in units of sqrt(area a root).
std::pair<double, double> spread(const std::vector<GroomRoot>& roots, double area) {
  double nearest = 1e9, mean = 0;
  for (const GroomRoot& a : roots) {
    double own = 1e9;
    for (const GroomRoot& b : roots)
      if (&a != &b) own = std::min(own, (a.surface - b.surface).norm());
    nearest = std::min(nearest, own);
    mean += own / static_cast<double>(roots.size());
  }
  const double unit = std::sqrt(area / static_cast<double>(roots.size()));
  return {nearest / unit, mean / unit};
}

TEST(Scatter, SpreadsRootsEvenlyWhateverTheTriangles) {
  // A box of twelve triangles and a sphere whose triangles shrink towards the poles.
  const TriangleMesh box = make_box({0.5, 0.2, 0.1}), sphere = make_sphere(0.3, 40, 80);
  const double box_area = 8 * (0.5 * 0.2 + 0.2 * 0.1 + 0.1 * 0.5), sphere_area = 4 * std::numbers::pi * 0.09;
  for (const auto& [mesh, area] : {std::pair{&box, box_area}, {&sphere, sphere_area}}) {
    const std::vector<GroomRoot> roots = scatter_roots(*mesh, 1000, 3);
    ASSERT_EQ(roots.size(), 1000u);
    // Random roots would have 0.5 for the mean and near 0 for the least, a hexagonal lattice 1.07 for both.
    const auto [nearest, mean] = spread(roots, area);
    EXPECT_GT(nearest, 0.5);
    EXPECT_GT(mean, 0.72);
  }
  int above = 0;
  for (const GroomRoot& root : scatter_roots(sphere, 1000, 3)) {
    EXPECT_NEAR(root.surface.norm(), 0.3, 3e-3);  // chords of the polyhedron
    EXPECT_NEAR(root.normal.norm(), 1, 1e-12);
    EXPECT_GT(root.normal.dot(root.surface.normalized()), 0.99);
    EXPECT_GT(root.direction.dot(root.surface.normalized()), 0.999);  // smoothed: nearer to the sphere's
    above += root.surface.z() > 0.15;
  }
  EXPECT_NEAR(above, 250, 25);  // a cap of a quarter of the area; even roots deviate less than random ones, sd 14
}

TEST(Scatter, IsAFunctionOfSeedAndRegion) {
  const TriangleMesh mesh = make_sphere(0.3, 20, 40);
  const auto same = [](const std::vector<GroomRoot>& a, const std::vector<GroomRoot>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const GroomRoot& p, const GroomRoot& q) { return p.surface == q.surface; });
  };
  EXPECT_TRUE(same(scatter_roots(mesh, 200, 1), scatter_roots(mesh, 200, 1)));
  EXPECT_FALSE(same(scatter_roots(mesh, 200, 1), scatter_roots(mesh, 200, 2)));
  const std::vector<GroomRoot> cap = scatter_roots(mesh, 200, 1, [](const Vec3& x) { return x.z() > 0.25; });
  ASSERT_EQ(cap.size(), 200u);
  for (const GroomRoot& root : cap) EXPECT_GT(root.surface.z(), 0.25);
  EXPECT_GT(spread(cap, 2 * std::numbers::pi * 0.3 * 0.05).first, 0.5);
  EXPECT_TRUE(scatter_roots(mesh, 200, 1, [](const Vec3&) { return false; }).empty());
}

TEST(Groom, OnAMeshDoesNotPierceIt) {
  // Roots all over a torus whose hole is 4 cm wide, strands of 10 cm: those inside would run into the other side.
  const TriangleMesh torus = make_torus(0.05, 0.03, 16, 32);
  GroomOptions options;
  options.strands = 300;
  options.elements = 10;
  options.length = 0.1;
  const std::vector<GroomRoot> roots = scatter_roots(torus, options.strands, 1);
  const std::vector<Strand> strands = make_groom(options, roots, &torus);
  ASSERT_EQ(strands.size(), 300u);
  int full = 0, shortened = 0;
  for (std::size_t i = 0; i < strands.size(); ++i) {
    const std::vector<Vec3>& x = strands[i].nodes;
    EXPECT_NEAR((x[0] - roots[i].surface - options.radius * roots[i].normal).norm(), 0, 1e-12);
    expect_equal_edges(x, (x[1] - x[0]).norm());
    const double length = polyline_length(x);
    full += length > 0.999 * options.length;
    shortened += length < 0.8 * options.length;
    for (std::size_t k = 0; k < x.size(); k += 2) {
      const double rho = std::hypot(std::hypot(x[k].x(), x[k].y()) - 0.05, x[k].z());  // from the tube's centreline
      EXPECT_GT(rho, 0.0285) << i << " " << k;  // facets of sixteen lie up to 0.6 mm, and sectors 0.4 mm, inside
    }
  }
  EXPECT_GT(full, 150);
  EXPECT_GT(shortened, 5);
}

TEST(Resample, KeepsStepsEqualAndGoesOnStraight) {
  const std::vector<Vec3> corner{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}};
  const std::vector<Vec3> nodes = resample(corner, 0.3, 10);
  ASSERT_EQ(nodes.size(), 11u);
  expect_equal_edges(nodes, 0.3);
  EXPECT_NEAR(nodes.back().x(), 1, 1e-12);
  EXPECT_GT(nodes.back().y(), 1.5);
}

TEST(Shapes, HaveTheirDimensions) {
  const std::vector<Vec3> straight = make_straight({0, 0, 1}, {0, 2, 1}, 7);
  expect_equal_edges(straight, 2.0 / 7);
  EXPECT_EQ(straight.back(), Vec3(0, 2, 1));

  const double quarter = std::numbers::pi / 2;
  const std::vector<Vec3> arc = make_arc(0.5, quarter, 100);
  EXPECT_NEAR(polyline_length(arc), 0.5 * quarter, 1e-4);
  EXPECT_NEAR((arc.back() - Vec3(0, 0.5, 0)).norm(), 0, 1e-12);

  const std::vector<Vec3> helix = make_helix(0.1, 0.05, 4, 400);
  EXPECT_NEAR(polyline_length(helix), 4 * std::hypot(2 * std::numbers::pi * 0.1, 0.05), 1e-3);
  EXPECT_NEAR(helix.back().z(), 0.2, 1e-12);

  const std::vector<Vec3> rest = straightened(helix);
  EXPECT_NEAR((rest.back() - rest.front()).norm(), polyline_length(helix), 1e-12);
  expect_equal_edges(rest, (helix[1] - helix[0]).norm());
}

class Trefoil : public testing::Test {
 protected:
  const double size = 0.05, length = 1.0;
  const int elements = 200;
  const std::vector<Vec3> nodes = make_trefoil(size, length, elements);
};

TEST_F(Trefoil, HasEqualEdgesAndStraightTailsAlongX) {
  ASSERT_EQ(nodes.size(), 201u);
  expect_equal_edges(nodes, length / elements);
  for (int i = 0; i < 20; ++i)
    for (const int k : {i, elements - i}) {
      const Vec3& x = nodes[static_cast<std::size_t>(k)];
      EXPECT_NEAR(std::hypot(x.y(), x.z()), 0, 1e-12) << k;
    }
  EXPECT_LT(nodes.front().x(), nodes[1].x());
  EXPECT_LT(nodes[199].x(), nodes.back().x());
  EXPECT_NEAR(nodes.front().x(), -nodes.back().x(), 0.03 * length);
}

TEST_F(Trefoil, IsSmooth) {
  // An edge of 5 mm on a curve whose radius of curvature is nowhere under a quarter of the size turns by < 0.4 rad.
  for (std::size_t i = 1; i + 1 < nodes.size(); ++i) {
    const Vec3 a = nodes[i] - nodes[i - 1], b = nodes[i + 1] - nodes[i];
    EXPECT_LT(std::acos(std::min(1.0, a.normalized().dot(b.normalized()))), length / elements / (0.25 * size)) << i;
  }
}

TEST_F(Trefoil, KeepsItsClearance) {
  // Edges further than four diameters apart along the rod.
  const std::size_t apart = static_cast<std::size_t>(std::ceil(2 * trefoil_clearance(size) / (length / elements)));
  double least = 1;
  for (std::size_t i = 1; i < nodes.size(); ++i)
    for (std::size_t j = i + apart; j < nodes.size(); ++j)
      least = std::min(least, segment_distance(nodes[i - 1], nodes[i], nodes[j - 1], nodes[j]));
  EXPECT_GT(least, trefoil_clearance(size));
  RecordProperty("least_over_size", std::to_string(least / size));
}

/// Determinant of a square matrix without its last row and column, by elimination.
double minor_determinant(std::vector<std::vector<double>> m) {
  const std::size_t n = m.size() - 1;
  double determinant = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    if (m[pivot][k] == 0) return 0;
    if (pivot != k) determinant = -determinant;
    std::swap(m[k], m[pivot]);
    determinant *= m[k][k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = m[i][k] / m[k][k];
      for (std::size_t j = k; j < n; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  return determinant;
}

/// The knot's determinant |Δ(-1)|, from the crossings of its projection on the xy plane: 1 for the unknot, 3 for the
/// trefoil. Colourings: at each crossing 2 over = under + under'.
double knot_determinant(const std::vector<Vec3>& x) {
  struct Crossing {
    double over, under;  // positions along the polyline
  };
  std::vector<Crossing> crossings;
  for (std::size_t i = 1; i < x.size(); ++i)
    for (std::size_t j = i + 2; j < x.size(); ++j) {
      const Vec3 d = x[i] - x[i - 1], e = x[j] - x[j - 1], r = x[j - 1] - x[i - 1];
      const double det = d.x() * e.y() - d.y() * e.x();
      const double s = (r.x() * e.y() - r.y() * e.x()) / det, t = (r.x() * d.y() - r.y() * d.x()) / det;
      if (!(s >= 0 && s < 1 && t >= 0 && t < 1)) continue;
      const double zi = x[i - 1].z() + s * d.z(), zj = x[j - 1].z() + t * e.z();
      const double at_i = static_cast<double>(i) + s, at_j = static_cast<double>(j) + t;
      crossings.push_back(zi > zj ? Crossing{at_i, at_j} : Crossing{at_j, at_i});
    }
  std::sort(crossings.begin(), crossings.end(), [](auto& a, auto& b) { return a.under < b.under; });
  const auto arc_of = [&](double at) {
    return static_cast<std::size_t>(
        std::count_if(crossings.begin(), crossings.end(), [&](const Crossing& c) { return c.under < at; }));
  };
  // Arcs 0 to n, the two tails being one: they meet at infinity. Any minor of the equations is the determinant.
  const std::size_t n = crossings.size();
  std::vector<std::vector<double>> equations(n, std::vector<double>(n, 0));
  for (std::size_t c = 0; c < n; ++c) {
    equations[c][arc_of(crossings[c].over) % n] += 2;
    equations[c][c] -= 1;
    equations[c][(c + 1) % n] -= 1;
  }
  return std::abs(minor_determinant(equations));
}

TEST_F(Trefoil, IsKnotted) { EXPECT_NEAR(knot_determinant(nodes), 3, 1e-9); }

TEST(Bundle, IsAHexagonalStackWithoutTouch) {
  BundleOptions options;
  options.count = 60;
  options.jitter = 0.99;
  const std::vector<Strand> strands = make_bundle(options);
  ASSERT_EQ(strands.size(), 60u);
  for (const Strand& strand : strands) {
    ASSERT_EQ(strand.nodes.size(), 31u);
    EXPECT_NEAR(polyline_length(strand.nodes), options.length, 1e-3 * options.length);
    const Vec3 along = (strand.nodes.back() - strand.nodes.front()).normalized();
    EXPECT_NEAR(along.x(), 1, 1e-4);
    EXPECT_GT(strand.nodes.front().z(), options.height - 2.5 * options.radius);
  }
  EXPECT_GT(least_distance(strands, 0.1), 2 * options.radius);

  options.jitter = 0;
  const std::vector<Strand> regular = make_bundle(options);
  EXPECT_NEAR(least_distance(regular, 0.1), 2.5 * options.radius, 1e-12);
  int neighbours = 0;  // of a strand in the middle of the third of eight layers
  for (const Strand& other : regular) {
    const double distance = (other.nodes[0] - regular[8 * 2 + 4].nodes[0]).norm();
    if (distance > 0 && distance < 2.6 * options.radius) ++neighbours;
  }
  EXPECT_EQ(neighbours, 6);
}

TEST(Bundle, SameSeedSameBytes) {
  BundleOptions options;
  const std::vector<Strand> strands = make_bundle(options);
  EXPECT_TRUE(same_bytes(strands, make_bundle(options)));
  options.seed = 2;
  EXPECT_FALSE(same_bytes(strands, make_bundle(options)));
}

}  // namespace
}  // namespace stiction::scene
