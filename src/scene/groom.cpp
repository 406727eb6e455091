// Grooms: roots spread evenly over a domain, strands that leave it along the normal and curl.
//
// A strand follows x(s) = root + s n + g(s) (curl(s) + noise(s)), both across the normal n; the growth g is zero along
// the first edge and rises to one with a continuous slope. Nodes are placed on x(s) at equal distances.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "scene/generators.hpp"

namespace stiction::scene {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double golden_angle = pi * (3 - 2.2360679774997896964);
constexpr int samples_per_edge = 8;  // of x(s), before nodes are placed on it
constexpr int attempts = 12;         // at a strand that touches none of those before it
constexpr std::int64_t max_separated_elements = 1'000'000;

struct Root {
  Vec3 surface;  // on the surface of the domain
  Vec3 normal;
};

/// Roots on a sphere from the top down by `depth` radii (1: the upper half, 2: all): a Fibonacci lattice, jittered.
std::vector<Root> sphere_roots(const GroomOptions& o, double depth) {
  const double spacing = std::sqrt(2 * pi * depth / o.strands);
  std::vector<Root> roots;
  for (int i = 0; i < o.strands; ++i) {
    Random random(static_cast<std::uint64_t>(o.seed), 2 * static_cast<std::uint64_t>(i));
    const double z = 1 - depth * (i + 0.5) / o.strands, r = std::sqrt(std::max(0.0, 1 - z * z));
    const Vec3 regular{r * std::cos(golden_angle * i), r * std::sin(golden_angle * i), z};
    const Vec3 e1 = regular.unitOrthogonal(), e2 = regular.cross(e1);
    const double a = o.root_jitter * spacing * random.symmetric(), b = o.root_jitter * spacing * random.symmetric();
    Vec3 normal = (regular + a * e1 + b * e2).normalized();
    if (depth == 1) normal.z() = std::abs(normal.z());
    roots.push_back({o.domain_radius * normal, normal});
  }
  return roots;
}

/// Roots on the rectangle in staggered rows, as square as the count allows, jittered.
std::vector<Root> patch_roots(const GroomOptions& o) {
  const double width = o.patch_size.x(), depth = o.patch_size.y();
  const int rows = std::clamp(static_cast<int>(std::lround(std::sqrt(o.strands * depth / width))), 1, o.strands);
  std::vector<Root> roots;
  for (int row = 0; row < rows; ++row) {
    const int first = static_cast<int>(static_cast<std::int64_t>(o.strands) * row / rows);
    const int last = static_cast<int>(static_cast<std::int64_t>(o.strands) * (row + 1) / rows);
    const double dx = width / (last - first), dy = depth / rows, stagger = row % 2 == 0 ? 0.25 : 0.75;
    for (int i = first; i < last; ++i) {
      Random random(static_cast<std::uint64_t>(o.seed), 2 * static_cast<std::uint64_t>(i));
      const double x = dx * (i - first + stagger + o.root_jitter * random.symmetric());
      const double y = dy * (row + 0.5 + o.root_jitter * random.symmetric());
      roots.push_back({{x - 0.5 * width, y - 0.5 * depth, 0}, Vec3::UnitZ()});
    }
  }
  return roots;
}

std::vector<Root> make_roots(const GroomOptions& o) {
  switch (o.domain) {
    case GroomDomain::sphere:
      return sphere_roots(o, 2);
    case GroomDomain::hemisphere:
      return sphere_roots(o, 1);
    case GroomDomain::patch:
      break;
  }
  return patch_roots(o);
}

/// Smooth noise in the plane across the strand, of norm at most one.
struct Noise {
  double rate[6], phase[6];

