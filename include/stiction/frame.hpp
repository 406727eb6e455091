// What a frame of a simulation looks like from outside: curves and triangle meshes. The cache stores it, the
// renderer draws it.
#pragma once

#include <string>
#include <vector>

#include "stiction/types.hpp"

namespace stiction {

/// A body of polylines: curve i has nodes [offsets[i], offsets[i+1]).
struct CurveLayout {
  std::string name;
  std::vector<int> offsets;
  std::vector<double> radius;  ///< a value a node, m
};

struct MeshLayout {
  std::string name;
  std::vector<Eigen::Vector3i> triangles;
  int vertex_count = 0;
  bool is_ground = false;     ///< a plane, drawn as a large quad
  bool is_simulated = false;  ///< a body, not a collider
};

/// The part of the output that does not change over time.
struct FrameLayout {
  std::vector<CurveLayout> curves;
  std::vector<MeshLayout> meshes;
};

/// Node positions of one frame, in the order of the layout. m.
struct Frame {
  int index = 0;
  double time = 0;  ///< s
  std::vector<std::vector<Vec3>> curves;
  std::vector<std::vector<Vec3>> meshes;
};

/// The full state at the end of a step, as named arrays: what a checkpoint stores.
struct Snapshot {
  struct Array {
    std::string name;
    std::vector<double> values;
  };
  std::int64_t step = 0;
  double time = 0;  ///< s
  std::vector<Array> arrays;
};

}  // namespace stiction
