#include "contact/projection.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "contact/general_solver.hpp"
#include "kernels/coulomb.hpp"

namespace stiction {

namespace {
constexpr std::size_t kContactsPerTask = 256;
constexpr std::size_t kBlocksPerChunk = 128;  // whose nodes a thread lists at once
constexpr std::size_t kHubsPerChunk = 1;
constexpr std::size_t kWorthStages = 1024;  // contacts: fewer are swept in the time that threads wait for each other
constexpr int kHubColours = 32;             // of blocks at a node: more than hair among hair has
constexpr std::size_t kAhead = 8;           // contacts: long enough for a line to come from memory

// Out of line: the sweep over isotropic contacts stays small.
template <class T>
[[gnu::noinline]] V3<T> change_by_block(const HotContact<T>& c, const V3<T>& u, const Eigen::Matrix<T, 3, 3>& block,
                                        T inv_s) {
  using Vector = Eigen::Matrix<T, 3, 1>;
  const Vector r = inv_s * Vector(c.r[0], c.r[1], c.r[2]);
  const Vector without = Vector(u.x, u.y, u.z) - block * r;
  const Vector change = (coulomb_impulse<T>(block, without, Vector(c.n[0], c.n[1], c.n[2]), c.mu) - r) / inv_s;
  return {change[0], change[1], change[2]};
}

}  // namespace

template <class T>
void Projection<T>::Stage::add(std::size_t first, std::size_t last) {
  if (tasks.empty() || contacts - contacts_before_task >= kContactsPerTask) {
    tasks.push_back(blocks.size());
    contacts_before_task = contacts;
  }
  blocks.emplace_back(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last));
  contacts += last - first;
}

template <class T>
void Projection<T>::Stage::clear() {
  blocks.clear();
  tasks.clear();
  contacts = contacts_before_task = 0;
}

