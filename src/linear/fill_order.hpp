// Orders of elimination that keep a sparse Cholesky factor small.
#pragma once

#include <vector>

#include "linear/block_matrix.hpp"

namespace stiction {

/// Neighbours of every node, both directions, without the node itself.
struct NodeGraph {
  std::vector<int> offset;  ///< size + 1
  std::vector<int> neighbour;

  int size() const { return static_cast<int>(offset.size()) - 1; }
};

NodeGraph node_graph(const BlockMatrix& pattern);

/// order[k] = the node eliminated k-th, by approximate minimum degree.
std::vector<int> minimum_degree_order(const NodeGraph& graph);

/// The same by nested dissection (METIS); empty where the build lacks METIS or the graph is too small for it.
std::vector<int> nested_dissection_order(const NodeGraph& graph);

}  // namespace stiction
