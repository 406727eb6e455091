// Soft constraints between bodies: springs of no length between two surface points, or a surface point and a point that
// a collider carries. They are the only part of A that couples bodies.
//
// A tie holds e = Σ w_j x_j − target at zero with stiffness k; w counts the first point positive and the second
// negative. Its blocks of A within one body go into that body's own matrix; the blocks between bodies are applied by
// multiply_between, and step/tie_elimination.hpp solves with them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "bodies/body.hpp"

namespace stiction {

class Ties {
 public:
  using Point = std::vector<std::pair<int, double>>;  // nodes, each once, and weights

  /// Ties two points.
  void add(const Point& a, const Point& b, double stiffness, double damping);
  /// Ties a point to a collider that carries `target` (where it is at time zero).
  void add(const Point& a, int collider, const Vec3& target, double stiffness, double damping);

  bool empty() const { return stiffness_.empty(); }
  std::size_t size() const { return stiffness_.size(); }

  /// Call once all ties are there: finds which components hang together, and the ties of each node.
  void connect(const Nodes& nodes, int component_count);
  /// Components that ties connect with `component`, itself included.
  std::span<const int> group(int component) const;

  void begin_step(const StepContext& context, const Nodes& nodes);
  /// Adds the ties' part of A within each body, and writes their −g (kg m/s).
  void assemble(const Nodes& nodes, std::span<const Vec3> v, std::span<Body* const> bodies);
  std::span<const Vec3> minus_g() const { return minus_g_; }

  /// y += C x, where C are the blocks of A between different bodies.
  void multiply_between(std::span<const Vec3> x, std::span<Vec3> y);

  /// Components of a tie's two points; −1 for a point of a collider.
  std::array<int, 2> components(std::size_t tie) const { return component_[tie]; }
  /// dt² (1 + xi/dt) k of a tie, kg.
  double effective(std::size_t tie) const { return effective_[tie]; }
  /// Σ w_j x_j over the nodes of a tie's first (side 0) or second point (side 1).
  Vec3 sum(std::size_t tie, int side, std::span<const Vec3> x) const {
    Vec3 all = Vec3::Zero();
    for_each_part(tie, side, [&](int node, double weight) { all += weight * x[node]; });
    return all;
  }
  /// Calls f(node, weight) for the nodes of one point of a tie.
  template <class F>
  void for_each_part(std::size_t tie, int side, F&& f) const {
    for (int k = parts_first_[2 * tie + side]; k < parts_first_[2 * tie + side + 1]; ++k) f(node_[k], weight_[k]);
  }

  /// Adds the impulses that the ties exert over the step which ends at positions x, kg m/s.
  void add_impulses(std::span<const Vec3> x, std::span<Vec3> impulse) const;

  /// Elastic energy at positions x, J.
  double energy(std::span<const Vec3> x) const;

 private:
  /// dt times the force that draws the first point of a tie at the offset e towards the second, reversed.
  Vec3 pull(std::size_t tie, const Vec3& e) const {
    return dt_ * stiffness_[tie] * (e + damping_[tie] / dt_ * (e - offset_t_[tie]));
  }
  Vec3 offset(std::size_t tie, std::span<const Vec3> x, const Vec3& target) const;
  void find_owners(std::span<Body* const> bodies);
  void list_parts();

  // Nodes and weights, those of a tie's two sides from parts_first_[2 tie] and parts_first_[2 tie + 1] on.
  std::vector<int> parts_first_{0}, node_;
  std::vector<double> weight_;
  std::vector<int> part_side_;  // 2 tie + side of each part
  // The same by nodes: those with ties, and the sides and weights of each from node_first_ on.
  std::vector<int> tied_node_, node_first_, node_side_;
  std::vector<double> node_weight_;
  std::vector<int> owner_;  // body of each side, −1: a collider
  std::vector<std::array<int, 2>> component_;
  std::vector<Vec3> pull_;  // on each side
  std::vector<double> stiffness_, damping_;
  std::vector<int> collider_;
  std::vector<Vec3> target_0_, target_t_, target_;  // at time zero, at the start and the end of the step
  std::vector<Vec3> offset_t_;
  std::vector<double> effective_;  // dt² (1 + xi/dt) k
  std::vector<Vec3> minus_g_;
  std::vector<int> group_first_, group_member_, group_of_;
  double dt_ = 0;
};

}  // namespace stiction
