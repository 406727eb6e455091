#include "linear/supernodes.hpp"

#include <algorithm>
#include <numeric>

#include "linear/fill_order.hpp"

namespace stiction {

namespace {

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) position[order[k]] = static_cast<int>(k);
  return position;
}

/// Calls f(i, j) for every coupled pair with j before i in the order, i ascending.
template <class F>
void each_coupling(const NodeGraph& graph, const std::vector<int>& order, const std::vector<int>& position, F&& f) {
  for (int i = 0; i < graph.size(); ++i)
    for (int k = graph.offset[order[i]]; k < graph.offset[order[i] + 1]; ++k)
      if (const int j = position[graph.neighbour[k]]; j < i) f(i, j);
}

std::vector<int> elimination_tree(const NodeGraph& graph, const std::vector<int>& order) {
  const std::vector<int> position = inverse(order);
  std::vector<int> parent(order.size(), -1), ancestor(order.size(), -1);
  each_coupling(graph, order, position, [&](int i, int j) {
    while (ancestor[j] != -1 && ancestor[j] != i) {
      const int next = ancestor[j];
      ancestor[j] = i;
      j = next;
    }
    if (ancestor[j] == -1) ancestor[j] = parent[j] = i;
  });
  return parent;
}

/// Children of every node of a forest, ascending; those of the virtual root -1 come last.
struct Children {
  std::vector<int> offset, child;

  explicit Children(const std::vector<int>& parent) : offset(parent.size() + 2, 0), child(parent.size()) {
    const int root = static_cast<int>(parent.size());
    const auto slot = [&](int p) { return p < 0 ? root : p; };
    for (const int p : parent) ++offset[slot(p) + 1];
    std::partial_sum(offset.begin(), offset.end(), offset.begin());
    std::vector<int> next(offset.begin(), offset.end() - 1);
    for (int i = 0; i < root; ++i) child[next[slot(parent[i])]++] = i;
  }
};

/// The nodes of a forest, children before parents and every subtree contiguous.
std::vector<int> postorder(const std::vector<int>& parent) {
  const Children children(parent);
  const int root = static_cast<int>(parent.size());
  std::vector<int> result, stack = {root}, next(children.offset.begin(), children.offset.end() - 1);
  while (!stack.empty()) {
    const int node = stack.back();
    if (next[node] < children.offset[node + 1]) {
      stack.push_back(children.child[next[node]++]);
    } else {
      stack.pop_back();
      if (node != root) result.push_back(node);
    }
  }
  return result;
}

/// An order whose elimination tree is postordered, with that tree and the blocks of every column of L.
struct Columns {
  std::vector<int> order, parent, count;
  double flops = 0;
};

Columns analyse_columns(const NodeGraph& graph, const std::vector<int>& raw_order) {
  Columns columns;
  for (const int k : postorder(elimination_tree(graph, raw_order))) columns.order.push_back(raw_order[k]);
  columns.parent = elimination_tree(graph, columns.order);
  // Row i of L is the subtree that the couplings of i span below i.
  columns.count.assign(columns.order.size(), 1);
  std::vector<int> seen_by(columns.order.size(), -1);
  each_coupling(graph, columns.order, inverse(columns.order), [&](int i, int j) {
    for (; j != i && seen_by[j] != i; j = columns.parent[j]) {
      ++columns.count[j];
      seen_by[j] = i;
    }
  });
  for (const int c : columns.count) columns.flops += static_cast<double>(c) * c;
  return columns;
}

/// A supernode while it may still grow.
struct Group {
  int parent = -1;
  double width = 0, height = 0, zeros = 0;
  std::vector<int> column;  ///< ascending

  double entries() const { return 0.5 * width * (width + 1) + width * height; }
};

/// Wide supernodes run at the speed of dense products, so narrow ones may store many zeros, wide ones few.
bool worth_merging(const Group& merged) {
  const double fraction = merged.zeros / merged.entries();
  if (merged.width <= 4) return fraction < 0.3;
  if (merged.width <= 12) return fraction < 0.1;
  return fraction < 0.03;
}

