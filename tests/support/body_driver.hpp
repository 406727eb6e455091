// One shell, solid or frames body on its own, without contacts: assembled at will or stepped by Newton's method.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <vector>

#include "bodies/sparse_body.hpp"

namespace stiction::test {

template <class BodyType>
struct BodyDriver {
  Nodes nodes;
  BodyType body;
  WorldOptions world;
  StepContext context;
  std::vector<Vec3> v;  // iterate

  /// All pins stand still.
  template <class Spec>
  explicit BodyDriver(const Spec& spec, double dt = 0.01) : body(spec, nodes, std::vector<int>(spec.pins.size(), -1)) {
    body.first_component = 0;
    for (int j = 0; j < nodes.size(); ++j) nodes.component[j] = 0;
    world.gravity.setZero();
    context.dt = dt;
    begin();
  }

  /// Starts a step from the state in `nodes`.
  void begin() {
    context.time_end += context.dt;
    context.world = &world;
    v = nodes.v;
    body.begin_step(context, nodes, v);
  }

  /// A, dense, and g at the iterate v.
  void assemble(Eigen::MatrixXd& A, Eigen::VectorXd& g) {
    body.assemble(nodes, v);
    const int size = 3 * nodes.size();
    std::vector<Eigen::Triplet<double>> entries;
    std::vector<double> minus_g(size, 0.0);
    body.append_matrix(entries, minus_g, size);
    A = Eigen::MatrixXd::Zero(size, size);
    for (const auto& t : entries) A(t.row(), t.col()) += t.value();
    g = -Eigen::Map<const Eigen::VectorXd>(minus_g.data(), size);
  }

  /// A Newton iteration on v; the largest change of it, m/s, or infinity where the factor fails.
  double iterate() {
    const std::vector<Vec3> no_impulse(nodes.size(), Vec3::Zero());
    const std::vector<double> no_weight(nodes.size(), 0.0);
    const std::vector<std::uint8_t> all(1, 1);
    body.assemble(nodes, v);
    if (!body.factor(no_weight, all)) return std::numeric_limits<double>::infinity();
    const std::vector<Vec3> before = v;
    body.solve(no_impulse, v, all);
    double change = 0;
    for (int j = 0; j < nodes.size(); ++j) change = std::max(change, (v[j] - before[j]).norm());
    return change;
  }

  /// Positions and velocities at the iterate become the state.
  void accept() {
    for (int j = 0; j < nodes.size(); ++j) nodes.x[j] += context.dt * v[j];
    nodes.v = v;
  }

  /// A step of at most `iterations`, fewer once v changes by less than `tolerance` (m/s).
  void step(int iterations, double tolerance = 0) {
    begin();
    for (int k = 0; k < iterations; ++k)
      if (iterate() <= tolerance) break;
    accept();
  }

  BodyEnergy energy() {
    const std::vector<Vec3> none(nodes.size(), Vec3::Zero());
    return body.measure(nodes, nodes.v, none, world);
  }
};

}  // namespace stiction::test