template <class T>
void Projection<T>::reset(std::span<const double> inv_w, int stages, const Skin* skin) {
  skin_ = skin && skin->size() > 0 ? skin : nullptr;
  nodes_.resize(inv_w.size());
  for_each_index(inv_w.size(), [&](std::size_t j) { nodes_[j].inv_w = static_cast<T>(inv_w[j]); });
  hot_.clear();
  wide_.clear();
  block_nodes_.clear();
  listed_.clear();
  cohesion_.clear();
  sleep_.clear();
  order_.clear();
  const std::size_t all_stages = static_cast<std::size_t>(stages) + kHubStages + 1;
  if (stages_.size() != all_stages) stages_ = std::vector<Stage>(all_stages);
  for (Stage& stage : stages_) stage.clear();
  updates_.clear();
  colours_at_.resize(inv_w.size());
  for_each_index(inv_w.size(), [&](std::size_t j) { colours_at_[j] = 0; });
  hub_colours_at_.clear();
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
  parts_.clear();
  double sum = 0;
  c.for_each_node(*skin_, [&](int node, double b) {
    parts_.emplace_back(node, b);
    sum += b;
  });
  std::sort(parts_.begin(), parts_.end());
  const auto first = static_cast<std::int32_t>(wide_.size());
  int last = -1;
  for (const auto& [node, b] : parts_) {
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

// Where many blocks fit in no stage, all that touch a hub, a node with many colours, join them: else most stages would
// have little but a block of each hub. The hub keeps the colours, so that what comes later goes the same way.
template <class T>
template <class ForEachFreeNode>
void Projection<T>::leave_hubs_to_rest(std::span<std::uint8_t> colour, ForEachFreeNode&& for_each_free_node) {
  const auto stages = static_cast<std::uint8_t>(block_stages());
  const auto rest = static_cast<std::size_t>(std::count(colour.begin(), colour.end(), stages));
  if (rest * kContactsPerBlock < kWorthStages) return;
  for_each_index(colour.size(), [&](std::size_t block) {
    bool at_hub = false;
    for_each_free_node(block, [&](int node) { at_hub = at_hub || std::popcount(colours_at_[node]) >= kHubColours; });
    if (at_hub) colour[block] = stages;
  });
}

// The last contacts in hot_, as many as by_place has room for, take their places, those of one stage side by side; a
// contact is listed at its place. Returns the list of those that fit in no stage, which come last.
template <class T>
std::span<std::uint32_t> Projection<T>::place_blocks(std::span<const std::uint8_t> colour,
                                                     std::span<std::uint32_t> by_place) {
  const auto count = static_cast<std::uint32_t>(by_place.size());
  const std::size_t base = hot_.size() - count;
  const auto contacts_of = [&](std::size_t block) {
    return std::min(kContactsPerBlock, count - static_cast<std::uint32_t>(block) * kContactsPerBlock);
  };
  std::vector<std::size_t> next(block_stages() + 2, 0);  // the first place of each colour, then its next free one
  for (std::size_t block = 0; block < colour.size(); ++block) next[colour[block] + 1] += contacts_of(block);
  next[0] = base;
  for (std::size_t c = 1; c < next.size(); ++c) next[c] += next[c - 1];
  const std::size_t rest = next[block_stages()] - base;  // the first of those that fit in no stage
  for (std::size_t block = 0; block < colour.size(); ++block) {
    std::size_t& to = next[colour[block]];
    const std::size_t first = to;
    for (std::uint32_t j = 0; j < contacts_of(block); ++j, ++to)
      by_place[to - base] = static_cast<std::uint32_t>(block) * kContactsPerBlock + j;
    if (colour[block] < block_stages()) stages_[colour[block]].add(first, to);
  }
  return by_place.subspan(rest);
}

// The last contacts in hot_, which fit in no stage of blocks: few are swept one after the other, many take the stages
// of hubs, and once there are such stages, few do as well. Reorders them so that those of one stage lie side by side.
template <class T>
template <class ForEachFreeNode>
void Projection<T>::place_rest(std::span<std::uint32_t> rest, ForEachFreeNode&& for_each_free_node) {
  if (rest.empty()) return;
  std::size_t place = hot_.size() - rest.size();
  if (rest.size() < kWorthStages && hub_colours_at_.empty()) return stages_.back().add(place, hot_.size());
  hub_colours_at_.resize(colours_at_.size(), 0);
  const std::vector<std::uint32_t> begin = gather_at_hubs(rest, for_each_free_node, colours_at_.size());
  const std::vector<std::uint8_t> colour = colour_blocks(
      begin.size() - 1,
      [&](std::size_t hub, auto&& f) {
        for (std::uint32_t at = begin[hub]; at < begin[hub + 1]; ++at) for_each_free_node(rest[at], f);
      },
      hub_colours_at_, kHubStages, block_nodes_, kHubsPerChunk);
  std::vector<std::uint32_t> hubs(colour.size());
  std::iota(hubs.begin(), hubs.end(), 0);
  std::stable_sort(hubs.begin(), hubs.end(), [&](std::uint32_t a, std::uint32_t b) { return colour[a] < colour[b]; });
  const std::vector<std::uint32_t> by_hub(rest.begin(), rest.end());
  auto to = rest.begin();
  for (const std::uint32_t hub : hubs) {
    to = std::copy(by_hub.begin() + begin[hub], by_hub.begin() + begin[hub + 1], to);
    const std::size_t next = place + begin[hub + 1] - begin[hub];
    stages_[block_stages() + colour[hub]].add(place, next);
    place = next;
  }
}

template <class T>
void Projection<T>::append(std::span<const Contact> contacts, std::span<const double> k_N,
                           std::span<const double> compliance, std::span<const double> cohesion_impulse,
                           std::span<const Vec3> r) {
  const Skin no_skin;
  const Skin& skin = skin_ ? *skin_ : no_skin;
  const auto count = static_cast<std::uint32_t>(contacts.size());
  const auto for_each_free_node = [&](std::uint32_t i, auto&& f) {
    contacts[i].for_each_node(skin, [&](int node, double) {
      if (nodes_[node].inv_w > T(0)) f(node);
    });
  };
  const auto for_each_free_node_of = [&](std::size_t block, auto&& f) {
    const auto first = static_cast<std::uint32_t>(block) * kContactsPerBlock;
    for (std::uint32_t i = first; i < std::min(first + kContactsPerBlock, count); ++i) for_each_free_node(i, f);
  };
  const auto stages = static_cast<std::uint8_t>(block_stages());
  std::vector<std::uint8_t> colour = colour_blocks(chunk_count(count, kContactsPerBlock), for_each_free_node_of,
                                                   colours_at_, stages, block_nodes_, kBlocksPerChunk);
  leave_hubs_to_rest(colour, for_each_free_node_of);
  const std::size_t base = hot_.size();
  reserve_for(hot_, base + count);
  hot_.resize(base + count);
  cohesion_.resize(base + count);
  sleep_.resize(base + count, 0);
  order_.resize(base + count);
  const auto is_wide = [&](const Contact& c) {
    return skin_ && std::any_of(c.node.begin(), c.node.end(), [&](int j) { return j >= skin_->base; });
  };
  std::vector<std::uint32_t> by_place(count);
  place_rest(place_blocks(colour, by_place), for_each_free_node);
  for_each_index(count, [&](std::size_t at) { order_[base + by_place[at]] = static_cast<std::uint32_t>(base + at); });
  listed_.collect(count, [&](std::size_t at, std::vector<std::uint32_t>& list) {
    const Contact& c = contacts[by_place[at]];
    if (c.node[3] == kNoNode || is_wide(c)) list.push_back(by_place[at]);
  });
  listed_.for_each_in_order([&](std::uint32_t i) {
    HotContact<T>& hot = hot_[order_[base + i]];
    if (is_wide(contacts[i]))
      widen(contacts[i], hot);
    else
      hot.node[3] = surface_node(contacts[i]);
  });
  listed_.clear();
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

// One contact of the sweep, by its block if there is one. Returns whether it moved more than the sleeping threshold.
template <class T>
template <class Stencil>
bool Projection<T>::update(HotContact<T>& c, const Stencil& stencil, const Eigen::Matrix<T, 3, 3>* block,
                           T threshold2) {
  const T inv_s = T(1) / inverse_mass(c, stencil), slack = c.compliance * inv_s;

  // u = B p + k (and the slack), then u* without the contact's own force.
  V3<T> u, u_star;
  for (int a = 0; a < 3; ++a) {
    u[a] = c.k_N * c.n[a] + slack * c.r[a];
    for (int j = 0; j < stencil.size(); ++j) u[a] += stencil.weight(j) * stencil.at(j).p[a];
    u_star[a] = u[a] - c.r[a];
  }
  const V3<T> change =
      block ? change_by_block(c, u, *block, inv_s) : coulomb_velocity(u_star, V3<T>{c.n[0], c.n[1], c.n[2]}, c.mu) - u;
  for (int a = 0; a < 3; ++a) c.r[a] += change[a];
  for (int j = 0; j < stencil.size(); ++j) {
    HotNode<T>& node = stencil.at(j);
    if (node.inv_w == T(0)) continue;
    const T gamma = stencil.weight(j) * node.inv_w * inv_s;
    for (int a = 0; a < 3; ++a) node.p[a] += gamma * change[a];
  }
  return dot(change, change) > threshold2;
}

// Calls f(i), which says whether it updated the contact, stage after stage.
//
// The nodes of a contact lie anywhere in memory, and the branches of the local problem keep the processor from asking
// for them early by itself: they are fetched some contacts ahead, among those of the same task. (In a function of its
// own this is lost: GCC takes it for one without effect.)
template <class T>
template <class F>
void Projection<T>::for_each_contact(F&& f) {
  for (Stage& stage : stages_) {
    const auto run_blocks = [&](std::size_t begin, std::size_t end) {
      if (begin == end) return;
      const std::size_t last = stage.blocks[end - 1].second;  // blocks ascend; beyond, others write to sleep_
      std::size_t updates = 0;
      for (std::size_t b = begin; b < end; ++b)
        for (std::size_t i = stage.blocks[b].first; i < stage.blocks[b].second; ++i) {
          const std::size_t next = i + kAhead;
          if (next < last && sleep_[next] == 0 && hot_[next].node[0] >= 0)
            for (int j = 0; j < 4; ++j) __builtin_prefetch(&nodes_[hot_[next].node[j]], 1);
          updates += f(i) ? 1 : 0;
        }
      updates_.local() += updates;
    };
    if (&stage == &stages_.back() || stage.tasks.size() <= 1)
      run_blocks(0, stage.blocks.size());
    else
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, stage.tasks.size()),
          [&](const auto& tasks) { run_blocks(stage.first_block(tasks.begin()), stage.first_block(tasks.end())); },
          stage.partitioner);
  }
}

template <class T>
void Projection<T>::store_blocks() {
  block_.resize(hot_.size());
  for_each_index(hot_.size(), [&](std::size_t i) {
    const T s = with_stencil(hot_[i], [&](auto&& stencil) { return inverse_mass(hot_[i], stencil); });
    block_[i] = s * Eigen::Matrix<T, 3, 3>::Identity();
  });
}

template <class T>
void Projection<T>::project(const SweepOptions& options) {
  if (!options.isotropic) store_blocks();
  if (options.add_forces)
    for_each_contact([&](std::size_t i) {
      apply_warm_start(i);
      return false;
    });
  for_each_index(sleep_.size(), [&](std::size_t i) { sleep_[i] = 0; });
  const T threshold2 = static_cast<T>(options.sleeping_threshold * options.sleeping_threshold);
  const auto rest = static_cast<std::uint8_t>(std::min(options.sleeping_sweeps, 255));
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    for_each_contact([&](std::size_t i) {
      if (sleep_[i] > 0) {
        --sleep_[i];
        return false;
      }
      const Eigen::Matrix<T, 3, 3>* block = options.isotropic ? nullptr : &block_[i];
      const bool moved =
          with_stencil(hot_[i], [&](auto&& stencil) { return update(hot_[i], stencil, block, threshold2); });
      if (!moved && options.sleeping_threshold > 0) sleep_[i] = rest;
      return true;
    });
  }
}

template class Projection<float>;
template class Projection<double>;

}  // namespace stiction