std::vector<Group> merged_groups(const Columns& columns) {
  const int size = static_cast<int>(columns.order.size());
  // Columns of one pattern below their diagonals.
  std::vector<Group> groups;
  std::vector<int> group_of(size);
  for (int j = 0; j < size; ++j) {
    const bool continues = j > 0 && columns.parent[j - 1] == j && columns.count[j - 1] == columns.count[j] + 1;
    if (!continues) groups.emplace_back();
    group_of[j] = static_cast<int>(groups.size()) - 1;
    groups.back().column.push_back(j);
    groups.back().width += 1;
    groups.back().height = columns.count[j] - 1;
  }
  for (Group& g : groups)
    if (const int p = columns.parent[g.column.back()]; p >= 0) g.parent = group_of[p];

  // A child's rows lie among its parent's columns and rows; merged, its columns get all of them.
  std::vector<std::vector<int>> children(groups.size());
  for (std::size_t s = 0; s < groups.size(); ++s)
    if (groups[s].parent >= 0) children[groups[s].parent].push_back(static_cast<int>(s));
  for (std::size_t s = 0; s < groups.size(); ++s) {
    Group& parent = groups[s];
    const auto added = [&](int c) { return groups[c].width * (parent.width + parent.height - groups[c].height); };
    std::vector<int> candidates = children[s];
    std::stable_sort(candidates.begin(), candidates.end(), [&](int a, int b) { return added(a) < added(b); });
    for (const int c : candidates) {
      Group merged;
      merged.width = parent.width + groups[c].width;
      merged.height = parent.height;
      merged.zeros = parent.zeros + groups[c].zeros + added(c);
      if (!worth_merging(merged)) continue;
      parent.width = merged.width;
      parent.zeros = merged.zeros;
      groups[c].column.insert(groups[c].column.end(), parent.column.begin(), parent.column.end());
      parent.column = std::move(groups[c].column);
      groups[c].column.clear();
      children[s].erase(std::find(children[s].begin(), children[s].end(), c));
      children[s].insert(children[s].end(), children[c].begin(), children[c].end());
    }
    for (const int c : children[s]) groups[c].parent = static_cast<int>(s);
  }
  std::vector<int> kept(groups.size(), -1);
  std::vector<Group> result;
  for (std::size_t s = 0; s < groups.size(); ++s)
    if (!groups[s].column.empty()) kept[s] = static_cast<int>(result.size()), result.push_back(std::move(groups[s]));
  for (Group& g : result)
    if (g.parent >= 0) g.parent = kept[g.parent];
  return result;
}

}  // namespace

double Supernodes::flops(int s) const {
  const double w = 3.0 * width(s), h = 3.0 * height(s);
  return w * w * w / 3 + w * w * h + w * h * h;
}

Supernodes find_supernodes(const BlockMatrix& pattern) {
  const NodeGraph graph = node_graph(pattern);
  Columns columns = analyse_columns(graph, minimum_degree_order(graph));
  if (const std::vector<int> order = nested_dissection_order(graph); !order.empty())
    if (Columns other = analyse_columns(graph, order); other.flops < columns.flops) columns = std::move(other);

  const std::vector<Group> groups = merged_groups(columns);
  std::vector<int> parent(groups.size());
  std::transform(groups.begin(), groups.end(), parent.begin(), [](const Group& g) { return g.parent; });
  const std::vector<int> sequence = postorder(parent), place = inverse(sequence);

  Supernodes result;
  result.first.push_back(0);
  for (const int s : sequence) {
    for (const int j : groups[s].column) result.order.push_back(columns.order[j]);
    result.first.push_back(static_cast<int>(result.order.size()));
    result.parent.push_back(groups[s].parent < 0 ? -1 : place[groups[s].parent]);
  }

  // Rows of s: what its columns couple to, and its children's rows, beyond its last column.
  std::vector<std::vector<int>> rows(result.count());
  const std::vector<int> position = inverse(result.order);
  std::vector<int> seen_by(result.order.size(), -1);
  const Children children(result.parent);
  result.row_offset.push_back(0);
  for (int s = 0; s < result.count(); ++s) {
    const int end = result.first[s + 1];
    const auto add = [&](int i) {
      if (i < end || seen_by[i] == s) return;
      seen_by[i] = s;
      rows[s].push_back(i);
    };
    for (int j = result.first[s]; j < end; ++j)
      for (int k = graph.offset[result.order[j]]; k < graph.offset[result.order[j] + 1]; ++k)
        add(position[graph.neighbour[k]]);
    for (int k = children.offset[s]; k < children.offset[s + 1]; ++k)
      for (const int i : rows[children.child[k]]) add(i);
    std::sort(rows[s].begin(), rows[s].end());
    result.row.insert(result.row.end(), rows[s].begin(), rows[s].end());
    result.row_offset.push_back(result.row.size());
  }
  return result;
}

}  // namespace stiction
