#include "scene/frame_shapes.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "geometry/sheets.hpp"
#include "geometry/tet_mesh.hpp"

namespace stiction::scene {
namespace {

constexpr int rigid_samples = 4;          // along each axis
const double gauss = 1 / std::sqrt(3.0);  // the two points of [-1, 1]
constexpr std::array<double, 2> both_signs{-1, 1};

/// Volume, first and second moments of what a closed surface encloses, about the origin.
struct Moments {
  double volume = 0;           // m³
  Vec3 first = Vec3::Zero();   // m⁴
  Mat3 second = Mat3::Zero();  // m⁵
};

Moments moments_of(const TriangleMesh& closed) {
  Moments m;
  for (const Eigen::Vector3i& t : closed.triangles) {
    const Vec3 a = closed.vertices[t[0]], b = closed.vertices[t[1]], c = closed.vertices[t[2]], sum = a + b + c;
    const double volume = a.dot(b.cross(c)) / 6;  // of the tet with the origin
    m.volume += volume;
    m.first += volume / 4 * sum;
    m.second += volume / 20 * (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose());
  }
  return m;
}

/// Weights along one axis of frames at (i + 1/2) spacing.
struct HatWeights {
  int frame[2];
  double weight[2], slope[2];
};

HatWeights hat_weights(double x, double spacing, int count) {
  const double at = x / spacing - 0.5;
  if (count == 1 || at <= 0) return {{0, 0}, {1, 0}, {0, 0}};
  if (at >= count - 1) return {{count - 1, count - 1}, {1, 0}, {0, 0}};
  const int i = std::min(static_cast<int>(at), count - 2);
  return {{i, i + 1}, {1 - (at - i), at - i}, {-1 / spacing, 1 / spacing}};
}

/// Products of the weights along x and y; frame (i, j) is i + nx j.
std::vector<FrameWeight> grid_weights(const HatWeights& x, const HatWeights& y, int nx) {
  std::vector<FrameWeight> weights;
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 2; ++i) {
      const double weight = x.weight[i] * y.weight[j];
      const Vec3 gradient(x.slope[i] * y.weight[j], x.weight[i] * y.slope[j], 0);
      if (weight == 0 && gradient.isZero(0)) continue;
      weights.push_back({x.frame[i] + nx * y.frame[j], weight, gradient});
    }
  return weights;
}

/// Frames, samples and surface weights of a box of frames in the plane; `thin` are the full extents along axes that
/// have two Gauss points in all, and `pieces` halves of a frame's piece along x and y hold one or two samples.
void set_grid(Frames& body, const Vec3& size, int nx, int ny, bool is_beam) {
  const double dx = size.x() / nx, dy = size.y() / ny;
  const auto weights = [&](const Vec3& x) {
    return grid_weights(hat_weights(x.x() + 0.5 * size.x(), dx, nx), hat_weights(x.y() + 0.5 * size.y(), dy, ny), nx);
  };
  body.frame_size = ny > 1 ? std::sqrt(dx * dy) : std::min(dx, 2 * std::max(size.y(), size.z()));
  body.frames.clear();
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i)
      body.frames.emplace_back(dx * (i + 0.5) - 0.5 * size.x(), dy * (j + 0.5) - 0.5 * size.y(), 0);

  // Two Gauss points in each half piece along x and y; of a beam, two across it.
  std::vector<double> xs, ys;
  const auto add_points = [](std::vector<double>& points, double extent, int halves) {
    for (int i = 0; i < halves; ++i)
      for (const double sign : both_signs) points.push_back(extent * ((i + 0.5 + 0.5 * sign * gauss) / halves - 0.5));
  };
  add_points(xs, size.x(), 2 * nx);
  add_points(ys, size.y(), is_beam ? 1 : 2 * ny);
  const double volume = size.prod() / static_cast<double>(xs.size() * ys.size() * 2);
  body.samples.clear();
  for (const double y : ys)
    for (const double x : xs)
      for (const double sign : both_signs) {
        const Vec3 at(x, y, 0.5 * sign * gauss * size.z());
        body.samples.push_back({at, volume, weights(at)});
      }
  body.surface_weights.clear();
  for (const Vec3& x : body.surface.vertices) body.surface_weights.push_back(weights(x));
}

