#include "geometry/shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "geometry/primitives.hpp"
#include "support/random.hpp"

namespace stiction {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();

Collider make_collider(ColliderShape shape) {
  Collider collider;
  collider.shape = shape;
  collider.radius = 0.3;
  collider.length = 0.8;
  collider.half_extents = Vec3(0.5, 0.3, 0.2);
  return collider;
}

class Shapes : public testing::TestWithParam<ColliderShape> {
 protected:
  double distance(const Vec3& x) const { return sample_surface(collider, x).distance; }

  /// Smallest distance over `samples` + 1 points of the segment.
  double sampled_distance(const Vec3& a, const Vec3& b, int samples) const {
    double smallest = infinity;
    for (int i = 0; i <= samples; ++i) {
      smallest = std::min(smallest, distance(a + (static_cast<double>(i) / samples) * (b - a)));
    }
    return smallest;
  }

  double segment_distance(const Vec3& a, const Vec3& b) const {
    return distance(a + nearest_on_segment(collider, a, b) * (b - a));
  }

  const Collider collider = make_collider(GetParam());
  test::Random random{20200717};
};

std::string shape_name(const testing::TestParamInfo<ColliderShape>& tested) {
  const char* names[] = {"locator", "plane", "sphere", "capsule", "cylinder", "box", "mesh"};
  return names[static_cast<int>(tested.param)];
}

INSTANTIATE_TEST_SUITE_P(All, Shapes,
                         testing::Values(ColliderShape::plane, ColliderShape::sphere, ColliderShape::capsule,
                                         ColliderShape::cylinder, ColliderShape::box),
                         shape_name);

class BoundedShapes : public Shapes {};

INSTANTIATE_TEST_SUITE_P(All, BoundedShapes,
                         testing::Values(ColliderShape::sphere, ColliderShape::capsule, ColliderShape::cylinder,
                                         ColliderShape::box),
                         shape_name);

TEST_P(Shapes, NormalIsTheUnitGradientOfTheDistance) {
  const double step = 1e-6;
  int tested = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vec3 x = random.vector(0.8);
    const Vec3 normal = sample_surface(collider, x).normal;
    EXPECT_NEAR(normal.norm(), 1, 1e-15);
    Vec3 gradient;
    for (int k = 0; k < 3; ++k) {
      const Vec3 h = step * Vec3::Unit(k);
      gradient[k] = (distance(x + h) - distance(x - h)) / (2 * step);
    }
    const bool on_a_crease = std::abs(gradient.norm() - 1) > 1e-4;  // two faces equally near, inside
    if (on_a_crease) continue;
    ++tested;
    // Round-off 1e-16 / step, plus step² times the third derivative, large only next to corners and centres.
    EXPECT_LT((gradient - normal).norm(), 1e-6) << x.transpose();
  }
  EXPECT_GT(tested, 1990);
}

/// Distance from a point to a triangle: over its interior where the foot is inside, else to its edges.
double triangle_distance(const Vec3& x, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 n = (b - a).cross(c - a);
  const auto inside_edge = [&](const Vec3& p, const Vec3& q) { return n.cross(q - p).dot(x - p) >= 0; };
  if (inside_edge(a, b) && inside_edge(b, c) && inside_edge(c, a)) return std::abs(n.dot(x - a)) / n.norm();
  const auto edge_distance = [&](const Vec3& p, const Vec3& q) {
    const double s = std::clamp((x - p).dot(q - p) / (q - p).squaredNorm(), 0.0, 1.0);
    return (x - (p + s * (q - p))).norm();
  };
  return std::min({edge_distance(a, b), edge_distance(b, c), edge_distance(c, a)});
}

/// Solid angle of a triangle seen from x, positive from behind (van Oosterom and Strackee 1983).
double solid_angle(const Vec3& x, const Vec3& va, const Vec3& vb, const Vec3& vc) {
  const Vec3 a = va - x, b = vb - x, c = vc - x;
  const double la = a.norm(), lb = b.norm(), lc = c.norm();
  return 2 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
}

