// What the time step asks of a simulated body. One virtual call a body and stage, never one an element or contact.
//
// Everything is in momentum units (kg m/s). With q = q_t + dt v, the linearised dynamics at the iterate v_k are
//   A (v - v_k) = -g,   A = M + (dt² + xi dt) K,   g = M (v_k - v_t) - dt F(q_k)      (D20 (5), f = A v_k - g),
// so a solve returns v = v_k + (A + W)⁻¹ (impulse - g) for an impulse given on the nodes; f itself is not formed.
#pragma once

#include <Eigen/SparseCore>
#include <memory>
#include <span>
#include <string>

#include "bodies/nodes.hpp"
#include "stiction/frame.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// What a body needs to know of the step at hand.
struct StepContext {
  double dt = 0;        ///< s
  double time_end = 0;  ///< time at the end of the step, s
  const WorldOptions* world = nullptr;
  std::span<const Pose> displacement;        ///< of each collider, from time zero to time_end
  std::span<const Pose> displacement_start;  ///< the same to the start of the step
};

struct BodyEnergy {
  double kinetic = 0, elastic = 0, gravity = 0;  ///< J
};

class Body {
 public:
  virtual ~Body() = default;

  std::string name;
  int first_node = 0;
  int node_count = 0;
  int first_component = 0;
  int component_count = 0;

  /// Prescribes the velocities of fixed degrees of freedom in `v` and resets the iterate of the auxiliary ones.
  virtual void begin_step(const StepContext& context, const Nodes& nodes, std::span<Vec3> v) = 0;

  /// Assembles A and g at the iterate v (and the body's own iterate of its auxiliary degrees of freedom).
  virtual void assemble(const Nodes& nodes, std::span<const Vec3> v) = 0;

  /// Adds mass × I₃ (kg) to block (i, j) of A, and to (j, i): a spring between points of this body's surface, or its
  /// share of one that ties it to another body. Only pairs that the body's elements couple are allowed.
  virtual void add_coupling(int node_i, int node_j, double mass) = 0;

  /// Smallest eigenvalue of each node's 3×3 diagonal block of A, kg.
  virtual void smallest_eigenvalues(std::span<double> eta) const = 0;

  /// Factors A + W, where w is a value a node (kg). Components without weight are factored as A alone. Only
  /// components with a set bit in `stale` need it; false if a factor fails.
  virtual bool factor(std::span<const double> w, std::span<const std::uint8_t> stale) = 0;

  /// v = v_k + (A + W)⁻¹ (impulse - g) for components with a set bit in `active`.
  virtual void solve(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> active) = 0;

  /// z = (A + W)⁻¹ r for components with a set bit in `active`; nothing else changes.
  virtual void precondition(std::span<const Vec3> r, std::span<Vec3> z, std::span<const std::uint8_t> active) = 0;

  /// The auxiliary degrees of freedom found by the last solve become the next iterate, of components with a set bit.
  virtual void accept_iterate(std::span<const std::uint8_t> components) = 0;

  /// Ends the step with the nodes' final velocity: advances auxiliary degrees of freedom and frames.
  virtual void end_step(const Nodes& nodes, std::span<const Vec3> v) = 0;

  /// Energies at the end of a step, and the reaction forces (N) at fixed nodes under the impulses of contacts and ties.
  virtual BodyEnergy measure(const Nodes& nodes, std::span<const Vec3> v_start, std::span<const Vec3> contact_impulse,
                             const WorldOptions& world) = 0;

  /// Largest strain |length / rest length - 1| of any edge at the positions x.
  virtual double max_stretch(std::span<const Vec3> x) const = 0;

  /// Entries of A for a saved friction problem; auxiliary degrees of freedom are numbered from `first_auxiliary`.
  virtual void append_matrix(std::vector<Eigen::Triplet<double>>& A, std::vector<double>& minus_g,
                             int first_auxiliary) const = 0;
  virtual int auxiliary_count() const = 0;

  virtual void save(Snapshot& snapshot) const = 0;
  virtual void load(const Snapshot& snapshot) = 0;
};

}  // namespace stiction