/// A palm's trunk or leaf in the numbering of the whole tree.
class PartOnTree {
 public:
  PartOnTree(Frames& body, const PalmPart& part, int base_frame, int next_frame)
      : body_(body), part_(part), base_(base_frame), next_(next_frame) {}

  /// Weights at position `at` along the curve, in units of frames.
  std::vector<FrameWeight> weights(double at) const {
    const int segments = static_cast<int>(part_.frames.size()) - 1;
    const int i = std::clamp(static_cast<int>(at), 0, segments - 1);
    const double t = std::clamp(at - i, 0.0, 1.0);
    const Vec3 edge = part_.frames[i + 1] - part_.frames[i], gradient = edge / edge.squaredNorm();
    return {{frame(i), 1 - t, -gradient}, {frame(i + 1), t, gradient}};
  }

  double vertex_at(int vertex) const {
    double at = 0;
    for (int k = 0; k < 2; ++k) at += part_.frame[vertex][k] * part_.weight[vertex][k];
    return at;
  }

  void append_surface() const {
    const int offset = static_cast<int>(body_.surface.vertices.size());
    for (std::size_t v = 0; v < part_.mesh.vertices.size(); ++v) {
      body_.surface.vertices.push_back(part_.mesh.vertices[v]);
      body_.surface_weights.push_back(weights(vertex_at(static_cast<int>(v))));
    }
    for (const Eigen::Vector3i& t : part_.mesh.triangles) body_.surface.triangles.push_back(t.array() + offset);
  }

  void append_sample(const Vec3& x, double volume, double at) const {
    body_.samples.push_back({x, volume, weights(at)});
  }

 private:
  int frame(int i) const { return i == 0 ? base_ : next_ + i - 1; }

  Frames& body_;
  const PalmPart& part_;
  int base_, next_;
};

/// Two slices between neighbouring rings, four samples in each on the circle that has a disc's second moments.
void sample_trunk(const PartOnTree& part, const PalmPart& trunk, const PalmOptions& tree) {
  const auto sectors = static_cast<std::size_t>(tree.trunk_sectors);
  struct Ring {
    Vec3 centre = Vec3::Zero(), spoke[2];
    double radius = 0, at = 0;
  };
  std::vector<Ring> rings(static_cast<std::size_t>(tree.trunk_rings) + 1);
  for (std::size_t j = 0; j < rings.size(); ++j) {
    Ring& ring = rings[j];
    const Vec3* x = trunk.mesh.vertices.data() + j * sectors;
    for (std::size_t i = 0; i < sectors; ++i) ring.centre += x[i] / static_cast<double>(sectors);
    for (std::size_t i = 0; i < sectors; ++i) ring.radius += (x[i] - ring.centre).norm() / static_cast<double>(sectors);
    ring.at = part.vertex_at(static_cast<int>(j * sectors));
    ring.spoke[0] = (x[0] - ring.centre).normalized();
    const Vec3 second = x[std::max<std::size_t>(sectors / 4, 1)] - ring.centre;
    ring.spoke[1] = (second - second.dot(ring.spoke[0]) * ring.spoke[0]).normalized();
  }
  for (std::size_t j = 0; j + 1 < rings.size(); ++j)
    for (const double sign : both_signs) {
      const Ring &a = rings[j], &b = rings[j + 1];
      const double t = 0.5 + 0.5 * sign * gauss, radius = (1 - t) * a.radius + t * b.radius;
      const double volume = 0.125 * std::numbers::pi * radius * radius * (b.centre - a.centre).norm();
      for (int k = 0; k < 4; ++k) {
        const Vec3 spoke = (k < 2 ? 1 : -1) * a.spoke[k % 2];
        part.append_sample((1 - t) * a.centre + t * b.centre + radius / std::numbers::sqrt2 * spoke, volume,
                           (1 - t) * a.at + t * b.at);
      }
    }
}

