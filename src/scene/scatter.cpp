#include "scene/scatter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stiction::scene {
namespace {

constexpr std::int64_t tries_a_candidate = 40;  // where most of the mesh lies outside

std::vector<Vec3> vertex_normals(const TriangleMesh& mesh) {
  std::vector<Vec3> normals(mesh.vertices.size(), Vec3::Zero());
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const Vec3 twice_area =
        (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
    for (int k = 0; k < 3; ++k) normals[t[k]] += twice_area;
  }
  return normals;
}

/// The candidates, and the area that they were drawn from.
struct Candidates {
  std::vector<GroomRoot> roots;
  double area = 0;  // m²
};

Candidates draw_candidates(const TriangleMesh& mesh, std::int64_t count, int seed,
                           const std::function<bool(const Vec3&)>& inside) {
  std::vector<double> area_to(mesh.triangles.size());  // of all triangles up to this one
  std::vector<Vec3> face_normal(mesh.triangles.size());
  double area = 0;
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    const Eigen::Vector3i& t = mesh.triangles[i];
    const Vec3 twice_area =
        (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
    face_normal[i] = twice_area.normalized();
    area_to[i] = area += 0.5 * twice_area.norm();
  }
  Candidates drawn;
  if (!(area > 0)) return drawn;
  const std::vector<Vec3> normals = vertex_normals(mesh);
  Random random(static_cast<std::uint64_t>(seed), 0x726f6f74);
  std::int64_t tries = 0;
  while (static_cast<std::int64_t>(drawn.roots.size()) < count && tries < count * tries_a_candidate) {
    ++tries;
    const auto found = std::upper_bound(area_to.begin(), area_to.end(), area * random.uniform());
    const auto i = std::min<std::size_t>(static_cast<std::size_t>(found - area_to.begin()), area_to.size() - 1);
    const Eigen::Vector3i& t = mesh.triangles[i];
    const double root = std::sqrt(random.uniform()), b2 = root * random.uniform(), b1 = root - b2, b0 = 1 - root;
    const Vec3 x = b0 * mesh.vertices[t[0]] + b1 * mesh.vertices[t[1]] + b2 * mesh.vertices[t[2]];
    if (inside && !inside(x)) continue;
    Vec3 direction =
        (b0 * normals[t[0]].normalized() + b1 * normals[t[1]].normalized() + b2 * normals[t[2]].normalized());
    direction = direction.dot(face_normal[i]) > 0.2 * direction.norm() ? direction.normalized() : face_normal[i];
    drawn.roots.push_back({x, face_normal[i], direction});
  }
  drawn.area = area * static_cast<double>(drawn.roots.size()) / static_cast<double>(tries);
  return drawn;
}

/// For each point those within `reach` on the same side of the surface, in rows.
struct Neighbours {
  std::vector<int> first, point;

  Neighbours(const std::vector<GroomRoot>& roots, double reach) {
    Vec3 lo = roots.front().surface, hi = lo;
    for (const GroomRoot& root : roots) {
      lo = lo.cwiseMin(root.surface);
      hi = hi.cwiseMax(root.surface);
    }
    // Cells sorted along x, then y, then z; points by cell.
    const double cell = std::max(reach, (hi - lo).maxCoeff() * 1e-6);  // 2^20 cells along an axis at most
    const auto key = [&](const Vec3& x, int dx, int dy) {
      const Eigen::Matrix<std::int64_t, 3, 1> c = ((x - lo) / cell).array().floor().cast<std::int64_t>() + 1;
      return (((c.x() + dx) << 21 | (c.y() + dy)) << 21) | c.z();
    };
    const std::size_t n = roots.size();
    std::vector<std::pair<std::int64_t, int>> sorted(n);
    for (std::size_t i = 0; i < n; ++i) sorted[i] = {key(roots[i].surface, 0, 0), static_cast<int>(i)};
    std::sort(sorted.begin(), sorted.end());

    first.assign(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const GroomRoot& root = roots[i];
      for (int dx = -1; dx <= 1; ++dx)
        for (int dy = -1; dy <= 1; ++dy) {
          const std::int64_t middle = key(root.surface, dx, dy);
          auto at = std::lower_bound(sorted.begin(), sorted.end(), std::pair{middle - 1, -1});
          for (; at != sorted.end() && at->first <= middle + 1; ++at) {
            const GroomRoot& other = roots[static_cast<std::size_t>(at->second)];
            if (at->second == static_cast<int>(i) || other.normal.dot(root.normal) < 0) continue;
            if ((other.surface - root.surface).squaredNorm() < reach * reach) point.push_back(at->second);
          }
        }
      first[i + 1] = static_cast<int>(point.size());
    }
  }
};

/// A heap of points by weight, the heaviest on top; ties by index.
class Heap {
 public:
  explicit Heap(std::vector<double>& weight) : weight_(weight), order_(weight.size()), place_(weight.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
    for (std::size_t i = order_.size() / 2; i-- > 0;) sink(i);
  }

