#include "linear/fill_order.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#ifdef STICTION_METIS
#include <metis.h>

#include <mutex>
#endif

namespace stiction {

NodeGraph node_graph(const BlockMatrix& pattern) {
  NodeGraph graph;
  graph.offset.assign(static_cast<std::size_t>(pattern.size) + 1, 0);
  const auto each_edge = [&](auto&& f) {
    for (int j = 0; j < pattern.size; ++j)
      for (int k = pattern.column[j] + 1; k < pattern.column[j + 1]; ++k) f(pattern.row[k], j);
  };
  each_edge([&](int i, int j) { ++graph.offset[i + 1], ++graph.offset[j + 1]; });
  for (int i = 0; i < pattern.size; ++i) graph.offset[i + 1] += graph.offset[i];
  graph.neighbour.resize(graph.offset.back());
  std::vector<int> next(graph.offset.begin(), graph.offset.end() - 1);
  each_edge([&](int i, int j) { graph.neighbour[next[i]++] = j, graph.neighbour[next[j]++] = i; });
  return graph;
}

std::vector<int> minimum_degree_order(const NodeGraph& graph) {
  Eigen::SparseMatrix<double> adjacency(graph.size(), graph.size());
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(graph.neighbour.size() + graph.size());
  for (int i = 0; i < graph.size(); ++i) {
    entries.emplace_back(i, i, 1.0);
    for (int k = graph.offset[i]; k < graph.offset[i + 1]; ++k) entries.emplace_back(graph.neighbour[k], i, 1.0);
  }
  adjacency.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(adjacency, permutation);
  return {permutation.indices().data(), permutation.indices().data() + graph.size()};
}

#ifdef STICTION_METIS

std::vector<int> nested_dissection_order(const NodeGraph& graph) {
  constexpr int kSmallest = 64;
  if (graph.size() < kSmallest || graph.neighbour.empty()) return {};
  std::vector<idx_t> offset(graph.offset.begin(), graph.offset.end());
  std::vector<idx_t> neighbour(graph.neighbour.begin(), graph.neighbour.end());
  idx_t size = graph.size();
  std::vector<idx_t> order(size), position(size);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  // METIS draws from the C library's one generator, which it seeds at its start: two at a time would disturb each
  // other's orders.
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  const int status =
      METIS_NodeND(&size, offset.data(), neighbour.data(), nullptr, options, order.data(), position.data());
  if (status != METIS_OK) return {};
  return {order.begin(), order.end()};
}

#else

std::vector<int> nested_dissection_order(const NodeGraph&) { return {}; }

#endif

}  // namespace stiction
