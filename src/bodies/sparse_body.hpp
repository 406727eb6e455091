// What shells, solids and frames have in common: one component with a sparse matrix of 3×3 blocks, pins, gravity,
// nodal forces. The elastic terms are the derived body's.
//
// Pinned nodes are eliminated: identity in A, zero in g.
#pragma once

#include "bodies/body.hpp"
#include "bodies/element_scatter.hpp"
#include "linear/sparse_cholesky.hpp"

namespace stiction {

/// What a sparse body is made from.
struct SparseBodySpec {
  std::string name;
  std::vector<Vec3> x;       ///< at time zero, m
  std::vector<double> mass;  ///< a node, kg; where `mass_matrix` is given its diagonal
  BlockMatrix mass_matrix;   ///< empty: diagonal
  Vec3 initial_velocity = Vec3::Zero();
  struct Pinned {
    int node;      ///< of this body
    int collider;  ///< that it follows; -1: none
  };
  std::vector<Pinned> pinned;
  std::vector<VertexForce> forces;
};

class SparseBody : public Body {
 public:
  void begin_step(const StepContext& context, const Nodes& nodes, std::span<Vec3> v) override;
  void assemble(const Nodes& nodes, std::span<const Vec3> v) override;
  void add_coupling(int node_i, int node_j, double mass) override;
  void smallest_eigenvalues(std::span<double> eta) const override;
  bool factor(std::span<const double> w, std::span<const std::uint8_t> stale) override;
  void solve(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> active) override;
  void precondition(std::span<const Vec3> r, std::span<Vec3> z, std::span<const std::uint8_t> active) override;
  void accept_iterate(std::span<const std::uint8_t>) override {}
  void end_step(const Nodes&, std::span<const Vec3>) override {}
  BodyEnergy measure(const Nodes& nodes, std::span<const Vec3> v_start, std::span<const Vec3> contact_impulse,
                     const WorldOptions& world) override;
  void append_matrix(std::vector<Eigen::Triplet<double>>& A, std::vector<double>& minus_g,
                     int first_auxiliary) const override;
  int auxiliary_count() const override { return 0; }
  void save(Snapshot&) const override {}
  void load(const Snapshot&) override {}

  /// Linear momentum Σ (M v), kg m/s.
  Vec3 momentum(const Nodes& nodes) const;
  /// Force that holds all pinned nodes, N.
  const Vec3& pin_reaction() const { return pin_reaction_; }

 protected:
  SparseBody(const SparseBodySpec& spec, Nodes& nodes);

  /// Prepares A for elements whose nodes couple as `pairs` (local indices); called once by the derived constructor.
  void set_pattern(std::vector<std::pair<int, int>> pairs);

  /// Adds dt ∂E/∂x at positions x (a value a node of this body) to g and, where A is given, dt² times a PSD Hessian to
  /// A, damping included; returns the elastic energy (without damping), J.
  virtual double add_elastic(std::span<const Vec3> x, std::span<Vec3> g, BlockMatrix* A) = 0;

  /// Adds minus dt times forces that depend on velocity or air (drag, pressure) to g, and their PSD part to A.
  virtual void add_aerodynamic(std::span<const Vec3> /*x*/, std::span<const Vec3> /*v*/, std::span<Vec3> /*g*/,
                               BlockMatrix* /*A*/) {}

  /// Called in begin_step with the positions at the start of the step.
  virtual void begin_elastic(std::span<const Vec3> /*x*/) {}

  double dt() const { return context_.dt; }
  const StepContext& context() const { return context_; }
  const BlockMatrix& matrix() const { return A_; }

 private:
  void multiply_mass(std::span<const Vec3> v, std::span<Vec3> p) const;
  void eliminate_pinned(std::span<Vec3> g);
  std::span<const Vec3> own(std::span<const Vec3> all) const { return all.subspan(first_node, node_count); }

  StepContext context_;
  std::vector<double> mass_;  // a node
  BlockMatrix mass_matrix_;   // empty: diagonal
  BlockMatrix A_;
  SparseCholesky cholesky_;
  std::vector<Vec3> iterate_, minus_g_, x_, work_;
  std::vector<SparseBodySpec::Pinned> pinned_;
  std::vector<Vec3> pinned_x0_;
  std::vector<std::uint8_t> is_pinned_;
  std::vector<VertexForce> forces_;
  std::vector<Vec3> gravity_impulse_, external_;
  Vec3 pin_reaction_ = Vec3::Zero();
};

}  // namespace stiction