/// Brute-force signed distance to a closed mesh; the winding number gives the sign.
double mesh_distance(const TriangleMesh& mesh, const Vec3& x) {
  double distance = infinity, angle = 0;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const Vec3 &a = mesh.vertices[t[0]], &b = mesh.vertices[t[1]], &c = mesh.vertices[t[2]];
    distance = std::min(distance, triangle_distance(x, a, b, c));
    angle += solid_angle(x, a, b, c);
  }
  return angle > 2 * pi ? -distance : distance;
}

TEST_P(BoundedShapes, DistanceIsThatOfTheTessellatedSurface) {
  const TriangleMesh mesh = tessellate(collider);
  const bool flat = GetParam() == ColliderShape::box;
  const double sagitta = flat ? 1e-14 : 2 * collider.radius * (1 - std::cos(pi / 64));  // chords of 64 sectors, twice
  int inside = 0;
  for (int i = 0; i < 300; ++i) {
    const Vec3 x = random.vector(0.6);
    EXPECT_NEAR(distance(x), mesh_distance(mesh, x), sagitta) << x.transpose();
    inside += distance(x) < 0;
  }
  EXPECT_GT(inside, 5);
  EXPECT_LT(inside, 295);
}

TEST_P(Shapes, DistanceIsConvexAndOneLipschitz) {
  for (int i = 0; i < 5000; ++i) {
    const Vec3 a = random.vector(0.8), b = random.vector(0.8);
    const double s = random(0, 1);
    EXPECT_LE(distance(a + s * (b - a)), (1 - s) * distance(a) + s * distance(b) + 1e-15);
    EXPECT_LE(std::abs(distance(a) - distance(b)), (a - b).norm() + 1e-15);
  }
}

TEST_P(Shapes, SegmentMinimiserBeatsDenseSampling) {
  for (int i = 0; i < 2000; ++i) {
    const Vec3 a = random.vector(0.8);
    const Vec3 b = a + (i % 2 == 0 ? random.vector(0.8) : random.vector(0.01));
    const double s = nearest_on_segment(collider, a, b);
    ASSERT_GE(s, 0);
    ASSERT_LE(s, 1);
    const double found = distance(a + s * (b - a));
    // A kinked minimum moves by the slope times the resolution in s, 2^-42 of the length.
    EXPECT_LE(found, sampled_distance(a, b, 300) + 1e-12);
  }
}

TEST_P(Shapes, SegmentMinimiserIsSymmetricInItsEnds) {
  for (int i = 0; i < 500; ++i) {
    const Vec3 a = random.vector(0.8), b = random.vector(0.8);
    EXPECT_NEAR(segment_distance(a, b), segment_distance(b, a), 1e-12);
  }
}

TEST_P(Shapes, APointIsItsOwnNearestPoint) {
  const Vec3 x(0.4, 0.1, 0.7);
  EXPECT_EQ(nearest_on_segment(collider, x, x), 0.5);
}

TEST_P(Shapes, ImpactIsWhereDenseTimeSamplingFindsIt) {
  constexpr int time_samples = 500;
  int hits = 0, misses = 0;
  for (int i = 0; i < 400; ++i) {
    const bool point = i % 4 == 0;
    const Vec3 a0 = random.vector(0.9), b0 = point ? a0 : a0 + random.vector(0.4);
    const Vec3 a1 = random.vector(0.9), b1 = point ? a1 : a1 + random.vector(0.4);
    const double separation = random(-0.01, 0.05);
    const auto distance_at = [&](double t) { return segment_distance(a0 + t * (a1 - a0), b0 + t * (b1 - b0)); };
    double sampled = infinity;
    for (int k = 0; k <= time_samples && sampled == infinity; ++k) {
      const double t = static_cast<double>(k) / time_samples;
      if (distance_at(t) <= separation) sampled = t;
    }
    const std::optional<double> impact = segment_impact(collider, a0, b0, a1, b1, separation);
    if (!impact) {
      EXPECT_EQ(sampled, infinity) << "missed at " << sampled;
      ++misses;
      continue;
    }
    ++hits;
    EXPECT_LE(*impact, sampled);
    if (distance_at(0) <= separation) {
      EXPECT_EQ(*impact, 0);
      continue;
    }
    const double displacement = std::max((a1 - a0).norm(), (b1 - b0).norm());
    EXPECT_GE(distance_at(*impact), separation) << "late";
    EXPECT_LE(distance_at(*impact), separation + 1.1e-10 * displacement) << "early";
  }
  EXPECT_GT(hits, 20);
  EXPECT_GT(misses, 20);
}

