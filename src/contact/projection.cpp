#include "contact/projection.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <bit>

#include "contact/colouring.hpp"
#include "kernels/coulomb.hpp"

namespace stiction {

namespace {
constexpr int kBlocksPerTask = 64;
}

template <class T>
void Projection<T>::reset(std::span<const double> inv_w, int stages) {
  node_count_ = static_cast<int>(inv_w.size());
  stages_ = stages;
  nodes_.resize(inv_w.size());
  for (std::size_t j = 0; j < inv_w.size(); ++j) nodes_[j].inv_w = static_cast<T>(inv_w[j]);
  hot_.clear();
  cohesion_.clear();
  sleep_.clear();
  order_.clear();
  block_.assign(1, 0);
  segments_.clear();
  sequential_ = 0;
}

template <class T>
void Projection<T>::append(std::span<const Contact> contacts, std::span<const double> k_N,
                           std::span<const double> compliance, std::span<const double> cohesion_impulse,
                           std::span<const Vec3> r) {
  const Colouring colouring = colour_contacts(
      contacts, [&](int node) { return nodes_[node].inv_w > T(0); }, node_count_, stages_);
  const std::uint32_t base = static_cast<std::uint32_t>(hot_.size());
  order_.resize(base + contacts.size());
  for (const Colouring::Stage& stage : colouring.stages) {
    const int first_block = static_cast<int>(block_.size()) - 1;
    for (const auto& [begin, end] : stage.blocks) {
      for (std::uint32_t i = begin; i < end; ++i) {
        const Contact& c = contacts[i];
        HotContact<T> hot{};
        for (int j = 0; j < 4; ++j) hot.node[j] = c.node[j];
        for (int j = 0; j < 3; ++j) {
          hot.b[j] = static_cast<T>(c.b[j]);
          hot.n[j] = static_cast<T>(c.n[j]);
          if (hot.node[j] == kNoNode) hot.node[j] = c.node[0];  // weight zero
        }
        if (hot.node[3] == kNoNode) {  // the surface of a collider becomes a kinematic node
          hot.node[3] = static_cast<std::int32_t>(nodes_.size());
          nodes_.push_back({{static_cast<T>(c.surface_velocity[0]), static_cast<T>(c.surface_velocity[1]),
                             static_cast<T>(c.surface_velocity[2])},
                            T(0)});
        }
        hot.k_N = static_cast<T>(k_N[i]);
        hot.mu = static_cast<T>(c.mu);
        hot.compliance = static_cast<T>(compliance[i]);
        const double s = r.empty() ? 0.0 : static_cast<double>(inverse_mass(hot));
        for (int a = 0; a < 3 && !r.empty(); ++a) hot.r[a] = static_cast<T>(s * r[i][a]);
        order_[base + i] = static_cast<std::uint32_t>(hot_.size());
        hot_.push_back(hot);
        cohesion_.push_back(static_cast<T>(cohesion_impulse[i]));
      }
      block_.push_back(static_cast<int>(hot_.size()));
    }
    segments_.push_back({first_block, static_cast<int>(block_.size()) - 1, stage.parallel});
    if (!stage.parallel) sequential_ += hot_.size() - block_[first_block];
  }
  sleep_.resize(hot_.size(), 0);
}

template <class T>
T Projection<T>::inverse_mass(const HotContact<T>& c) const {
  const T b3 = -(c.b[0] + c.b[1] + c.b[2]);
  T s = c.compliance + b3 * b3 * nodes_[c.node[3]].inv_w;
  for (int j = 0; j < 3; ++j) s += c.b[j] * c.b[j] * nodes_[c.node[j]].inv_w;
  return s;
}

template <class T>
Vec3 Projection<T>::impulse(std::size_t i) const {
  const HotContact<T>& c = hot_[order_[i]];
  const double s = static_cast<double>(inverse_mass(c));
  return Vec3(c.r[0], c.r[1], c.r[2]) / s;
}

template <class T>
void Projection<T>::apply_warm_start(std::size_t i) {
  const HotContact<T>& c = hot_[i];
  const T xi = cohesion_[i];
  if (c.r[0] == T(0) && c.r[1] == T(0) && c.r[2] == T(0) && xi == T(0)) return;
  const T inv_s = T(1) / inverse_mass(c);
  const T b[4] = {c.b[0], c.b[1], c.b[2], -(c.b[0] + c.b[1] + c.b[2])};
  for (int j = 0; j < 4; ++j) {
    HotNode<T>& node = nodes_[c.node[j]];
    if (node.inv_w == T(0)) continue;
    for (int a = 0; a < 3; ++a) node.p[a] += b[j] * node.inv_w * (c.r[a] * inv_s - xi * c.n[a]);
  }
}

// One contact of the sweep. Returns whether it moved more than the sleeping threshold.
template <class T>
bool Projection<T>::update(HotContact<T>& c, T threshold2) {
  HotNode<T>* node[4];
  for (int j = 0; j < 4; ++j) node[j] = &nodes_[c.node[j]];
  const T b[4] = {c.b[0], c.b[1], c.b[2], -(c.b[0] + c.b[1] + c.b[2])};
  T s = c.compliance;
  for (int j = 0; j < 4; ++j) s += b[j] * b[j] * node[j]->inv_w;
  const T inv_s = T(1) / s, slack = c.compliance * inv_s;

  // u = B p + k (and the slack), then u* without the contact's own force.
  V3<T> u, u_star;
  for (int a = 0; a < 3; ++a) {
    u[a] = b[0] * node[0]->p[a] + b[1] * node[1]->p[a] + b[2] * node[2]->p[a] + b[3] * node[3]->p[a] + c.k_N * c.n[a] +
           slack * c.r[a];
    u_star[a] = u[a] - c.r[a];
  }
  const V3<T> change = coulomb_velocity(u_star, V3<T>{c.n[0], c.n[1], c.n[2]}, c.mu) - u;
  for (int a = 0; a < 3; ++a) c.r[a] += change[a];
  for (int j = 0; j < 4; ++j) {
    if (node[j]->inv_w == T(0)) continue;
    const T gamma = b[j] * node[j]->inv_w * inv_s;
    for (int a = 0; a < 3; ++a) node[j]->p[a] += gamma * change[a];
  }
  return dot(change, change) > threshold2;
}

template <class T>
template <class F>
void Projection<T>::for_each_contact(F&& f) {
  const auto run_blocks = [&](int first, int last) {
    for (int i = block_[first]; i < block_[last]; ++i) f(static_cast<std::size_t>(i));
  };
  for (const Segment& segment : segments_) {
    if (!segment.parallel || segment.last_block - segment.first_block <= kBlocksPerTask) {
      run_blocks(segment.first_block, segment.last_block);
      continue;
    }
    tbb::parallel_for(tbb::blocked_range<int>(segment.first_block, segment.last_block, kBlocksPerTask),
                      [&](const auto& range) { run_blocks(range.begin(), range.end()); });
  }
}

template <class T>
void Projection<T>::project(const SweepOptions& options) {
  for_each_contact([&](std::size_t i) { apply_warm_start(i); });
  std::fill(sleep_.begin(), sleep_.end(), std::uint8_t{0});
  const T threshold2 = static_cast<T>(options.sleeping_threshold * options.sleeping_threshold);
  const auto rest = static_cast<std::uint8_t>(std::min(options.sleeping_sweeps, 255));
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    for_each_contact([&](std::size_t i) {
      if (sleep_[i] > 0) {
        --sleep_[i];
        return;
      }
      if (!update(hot_[i], threshold2) && options.sleeping_threshold > 0) sleep_[i] = rest;
    });
  }
}

template class Projection<float>;
template class Projection<double>;

}  // namespace stiction
