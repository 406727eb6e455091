// The few value types that every layer shares. SI units throughout.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stiction {

using Vec3 = Eigen::Vector3d;
using Mat3 = Eigen::Matrix3d;
using Quat = Eigen::Quaterniond;

/// A rigid placement: x_world = rotation * x_local + position.
struct Pose {
  Quat rotation = Quat::Identity();
  Vec3 position = Vec3::Zero();

  Vec3 apply(const Vec3& x_local) const { return rotation * x_local + position; }
};

/// An indexed triangle mesh with counter-clockwise faces seen from outside.
struct TriangleMesh {
  std::vector<Vec3> vertices;
  std::vector<Eigen::Vector3i> triangles;
};

/// An indexed tetrahedral mesh. Seen from vertex 3, vertices 0, 1, 2 turn counter-clockwise, so that volumes
/// det(x1 - x0, x2 - x0, x3 - x0) / 6 are positive.
struct TetMesh {
  std::vector<Vec3> vertices;
  std::vector<Eigen::Vector4i> tets;
};

}  // namespace stiction
