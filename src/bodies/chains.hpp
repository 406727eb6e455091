// Mass-spring fibres, as in B11: stretch springs between neighbours and angular springs between successive edges,
// integrated implicitly. No twist. Damping as in rods.hpp.
#pragma once

#include "bodies/strand_body.hpp"

namespace stiction {

class ChainsBody final : public StrandBody<3, 8> {
 public:
  ChainsBody(const Chains& chains, Nodes& nodes, int root_collider, int tip_collider);

  void accept_iterate(std::span<const std::uint8_t>) override {}
  void end_step(const Nodes&, std::span<const Vec3>) override {}
  void save(Snapshot&) const override {}
  void load(const Snapshot&) override {}

 protected:
  PackD add_elastic(const StrandBatch& batch, const V3<PackD>* x, PackD* g, BandView<8>* A) override;
  void begin_elastic(const StepContext& context, const Nodes& nodes, std::span<const Vec3> v) override;

 private:
  // A value an interior vertex, at index batch.first + i.
  AlignedVector<PackD> bend_k_, psi_rest_, psi_eff_;
};

}  // namespace stiction