  std::size_t size() const { return order_.size(); }
  bool holds(int point) const { return place_[static_cast<std::size_t>(point)] >= 0; }

  int pop() {
    const int top = order_.front();
    place_[static_cast<std::size_t>(top)] = -1;
    const int last = order_.back();
    order_.pop_back();
    if (last != top) {
      put(0, last);
      sink(0);
    }
    return top;
  }

  /// A point that the heap holds has become lighter.
  void lower(int point, double weight) {
    weight_[static_cast<std::size_t>(point)] = weight;
    sink(static_cast<std::size_t>(place_[static_cast<std::size_t>(point)]));
  }

 private:
  bool heavier(int a, int b) const {
    const double wa = weight_[static_cast<std::size_t>(a)], wb = weight_[static_cast<std::size_t>(b)];
    return wa != wb ? wa > wb : a < b;
  }

  void put(std::size_t at, int point) {
    order_[at] = point;
    place_[static_cast<std::size_t>(point)] = static_cast<int>(at);
  }

  void sink(std::size_t at) {
    const int point = order_[at];
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= order_.size()) break;
      if (child + 1 < order_.size() && heavier(order_[child + 1], order_[child])) ++child;
      if (!heavier(order_[child], point)) break;
      put(at, order_[child]);
      at = child;
    }
    put(at, point);
  }

  std::vector<double>& weight_;
  std::vector<int> order_, place_;
};

}  // namespace

std::vector<GroomRoot> scatter_roots(const TriangleMesh& mesh, int count, int seed,
                                     const std::function<bool(const Vec3&)>& inside) {
  const std::int64_t surplus = count > 200'000 ? 3 : 5;
  Candidates drawn = draw_candidates(mesh, surplus * count, seed, inside);
  std::vector<GroomRoot>& roots = drawn.roots;
  if (static_cast<int>(roots.size()) <= count) return std::move(roots);

  // Yuksel's weights: (1 - d / reach)^8 over the neighbours within reach, distances below a bound taken for it.
  const double reach = 2 * std::sqrt(drawn.area / (2 * std::sqrt(3.0) * count));
  const double kept = static_cast<double>(count) / static_cast<double>(roots.size());
  const double nearest = 0.65 * reach * (1 - std::pow(kept, 1.5));
  const Neighbours neighbours(roots, reach);
  const auto influence = [&](std::size_t i, std::size_t j) {
    const double d = std::max((roots[i].surface - roots[j].surface).norm(), nearest);
    const double a = std::max(0.0, 1 - d / reach), a2 = a * a, a4 = a2 * a2;
    return a4 * a4;
  };
  std::vector<double> weight(roots.size(), 0);
  for (std::size_t i = 0; i < roots.size(); ++i)
    for (int k = neighbours.first[i]; k < neighbours.first[i + 1]; ++k)
      weight[i] += influence(i, static_cast<std::size_t>(neighbours.point[static_cast<std::size_t>(k)]));

  Heap heap(weight);
  while (static_cast<int>(heap.size()) > count) {
    const auto i = static_cast<std::size_t>(heap.pop());
    for (int k = neighbours.first[i]; k < neighbours.first[i + 1]; ++k) {
      const int j = neighbours.point[static_cast<std::size_t>(k)];
      if (heap.holds(j)) heap.lower(j, weight[static_cast<std::size_t>(j)] - influence(i, static_cast<std::size_t>(j)));
    }
  }
  std::vector<GroomRoot> left;
  left.reserve(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < roots.size(); ++i)
    if (heap.holds(static_cast<int>(i))) left.push_back(roots[i]);
  return left;
}

}  // namespace stiction::scene
