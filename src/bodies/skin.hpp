// Surface points that are not nodes: x = Σ w_j q_j over nodes of their body, weights summing to one (D20 Assumption 1).
// Vertices of embedded and frame-skinned surfaces; they are numbered after all nodes.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "stiction/types.hpp"

namespace stiction {

struct Skin {
  int base = 0;               ///< vertices below are nodes; vertex base + i is the i-th of the skin
  std::vector<int> first{0};  ///< offsets into node and weight
  std::vector<int> node;
  std::vector<double> weight;

  int size() const { return static_cast<int>(first.size()) - 1; }

  /// Adds a vertex; returns its number in the skin.
  int append(std::span<const std::pair<int, double>> parts) {
    for (const auto& [j, w] : parts) {
      node.push_back(j);
      weight.push_back(w);
    }
    first.push_back(static_cast<int>(node.size()));
    return size() - 1;
  }

  /// Calls f(node, weight) for the nodes that a vertex hangs on.
  template <class F>
  void for_each_node(int vertex, F&& f) const {
    if (vertex < base || size() == 0) {
      f(vertex, 1.0);
      return;
    }
    for (int k = first[vertex - base]; k < first[vertex - base + 1]; ++k) f(node[k], weight[k]);
  }

  /// The value at a vertex of a field given at the nodes.
  Vec3 at(int vertex, std::span<const Vec3> field) const {
    Vec3 value = Vec3::Zero();
    for_each_node(vertex, [&](int j, double w) { value += w * field[j]; });
    return value;
  }
};

}  // namespace stiction