TEST_P(BoundedShapes, BoundingRadiusIsTight) {
  double farthest = 0;
  for (const Vec3& x : tessellate(collider).vertices) farthest = std::max(farthest, x.norm());
  EXPECT_NEAR(bounding_radius(collider), farthest, 1e-15);
}

void expect_sample(const Collider& collider, const Vec3& x, double distance, const Vec3& normal) {
  const SurfaceSample sample = sample_surface(collider, x);
  EXPECT_NEAR(sample.distance, distance, 1e-15) << x.transpose();
  EXPECT_LT((sample.normal - normal).norm(), 1e-14) << x.transpose() << ": " << sample.normal.transpose();
}

TEST(ShapeSamples, Plane) {
  const Collider plane = make_collider(ColliderShape::plane);
  expect_sample(plane, {3, -4, 0.5}, 0.5, Vec3::UnitZ());
  expect_sample(plane, {3, -4, -0.5}, -0.5, Vec3::UnitZ());
  EXPECT_EQ(bounding_radius(plane), infinity);
}

TEST(ShapeSamples, Box) {
  const Collider box = make_collider(ColliderShape::box);  // 0.5, 0.3, 0.2
  expect_sample(box, {0.6, 0.1, -0.1}, 0.1, Vec3::UnitX());
  expect_sample(box, {0.1, 0.6, 0.6}, 0.5, Vec3(0, 0.6, 0.8));
  expect_sample(box, {-0.7, -0.4, 0.4}, 0.3, Vec3(-2, -1, 2) / 3);
  expect_sample(box, {0.1, 0.25, 0.1}, -0.05, Vec3::UnitY());
  expect_sample(box, {0.1, 0.1, -0.15}, -0.05, -Vec3::UnitZ());
  expect_sample(box, {0, 0, 0}, -0.2, Vec3::UnitZ());
}

TEST(ShapeSamples, Cylinder) {
  const Collider cylinder = make_collider(ColliderShape::cylinder);  // radius 0.3, half length 0.4
  expect_sample(cylinder, {0, -0.5, 0.1}, 0.2, -Vec3::UnitY());
  expect_sample(cylinder, {0.1, 0.1, 0.5}, 0.1, Vec3::UnitZ());
  expect_sample(cylinder, {0, 0, -0.5}, 0.1, -Vec3::UnitZ());
  expect_sample(cylinder, {0.6, 0, -0.8}, 0.5, Vec3(0.6, 0, -0.8));
  expect_sample(cylinder, {0.25, 0, 0}, -0.05, Vec3::UnitX());
  expect_sample(cylinder, {0, 0, 0.35}, -0.05, Vec3::UnitZ());
  expect_sample(cylinder, {0, 0, 0}, -0.3, Vec3::UnitX());
}

TEST(ShapeSamples, CentresHaveSomeUnitNormal) {
  expect_sample(make_collider(ColliderShape::sphere), {0, 0, 0}, -0.3, Vec3::UnitZ());
  expect_sample(make_collider(ColliderShape::capsule), {0, 0, 0.2}, -0.3, Vec3::UnitX());
  expect_sample(make_collider(ColliderShape::capsule), {0, 0, 0.5}, -0.2, Vec3::UnitZ());
}

