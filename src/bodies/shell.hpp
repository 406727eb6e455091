// Cloth, paper, bands: triangles with membrane stiffness, hinges with bending stiffness, pressure and drag of air.
// The elements' equations are in kernels/shell.hpp.
//
// A hinge's angle lies in (-pi, pi]: a fold that closes completely and goes on has passed through itself.
#pragma once

#include "bodies/sparse_body.hpp"
#include "kernels/shell.hpp"

namespace stiction {

class ShellBody final : public SparseBody {
 public:
  /// `pin_collider` has the collider's index, or -1, for each of spec.pins. Throws std::invalid_argument.
  ShellBody(const Shell& spec, Nodes& nodes, std::span<const int> pin_collider);

  double max_stretch(std::span<const Vec3> x) const override;

  /// Elastic energy (J) at positions x, a value a node of this body; its gradient (N) is written to `gradient`.
  double elastic(std::span<const Vec3> x, std::span<Vec3> gradient);

  /// Stress of a triangle (second Piola-Kirchhoff, Pa; u along the warp) at positions x.
  Sym2<double> stress(int triangle, std::span<const Vec3> x) const;

  std::span<const std::array<int, 3>> triangles() const { return triangles_; }
  std::span<const std::array<int, 4>> hinges() const { return hinges_; }

 protected:
  double add_elastic(std::span<const Vec3> x, std::span<Vec3> g, BlockMatrix* A) override;
  void add_aerodynamic(std::span<const Vec3> x, std::span<const Vec3> v, std::span<Vec3> g, BlockMatrix* A) override;
  void begin_elastic(std::span<const Vec3> x) override;

 private:
  // Elements' gradients times gradient_scale and, where hessian_scale > 0, Hessians times it, into the local arrays;
  // ratio = xi/dt. Returns the energy without damping.
  double compute_elements(std::span<const Vec3> x, double ratio, double gradient_scale, double hessian_scale);

  std::vector<std::array<int, 3>> triangles_;
  std::vector<std::array<int, 4>> hinges_;
  std::vector<std::array<int, 2>> edges_;
  std::vector<double> edge_length_;  // at rest, m
  std::vector<RestTriangle<double>> rest_triangles_;
  std::vector<RestHinge<double>> rest_hinges_;
  MembraneModuli<double> moduli_;
  double damping_, pressure_, drag_normal_, drag_tangential_;

  // Strains at the start of the step.
  std::vector<Sym2<double>> strain_t_;
  std::vector<double> theta_t_;

  // What the elements compute before it is summed.
  std::vector<double> triangle_energy_, hinge_energy_;
  std::vector<Vec3> triangle_gradient_, hinge_gradient_;
  std::vector<Mat3> triangle_hessian_, hinge_hessian_;
  ElementScatter<3> triangle_scatter_;
  ElementScatter<4> hinge_scatter_;
};

}  // namespace stiction
