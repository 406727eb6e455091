#include "geometry/embedding.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "geometry/bvh.hpp"
#include "geometry/distance.hpp"

namespace stiction {

namespace {

/// Finds tets by a hierarchy over their boxes.
class TetLocator {
 public:
  explicit TetLocator(const TetMesh& mesh) : mesh_(mesh) {
    std::vector<MovingBox> boxes;
    for (int t = 0; t < static_cast<int>(mesh.tets.size()); ++t) {
      Box box;
      for (const int v : mesh.tets[t]) box.merge(mesh.vertices[v]);
      const Mat3 edges = edge_matrix(t);
      const double size3 = edges.col(0).norm() * edges.col(1).norm() * edges.col(2).norm();
      if (!(std::abs(edges.determinant()) > 1e-12 * size3)) continue;
      tets_.push_back(t);
      boxes.push_back(box);
      bounds_.merge(box);
      size_ += (box.hi - box.lo).norm();
    }
    if (tets_.empty()) throw std::invalid_argument("cannot embed in a mesh without volume");
    size_ /= static_cast<double>(tets_.size());
    bvh_.build(boxes);
  }

  /// The tet to embed `x` in: the one with the greatest of the least weights among those that contain it, or else the
  /// nearest.
  int locate(const Vec3& x) const {
    constexpr double tolerance = 1e-12;  // a point on a face belongs to both sides
    Box at;
    at.merge(x);
    int best = -1;
    double least_weight = -tolerance;
    bvh_.query(at, [&](int k) {
      const double least = weights(tets_[k], x).minCoeff();
      if (least < least_weight || (least == least_weight && best >= 0 && tets_[k] > best)) return;
      least_weight = least;
      best = tets_[k];
    });
    return best >= 0 ? best : nearest(x);
  }

  /// Barycentric weights, which sum to one.
  Eigen::Vector4d weights(int t, const Vec3& x) const {
    const Vec3 w = edge_matrix(t).inverse() * (x - mesh_.vertices[mesh_.tets[t][0]]);
    return {1 - w.sum(), w[0], w[1], w[2]};
  }

 private:
  Mat3 edge_matrix(int t) const {
    const Eigen::Vector4i& tet = mesh_.tets[t];
    const Vec3& origin = mesh_.vertices[tet[0]];
    Mat3 edges;
    for (int i = 0; i < 3; ++i) edges.col(i) = mesh_.vertices[tet[i + 1]] - origin;
    return edges;
  }

  int nearest(const Vec3& x) const {
    const Vec3 inside = x.cwiseMax(bounds_.lo).cwiseMin(bounds_.hi);
    for (double radius = (x - inside).norm() + 0.5 * size_;; radius *= 2) {
      Box box;
      box.merge(x);
      box.inflate(radius);
      int best = -1;
      double best2 = radius * radius;  // a tet further away may have nearer rivals beyond the box
      bvh_.query(box, [&](int k) {
        const double distance2 = squared_distance(tets_[k], x);
        if (distance2 > best2 || (distance2 == best2 && best >= 0 && tets_[k] > best)) return;
        best2 = distance2;
        best = tets_[k];
      });
      if (best >= 0) return best;
    }
  }

  /// To the tet's faces, for a point outside it.
  double squared_distance(int t, const Vec3& x) const {
    const Eigen::Vector4i& tet = mesh_.tets[t];
    double least = std::numeric_limits<double>::infinity();
    for (int skip = 0; skip < 4; ++skip) {
      const Vec3 &a = mesh_.vertices[tet[(skip + 1) % 4]], &b = mesh_.vertices[tet[(skip + 2) % 4]],
                 &c = mesh_.vertices[tet[(skip + 3) % 4]];
      least = std::min(least, closest_point_triangle(x, a, b, c).distance2);
    }
    return least;
  }

  const TetMesh& mesh_;
  std::vector<int> tets_;  // those with volume
  Bvh bvh_;
  Box bounds_;
  double size_ = 0;  // mean diagonal of a tet's box, m
};

}  // namespace

Vec3 Embedding::apply(size_t i, std::span<const Vec3> x) const {
  Vec3 point = Vec3::Zero();
  for (int j = 0; j < 4; ++j) point += weight[i][j] * x[node[i][j]];
  return point;
}

Embedding embed(const TetMesh& mesh, std::span<const Vec3> points) {
  const TetLocator locator(mesh);
  Embedding embedding;
  for (const Vec3& x : points) {
    if (!x.allFinite()) throw std::invalid_argument("cannot embed a point that is not finite");
    const int t = locator.locate(x);
    const Eigen::Vector4i& tet = mesh.tets[t];
    const Eigen::Vector4d w = locator.weights(t, x);
    embedding.node.push_back({tet[0], tet[1], tet[2], tet[3]});
    embedding.weight.push_back({w[0], w[1], w[2], w[3]});
  }
  return embedding;
}

}  // namespace stiction