TEST(ShapeSamples, WhatHasNoAnalyticSurfaceIsNeverReached) {
  for (const ColliderShape shape : {ColliderShape::locator, ColliderShape::mesh}) {
    const Collider collider = make_collider(shape);
    EXPECT_EQ(sample_surface(collider, Vec3::Zero()).distance, infinity);
    EXPECT_FALSE(segment_impact(collider, Vec3::Zero(), Vec3::Zero(), Vec3::UnitX(), Vec3::UnitX(), 0.1));
  }
  EXPECT_EQ(bounding_radius(make_collider(ColliderShape::locator)), 0);
}

TEST(ShapeSamples, BoundingRadiusOfAMeshCoversItsSequenceAndThickness) {
  Collider collider = make_collider(ColliderShape::mesh);
  collider.mesh = make_box(Vec3(1, 2, 2));
  collider.thickness = 0.5;
  EXPECT_DOUBLE_EQ(bounding_radius(collider), 3.5);
  collider.mesh_sequence = {make_box(Vec3(2, 4, 4)).vertices};
  EXPECT_DOUBLE_EQ(bounding_radius(collider), 6.5);
}

TEST(NearestOnSegment, ParallelSegmentsGiveTheMiddle) {
  const auto nearest = [](ColliderShape shape, const Vec3& a, const Vec3& b) {
    return nearest_on_segment(make_collider(shape), a, b);
  };
  EXPECT_EQ(nearest(ColliderShape::plane, {0, 0, 0.1}, {1, 1, 0.1}), 0.5);
  EXPECT_EQ(nearest(ColliderShape::capsule, {0.2, 0.3, -0.1}, {0.2, 0.3, 0.4}), 0.5);
  EXPECT_EQ(nearest(ColliderShape::cylinder, {0.2, 0.3, -0.1}, {0.2, 0.3, 0.3}), 0.5);
  EXPECT_EQ(nearest(ColliderShape::cylinder, {-0.1, 0, 0.5}, {0.1, 0.1, 0.5}), 0.5);
  EXPECT_EQ(nearest(ColliderShape::box, {-0.1, 0, 0.5}, {0.1, 0.1, 0.5}), 0.5);
}

TEST(NearestOnSegment, AnOverhangIsLeftOutOfTheMiddle) {
  const Collider box = make_collider(ColliderShape::box);
  EXPECT_NEAR(nearest_on_segment(box, {-0.3, 0, 0.5}, {1.3, 0, 0.5}), 0.25, 1e-9);
  const Collider capsule = make_collider(ColliderShape::capsule);
  EXPECT_NEAR(nearest_on_segment(capsule, {0.4, 0, -1.2}, {0.4, 0, 0.4}), 0.75, 1e-7);
}

TEST(NearestOnSegment, RoundOffInTheFrameDoesNotBreakATie) {
  test::Random random{20200717};
  const Collider capsule = make_collider(ColliderShape::capsule);
  for (int i = 0; i < 100; ++i) {
    const Quat rotation = random.rotation();
    const Vec3 position = random.vector(5);
    const Vec3 a_world = rotation * Vec3(0.2, 0.3, -0.001) + position,
               b_world = rotation * Vec3(0.2, 0.3, 0.004) + position;
    const Vec3 a = rotation.conjugate() * (a_world - position), b = rotation.conjugate() * (b_world - position);
    EXPECT_EQ(nearest_on_segment(capsule, a, b), 0.5);
  }
}

TEST(NearestOnSegment, FindsTheKinkInsideABox) {
  Collider box = make_collider(ColliderShape::box);
  box.half_extents = Vec3(1, 1, 10);
  // phi = max(|x| - 1, |y| - 1) on (s, 1 - 2 s): minimal where s = 1 - 2 s.
  EXPECT_NEAR(nearest_on_segment(box, {0, 1, 0}, {1, -1, 0}), 1.0 / 3, 1e-12);
}

