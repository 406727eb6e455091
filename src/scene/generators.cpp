// Straight rods, arcs, helices, knots and bundles. The groom is in groom.cpp.
#include "scene/generators.hpp"

#include <cmath>
#include <numbers>

namespace stiction::scene {
namespace {

constexpr double pi = std::numbers::pi;

/// A cubic from (p0, tangent d0) to (p1, tangent d1), without its end point.
void append_hermite(std::vector<Vec3>& curve, const Vec3& p0, const Vec3& d0, const Vec3& p1, const Vec3& d1,
                    int samples) {
  for (int i = 0; i < samples; ++i) {
    const double t = static_cast<double>(i) / samples, u = 1 - t;
    curve.push_back(u * u * (1 + 2 * t) * p0 + t * u * u * d0 + t * t * (3 - 2 * t) * p1 - t * t * u * d1);
  }
}

/// The closed trefoil of outer radius 3, whose lobe at t = π points along -y.
Vec3 closed_trefoil(double t) {
  return {std::sin(t) + 2 * std::sin(2 * t), std::cos(t) - 2 * std::cos(2 * t), -std::sin(3 * t)};
}

/// The knotted part, of outer radius 3: the closed trefoil without its lower lobe, its ends led out to the x axis along
/// +x by cubics.
std::vector<Vec3> trefoil_core() {
  const double cut = 0.9;  // half of the lobe left out, rad
  const Vec3 lift{0, 3, 0}, tail_begin{-4, 0, 0}, tail_end{4, 0, 0}, along_x{5, 0, 0};
  const auto point = [&](double t) -> Vec3 { return closed_trefoil(t) + lift; };
  const auto leaving = [&](double t) -> Vec3 { return 5 * (point(t - 1e-3) - point(t + 1e-3)).normalized(); };

  std::vector<Vec3> core;
  const double first = 3 * pi - cut, last = pi + cut;
  append_hermite(core, tail_begin, along_x, point(first), leaving(first), 200);
  for (int i = 0; i < 1200; ++i) core.push_back(point(first + (last - first) * i / 1200));
  append_hermite(core, point(last), leaving(last), tail_end, along_x, 200);
  core.push_back(tail_end);
  return core;
}

double polyline_length(const std::vector<Vec3>& curve) {
  double length = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) length += (curve[i] - curve[i - 1]).norm();
  return length;
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
  state_ = next() ^ (stream * 0xd1342543de82ef95ULL);
  next();
}

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Random::symmetric() { return 2 * uniform() - 1; }

int Random::integer(int first, int last) {
  return first + static_cast<int>(uniform() * (static_cast<double>(last) - first + 1));
}

std::vector<Vec3> resample(const std::vector<Vec3>& curve, double edge, int elements) {
  std::vector<Vec3> nodes{curve.front()};
  nodes.reserve(static_cast<std::size_t>(elements) + 1);
  std::size_t segment = 1;  // the walk stands on the segment that ends in curve[segment]
  while (static_cast<int>(nodes.size()) <= elements) {
    const Vec3 from = nodes.back();
    while (segment < curve.size() && (curve[segment] - from).norm() < edge) ++segment;
    const bool past_end = segment == curve.size();
    const Vec3& begin = past_end ? curve.back() : curve[segment - 1];
    const Vec3 ahead = past_end ? (curve.back() - curve[curve.size() - 2]).normalized()
                                : (curve[segment] - curve[segment - 1]).normalized();
    // The point of the ray begin + s ahead at distance `edge` from `from`.
    const double b = (begin - from).dot(ahead), c = (begin - from).squaredNorm() - edge * edge;
    nodes.push_back(begin + (std::sqrt(std::max(b * b - c, 0.0)) - b) * ahead);
  }
  return nodes;
}

std::vector<Vec3> make_straight(const Vec3& from, const Vec3& to, int elements) {
  std::vector<Vec3> nodes;
  nodes.reserve(static_cast<std::size_t>(elements) + 1);
  for (int i = 0; i < elements; ++i) nodes.push_back(from + (to - from) * (static_cast<double>(i) / elements));
  nodes.push_back(to);
  return nodes;
}

std::vector<Vec3> make_arc(double radius, double angle, int elements) {
  return make_helix(radius, 0, angle / (2 * pi), elements);
}

std::vector<Vec3> make_helix(double radius, double pitch, double turns, int elements) {
  std::vector<Vec3> nodes;
  nodes.reserve(static_cast<std::size_t>(elements) + 1);
  for (int i = 0; i <= elements; ++i) {
    const double turn = turns * i / elements, phase = 2 * pi * turn;
    nodes.emplace_back(radius * std::cos(phase), radius * std::sin(phase), pitch * turn);
  }
  return nodes;
}

double trefoil_min_length(double size) {
  static const double core_length = polyline_length(trefoil_core());
  return core_length * size / 3;
}

double trefoil_clearance(double size) { return 0.38 * size; }

std::vector<Vec3> make_trefoil(double size, double length, int elements) {
  std::vector<Vec3> curve = trefoil_core();
  for (Vec3& x : curve) x *= size / 3;
  const double tail = 0.5 * (length - trefoil_min_length(size));
  if (tail > 0) curve.insert(curve.begin(), curve.front() - Vec3(tail, 0, 0));
  curve.push_back(curve.back() + Vec3(size, 0, 0));  // the direction in which resample goes on
  return resample(curve, length / elements, elements);
}

std::vector<Vec3> straightened(const std::vector<Vec3>& nodes) {
  const Vec3 along = (nodes[1] - nodes[0]).normalized();
  std::vector<Vec3> straight{nodes[0]};
  straight.reserve(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i)
    straight.push_back(straight.back() + (nodes[i] - nodes[i - 1]).norm() * along);
  return straight;
}

std::vector<Strand> make_bundle(const BundleOptions& options) {
  const double spacing = options.spacing > 0 ? options.spacing : 2.5 * options.radius;
  const double amplitude = 0.5 * options.jitter * std::max(spacing - 2 * options.radius, 0.0);
  const int columns = options.columns > 0 ? options.columns
                                          : static_cast<int>(std::ceil(std::sqrt(static_cast<double>(options.count))));

  std::vector<Strand> strands(static_cast<std::size_t>(options.count));
  for (int i = 0; i < options.count; ++i) {
    Random random(static_cast<std::uint64_t>(options.seed), static_cast<std::uint64_t>(i));
    const int layer = i / columns, column = i % columns;
    const double shift = layer % 2 == 0 ? -0.25 : 0.25;
    const Vec3 centre{options.jitter * spacing * random.symmetric(), spacing * (column - 0.5 * (columns - 1) + shift),
                      options.height + spacing * std::sqrt(0.75) * layer};
    // The centreline winds inside a tube of radius `amplitude` about its place in the lattice.
    const double reach = amplitude * std::sqrt(random.uniform()), phase = 2 * pi * random.uniform();
    const double winding = 2 * pi * random.symmetric();
    std::vector<Vec3>& nodes = strands[static_cast<std::size_t>(i)].nodes;
    nodes.reserve(static_cast<std::size_t>(options.nodes));
    for (int k = 0; k < options.nodes; ++k) {
      const double s = static_cast<double>(k) / (options.nodes - 1), angle = phase + winding * s;
      nodes.push_back(centre + Vec3(options.length * (s - 0.5), reach * std::cos(angle), reach * std::sin(angle)));
    }
  }
  return strands;
}

}  // namespace stiction::scene
