// Points of a tet mesh by barycentric weights: x = Σ weight_j x_node_j, for as long as the points follow the mesh.
#pragma once

#include <array>
#include <span>

#include "stiction/types.hpp"

namespace stiction {

/// Nodes and weights per embedded point; the weights of a point sum to one.
struct Embedding {
  std::vector<std::array<int, 4>> node;
  std::vector<std::array<double, 4>> weight;

  /// Point i where the nodes are at `x`, m.
  Vec3 apply(size_t i, std::span<const Vec3> x) const;
};

/// Embeds each point in the tet that contains it, or, where none does, in the nearest one, extrapolating (weights are
/// then negative). Tets without volume are passed over. Throws std::invalid_argument where no tet is left.
Embedding embed(const TetMesh& mesh, std::span<const Vec3> points);

}  // namespace stiction
