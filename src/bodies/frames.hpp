// Bodies of affine frames (Faure et al. 2011; Martin et al. 2010): few degrees of freedom, linear blend skinning.
//
// A frame is four nodes, the corners of a virtual tet that rests at X_i, X_i + h e_x, X_i + h e_y, X_i + h e_z
// (h = frame_size). With beta_k its barycentric coordinates, T_i(X) = Σ_k beta_k(X) q_{4i+k}, and a point of the body
// is
//   x(X) = Σ_i w_i(X) T_i(X) = Σ_j N_j(X) q_j,   N_{4i+k} = w_i beta_k,   Σ_j N_j = 1   (D20 Assumption 1).
//
// Mass and elasticity are sums over samples of a volume V at X:
//   F = Σ_j q_j ∇N_jᵀ,  ∇N_{4i+k} = beta_k ∇w_i + w_i ∇beta_k,   energy Σ V Psi(F)
//   M = 0.99 rho Σ (V N Nᵀ + V^(5/3)/12 ∇N·∇Nᵀ) + 0.01 rho Σ Σ_i w_i (V beta betaᵀ + V^(5/3)/12 ∇beta·∇betaᵀ)
// The term in V^(5/3) is the sample's own second moment, as if it were a cube of its volume: samples along a curve or
// on a sheet have none about their line or plane, and M would be singular without it. It would be so, too, where the
// blended frames can move without moving any point (weights that are linear in X do that): hence the second sum, in
// which each frame carries its share of a sample by itself. Momentum, inertia and kinetic energy of every rigid or
// affine motion are the same with and without it.
#pragma once

#include "bodies/sparse_body.hpp"
#include "kernels/hyperelastic.hpp"

namespace stiction {

class FramesBody final : public SparseBody {
 public:
  /// `pin_collider[i]` is the collider that spec.pins[i] follows, or -1. Throws std::invalid_argument where the
  /// weights, samples, the material or a pin make no sense.
  FramesBody(const Frames& spec, Nodes& nodes, std::span<const int> pin_collider);

  /// Largest principal strain at any sample; x of all nodes.
  double max_stretch(std::span<const Vec3> x) const override;

  /// Nodes (of this body) and weights that a vertex of the surface hangs on; the weights of a vertex sum to one.
  const std::vector<std::vector<std::pair<int, double>>>& surface_skin() const { return skin_; }

 private:
  struct Sample {
    double volume;               // m³
    Sym3<double> strain_t;       // Green strain at the start of the step
    int first_node, node_count;  // into sample_node_, gradient_
    int first_block;             // into the blocks, a lower triangle a sample
  };
  struct Drag {
    int block;  // of A, (i, j) with i >= j
    int i, j;
    double value;  // Σ coefficient area N_i N_j over the surface, kg/s
  };

  double add_elastic(std::span<const Vec3> x, std::span<Vec3> g, BlockMatrix* A) override;
  void add_aerodynamic(std::span<const Vec3> x, std::span<const Vec3> v, std::span<Vec3> g, BlockMatrix* A) override;
  void begin_elastic(std::span<const Vec3> x) override;
  void deformation_gradient(const Sample& sample, const Vec3* x, V3<double> (&f)[3]) const;
  template <Material M>
  double compute(const Sample& sample, std::span<const Vec3> x, bool with_matrix);
  void prepare_gather();
  void prepare_drag(const Frames& spec);

  Material material_;
  MaterialConstants constants_;
  double damping_;
  std::vector<Sample> samples_;
  std::vector<int> sample_node_;
  std::vector<V3<double>> gradient_;  // ∇N, 1/m
  std::vector<Vec3> local_gradient_;  // what samples give to g, then gathered in a fixed order
  std::vector<Mat3> local_block_;
  std::vector<double> local_energy_;
  std::vector<int> node_first_, node_from_;    // CSR over nodes
  std::vector<int> block_first_, block_from_;  // CSR over blocks of A; negative: ~index, transposed
  std::vector<std::vector<std::pair<int, double>>> skin_;
  std::vector<double> vertex_drag_;  // coefficient times area, kg/s
  std::vector<Drag> drag_;
};

}  // namespace stiction
