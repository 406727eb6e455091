// Grooms: roots spread evenly over a domain, strands that leave it along the normal and curl.
//
// A strand follows x(s) = root + s d + g(s) (curl(s) + noise(s)), both across its direction d; the growth g is zero
// along the first edge and rises to one with a continuous slope. Nodes are placed on x(s) at equal distances.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

#include "geometry/bvh.hpp"
#include "scene/generators.hpp"

namespace stiction::scene {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double golden_angle = pi * (3 - 2.2360679774997896964);
constexpr int samples_per_edge = 8;                // of x(s), before nodes are placed on it
constexpr int attempts = 12;                       // at a strand that touches none of those before it
constexpr std::int64_t many_elements = 1'000'000;  // of a groom: above, attempts are fewer,
constexpr int attempts_of_many = 3;
constexpr std::int64_t max_separated_elements = 3'000'000;  // and then strands may start in touch

/// Roots on a sphere from the top down by `depth` radii (1: the upper half, 2: all): a Fibonacci lattice, jittered.
std::vector<GroomRoot> sphere_roots(const GroomOptions& o, double depth) {
  const double spacing = std::sqrt(2 * pi * depth / o.strands);
  std::vector<GroomRoot> roots;
  for (int i = 0; i < o.strands; ++i) {
    Random random(static_cast<std::uint64_t>(o.seed), 2 * static_cast<std::uint64_t>(i));
    const double z = 1 - depth * (i + 0.5) / o.strands, r = std::sqrt(std::max(0.0, 1 - z * z));
    const Vec3 regular{r * std::cos(golden_angle * i), r * std::sin(golden_angle * i), z};
    const Vec3 e1 = regular.unitOrthogonal(), e2 = regular.cross(e1);
    const double a = o.root_jitter * spacing * random.symmetric(), b = o.root_jitter * spacing * random.symmetric();
    Vec3 normal = (regular + a * e1 + b * e2).normalized();
    if (depth == 1) normal.z() = std::abs(normal.z());
    roots.push_back({o.domain_radius * normal, normal, normal});
  }
  return roots;
}

/// Roots on the rectangle in staggered rows, as square as the count allows, jittered.
std::vector<GroomRoot> patch_roots(const GroomOptions& o) {
  const double width = o.patch_size.x(), depth = o.patch_size.y();
  const int rows = std::clamp(static_cast<int>(std::lround(std::sqrt(o.strands * depth / width))), 1, o.strands);
  std::vector<GroomRoot> roots;
  for (int row = 0; row < rows; ++row) {
    const int first = static_cast<int>(static_cast<std::int64_t>(o.strands) * row / rows);
    const int last = static_cast<int>(static_cast<std::int64_t>(o.strands) * (row + 1) / rows);
    const double dx = width / (last - first), dy = depth / rows, stagger = row % 2 == 0 ? 0.25 : 0.75;
    for (int i = first; i < last; ++i) {
      Random random(static_cast<std::uint64_t>(o.seed), 2 * static_cast<std::uint64_t>(i));
      const double x = dx * (i - first + stagger + o.root_jitter * random.symmetric());
      const double y = dy * (row + 0.5 + o.root_jitter * random.symmetric());
      roots.push_back({{x - 0.5 * width, y - 0.5 * depth, 0}, Vec3::UnitZ(), Vec3::UnitZ()});
    }
  }
  return roots;
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
std::vector<Vec3> sample_centreline(const GroomOptions& o, const GroomRoot& root, double radius, double edge,
                                    int elements, Random& random) {
  const double phase = 2 * pi * random.uniform(), plane = 2 * pi * random.uniform();
  const Noise noise(o.curl_rate, random);
  const Vec3 start = root.surface + radius * root.normal;
  const Vec3 e1 = root.direction.unitOrthogonal(), e2 = root.direction.cross(e1);
  const double ramp = std::max(0.25 * edge * elements, edge);
  std::vector<Vec3> curve;
  curve.reserve(static_cast<std::size_t>(elements) * samples_per_edge + 1);
  for (int i = 0; i <= elements * samples_per_edge; ++i) {
    const double s = edge * i / samples_per_edge, growth = smooth_step((s - edge) / ramp);
    const Eigen::Vector2d across = growth * (curl_offset(o.style, o.curl_radius, o.curl_rate * s + phase, plane) +
                                             noise_amplitude(o) * noise.at(s));
    curve.push_back(start + s * root.direction + across.x() * e1 + across.y() * e2);
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

/// The strands placed so far. A hash grid holds each edge in all cells that it runs through, by the boxes of pieces no
/// longer than a cell; cells are a fraction of an edge long, so that a query meets few edges that are far away.
class PlacedStrands {
 public:
  PlacedStrands(double longest_edge, double largest_radius, std::int64_t elements)
      : cell_(std::max(longest_edge / 4, 3 * largest_radius)), largest_radius_(largest_radius) {
    first_.assign(std::bit_ceil(static_cast<std::size_t>(4 * elements) + 16), -1);
  }

  /// Whether a strand along `nodes` comes within half a radius of touching one placed before.
  bool touches(const std::vector<Vec3>& nodes, double radius) const {
    for (std::size_t i = nodes.size() - 1; i > 0; --i)  // neighbours' curls meet far from the roots
      if (edge_touches({nodes[i - 1], nodes[i], radius})) return true;
    return false;
  }

  void add(const std::vector<Vec3>& nodes, double radius) {
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      const int index = static_cast<int>(edges_.size());
      edges_.push_back({nodes[i - 1], nodes[i], radius});
      for_cells(edges_.back(), 0, [&](std::uint64_t key) {
        int& first = first_[slot_of(key)];
        if (first >= 0 && entries_[static_cast<std::size_t>(first)].edge == index) return false;
        entries_.push_back({static_cast<std::uint32_t>(key), index, first});
        first = static_cast<int>(entries_.size()) - 1;
        return false;
      });
    }
  }

 private:
  struct Edge {
    Vec3 a, b;
    double radius;
  };
  struct Entry {
    std::uint32_t key;  // tells most other cells in the slot apart
    int edge, next;
  };
  using Cell = Eigen::Matrix<std::int64_t, 3, 1>;

  /// Calls visit(key) for the cells within `reach` of an edge, some more than once, until it returns true.
  template <class Visit>
  bool for_cells(const Edge& e, double reach, const Visit& visit) const {
    const int pieces = std::max(1, static_cast<int>(std::ceil((e.b - e.a).norm() / cell_)));
    for (int p = 0; p < pieces; ++p) {
      const Vec3 x = e.a + (e.b - e.a) * (static_cast<double>(p) / pieces);
      const Vec3 y = e.a + (e.b - e.a) * (static_cast<double>(p + 1) / pieces);
      const Cell lo = ((x.cwiseMin(y).array() - reach) / cell_).floor().cast<std::int64_t>();
      const Cell hi = ((x.cwiseMax(y).array() + reach) / cell_).floor().cast<std::int64_t>();
      for (std::int64_t k = lo.z(); k <= hi.z(); ++k)
        for (std::int64_t j = lo.y(); j <= hi.y(); ++j)
          for (std::int64_t i = lo.x(); i <= hi.x(); ++i)
            if (visit(key_of(i, j, k))) return true;
    }
    return false;
  }

  static std::uint64_t key_of(std::int64_t i, std::int64_t j, std::int64_t k) {
    std::uint64_t h = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL;
    h = (h ^ (h >> 32) ^ static_cast<std::uint64_t>(j)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(k)) * 0x94d049bb133111ebULL;
    return h ^ (h >> 32);
  }
  std::size_t slot_of(std::uint64_t key) const { return (key >> 32) & (first_.size() - 1); }

  bool edge_touches(const Edge& e) const {
    const double reach = e.radius + 1.5 * largest_radius_;
    return for_cells(e, reach, [&](std::uint64_t key) {
      for (int at = first_[slot_of(key)]; at >= 0;) {
        const Entry& entry = entries_[static_cast<std::size_t>(at)];
        at = entry.next;
        if (entry.key != static_cast<std::uint32_t>(key)) continue;
        const Edge& f = edges_[static_cast<std::size_t>(entry.edge)];
        if (segment_distance(e.a, e.b, f.a, f.b) < e.radius + f.radius + 0.5 * largest_radius_) return true;
      }
      return false;
    });
  }

  double cell_, largest_radius_;
  std::vector<int> first_;  // of each slot's list of entries, or -1
  std::vector<Entry> entries_;
  std::vector<Edge> edges_;
};

/// Whether strands cross a surface.
class PiercedSurface {
 public:
  explicit PiercedSurface(const TriangleMesh& mesh) : mesh_(mesh) {
    std::vector<Box> boxes(mesh.triangles.size());
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (int k = 0; k < 3; ++k) boxes[i].merge(corner(static_cast<int>(i), k));
    bvh_.build(std::vector<MovingBox>(boxes.begin(), boxes.end()));
  }

  bool pierced(const std::vector<Vec3>& nodes, double radius) const {
    for (std::size_t i = 1; i < nodes.size(); ++i)
      if (edge_crosses(nodes[i - 1], nodes[i], i == 1 ? 0 : 2 * radius)) return true;
    return false;
  }

 private:
  const Vec3& corner(int triangle, int k) const {
    const Eigen::Vector3i& t = mesh_.triangles[static_cast<std::size_t>(triangle)];
    return mesh_.vertices[static_cast<std::size_t>(t[k])];
  }

  /// Whether the edge from a to b, `beyond` longer at its end, runs through a triangle.
  bool edge_crosses(const Vec3& a, Vec3 b, double beyond) const {
    b += beyond * (b - a).normalized();
    Box box;
    box.merge(a);
    box.merge(b);
    bool crosses = false;
    bvh_.query(box, [&](int i) { crosses = crosses || crosses_triangle(a, b - a, i); });
    return crosses;
  }

  /// Möller and Trumbore 1997.
  bool crosses_triangle(const Vec3& a, const Vec3& d, int triangle) const {
    const Vec3 x = corner(triangle, 0), e1 = corner(triangle, 1) - x, e2 = corner(triangle, 2) - x;
    const Vec3 p = d.cross(e2), s = a - x, q = s.cross(e1);
    const double det = e1.dot(p);
    if (det == 0) return false;
    const double u = s.dot(p) / det, v = d.dot(q) / det, t = e2.dot(q) / det;
    return u >= 0 && v >= 0 && u + v <= 1 && t >= 0 && t <= 1;
  }

  const TriangleMesh& mesh_;
  Bvh bvh_;
};

}  // namespace

std::vector<GroomRoot> make_roots(const GroomOptions& o) {
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

Vec3 leaning(const GroomRoot& root, double lean, const Vec3& direction) {
  constexpr double least = 0.17;  // cosine of the angle to the normal
  const Vec3 mixed = (1 - lean) * root.direction + lean * direction;
  const Vec3 along = mixed - mixed.dot(root.normal) * root.normal;
  const double up = mixed.dot(root.normal);
  if (up > least * mixed.norm()) return mixed.normalized();
  if (along.norm() < 1e-9) return root.direction;
  return std::sqrt(1 - least * least) * along.normalized() + least * root.normal;
}

std::vector<Strand> make_groom(const GroomOptions& o) { return make_groom(o, make_roots(o)); }

std::vector<Strand> make_groom(const GroomOptions& o, const std::vector<GroomRoot>& roots, const TriangleMesh* body) {
  const std::int64_t most_elements = static_cast<std::int64_t>(roots.size()) * (o.elements + o.elements_jitter);
  const bool separate = o.style != GroomStyle::straight && most_elements <= max_separated_elements;
  const int fewest = std::max(2, o.elements - o.elements_jitter);
  const int most_attempts = most_elements > many_elements ? attempts_of_many : attempts;
  PlacedStrands placed(o.length * (1 + o.length_jitter) / fewest, o.radius * (1 + o.radius_jitter),
                       separate ? most_elements : 0);
  std::optional<PiercedSurface> surface;
  if (body) surface.emplace(*body);

  std::vector<Strand> strands(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    Random random(static_cast<std::uint64_t>(o.seed), 2 * i + 1);
    const int elements = std::max(2, o.elements + random.integer(-o.elements_jitter, o.elements_jitter));
    const double length = o.length * (1 + o.length_jitter * random.symmetric());
    const double radius = o.radius * (1 + o.radius_jitter * random.symmetric());

    Strand& strand = strands[i];
    if (o.radius_jitter > 0) strand.radius = radius;
    double edge = length / elements;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      strand.nodes = resample(sample_centreline(o, roots[i], radius, edge, elements, random), edge, elements);
      const bool pierces = surface && surface->pierced(strand.nodes, radius);
      const bool touches = !pierces && separate && attempt + 1 < most_attempts && placed.touches(strand.nodes, radius);
      if (!pierces && !touches) break;
      if (pierces && attempt >= 3) edge *= 0.7;
    }
    if (separate) placed.add(strand.nodes, radius);
  }
  return strands;
}

}  // namespace stiction::scene
