#include "collision/step_vertices.hpp"

#include <cmath>

#include "collision/rules.hpp"
#include "parallel/loops.hpp"

namespace stiction {

void StepVertices::begin_step(const Nodes& step_nodes, const Surface& surface, double step) {
  nodes = &step_nodes;
  dt = step;
  const std::size_t own = step_nodes.x.size();
  x.resize(own + step_nodes.skin.size());
  fixed.resize(x.size());
  for_each_index(x.size(), [&](std::size_t j) {
    if (j < own) {
      x[j] = step_nodes.x[j];
      fixed[j] = step_nodes.fixed[j];
      return;
    }
    x[j] = step_nodes.skin.at(static_cast<int>(j), step_nodes.x);
    double free_weight = 0;
    step_nodes.skin.for_each_node(static_cast<int>(j), [&](int node, double w) {
      if (!step_nodes.fixed[node]) free_weight += std::abs(w);
    });
    fixed[j] = free_weight <= kInterior;
  });
  edge_free.resize(surface.edges.size());
  point_free.resize(surface.points.size());
  for_each_index(surface.edges.size(),
                 [&](std::size_t i) { edge_free[i] = !fixed[surface.edges[i].a] || !fixed[surface.edges[i].b]; });
  for_each_index(surface.points.size(), [&](std::size_t i) { point_free[i] = !fixed[surface.points[i].node]; });
}

std::span<const Vec3> StepVertices::velocities(std::span<const Vec3> v_nodes) {
  const Skin& skin = nodes->skin;
  if (skin.size() == 0) return v_nodes;
  v_all_.resize(x.size());
  for_each_index(x.size(), [&](std::size_t j) {
    v_all_[j] = j < v_nodes.size() ? v_nodes[j] : skin.at(static_cast<int>(j), v_nodes);
  });
  return v_all_;
}

}  // namespace stiction
