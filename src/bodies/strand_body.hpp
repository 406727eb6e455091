// What discrete rods and mass-spring chains have in common: strands in batches, ends that are free, pinned or
// clamped, gravity, drag, nodal forces and point masses, and the banded linear system. The elastic terms are the
// derived body's.
//
// A node has D rows in the banded matrix: its position, then its edge's twist where D = 4 (the last twist row of a
// strand has no edge and is idle). Fixed and idle rows are eliminated: identity in A, zero in g.
#pragma once

#include <functional>

#include "bodies/body.hpp"
#include "bodies/strand_layout.hpp"
#include "bodies/strand_spec.hpp"
#include "linear/banded_cholesky.hpp"

namespace stiction {

template <int D, int HB>
class StrandBody : public Body {
 public:
  void begin_step(const StepContext& context, const Nodes& nodes, std::span<Vec3> v) override;
  void assemble(const Nodes& nodes, std::span<const Vec3> v) override;
  void smallest_eigenvalues(std::span<double> eta) const override;
  bool factor(std::span<const double> w, std::span<const std::uint8_t> stale) override;
  void solve(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> active) override;
  void add_coupling(int node_i, int node_j, double mass) override;
  void precondition(std::span<const Vec3> r, std::span<Vec3> z, std::span<const std::uint8_t> active) override;
  BodyEnergy measure(const Nodes& nodes, std::span<const Vec3> v_start, std::span<const Vec3> contact_impulse,
                     const WorldOptions& world) override;
  double max_stretch(std::span<const Vec3> x) const override;
  void append_matrix(std::vector<Eigen::Triplet<double>>& A, std::vector<double>& minus_g,
                     int first_auxiliary) const override;
  int auxiliary_count() const override { return (D - 3) * node_count; }

  const StrandLayout& layout() const { return layout_; }
  /// Force that holds a strand's root and tip, N; zero where the end is free.
  const Vec3& root_reaction(int strand) const { return reactions_[2 * strand]; }
  const Vec3& tip_reaction(int strand) const { return reactions_[2 * strand + 1]; }

 protected:
  StrandBody(const StrandBodySpec& spec, Nodes& nodes);

  /// Adds the elastic gradient (times dt) to g and, where A is given, the Hessian (times dt²) to it, for one batch
  /// at positions x; returns the elastic energy of each lane.
  virtual PackD add_elastic(const StrandBatch& batch, const V3<PackD>* x, PackD* g, BandView<HB>* A) = 0;

  /// Called in begin_step once the velocities of fixed nodes are known.
  virtual void begin_elastic(const StepContext& context, const Nodes& nodes, std::span<const Vec3> v) = 0;

  /// Stretch of all edges of a batch at positions x: into g, A and the energy, as add_elastic.
  PackD add_stretch(const StrandBatch& batch, const V3<PackD>* x, PackD* g, BandView<HB>* A) const;
  /// Sets the strains about which the damped stretch springs act, from positions x at the start of the step.
  void begin_stretch(const StrandBatch& batch, const V3<PackD>* x);
  /// xi/dt, and the share of the rest strain in the effective one: s_eff = share (s_rest + ratio s_t).
  std::pair<PackD, PackD> damping_ratio_and_share() const {
    const PackD ratio(damping_ / context_.dt);
    return {ratio, PackD(1.0) / (PackD(1.0) + ratio)};
  }

  PackD* rows(AlignedVector<PackD>& a, const StrandBatch& batch) const {
    return a.data() + static_cast<std::size_t>(batch.first) * D;
  }
  BandView<HB> band_of(AlignedVector<PackD>& a, const StrandBatch& batch) const {
    return {a.data() + static_cast<std::size_t>(batch.first) * D * (HB + 1), batch.nodes * D};
  }
  void fix_row(int strand, int i, int a);
  /// Calls f(batch) for all batches in parallel; batches do not share data.
  void for_each_batch(const std::function<void(const StrandBatch&)>& f) const;
  /// The batch and lane of a strand.
  std::pair<const StrandBatch*, int> place_of(int strand) const;

  StrandLayout layout_;
  StepContext context_;
  AlignedVector<PackD> mass_;            // diagonal of M, a row
  AlignedVector<PackD> iterate_;         // v_k, a row
  AlignedVector<PackD> rest_length_;     // an edge; positive also where idle
  AlignedVector<PackD> stretch_k_;       // E_s S, an edge, N; zero where idle
  AlignedVector<PackD> strain_eff_;      // stretch strain about which the damped spring acts, an edge
  double damping_ = 0;                   // xi, s
  AlignedVector<PackD> twist_rate_;      // at the start of the step, an edge; only where D = 4
  AlignedVector<PackD> twist_solution_;  // that of the last solve, a node; only where D = 4

 private:
  struct FixedNode {
    int node, strand, collider;
    bool at_root;
    Vec3 x_initial;  // at time zero
  };
  struct ForcedNode {
    int node;
    std::vector<VectorKey> keys;
  };

  enum class Solve { affine, homogeneous };
  template <Solve kind>
  void solve_batches(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> active);
  Vec3 external_force(const Nodes& nodes, int node, const Vec3& v) const;
  void add_external(const StrandBatch& batch, const Nodes& nodes, std::span<const Vec3> v, PackD* g,
                    BandView<HB>& A) const;
  void eliminate_fixed(const StrandBatch& batch, PackD* g, BandView<HB>& A) const;

  AlignedVector<PackD> free_;     // 1 or 0, a row
  AlignedVector<PackD> minus_g_;  // a row
  AlignedVector<PackD> band_, factor_;
  std::vector<FixedNode> fixed_;
  std::vector<double> drag_;    // kg/s, a node of the body
  std::vector<Vec3> external_;  // keyframed force, N, a node of the body
  std::vector<ForcedNode> forced_;
  std::vector<Vec3> reactions_;             // root and tip of each strand
  std::vector<Vec3> internal_;              // of measure()
  std::vector<std::pair<int, int>> place_;  // batch and lane of each strand
};

/// Air velocity at a point and time, m/s.
Vec3 wind_at(const WorldOptions& world, const Vec3& x, double time);

extern template class StrandBody<4, 10>;
extern template class StrandBody<3, 8>;

}  // namespace stiction