  Noise(double base_rate, Random& random) {
    for (double& r : rate) r = base_rate * (0.4 + 1.2 * random.uniform());
    for (double& p : phase) p = 2 * pi * random.uniform();
  }
  Eigen::Vector2d at(double s) const {
    Eigen::Vector2d sum = Eigen::Vector2d::Zero();
    for (int i = 0; i < 6; ++i) sum[i % 2] += std::sin(rate[i] * s + phase[i]);
    return sum / (3 * std::numbers::sqrt2);
  }
};

Eigen::Vector2d curl_offset(GroomStyle style, double radius, double angle, double plane) {
  switch (style) {
    case GroomStyle::wavy:
      return radius * std::sin(angle) * Eigen::Vector2d(std::cos(plane), std::sin(plane));
    case GroomStyle::curly:
      return radius * Eigen::Vector2d(std::cos(angle), std::sin(angle));
    case GroomStyle::straight:
    case GroomStyle::frizzy:
      break;
  }
  return Eigen::Vector2d::Zero();
}

double noise_amplitude(const GroomOptions& o) {
  if (o.style == GroomStyle::straight) return 0;
  return o.style == GroomStyle::frizzy ? o.curl_radius : o.frizz;
}

/// The quintic step: 0 to 1 with zero slope and curvature at both ends.
double smooth_step(double t) {
  t = std::clamp(t, 0.0, 1.0);
  return t * t * t * (t * (6 * t - 15) + 10);
}

/// The centreline x(s), sampled; its phases come from `random`.
std::vector<Vec3> sample_centreline(const GroomOptions& o, const Root& root, double radius, double edge, int elements,
                                    Random& random) {
  const double phase = 2 * pi * random.uniform(), plane = 2 * pi * random.uniform();
  const Noise noise(o.curl_rate, random);
  const Vec3 start = root.surface + radius * root.normal;
  const Vec3 e1 = root.normal.unitOrthogonal(), e2 = root.normal.cross(e1);
  const double ramp = std::max(0.25 * edge * elements, edge);
  std::vector<Vec3> curve;
  curve.reserve(static_cast<std::size_t>(elements) * samples_per_edge + 1);
  for (int i = 0; i <= elements * samples_per_edge; ++i) {
    const double s = edge * i / samples_per_edge, growth = smooth_step((s - edge) / ramp);
    const Eigen::Vector2d across = growth * (curl_offset(o.style, o.curl_radius, o.curl_rate * s + phase, plane) +
                                             noise_amplitude(o) * noise.at(s));
    curve.push_back(start + s * root.normal + across.x() * e1 + across.y() * e2);
  }
  return curve;
}

double segment_distance(const Vec3& p0, const Vec3& p1, const Vec3& q0, const Vec3& q1) {
  const Vec3 d1 = p1 - p0, d2 = q1 - q0, r = p0 - q0;
  const double a = d1.squaredNorm(), e = d2.squaredNorm(), b = d1.dot(d2), c = d1.dot(r), f = d2.dot(r);
  const double denominator = a * e - b * b;
  double s = denominator > 1e-12 * a * e ? std::clamp((b * f - c * e) / denominator, 0.0, 1.0) : 0.0;
  const double t = std::clamp((b * s + f) / e, 0.0, 1.0);
  s = std::clamp((b * t - c) / a, 0.0, 1.0);
  return (r + s * d1 - t * d2).norm();
}

/// The strands placed so far, in a hash grid of their edges' midpoints.
class PlacedStrands {
 public:
  PlacedStrands(double longest_edge, double largest_radius)
      : cell_(longest_edge + 3 * largest_radius), largest_radius_(largest_radius) {}

  /// Whether a strand along `nodes` comes within half a radius of touching one placed before.
  bool touches(const std::vector<Vec3>& nodes, double radius) const {
    for (std::size_t i = 1; i < nodes.size(); ++i)
      if (edge_touches({nodes[i - 1], nodes[i], radius})) return true;
    return false;
  }

  void add(const std::vector<Vec3>& nodes, double radius) {
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      const Edge edge{nodes[i - 1], nodes[i], radius};
      cells_[key(cell_of(edge))].push_back(edge);
    }
  }

 private:
  struct Edge {
    Vec3 a, b;
    double radius;
  };
  using Cell = Eigen::Matrix<std::int64_t, 3, 1>;

  Cell cell_of(const Edge& e) const { return (0.5 / cell_ * (e.a + e.b)).array().floor().cast<std::int64_t>(); }

  static std::uint64_t key(const Cell& c) {
    return Random(static_cast<std::uint64_t>(c.x()) * 0x9e3779b1u + static_cast<std::uint64_t>(c.y()),
                  static_cast<std::uint64_t>(c.z()))
        .next();
  }

  bool edge_touches(const Edge& e) const {
    const Cell centre = cell_of(e);
    for (int n = 0; n < 27; ++n) {
      const auto found = cells_.find(key(centre + Cell(n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1)));
      if (found == cells_.end()) continue;
      for (const Edge& f : found->second) {
        // Where two edges touch, their midpoints are at most a cell apart.
        if ((e.a + e.b - f.a - f.b).squaredNorm() > 4 * cell_ * cell_) continue;
        if (segment_distance(e.a, e.b, f.a, f.b) < e.radius + f.radius + 0.5 * largest_radius_) return true;
      }
    }
    return false;
  }

  double cell_, largest_radius_;
  std::unordered_map<std::uint64_t, std::vector<Edge>> cells_;
};

}  // namespace

std::vector<Strand> make_groom(const GroomOptions& o) {
  const std::vector<Root> roots = make_roots(o);
  const bool separate =
      o.style != GroomStyle::straight && static_cast<std::int64_t>(o.strands) * o.elements <= max_separated_elements;
  const int fewest = std::max(2, o.elements - o.elements_jitter);
  PlacedStrands placed(o.length * (1 + o.length_jitter) / fewest, o.radius * (1 + o.radius_jitter));
  std::vector<Strand> strands(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    Random random(static_cast<std::uint64_t>(o.seed), 2 * i + 1);
    const int elements = std::max(2, o.elements + random.integer(-o.elements_jitter, o.elements_jitter));
    const double length = o.length * (1 + o.length_jitter * random.symmetric());
    const double radius = o.radius * (1 + o.radius_jitter * random.symmetric());
    const double edge = length / elements;

    Strand& strand = strands[i];
    if (o.radius_jitter > 0) strand.radius = radius;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      strand.nodes = resample(sample_centreline(o, roots[i], radius, edge, elements, random), edge, elements);
      if (!separate || !placed.touches(strand.nodes, radius)) break;
    }
    if (separate) placed.add(strand.nodes, radius);
  }
  return strands;
}

}  // namespace stiction::scene
