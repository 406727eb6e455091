#include "step/ties.hpp"

#include <algorithm>
#include <numeric>

#include "parallel/loops.hpp"

namespace stiction {

void Ties::add(const Point& a, const Point& b, double stiffness, double damping) {
  for (const auto& [node, weight] : a) {
    node_.push_back(node);
    weight_.push_back(weight);
  }
  for (const auto& [node, weight] : b) {
    node_.push_back(node);
    weight_.push_back(-weight);
  }
  first_.push_back(static_cast<int>(node_.size()));
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
  for (std::size_t t = 0; t < size(); ++t)
    for (int k = first_[t] + 1; k < first_[t + 1]; ++k) {
      const int a = find(nodes.component[node_[first_[t]]]), b = find(nodes.component[node_[k]]);
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
}

std::span<const int> Ties::group(int component) const {
  const int g = group_of_[component];
  return std::span(group_member_).subspan(group_first_[g], group_first_[g + 1] - group_first_[g]);
}

Vec3 Ties::offset(std::size_t tie, std::span<const Vec3> x, const Vec3& target) const {
  Vec3 e = -target;
  for (int k = first_[tie]; k < first_[tie + 1]; ++k) e += weight_[k] * x[node_[k]];
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
  for (const int node : node_) {
    const auto owner = std::find_if(bodies.begin(), bodies.end(), [&](const Body* b) {
      return node >= b->first_node && node < b->first_node + b->node_count;
    });
    body_.push_back(static_cast<int>(owner - bodies.begin()));
  }
}

void Ties::list_parts() {
  node_part_.resize(node_.size());
  std::iota(node_part_.begin(), node_part_.end(), 0);
  std::stable_sort(node_part_.begin(), node_part_.end(), [&](int k, int l) { return node_[k] < node_[l]; });
  for (std::size_t i = 0; i < node_part_.size(); ++i) {
    const int node = node_[node_part_[i]];
    if (!tied_node_.empty() && tied_node_.back() == node) continue;
    tied_node_.push_back(node);
    node_first_.push_back(static_cast<int>(i));
  }
  node_first_.push_back(static_cast<int>(node_part_.size()));
  product_.resize(node_.size());
}

void Ties::assemble(const Nodes& nodes, std::span<const Vec3> v, std::span<Body* const> bodies) {
  minus_g_.assign(nodes.x.size(), Vec3::Zero());
  if (body_.empty()) {
    find_owners(bodies);
    list_parts();
  }
  for (std::size_t t = 0; t < size(); ++t) {
    Vec3 e = offset_t_[t] - (target_[t] - target_t_[t]);
    for (int k = first_[t]; k < first_[t + 1]; ++k) e += dt_ * weight_[k] * v[node_[k]];
    const Vec3 impulse = pull(t, e);
    for (int k = first_[t]; k < first_[t + 1]; ++k) {
      minus_g_[node_[k]] -= weight_[k] * impulse;
      for (int l = first_[t]; l <= k; ++l) {
        if (body_[l] != body_[k]) continue;
        const double twice = node_[l] == node_[k] && l != k ? 2.0 : 1.0;  // of a symmetric pair only one is visited
        bodies[body_[k]]->add_coupling(node_[k], node_[l], twice * effective_[t] * weight_[k] * weight_[l]);
      }
    }
  }
}

// Tie by tie, and then node by node: many ties share the nodes of a soft body.
void Ties::multiply_between(std::span<const Vec3> x, std::span<Vec3> y) {
  for_each_index(size(), [&](std::size_t t) {
    Vec3 all = Vec3::Zero();
    for (int k = first_[t]; k < first_[t + 1]; ++k) all += weight_[k] * x[node_[k]];
    for (int k = first_[t]; k < first_[t + 1]; ++k) {
      Vec3 own = Vec3::Zero();
      for (int l = first_[t]; l < first_[t + 1]; ++l)
        if (body_[l] == body_[k]) own += weight_[l] * x[node_[l]];
      product_[k] = effective_[t] * weight_[k] * (all - own);
    }
  });
  for_each_index(tied_node_.size(), [&](std::size_t i) {
    for (int k = node_first_[i]; k < node_first_[i + 1]; ++k) y[tied_node_[i]] += product_[node_part_[k]];
  });
}

void Ties::add_impulses(std::span<const Vec3> x, std::span<Vec3> impulse) const {
  for (std::size_t t = 0; t < size(); ++t) {
    const Vec3 reversed = pull(t, offset(t, x, target_[t]));
    for (int k = first_[t]; k < first_[t + 1]; ++k) impulse[node_[k]] -= weight_[k] * reversed;
  }
}

double Ties::energy(std::span<const Vec3> x) const {
  double sum = 0;
  for (std::size_t t = 0; t < size(); ++t) sum += 0.5 * stiffness_[t] * offset(t, x, target_[t]).squaredNorm();
  return sum;
}

}  // namespace stiction
