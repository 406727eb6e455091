#include "step/ties.hpp"

#include <algorithm>
#include <numeric>

#include "parallel/loops.hpp"

namespace stiction {

void Ties::add(const Point& a, const Point& b, double stiffness, double damping) {
  for (const auto& [point, sign] : {std::pair(&a, 1.0), std::pair(&b, -1.0)}) {
    for (const auto& [node, weight] : *point) {
      node_.push_back(node);
      weight_.push_back(sign * weight);
      part_side_.push_back(static_cast<int>(parts_first_.size()) - 1);
    }
    parts_first_.push_back(static_cast<int>(node_.size()));
  }
  stiffness_.push_back(stiffness);
  damping_.push_back(damping);
  collider_.push_back(-1);
  target_0_.push_back(Vec3::Zero());
}

void Ties::add(const Point& a, int collider, const Vec3& target, double stiffness, double damping) {
  add(a, Point{}, stiffness, damping);
  collider_.back() = collider;
  target_0_.back() = target;
}

void Ties::connect(const Nodes& nodes, int component_count) {
  std::vector<int> root(component_count);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int c) {
    while (root[c] != c) c = root[c] = root[root[c]];
    return c;
  };
  component_.assign(size(), {-1, -1});
  for (std::size_t t = 0; t < size(); ++t) {
    for (const int side : {0, 1})
      for_each_part(t, side, [&](int node, double) { component_[t][side] = nodes.component[node]; });
    if (component_[t][1] < 0) continue;
    const int a = find(component_[t][0]), b = find(component_[t][1]);
    root[std::max(a, b)] = std::min(a, b);
  }
  group_of_.resize(component_count);
  for (int c = 0; c < component_count; ++c) group_of_[c] = find(c);
  group_first_.assign(static_cast<std::size_t>(component_count) + 1, 0);
  for (const int g : group_of_) ++group_first_[g + 1];
  std::partial_sum(group_first_.begin(), group_first_.end(), group_first_.begin());
  group_member_.resize(component_count);
  std::vector<int> next(group_first_.begin(), group_first_.end() - 1);
  for (int c = 0; c < component_count; ++c) group_member_[next[group_of_[c]]++] = c;
  list_parts();
}

std::span<const int> Ties::group(int component) const {
  const int g = group_of_[component];
  return std::span(group_member_).subspan(group_first_[g], group_first_[g + 1] - group_first_[g]);
}

Vec3 Ties::offset(std::size_t tie, std::span<const Vec3> x, const Vec3& target) const {
  Vec3 e = -target;
  for (const int side : {0, 1}) for_each_part(tie, side, [&](int node, double weight) { e += weight * x[node]; });
  return e;
}

void Ties::begin_step(const StepContext& context, const Nodes& nodes) {
  dt_ = context.dt;
  target_t_ = target_ = target_0_;
  offset_t_.resize(size());
  effective_.resize(size());
  for (std::size_t t = 0; t < size(); ++t) {
    if (const int c = collider_[t]; c >= 0) {
      target_t_[t] = context.displacement_start[c].apply(target_0_[t]);
      target_[t] = context.displacement[c].apply(target_0_[t]);
    }
    offset_t_[t] = offset(t, nodes.x, target_t_[t]);
    effective_[t] = dt_ * (dt_ + damping_[t]) * stiffness_[t];
  }
}

void Ties::find_owners(std::span<Body* const> bodies) {
  owner_.assign(2 * size(), -1);
  for (std::size_t k = 0; k < node_.size(); ++k) {
    const auto owner = std::find_if(bodies.begin(), bodies.end(), [&](const Body* b) {
      return node_[k] >= b->first_node && node_[k] < b->first_node + b->node_count;
    });
    owner_[part_side_[k]] = static_cast<int>(owner - bodies.begin());
  }
}

void Ties::list_parts() {
  std::vector<int> order(node_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int k, int l) { return node_[k] < node_[l]; });
  for (const int k : order) {
    if (tied_node_.empty() || tied_node_.back() != node_[k]) {
      tied_node_.push_back(node_[k]);
      node_first_.push_back(static_cast<int>(node_side_.size()));
    }
    node_side_.push_back(part_side_[k]);
    node_weight_.push_back(weight_[k]);
  }
  node_first_.push_back(static_cast<int>(node_side_.size()));
  pull_.resize(2 * size());
}

void Ties::assemble(const Nodes& nodes, std::span<const Vec3> v, std::span<Body* const> bodies) {
  minus_g_.assign(nodes.x.size(), Vec3::Zero());
  if (owner_.empty()) find_owners(bodies);
  for (std::size_t t = 0; t < size(); ++t) {
    Vec3 e = offset_t_[t] - (target_[t] - target_t_[t]);
    for (const int side : {0, 1}) for_each_part(t, side, [&](int node, double weight) { e += dt_ * weight * v[node]; });
    const Vec3 impulse = pull(t, e);
    for (const int side : {0, 1}) {
      const int first = parts_first_[2 * t + side], last = parts_first_[2 * t + side + 1];
      for (int k = first; k < last; ++k) {
        minus_g_[node_[k]] -= weight_[k] * impulse;
        for (int l = first; l <= k; ++l) {
          bodies[owner_[2 * t + side]]->add_coupling(node_[k], node_[l], effective_[t] * weight_[k] * weight_[l]);
        }
      }
    }
  }
}

// Tie by tie, and then node by node: many ties share the nodes of a soft body.
void Ties::multiply_between(std::span<const Vec3> x, std::span<Vec3> y) {
  for_each_index(size(), [&](std::size_t t) {
    for (const int side : {0, 1}) pull_[2 * t + side] = effective_[t] * sum(t, 1 - side, x);
  });
  for_each_index(tied_node_.size(), [&](std::size_t i) {
    for (int k = node_first_[i]; k < node_first_[i + 1]; ++k)
      y[tied_node_[i]] += node_weight_[k] * pull_[node_side_[k]];
  });
}

void Ties::add_impulses(std::span<const Vec3> x, std::span<Vec3> impulse) const {
  for (std::size_t t = 0; t < size(); ++t) {
    const Vec3 reversed = pull(t, offset(t, x, target_[t]));
    for (const int side : {0, 1})
      for_each_part(t, side, [&](int node, double weight) { impulse[node] -= weight * reversed; });
  }
}

double Ties::energy(std::span<const Vec3> x) const {
  double sum = 0;
  for (std::size_t t = 0; t < size(); ++t) sum += 0.5 * stiffness_[t] * offset(t, x, target_[t]).squaredNorm();
  return sum;
}

}  // namespace stiction
