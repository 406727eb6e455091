// Discrete Elastic Rods (Bergou et al. 2008, 2010) in maximal coordinates: nodes, and one twist angle an edge.
//
// Strains: stretch of an edge, two curvatures and the twist of an interior vertex (kernels/rod.hpp). With a strain
// s, stiffness k and stiffness-proportional damping xi, the discrete energy plus dissipation over a step is
//   1/2 k (s - s_rest)² + xi/(2 dt) k (s - s_t)²,
// which equals, up to a constant, one spring of stiffness k (1 + xi/dt) about (s_rest + (xi/dt) s_t)/(1 + xi/dt).
// So damping costs nothing, acts on strain rates only, and leaves finite rigid motions alone.
// The Hessian is Gauss-Newton for bend and twist; stretch is exact with its compressive part clamped.
//
// Reference directors are transported in time from the start of the step to each iterate.
#pragma once

#include "bodies/strand_body.hpp"

namespace stiction {

class RodsBody final : public StrandBody<4, 10> {
 public:
  /// Adds the strands' nodes to `nodes`; collider indices of the ends, or -1 for the world.
  RodsBody(const Rods& rods, Nodes& nodes, int root_collider, int tip_collider);

  void accept_iterate(std::span<const std::uint8_t> components) override;
  void end_step(const Nodes& nodes, std::span<const Vec3> v) override;
  BodyEnergy measure(const Nodes& nodes, std::span<const Vec3> v_start, std::span<const Vec3> contact_impulse,
                     const WorldOptions& world) override;
  void save(Snapshot& snapshot) const override;
  void load(const Snapshot& snapshot) override;

  /// Stencils whose edges were nearly anti-parallel (curvature guarded), summed over the assemblies of a step.
  std::int64_t guarded_stencils() const { return guarded_; }
  /// Twist angle of an edge, rad, relative to its reference director.
  double twist_angle(int strand, int edge) const;
  /// Twist m of an interior vertex, rad.
  double twist(int strand, int vertex) const;

 protected:
  PackD add_elastic(const StrandBatch& batch, const V3<PackD>* x, PackD* g, BandView<10>* A) override;
  void begin_elastic(const StepContext& context, const Nodes& nodes, std::span<const Vec3> v) override;

 private:
  struct ClampedEdge {
    int strand, edge, collider;
    Vec3 m1_initial;  // material director at time zero
  };
  // Frames of a batch at positions x, carried over from the start of the step.
  struct Frames;

  void set_rest_shape(const Rods& rods);
  void clamp_edges(const Rods& rods, int root_collider, int tip_collider);
  void strains_at_start(const Nodes& nodes, const StrandBatch& batch);
  PackD vertex_strains(const StrandBatch& batch, int i, const Frames& frames, PackD* strain, PackD (*grad)[11]) const;

  // A value an edge (index batch.first + j).
  AlignedVector<V3<PackD>> director_, tangent_;  // at the start of the step
  AlignedVector<PackD> theta_;                   // at the start of the step, rad
  // A value a vertex (index batch.first + i).
  struct Vertex {
    PackD stiffness[3];  // bend 1, bend 2, twist: N m; zero where idle
    PackD rest[3];       // kappa1, kappa2, m at rest
    PackD effective[3];  // the same, about which the damped springs act
    PackD m_ref;         // reference twist at the start of the step
  };
  AlignedVector<Vertex> vertices_;
  std::vector<ClampedEdge> clamped_;
  bool quasistatic_ = false;
  std::atomic<std::int64_t> guarded_ = 0;
};

}  // namespace stiction
