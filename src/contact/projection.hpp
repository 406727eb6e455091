// Projection onto the feasible set: D20 Algorithm 3, matrix-free Gauss-Seidel with the analytic local solver.
//
//   W p = W p_0 + Bᵀ r,   u = B p + k,   (u, r) in C_mu for every contact
//
// Departures from the paper: s_c and gamma are recomputed from the weights instead of stored (a contact stays within
// 64 bytes, the nodes' inverse weights arrive with p); compliance is folded into s_c (6.3.2).
// Parallel stages (6.2.8): contacts of one stage share no free node. A block of consecutive contacts is coloured as
// one, so that neighbours stay together. Where much fits in no stage, this and all else at nodes with many blocks is
// gathered at the nodes that most of it shares and coloured once more, a hub's contacts as one block; what is left then
// is swept sequentially. Contacts appended later join the same stages, since each is a place where all threads wait.
// The stages depend on the contacts alone, so the result does not depend on the number of threads.
#pragma once

#include <oneapi/tbb/combinable.h>
#include <oneapi/tbb/partitioner.h>

#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "contact/colouring.hpp"
#include "contact/contact.hpp"
#include "parallel/chunk_lists.hpp"

namespace stiction {

struct SweepOptions {
  int sweeps = 5;                 ///< N_GS
  double sleeping_threshold = 0;  ///< m/s; 0: nothing sleeps (D20 6.3.3)
  int sleeping_sweeps = 10;
  /// Whether the forces found so far are to be added to p, which is p_0; false: p has them, W p = W p_0 + Bᵀ (r − ξ n).
  bool add_forces = true;
  bool isotropic = true;  ///< false: local problems with stored 3×3 blocks, as if W were any matrix (D20 Table 3)
};

template <class T>
class Projection {
 public:
  /// Starts with no contacts, and p to be set. inv_w: a value a node, 1/kg, zero where prescribed. `stages` <= 64. The
  /// skin must outlive the projection; none: contacts act on nodes alone.
  void reset(std::span<const double> inv_w, int stages, const Skin* skin = nullptr);

  /// Appends contacts; a value a contact: k_N in m/s, compliance in 1/kg, cohesion impulse and the r that the contact
  /// starts from (none: zero) in kg m/s.
  void append(std::span<const Contact> contacts, std::span<const double> k_N, std::span<const double> compliance,
              std::span<const double> cohesion_impulse, std::span<const Vec3> r);

  /// Changes the inverse weight of a node that had none.
  void set_inverse_weight(int node, double inv_w) { nodes_[node].inv_w = static_cast<T>(inv_w); }
  void set_p(int node, const Vec3& p) {
    for (int a = 0; a < 3; ++a) nodes_[node].p[a] = static_cast<T>(p[a]);
  }
  Vec3 p(int node) const { return {nodes_[node].p[0], nodes_[node].p[1], nodes_[node].p[2]}; }

  /// Changes k_N (m/s) of the i-th appended contact.
  void set_offset(std::size_t i, double k_N) { hot_[order_[i]].k_N = static_cast<T>(k_N); }

  /// Adds the forces found so far (warm start) and sweeps. p must hold p_0, with or without these forces.
  void project(const SweepOptions& options);

  std::size_t contact_count() const { return order_.size(); }
  /// Contact impulse r of the i-th appended contact, without cohesion, kg m/s.
  Vec3 impulse(std::size_t i);
  /// Contacts that had to be swept sequentially.
  std::size_t sequential_count() const { return stages_.back().contacts; }
  /// Contacts that are swept hub by hub.
  std::size_t hub_count() const {
    return std::accumulate(stages_.begin() + static_cast<std::ptrdiff_t>(block_stages()), stages_.end() - 1,
                           std::size_t{0}, [](std::size_t n, const Stage& stage) { return n + stage.contacts; });
  }
  /// Gives memory back, if it is much: nothing may be asked of the contacts after that.
  void release() { clear_large(hot_); }
  /// Updates of single contacts in all sweeps so far; those that slept are not among them.
  std::size_t update_count() { return updates_.combine(std::plus<>()); }

 private:
  static constexpr int kHubStages = 64;

  struct Stage {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;  // contacts [first, second) of hot_
    std::vector<std::size_t> tasks;                               // the first block of each
    std::size_t contacts = 0, contacts_before_task = 0;
    tbb::affinity_partitioner partitioner;  // the same contacts go to the same core again

    void add(std::size_t first, std::size_t last);
    std::size_t first_block(std::size_t task) const { return task < tasks.size() ? tasks[task] : blocks.size(); }
    void clear();
  };

  // The nodes and weights of a contact, b[3] included.
  struct Stencil4 {
    HotNode<T>* node[4];
    T b[4];
    static constexpr int size() { return 4; }
    HotNode<T>& at(int j) const { return *node[j]; }
    T weight(int j) const { return b[j]; }
  };
  struct WideNode {
    std::int32_t node;
    T b;
  };
  struct WideStencil {
    HotNode<T>* nodes;
    const WideNode* wide;
    int count;
    int size() const { return count; }
    HotNode<T>& at(int j) const { return nodes[wide[j].node]; }
    T weight(int j) const { return wide[j].b; }
  };
  template <class F>
  decltype(auto) with_stencil(const HotContact<T>& c, F&& f);
  template <class Stencil>
  static T inverse_mass(const HotContact<T>& c, const Stencil& stencil);
  template <class Stencil>
  static bool update(HotContact<T>& c, const Stencil& stencil, const Eigen::Matrix<T, 3, 3>* block, T threshold2);
  void store_blocks();
  std::int32_t surface_node(const Contact& c);
  std::size_t block_stages() const { return stages_.size() - kHubStages - 1; }
  template <class ForEachFreeNode>
  void leave_hubs_to_rest(std::span<std::uint8_t> colour, ForEachFreeNode&& for_each_free_node);
  std::span<std::uint32_t> place_blocks(std::span<const std::uint8_t> colour, std::span<std::uint32_t> by_place);
  template <class ForEachFreeNode>
  void place_rest(std::span<std::uint32_t> rest, ForEachFreeNode&& for_each_free_node);
  void widen(const Contact& c, HotContact<T>& hot);
  void apply_warm_start(std::size_t i);
  template <class F>
  void for_each_contact(F&& f);

  const Skin* skin_ = nullptr;
  LargeVector<HotNode<T>> nodes_;
  std::vector<WideNode> wide_;                 // of contacts on the skin
  std::vector<std::pair<int, double>> parts_;  // of one of these, while it is listed
  LargeVector<HotContact<T>> hot_;             // in the order of the sweep
  std::vector<T> cohesion_;                    // impulse, in the order of the sweep
  std::vector<std::uint8_t> sleep_;            // sweeps left to sit out
  std::vector<Eigen::Matrix<T, 3, 3>> block_;  // Delassus blocks, where local problems are not isotropic
  std::vector<std::uint32_t> order_;           // position in hot_ of the i-th appended contact
  std::vector<std::uint64_t> colours_at_;      // bits of the stages of a node's blocks, also where these went to hubs
  std::vector<std::uint64_t> hub_colours_at_;  // and of those of hubs' contacts; empty where there are none
  BlockNodes block_nodes_;
  ChunkLists<std::uint32_t> listed_;  // contacts that take a list of nodes, or a node for a surface
  std::vector<Stage> stages_;         // of blocks, of hubs' contacts; the sequential rest comes last
  tbb::combinable<std::size_t> updates_{[] { return std::size_t{0}; }};
};

extern template class Projection<float>;
extern template class Projection<double>;

}  // namespace stiction