TEST(SegmentImpact, ClosedForms) {
  const Collider plane = make_collider(ColliderShape::plane), sphere = make_collider(ColliderShape::sphere);
  const auto point = [](const Collider& collider, const Vec3& x0, const Vec3& x1, double separation) {
    return segment_impact(collider, x0, x0, x1, x1, separation);
  };
  EXPECT_NEAR(point(plane, {0, 0, 1}, {5, 0, -1}, 0.1).value(), 0.45, 1e-9);
  EXPECT_NEAR(point(sphere, {-1, 0, 0}, {1, 0, 0}, 0.1).value(), 0.3, 1e-9);
  EXPECT_NEAR(segment_impact(plane, {0, 0, 1}, {1, 0, 2}, {0, 0, 0.5}, {1, 0, -2}, 0.2).value(), 0.45, 1e-9);
  EXPECT_EQ(point(sphere, {0.35, 0, 0}, {1, 0, 0}, 0.1), 0.0);
  EXPECT_EQ(point(sphere, {0.5, 0, 0}, {1, 0, 0}, 0.1), std::nullopt);
  EXPECT_EQ(point(sphere, {0.5, 0, 0}, {0.5, 0, 0}, 0.1), std::nullopt);
  EXPECT_EQ(point(sphere, {0.5, 0, 0}, {0.41, 0, 0}, 0.1), std::nullopt);
}

TEST(SegmentImpact, AGrazingPathIsContactAndANearMissIsNot) {
  const Collider sphere = make_collider(ColliderShape::sphere);
  const auto pass = [&](double height) {
    const Vec3 x0(-1, 0, height), x1(1, 0, height);
    return segment_impact(sphere, x0, x0, x1, x1, 0.1);
  };
  EXPECT_TRUE(pass(0.4));
  EXPECT_LE(pass(0.4).value(), 0.5);
  EXPECT_FALSE(pass(0.4 + 1e-7));
}

TEST(SegmentImpact, AFastTurningSegmentIsCaught) {
  // The ends swap sides past a small sphere, so that neither end comes near it.
  Collider sphere = make_collider(ColliderShape::sphere);
  sphere.radius = 0.01;
  const auto impact = segment_impact(sphere, {-1, 0, 1}, {1, 0, 1}, {-1, 0, -1}, {1, 0, -3}, 0);
  ASSERT_TRUE(impact);
  EXPECT_NEAR(*impact, 1.0 / 3, 0.01);
}

/// Every edge is shared by two faces that run along it in opposite directions.
bool is_closed(const TriangleMesh& mesh) {
  std::map<std::pair<int, int>, int> directed;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    for (int k = 0; k < 3; ++k) ++directed[{t[k], t[(k + 1) % 3]}];
  }
  for (const auto& [edge, count] : directed) {
    const auto opposite = directed.find({edge.second, edge.first});
    if (count != 1 || opposite == directed.end()) return false;
  }
  return true;
}

int euler_characteristic(const TriangleMesh& mesh) {
  return static_cast<int>(mesh.vertices.size()) - static_cast<int>(mesh.triangles.size()) / 2;  // E = 3 F / 2
}

double volume(const TriangleMesh& mesh) {
  double sum = 0;
  for (const Eigen::Vector3i& t : mesh.triangles) {
    sum += mesh.vertices[t[0]].dot(mesh.vertices[t[1]].cross(mesh.vertices[t[2]]));
  }
  return sum / 6;
}

/// Area of the regular polygon in the unit circle: what `sectors` leave of pi.
double polygon_area(int sectors) { return 0.5 * sectors * std::sin(2 * pi / sectors); }

