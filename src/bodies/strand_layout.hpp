// Strands in batches of kLanes: which strand sits in which lane, and how node vectors get there and back.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "bodies/nodes.hpp"
#include "kernels/vec.hpp"

namespace stiction {

inline constexpr int kNoStrand = -1;

struct StrandBatch {
  std::array<int, kLanes> strand{};  // kNoStrand: an idle lane, which mirrors lane 0 and is never written back
  int nodes = 0;                     // of the longest strand in the batch
  int first = 0;                     // index of the batch's first node pack; also its first element pack
};

class StrandLayout {
 public:
  StrandLayout() = default;

  /// Groups strands of similar node count; `first_node` is the global index of the first strand's first node.
  StrandLayout(std::span<const int> node_counts, int first_node);

  std::span<const StrandBatch> batches() const { return batches_; }
  int strand_count() const { return static_cast<int>(first_.size()); }
  int first_node(int strand) const { return first_[strand]; }
  int node_count(int strand) const { return count_[strand]; }
  /// The strand that a node (global index) belongs to.
  int strand_of(int node) const {
    return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), node) - first_.begin()) - 1;
  }
  int pack_count() const { return pack_count_; }

  bool has_node(const StrandBatch& batch, int lane, int i) const {
    return batch.strand[lane] != kNoStrand && i < count_[batch.strand[lane]];
  }

  /// Reads value(node) of every lane's i-th node; lanes past their tip continue straight on.
  template <class F>
  void gather(const StrandBatch& batch, F&& value, V3<PackD>* out) const {
    for (int lane = 0; lane < kLanes; ++lane) {
      const int strand = batch.strand[lane] == kNoStrand ? batch.strand[0] : batch.strand[lane];
      const int first = first_[strand], count = count_[strand];
      Vec3 last = Vec3::Zero(), step = Vec3::Zero();
      for (int i = 0; i < batch.nodes; ++i) {
        Vec3 x;
        if (i < count) {
          x = value(first + i);
          step = x - last;
        } else {
          x = last + step;
        }
        last = x;
        out[i].x.set(lane, x[0]);
        out[i].y.set(lane, x[1]);
        out[i].z.set(lane, x[2]);
      }
    }
  }

 private:
  std::vector<int> first_, count_;
  std::vector<StrandBatch> batches_;
  int pack_count_ = 0;
};

}  // namespace stiction