/// Two samples a triangle, the Gauss points of its thickness.
void sample_leaf(const PartOnTree& part, const PalmPart& leaf, double thickness) {
  for (const Eigen::Vector3i& t : leaf.mesh.triangles) {
    const Vec3 a = leaf.mesh.vertices[t[0]], b = leaf.mesh.vertices[t[1]], c = leaf.mesh.vertices[t[2]];
    const Vec3 twice_area = (b - a).cross(c - a), normal = twice_area.normalized();
    const double at = (part.vertex_at(t[0]) + part.vertex_at(t[1]) + part.vertex_at(t[2])) / 3;
    for (const double sign : both_signs)
      part.append_sample((a + b + c) / 3 + 0.5 * sign * gauss * thickness * normal,
                         0.25 * twice_area.norm() * thickness, at);
  }
}

}  // namespace

void set_rigid(Frames& body, TriangleMesh closed) {
  const Moments m = moments_of(closed);
  const Vec3 centroid = m.first / m.volume;
  const Mat3 covariance = m.second / m.volume - centroid * centroid.transpose();
  const Eigen::SelfAdjointEigenSolver<Mat3> axes(covariance);

  // A grid along the principal axes; a sample counts as a cube with a second moment of its own (bodies/frames.hpp).
  constexpr int n = rigid_samples;
  const double volume = m.volume / (n * n * n), own = std::pow(volume, 2.0 / 3) / 12;
  const double grid_variance = (n * n - 1) / 12.0;  // of 0 ... n - 1
  Vec3 step;
  for (int a = 0; a < 3; ++a) step[a] = std::sqrt(std::max(axes.eigenvalues()[a] - own, 0.0) / grid_variance);
  body.frames = {centroid};
  body.samples.clear();
  for (int k = 0; k < n * n * n; ++k) {
    const int row = k / n, layer = row / n;
    const Vec3 at(k % n - 0.5 * (n - 1), row % n - 0.5 * (n - 1), layer - 0.5 * (n - 1));
    body.samples.push_back({centroid + axes.eigenvectors() * step.cwiseProduct(at), volume, {{0, 1.0, Vec3::Zero()}}});
  }
  body.frame_size = std::sqrt(3 * covariance.trace());
  body.surface = std::move(closed);
  body.surface_weights.assign(body.surface.vertices.size(), {{0, 1.0, Vec3::Zero()}});
}

void set_beam(Frames& body, double length, const Eigen::Vector2d& section, int count) {
  const Vec3 size(length, section.x(), section.y());
  body.surface = boundary_surface(make_tet_box(size, {4 * count, 1, 1}));
  set_grid(body, size, count, 1, true);
}

void set_sheet(Frames& body, double width, double height, double thickness, int nx, int ny) {
  body.surface = make_sheet(width, height, 4 * nx, 4 * ny);
  set_grid(body, {width, height, thickness}, nx, ny, false);
}

void set_palm(Frames& body, const PalmShape& shape) {
  const PalmTree palm = make_palm(shape.tree);
  body.surface = {};
  body.surface_weights.clear();
  body.samples.clear();
  body.frames = palm.trunk.frames;
  body.frame_size = shape.tree.leaf_length / (shape.tree.leaf_frames - 1);

  const PartOnTree trunk(body, palm.trunk, 0, 1);
  trunk.append_surface();
  sample_trunk(trunk, palm.trunk, shape.tree);
  const int top = shape.tree.trunk_frames - 1;
  for (const PalmPart& leaf : palm.leaves) {
    const PartOnTree part(body, leaf, top, static_cast<int>(body.frames.size()));
    body.frames.insert(body.frames.end(), leaf.frames.begin() + 1, leaf.frames.end());
    part.append_surface();
    sample_leaf(part, leaf, shape.leaf_thickness);
  }
}

void place(Frames& body, const Pose& pose) {
  for (Vec3& x : body.frames) x = pose.apply(x);
  for (FrameSample& sample : body.samples) {
    sample.position = pose.apply(sample.position);
    for (FrameWeight& w : sample.weights) w.gradient = pose.rotation * w.gradient;
  }
  for (Vec3& x : body.surface.vertices) x = pose.apply(x);
  for (std::vector<FrameWeight>& weights : body.surface_weights)
    for (FrameWeight& w : weights) w.gradient = pose.rotation * w.gradient;
}

}  // namespace stiction::scene
