#include "bodies/strand_layout.hpp"

#include <algorithm>
#include <numeric>

namespace stiction {

StrandLayout::StrandLayout(std::span<const int> node_counts, int first_node)
    : count_(node_counts.begin(), node_counts.end()) {
  int next = first_node;
  for (const int count : count_) {
    first_.push_back(next);
    next += count;
  }
  std::vector<int> order(count_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return count_[a] > count_[b]; });

  for (std::size_t begin = 0; begin < order.size(); begin += kLanes) {
    StrandBatch batch;
    batch.strand.fill(kNoStrand);
    batch.first = pack_count_;
    batch.nodes = count_[order[begin]];
    for (std::size_t i = begin; i < std::min(begin + kLanes, order.size()); ++i) batch.strand[i - begin] = order[i];
    pack_count_ += batch.nodes;
    batches_.push_back(batch);
  }
}

}  // namespace stiction