TEST(Primitives, AreClosedAndOfTheRightGenus) {
  for (const int n : {3, 4, 9}) {
    for (const TriangleMesh& mesh : {make_sphere(1, n, n), make_capsule(1, 2, n, n), make_cylinder(1, 2, n),
                                     make_plate(1, 0.2, 0.1, n), make_box(Vec3(1, 2, 3))}) {
      EXPECT_TRUE(is_closed(mesh));
      EXPECT_EQ(euler_characteristic(mesh), 2);
      EXPECT_GT(volume(mesh), 0);
    }
    const TriangleMesh torus = make_torus(1, 0.3, n, n);
    EXPECT_TRUE(is_closed(torus));
    EXPECT_EQ(euler_characteristic(torus), 0);
    EXPECT_GT(volume(torus), 0);
  }
  EXPECT_TRUE(is_closed(make_sphere(1, 2, 3)));
  EXPECT_TRUE(is_closed(make_capsule(1, 1, 1, 3)));
}

TEST(Primitives, FlatVolumesAreExact) {
  EXPECT_NEAR(volume(make_box(Vec3(1, 2, 3))), 48, 1e-13);
  EXPECT_NEAR(volume(make_cylinder(0.5, 3, 12)), polygon_area(12) * 0.25 * 3, 1e-14);
  EXPECT_NEAR(volume(make_plate(0.5, 0.1, 0.02, 12)), polygon_area(12) * 0.25 * 0.02, 1e-15);
}

TEST(Primitives, RoundVolumesConvergeAtSecondOrder) {
  const double r = 0.7, length = 1.5, tube = 0.2;
  const double ball = 4 * pi / 3 * r * r * r;
  const auto errors = [&](int n) {
    return Vec3(ball - volume(make_sphere(r, n, 2 * n)),
                ball + pi * r * r * length - volume(make_capsule(r, length, n / 2, 2 * n)),
                2 * pi * pi * r * tube * tube - volume(make_torus(r, tube, n, 2 * n)));
  };
  const Vec3 ratio = errors(32).cwiseQuotient(errors(64));
  for (const double order : ratio) EXPECT_NEAR(order, 4, 0.05);
}

TEST(Primitives, PlateStandsOnTheGroundAndRisesToItsRim) {
  double low = infinity, high = -infinity;
  for (const Vec3& x : make_plate(0.5, 0.1, 0.02, 24).vertices) {
    low = std::min(low, x.z());
    high = std::max(high, x.z());
  }
  EXPECT_EQ(low, 0);
  EXPECT_DOUBLE_EQ(high, 0.12);
}

TEST(Primitives, PlaneQuadFacesUp) {
  const TriangleMesh quad = make_plane_quad(2);
  double area = 0;
  for (const Eigen::Vector3i& t : quad.triangles) {
    const Vec3 &a = quad.vertices[t[0]], &b = quad.vertices[t[1]], &c = quad.vertices[t[2]];
    area += 0.5 * (b - a).cross(c - a).z();
  }
  EXPECT_DOUBLE_EQ(area, 16);
}

TEST(Primitives, TooFewDivisionsAreRefused) {
  EXPECT_THROW(make_sphere(1, 1, 8), std::invalid_argument);
  EXPECT_THROW(make_sphere(1, 8, 2), std::invalid_argument);
  EXPECT_THROW(make_capsule(1, 1, 0, 8), std::invalid_argument);
  EXPECT_THROW(make_torus(1, 0.1, 2, 8), std::invalid_argument);
}

TEST(Primitives, TessellateCoversEveryShape) {
  EXPECT_TRUE(tessellate(make_collider(ColliderShape::locator)).triangles.empty());
  for (const ColliderShape shape :
       {ColliderShape::sphere, ColliderShape::capsule, ColliderShape::cylinder, ColliderShape::box}) {
    EXPECT_TRUE(is_closed(tessellate(make_collider(shape))));
  }
  EXPECT_EQ(tessellate(make_collider(ColliderShape::plane)).triangles.size(), 2u);
  Collider mesh = make_collider(ColliderShape::mesh);
  mesh.mesh = make_torus(1, 0.2, 5, 7);
  EXPECT_EQ(tessellate(mesh).triangles, mesh.mesh.triangles);
}

}  // namespace
}  // namespace stiction
