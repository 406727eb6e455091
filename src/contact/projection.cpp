#include "contact/projection.hpp"

#include <algorithm>
#include <bit>

#include "contact/colouring.hpp"
#include "kernels/coulomb.hpp"
#include "parallel/loops.hpp"

namespace stiction {

namespace {
constexpr int kBlocksPerTask = 64;
}

template <class T>
void Projection<T>::reset(std::span<const double> inv_w, int stages, const Skin* skin) {
  node_count_ = static_cast<int>(inv_w.size());
  stages_ = stages;
  skin_ = skin && skin->size() > 0 ? skin : nullptr;
  nodes_.resize(inv_w.size());
  for_each_index(inv_w.size(), [&](std::size_t j) { nodes_[j].inv_w = static_cast<T>(inv_w[j]); });
  hot_.clear();
  wide_.clear();
  cohesion_.clear();
  sleep_.clear();
  order_.clear();
  block_.assign(1, 0);
  segments_.clear();
  sequential_ = 0;
}

// The surface of a collider becomes a kinematic node.
template <class T>
std::int32_t Projection<T>::surface_node(const Contact& c) {
  const Vec3& v = c.surface_velocity;
  nodes_.push_back({{static_cast<T>(v[0]), static_cast<T>(v[1]), static_cast<T>(v[2])}, T(0)});
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

// Lists the nodes of a contact on the skin, each once: with a node listed twice the local solve would not be exact.
template <class T>
void Projection<T>::widen(const Contact& c, HotContact<T>& hot) {
  std::vector<std::pair<int, double>> parts;
  double sum = 0;
  c.for_each_node(*skin_, [&](int node, double b) {
    parts.emplace_back(node, b);
    sum += b;
  });
  std::sort(parts.begin(), parts.end());
  const auto first = static_cast<std::int32_t>(wide_.size());
  int last = -1;
  for (const auto& [node, b] : parts) {
    if (node == last)
      wide_.back().b += static_cast<T>(b);
    else
      wide_.push_back({node, static_cast<T>(b)});
    last = node;
  }
  if (c.node[3] == kNoNode) wide_.push_back({surface_node(c), static_cast<T>(-sum)});
  hot.node[0] = ~first;
  hot.node[1] = static_cast<std::int32_t>(wide_.size()) - first;
}

template <class T>
void Projection<T>::append(std::span<const Contact> contacts, std::span<const double> k_N,
                           std::span<const double> compliance, std::span<const double> cohesion_impulse,
                           std::span<const Vec3> r) {
  const Skin no_skin;
  const Skin& skin = skin_ ? *skin_ : no_skin;
  const Colouring colouring = colour_contacts(
      static_cast<std::uint32_t>(contacts.size()),
      [&](std::uint32_t i, auto&& f) {
        contacts[i].for_each_node(skin, [&](int node, double) {
          if (nodes_[node].inv_w > T(0)) f(node);
        });
      },
      node_count_, stages_);
  const std::size_t base = hot_.size(), count = contacts.size();
  hot_.resize(base + count);
  cohesion_.resize(base + count);
  sleep_.resize(base + count, 0);
  order_.resize(base + count);
  const auto is_wide = [&](const Contact& c) {
    return skin_ && std::any_of(c.node.begin(), c.node.end(), [&](int j) { return j >= skin_->base; });
  };
  std::size_t next = base;
  for (const Colouring::Stage& stage : colouring.stages) {
    const int first_block = static_cast<int>(block_.size()) - 1;
    for (const auto& [begin, end] : stage.blocks) {
      for (std::uint32_t i = begin; i < end; ++i, ++next) {
        const Contact& c = contacts[i];
        order_[base + i] = static_cast<std::uint32_t>(next);
        if (is_wide(c))
          widen(c, hot_[next]);
        else if (c.node[3] == kNoNode)
          hot_[next].node[3] = surface_node(c);
      }
      block_.push_back(static_cast<int>(next));
    }
    segments_.push_back({first_block, static_cast<int>(block_.size()) - 1, stage.parallel});
    if (!stage.parallel) sequential_ += next - block_[first_block];
  }
  for_each_index(count, [&](std::size_t i) {
    const Contact& c = contacts[i];
    const std::size_t at = order_[base + i];
    HotContact<T>& hot = hot_[at];
    for (int a = 0; a < 3; ++a) {
      hot.n[a] = static_cast<T>(c.n[a]);
      hot.r[a] = T(0);
    }
    if (!is_wide(c)) {
      for (int j = 0; j < 3; ++j) {
        hot.node[j] = c.node[j] == kNoNode ? c.node[0] : c.node[j];  // there b = 0
        hot.b[j] = static_cast<T>(c.b[j]);
      }
      if (c.node[3] != kNoNode) hot.node[3] = c.node[3];
    }
    hot.k_N = static_cast<T>(k_N[i]);
    hot.mu = static_cast<T>(c.mu);
    hot.compliance = static_cast<T>(compliance[i]);
    cohesion_[at] = static_cast<T>(cohesion_impulse[i]);
    if (r.empty()) return;
    const auto s = static_cast<double>(with_stencil(hot, [&](auto&& st) { return inverse_mass(hot, st); }));
    for (int a = 0; a < 3; ++a) hot.r[a] = static_cast<T>(s * r[i][a]);
  });
}

template <class T>
template <class F>
decltype(auto) Projection<T>::with_stencil(const HotContact<T>& c, F&& f) {
  if (c.node[0] < 0) return f(WideStencil{nodes_.data(), wide_.data() + ~c.node[0], c.node[1]});
  Stencil4 stencil{{}, {c.b[0], c.b[1], c.b[2], -(c.b[0] + c.b[1] + c.b[2])}};
  for (int j = 0; j < 4; ++j) stencil.node[j] = &nodes_[c.node[j]];
  return f(stencil);
}

template <class T>
template <class Stencil>
T Projection<T>::inverse_mass(const HotContact<T>& c, const Stencil& stencil) {
  T s = c.compliance;
  for (int j = 0; j < stencil.size(); ++j) s += stencil.weight(j) * stencil.weight(j) * stencil.at(j).inv_w;
  return s;
}

template <class T>
Vec3 Projection<T>::impulse(std::size_t i) {
  const HotContact<T>& c = hot_[order_[i]];
  const auto s = static_cast<double>(with_stencil(c, [&](auto&& stencil) { return inverse_mass(c, stencil); }));
  return Vec3(c.r[0], c.r[1], c.r[2]) / s;
}

template <class T>
void Projection<T>::apply_warm_start(std::size_t i) {
  const HotContact<T>& c = hot_[i];
  const T xi = cohesion_[i];
  if (c.r[0] == T(0) && c.r[1] == T(0) && c.r[2] == T(0) && xi == T(0)) return;
  with_stencil(c, [&](auto&& stencil) {
    const T inv_s = T(1) / inverse_mass(c, stencil);
    for (int j = 0; j < stencil.size(); ++j) {
      HotNode<T>& node = stencil.at(j);
      if (node.inv_w == T(0)) continue;
      for (int a = 0; a < 3; ++a) node.p[a] += stencil.weight(j) * node.inv_w * (c.r[a] * inv_s - xi * c.n[a]);
    }
  });
}

// One contact of the sweep. Returns whether it moved more than the sleeping threshold.
template <class T>
template <class Stencil>
bool Projection<T>::update(HotContact<T>& c, const Stencil& stencil, T threshold2) {
  const T inv_s = T(1) / inverse_mass(c, stencil), slack = c.compliance * inv_s;

  // u = B p + k (and the slack), then u* without the contact's own force.
  V3<T> u, u_star;
  for (int a = 0; a < 3; ++a) {
    u[a] = c.k_N * c.n[a] + slack * c.r[a];
    for (int j = 0; j < stencil.size(); ++j) u[a] += stencil.weight(j) * stencil.at(j).p[a];
    u_star[a] = u[a] - c.r[a];
  }
  const V3<T> change = coulomb_velocity(u_star, V3<T>{c.n[0], c.n[1], c.n[2]}, c.mu) - u;
  for (int a = 0; a < 3; ++a) c.r[a] += change[a];
  for (int j = 0; j < stencil.size(); ++j) {
    HotNode<T>& node = stencil.at(j);
    if (node.inv_w == T(0)) continue;
    const T gamma = stencil.weight(j) * node.inv_w * inv_s;
    for (int a = 0; a < 3; ++a) node.p[a] += gamma * change[a];
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
  for_each_index(sleep_.size(), [&](std::size_t i) { sleep_[i] = 0; });
  const T threshold2 = static_cast<T>(options.sleeping_threshold * options.sleeping_threshold);
  const auto rest = static_cast<std::uint8_t>(std::min(options.sleeping_sweeps, 255));
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    for_each_contact([&](std::size_t i) {
      if (sleep_[i] > 0) {
        --sleep_[i];
        return;
      }
      const bool moved = with_stencil(hot_[i], [&](auto&& stencil) { return update(hot_[i], stencil, threshold2); });
      if (!moved && options.sleeping_threshold > 0) sleep_[i] = rest;
    });
  }
}

template class Projection<float>;
template class Projection<double>;

}  // namespace stiction
