#include "step/tie_elimination.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <map>

#include "parallel/loops.hpp"

namespace stiction {

namespace {
// Rows of N have dozens of blocks, and there are some thousand rows.
template <class F>
void for_each_row(std::size_t count, F&& f) {
  constexpr std::size_t rows_per_chunk = 64;
  for_each_chunk(
      count,
      [&](std::size_t, std::size_t first, std::size_t last) {
        for (std::size_t row = first; row < last; ++row) f(row);
      },
      rows_per_chunk);
}
}  // namespace

TieElimination::TieElimination(const Ties& ties, const Nodes& nodes, int component_count)
    : ties_(ties), kept_(component_count, 0), eliminated_(component_count, 0) {
  if (ties.empty()) return;
  list_hanging(component_count);
  list_rows(nodes);
  unit_.assign(nodes.x.size(), Vec3::Zero());
  moved_.assign(nodes.x.size(), Vec3::Zero());
}

// In the order of components, strands first: one is eliminated if it has few ties, to none that is eliminated itself.
void TieElimination::list_hanging(int component_count) {
  std::vector<std::vector<int>> ties_of(component_count);
  for (int t = 0; t < static_cast<int>(ties_.size()); ++t)
    if (const auto [a, b] = ties_.components(t); b >= 0)
      for (const int c : {a, b}) ties_of[c].push_back(t);
  std::size_t blocks = 0;
  for (int c = 0; c < component_count; ++c) {
    const int count = static_cast<int>(ties_of[c].size());
    if (count == 0) continue;
    const bool hangs_on_kept = std::none_of(ties_of[c].begin(), ties_of[c].end(), [&](int t) {
      const auto [a, b] = ties_.components(t);
      return eliminated_[a] || eliminated_[b];
    });
    if (count > kMostTies || !hangs_on_kept) {
      kept_[c] = 1;
      continue;
    }
    eliminated_[c] = 1;
    Hanging& h = hanging_.emplace_back(Hanging{c, count, {}, {}, blocks});
    for (int i = 0; i < count; ++i) {
      h.tie[i] = ties_of[c][i];
      h.side[i] = ties_.components(h.tie[i])[0] == c ? 0 : 1;
    }
    blocks += static_cast<std::size_t>(count) * count;
    most_ties_ = std::max(most_ties_, count);
  }
  answer_.assign(blocks, Mat3::Zero());
}

// Calls f(tie, side, i) for the points of K that a share couples its row to: those of the component's ties, i of them,
// or the other one of the tie.
template <class F>
void TieElimination::for_each_point_coupled_to(const Share& share, F&& f) const {
  if (share.hanging < 0) return f(share.tie, 1 - share.side, 0);
  const Hanging& h = hanging_[share.hanging];
  for (int i = 0; i < h.count; ++i) f(h.tie[i], 1 - h.side[i], i);
}

void TieElimination::list_rows(const Nodes& nodes) {
  std::map<int, std::vector<Share>> rows;
  const auto add_point = [&](int tie, int side, Share share) {
    ties_.for_each_part(tie, side, [&](int node, double weight) {
      share.side = side;
      share.weight = weight;
      if (!nodes.fixed[node]) rows[node].push_back(share);
    });
  };
  for (int k = 0; k < static_cast<int>(hanging_.size()); ++k)
    for (int i = 0; i < hanging_[k].count; ++i) add_point(hanging_[k].tie[i], 1 - hanging_[k].side[i], {k, i, 0, 0.0});
  for (int t = 0; t < static_cast<int>(ties_.size()); ++t)
    if (const auto [a, b] = ties_.components(t); b >= 0 && kept_[a] && kept_[b])
      for (const int side : {0, 1}) add_point(t, side, {-1, t, 0, 0.0});

  row_share_ = row_first_ = {0};
  std::vector<int> columns;
  for (const auto& [node, shares] : rows) {
    columns.clear();
    for (const Share& share : shares)
      for_each_point_coupled_to(share, [&](int tie, int side, int) {
        ties_.for_each_part(tie, side, [&](int other, double) { columns.push_back(other); });
      });
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    row_node_.push_back(node);
    row_component_.push_back(nodes.component[node]);
    share_.insert(share_.end(), shares.begin(), shares.end());
    row_share_.push_back(static_cast<int>(share_.size()));
    column_.insert(column_.end(), columns.begin(), columns.end());
    row_first_.push_back(static_cast<int>(column_.size()));
  }
  block_.assign(column_.size(), Mat3::Zero());
}

void TieElimination::factor(std::span<Body* const> bodies, std::span<const std::uint8_t> stale) {
  bool any_eliminated = false, any_kept = false;
  for (std::size_t c = 0; c < stale.size(); ++c) {
    any_eliminated |= stale[c] && eliminated_[c];
    any_kept |= stale[c] && kept_[c];
  }
  if (any_eliminated) find_answers(bodies, stale);
  if (any_eliminated || any_kept) sum_rows();  // ties of kept ones change with the size of the step
}

// M column by column: the i-th tie of every component pulls along one axis, and each answers at all of its ties.
void TieElimination::find_answers(std::span<Body* const> bodies, std::span<const std::uint8_t> stale) {
  std::vector<std::uint8_t> marked(stale.size());  // those with an i-th tie
  const auto for_each_with_tie = [&](int i, auto&& f) {
    for_each_index(hanging_.size(), [&](std::size_t k) {
      if (i < hanging_[k].count && stale[hanging_[k].component]) f(hanging_[k]);
    });
  };
  for (int i = 0; i < most_ties_; ++i) {
    std::fill(marked.begin(), marked.end(), 0);
    for_each_with_tie(i, [&](const Hanging& h) { marked[h.component] = 1; });
    for (int axis = 0; axis < 3; ++axis) {
      const auto pull = [&](double by) {
        for_each_with_tie(i, [&](const Hanging& h) {
          ties_.for_each_part(h.tie[i], h.side[i], [&](int node, double weight) {
            unit_[node][axis] = by * ties_.effective(h.tie[i]) * weight;
          });
        });
      };
      pull(1.0);
      tbb::parallel_for(std::size_t{0}, bodies.size(),
                        [&](std::size_t b) { bodies[b]->precondition(unit_, moved_, marked); });
      pull(0.0);
      for_each_with_tie(i, [&](const Hanging& h) {
        for (int j = 0; j < h.count; ++j)
          answer_[h.block + j * h.count + i].col(axis) =
              ties_.effective(h.tie[j]) * ties_.sum(h.tie[j], h.side[j], moved_);
      });
    }
  }
  for_each_with_tie(0, [&](const Hanging& h) {  // conjugate gradients take it for symmetric to the last bit
    for (int i = 0; i < h.count; ++i)
      for (int j = 0; j <= i; ++j) {
        Mat3 &lower = answer_[h.block + i * h.count + j], &upper = answer_[h.block + j * h.count + i];
        const Mat3 mean = 0.5 * (lower + upper.transpose());
        lower = mean;
        upper = mean.transpose();
      }
  });
}

void TieElimination::sum_rows() {
  for_each_row(row_node_.size(), [&](std::size_t row) {
    const auto first = column_.begin() + row_first_[row], last = column_.begin() + row_first_[row + 1];
    Mat3* const blocks = block_.data() + row_first_[row];
    std::fill_n(blocks, last - first, Mat3::Zero());
    for (int s = row_share_[row]; s < row_share_[row + 1]; ++s) {
      const Share& share = share_[s];
      for_each_point_coupled_to(share, [&](int tie, int side, int i) {
        Mat3 coupling;
        if (share.hanging < 0) {
          coupling = share.weight * ties_.effective(tie) * Mat3::Identity();
        } else {
          const Hanging& h = hanging_[share.hanging];
          coupling = -share.weight * answer_[h.block + share.tie * h.count + i];
        }
        ties_.for_each_part(tie, side, [&](int node, double weight) {
          blocks[std::lower_bound(first, last, node) - first] += weight * coupling;
        });
      });
    }
  });
}

void TieElimination::multiply(std::span<const Vec3> x, std::span<Vec3> y, std::span<const std::uint8_t> active) const {
  for_each_row(row_node_.size(), [&](std::size_t row) {
    if (!active[row_component_[row]]) return;
    Vec3 sum = Vec3::Zero();
    for (int k = row_first_[row]; k < row_first_[row + 1]; ++k) sum += block_[k] * x[column_[k]];
    y[row_node_[row]] += sum;
  });
}

}  // namespace stiction
