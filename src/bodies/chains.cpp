#include "bodies/chains.hpp"

#include <numbers>

#include "kernels/rod.hpp"
#include "kernels/spring.hpp"

namespace stiction {

ChainsBody::ChainsBody(const Chains& chains, Nodes& nodes, int root_collider, int tip_collider)
    : StrandBody(
          strand_spec(chains, root_collider, tip_collider,
                      [&](const Strand& s) { return std::numbers::pi * radius_of(chains, s) * radius_of(chains, s); }),
          nodes) {
  name = chains.name;
  for (auto* a : {&bend_k_, &psi_rest_, &psi_eff_}) a->assign(layout_.pack_count(), PackD(0.0));
  for (int s = 0; s < component_count; ++s) {
    const auto [batch, lane] = place_of(s);
    const auto& rest = rest_nodes_of(chains.strands[s]);
    const double r2 = radius_of(chains, chains.strands[s]) * radius_of(chains, chains.strands[s]);
    const double section = std::numbers::pi * r2, bending = chains.bend_modulus * section * r2 / 4;
    for (std::size_t j = 1; j + 1 < rest.size(); ++j) {
      const int pack = batch->first + static_cast<int>(j);
      const Vec3 te = (rest[j] - rest[j - 1]).normalized(), tf = (rest[j + 1] - rest[j]).normalized();
      psi_rest_[pack].set(lane, 2 * te.cross(tf).norm() / std::max(1 + te.dot(tf), kMinOnePlusCos));
      bend_k_[pack].set(lane, bending / (0.5 * (rest_length_[pack][lane] + rest_length_[pack - 1][lane])));
    }
  }
}

namespace {
// Bending of every interior vertex of a batch, given positions: f(i, ChainBend).
template <class F>
void for_each_bend(const V3<PackD>* x, int edges, F&& f) {
  V3<PackD> te{}, tf{};
  PackD length_e, length_f;
  for (int j = 0; j < edges; ++j) {
    const V3<PackD> e = x[j + 1] - x[j];
    length_f = norm(e);
    tf = (PackD(1.0) / length_f) * e;
    if (j > 0) f(j, chain_bend(te, length_e, tf, length_f, kMinOnePlusCos));
    te = tf;
    length_e = length_f;
  }
}
}  // namespace

void ChainsBody::begin_elastic(const StepContext&, const Nodes& nodes, std::span<const Vec3>) {
  for_each_batch([&](const StrandBatch& batch) {
    thread_local AlignedVector<V3<PackD>> x;
    x.resize(std::max<std::size_t>(x.size(), batch.nodes));
    layout_.gather(
        batch, [&](int node) { return nodes.x[node]; }, x.data());
    begin_stretch(batch, x.data());
    const PackD ratio = damping_ratio_and_share().first, share = damping_ratio_and_share().second;
    for_each_bend(x.data(), batch.nodes - 1, [&](int i, const ChainBend<PackD>& bend) {
      psi_eff_[batch.first + i] = share * (psi_rest_[batch.first + i] + ratio * bend.psi);
    });
  });
}

PackD ChainsBody::add_elastic(const StrandBatch& batch, const V3<PackD>* x, PackD* g, BandView<8>* A) {
  const double dt = context_.dt;
  const PackD damped(1.0 + damping_ / dt), dt_pack(dt), dt2(dt * dt), zero(0.0), one(1.0), half(0.5);
  PackD energy = add_stretch(batch, x, g, A);
  for_each_bend(x, batch.nodes - 1, [&](int i, const ChainBend<PackD>& bend) {
    const int pack = batch.first + i;
    const PackD off = bend.psi - psi_rest_[pack];
    energy += half * bend_k_[pack] * off * off;
    const PackD psi = max(bend.psi, PackD(1e-12));
    const PackD alpha = one - psi_eff_[pack] / psi, positive = max(alpha, zero);
    const V3<PackD> axis = (one / psi) * bend.kb;
    // Derivatives with respect to x0, x1, x2 of the stencil, from those of the edges.
    V3<PackD> J[9];
    for (int a = 0; a < 3; ++a) {
      J[a] = -bend.J[a];
      J[3 + a] = bend.J[a] - bend.J[3 + a];
      J[6 + a] = bend.J[3 + a];
    }
    const PackD k = damped * bend_k_[pack], k_dt2 = dt2 * k;
    const int base = (i - 1) * 3;
    for (int a = 0; a < 9; ++a) {
      const PackD grad_a = dot(axis, J[a]);
      g[base + a] += dt_pack * k * alpha * dot(bend.kb, J[a]);
      if (!A) continue;
      for (int b = 0; b <= a; ++b)
        A->entry(base + a, a - b) += k_dt2 * (positive * dot(J[a], J[b]) + (one - positive) * grad_a * dot(axis, J[b]));
    }
  });
  return energy;
}

}  // namespace stiction
