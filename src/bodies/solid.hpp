// Soft solids of linear tetrahedra: lumped masses, a hyperelastic material (kernels/hyperelastic.hpp), viscosity of
// strain rates and Rayleigh's mass damping. Tets are treated kLanes at a time.
#pragma once

#include "bodies/sparse_body.hpp"
#include "kernels/hyperelastic.hpp"

namespace stiction {

class SolidBody final : public SparseBody {
 public:
  /// `pin_collider[i]` is the collider that spec.pins[i] follows, or -1. Throws std::invalid_argument where the mesh,
  /// the material or a pin makes no sense.
  SolidBody(const Solid& spec, Nodes& nodes, std::span<const int> pin_collider);

  /// Over the edges of all tets; x of all nodes.
  double max_stretch(std::span<const Vec3> x) const override;

 private:
  struct Batch {
    V3<PackD> gradient[3];  // of the shape functions of nodes 1 to 3, 1/m; that of node 0 is minus their sum
    PackD volume;           // m³; zero in lanes without a tet
    Sym3<PackD> strain_t;   // Green strain at the start of the step
    std::array<std::array<int, kLanes>, 4> node;
  };
  struct Edge {
    int a, b;
    double length;  // at rest, m
  };
  struct Workspace;

  double add_elastic(std::span<const Vec3> x, std::span<Vec3> g, BlockMatrix* A) override;
  void add_aerodynamic(std::span<const Vec3> x, std::span<const Vec3> v, std::span<Vec3> g, BlockMatrix* A) override;
  void begin_elastic(std::span<const Vec3> x) override;

  template <Material M>
  void compute(const Batch& batch, std::size_t index, std::span<const Vec3> x, bool with_matrix, Workspace& work) const;

  Material material_;
  MaterialConstants constants_;
  double damping_, mass_damping_;
  std::vector<double> lumped_;  // mass a node, kg
  std::vector<Batch> batches_;
  std::vector<Edge> edges_;
  std::size_t tet_count_ = 0;
  ElementScatter<4> scatter_;
};

}  // namespace stiction
