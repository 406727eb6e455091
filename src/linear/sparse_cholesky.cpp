// Multifrontal: a supernode's columns are assembled from the matrix and its children's updates, factored as a dense
// panel, and their product is the update for its parent. A panel is two dense arrays, the rows below its columns and
// the triangle of the columns themselves. The triangle is a square array while it is being factored, which reaches over
// the panels that follow; then it is packed into strips of kPackRows columns, their corners on the diagonal inverted.
//
// Large matrices are split at a fixed set of subtrees, whatever the number of threads: subtrees run in parallel, then
// the supernodes above them in order, each tile by tile in parallel. Every sum has one order, so the bits do not depend
// on the threads.
#include "linear/sparse_cholesky.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "linear/panel_kernels.hpp"
#include "linear/supernodes.hpp"
#include "parallel/large_vector.hpp"

namespace stiction {

using namespace panel;

namespace {

/// Columns that a panel's dense factorisation treats together: a tile's rows of them stay in the first-level cache.
constexpr int kBlockColumns = 96;
/// Below this work a matrix is factored by one thread.
constexpr double kParallelFlops = 1e9;
/// Panels of more bytes are solved by several threads.
constexpr std::size_t kParallelBytes = std::size_t{1} << 20;

/// Where block (i, j) of the matrix goes: local row and column in its supernode.
struct Scatter {
  int source;  ///< ~source: transposed
  int row, column;
};

/// Consecutive rows of a child that are consecutive in its parent; none straddles the parent's last column.
struct Run {
  int from, to, length;
};

struct Panel {
  int first = 0, width = 0, height = 0;  ///< in blocks
  int ld_triangle = 0, ld_below = 0;
  std::size_t triangle = 0, below = 0;  ///< offsets into the factor
  std::size_t update = 0;               ///< offset of its update (ld_below x 3 height) in the work space
  std::size_t rows = 0;                 ///< offset of its rows
  int scatter_begin = 0, scatter_end = 0;
  int child_begin = 0, child_end = 0;
  int run_begin = 0, run_end = 0;  ///< into its parent
  int scratch = 0;                 ///< of a solve: offset of its rows' values
};

/// Supernodes [begin, end) that depend on none outside.
struct Subtree {
  int begin, end;
  double flops;
  int boundary = 0;  ///< offset of its root's rows among the solve's unknowns, in blocks
};

template <class F>
void for_each_index(int count, bool parallel, F&& f) {
  if (parallel) {
    tbb::parallel_for(0, count, f);
  } else {
    for (int i = 0; i < count; ++i) f(i);
  }
}

/// f(begin, end) over all of [0, count), or in parallel over chunks of it.
template <class F>
void for_each_chunk(int count, int chunk, bool parallel, F&& f) {
  if (!parallel) return f(0, count);
  tbb::parallel_for(0, (count + chunk - 1) / chunk, [&](int c) { f(c * chunk, std::min((c + 1) * chunk, count)); });
}

/// Copies `count` numbers; zeros follow up to `padded`.
void copy_padded(const double* from, int count, double* to, int padded) {
  std::memcpy(to, from, sizeof(double) * count);
  std::fill(to + count, to + padded, 0.0);
}

/// Small matrices are factored by one thread from end to end, so that all of a thread's share one work space.
double* thread_work_space(std::size_t size) {
  thread_local LargeVector<double> space;
  if (space.size() < size) space.resize(size);
  return space.data();
}

}  // namespace

struct SparseCholesky::Impl {
  Supernodes supernodes;
  std::vector<Panel> panels;
  std::vector<Scatter> scatter;
  std::vector<int> children;
  std::vector<Run> runs;
  std::vector<Subtree> subtrees;  ///< of a large matrix, heaviest first
  std::vector<int> top;           ///< supernodes above them; all of them for a small matrix
  std::vector<int> solve_row;     ///< as supernodes.row, rows outside a subtree counted among its boundary
  LargeVector<double> factor;
  std::size_t packed = 0;       ///< what of `factor` a solve reads
  LargeVector<double> updates;  ///< of a large matrix
  std::size_t updates_size = 0;
  double* work = nullptr;  ///< where the updates are during a factorisation
  mutable LargeVector<double> unknowns, scratch;

  bool parallel() const { return !subtrees.empty(); }

  void split_tree();
  void place_panels();
  void place_updates();
  void place_solve();
  void assemble(const Panel& p, const BlockMatrix& m, std::span<const double> w);
  void add_child(const Panel& p, const Panel& child, bool own_columns, bool inside);
  bool factor_panel(const Panel& p, bool inside);
  bool factor_supernode(int s, const BlockMatrix& m, std::span<const double> w, bool inside);
  void forward(int s, bool inside) const;
  void backward(int s, bool inside) const;
};

SparseCholesky::SparseCholesky() : impl_(std::make_unique<Impl>()) {}
SparseCholesky::~SparseCholesky() = default;
SparseCholesky::SparseCholesky(SparseCholesky&&) noexcept = default;
SparseCholesky& SparseCholesky::operator=(SparseCholesky&&) noexcept = default;

// --------------------------------------------------------------------------------------------------------------------
// Analysis

void SparseCholesky::Impl::split_tree() {
  const int count = supernodes.count();
  std::vector<double> below(count);
  std::vector<int> begin(count);  // of the subtree's range
  double total = 0;
  for (int s = 0; s < count; ++s) {
    below[s] += supernodes.flops(s);
    begin[s] = panels[s].child_begin == panels[s].child_end ? s : begin[children[panels[s].child_begin]];
    if (const int p = supernodes.parent[s]; p >= 0)
      below[p] += below[s];
    else
      total += below[s];
  }
  std::vector<bool> is_top(count, true);
  if (total > kParallelFlops) {
    // From the roots down, until no subtree is a large share of the whole.
    for (int s = count - 1; s >= 0; --s) {
      const int p = supernodes.parent[s];
      if (p >= 0 && !is_top[p]) {
        is_top[s] = false;
      } else if (below[s] < total / 64) {
        is_top[s] = false;
        subtrees.push_back({begin[s], s + 1, below[s]});
      }
    }
    std::stable_sort(subtrees.begin(), subtrees.end(),
                     [](const Subtree& a, const Subtree& b) { return a.flops > b.flops; });
  }
  for (int s = 0; s < count; ++s)
    if (is_top[s]) top.push_back(s);
}

void SparseCholesky::Impl::place_panels() {
  // Panels that are factored one after the other are neighbours; the last ones' unpacked triangles need room of their
  // own, as the next group of panels is factored by another thread.
  std::size_t begin = 0, end = 0;
  const auto place = [&](int s) {
    Panel& p = panels[s];
    p.below = begin;
    p.triangle = p.below + static_cast<std::size_t>(p.ld_below) * 3 * p.width;
    begin = p.triangle + strip_offset(3 * p.width, p.width * 3);
    packed += begin - p.below;
    end = std::max(end, p.triangle + static_cast<std::size_t>(p.ld_triangle) * 3 * p.width);
  };
  for (const Subtree& tree : subtrees) {
    for (int s = tree.begin; s < tree.end; ++s) place(s);
    begin = std::max(begin, end);
  }
  for (const int s : top) place(s);
  factor.assign(std::max(begin, end), 0.0);
}

void SparseCholesky::Impl::place_updates() {
  // When a supernode is done, its children's updates are free. In postorder, updates of even depth and of odd depth
  // each form a stack: a supernode's children lie on top of the other stack than its own.
  std::vector<int> depth(panels.size(), 0);
  for (int s = supernodes.count() - 1; s >= 0; --s)
    if (const int p = supernodes.parent[s]; p >= 0) depth[s] = depth[p] + 1;
  const auto size = [&](int s) { return static_cast<std::size_t>(panels[s].ld_below) * 3 * panels[s].height; };
  std::size_t used = 0;
  const auto place_stacks = [&](int begin, int end) {
    std::size_t level[2] = {0, 0}, peak[2] = {0, 0};
    for (int s = begin; s < end; ++s) {
      std::size_t& own = level[depth[s] % 2];
      std::size_t& other = level[1 - depth[s] % 2];
      panels[s].update = own;
      own += size(s);
      peak[depth[s] % 2] = std::max(peak[depth[s] % 2], own);
      for (int c = panels[s].child_begin; c < panels[s].child_end; ++c) other -= size(children[c]);
    }
    for (int s = begin; s < end; ++s) panels[s].update += used + (depth[s] % 2 == 0 ? 0 : peak[0]);
    used += peak[0] + peak[1];
  };
  if (!parallel()) {
    place_stacks(0, supernodes.count());
  } else {
    for (const Subtree& tree : subtrees) place_stacks(tree.begin, tree.end);
    for (const int s : top) {
      panels[s].update = used;
      used += size(s);
    }
  }
  updates_size = used;
  if (parallel()) updates.assign(used, 0.0);
}

void SparseCholesky::Impl::place_solve() {
  solve_row = supernodes.row;
  int boundary = static_cast<int>(supernodes.order.size());
  int scratch_size = 0;
  const auto place_scratch = [&](int s, int at) {
    panels[s].scratch = at;
    scratch_size = std::max(scratch_size, at + panels[s].ld_below + panels[s].ld_triangle);
  };
  for (Subtree& tree : subtrees) {
    tree.boundary = boundary;
    const Panel& root = panels[tree.end - 1];
    const int* outside = supernodes.row.data() + root.rows;
    const int inside_end = root.first + root.width, at = scratch_size;
    for (int s = tree.begin; s < tree.end; ++s) {
      place_scratch(s, at);
      for (int k = 0; k < panels[s].height; ++k) {
        int& row = solve_row[panels[s].rows + k];
        if (row < inside_end) continue;
        row = boundary + static_cast<int>(std::lower_bound(outside, outside + root.height, row) - outside);
      }
    }
    boundary += root.height;
  }
  const int at = scratch_size;
  for (const int s : top) place_scratch(s, at);
  unknowns.assign(3 * static_cast<std::size_t>(boundary) + kPackRows, 0.0);
  scratch.assign(scratch_size, 0.0);
}

void SparseCholesky::analyse(const BlockMatrix& pattern) {
  *impl_ = Impl();
  Impl& self = *impl_;
  self.supernodes = find_supernodes(pattern);
  const Supernodes& sn = self.supernodes;
  self.panels.resize(sn.count());

  for (int s = 0; s < sn.count(); ++s) {
    Panel& p = self.panels[s];
    p.first = sn.first[s];
    p.width = sn.width(s);
    p.height = sn.height(s);
    p.rows = sn.row_offset[s];
    p.ld_triangle = leading_dimension(3 * p.width);
    p.ld_below = leading_dimension(3 * p.height);
  }

  // Children of every supernode, ascending, and the place of their rows in the parent.
  for (int s = 0; s < sn.count(); ++s)
    if (sn.parent[s] >= 0) ++self.panels[sn.parent[s]].child_end;
  int child_count = 0;
  for (Panel& p : self.panels) {
    p.child_begin = child_count;
    child_count += p.child_end;
    p.child_end = p.child_begin;
  }
  self.children.resize(child_count);
  std::vector<int> local(sn.order.size());
  for (int s = 0; s < sn.count(); ++s)
    if (sn.parent[s] >= 0) self.children[self.panels[sn.parent[s]].child_end++] = s;
  std::vector<int> position(sn.order.size()), supernode_of(sn.order.size());
  for (std::size_t k = 0; k < sn.order.size(); ++k) position[sn.order[k]] = static_cast<int>(k);

  for (int s = 0; s < sn.count(); ++s) {
    Panel& p = self.panels[s];
    for (int k = 0; k < p.width; ++k) local[p.first + k] = k, supernode_of[p.first + k] = s;
    for (int k = 0; k < p.height; ++k) local[sn.row[p.rows + k]] = p.width + k;
    for (int c = p.child_begin; c < p.child_end; ++c) {
      Panel& child = self.panels[self.children[c]];
      child.run_begin = static_cast<int>(self.runs.size());
      for (int k = 0; k < child.height; ++k) {
        const int to = local[sn.row[child.rows + k]];
        const bool continues = k > 0 && to != p.width && self.runs.back().to + self.runs.back().length == to;
        if (continues)
          ++self.runs.back().length;
        else
          self.runs.push_back({k, to, 1});
      }
      child.run_end = static_cast<int>(self.runs.size());
    }
  }

  // Blocks of the matrix by supernode.
  std::vector<std::vector<Scatter>> scatter(sn.count());
  for (int j = 0; j < pattern.size; ++j)
    for (int k = pattern.column[j]; k < pattern.column[j + 1]; ++k) {
      const int a = position[pattern.row[k]], b = position[j];
      const int row = std::max(a, b), column = std::min(a, b), s = supernode_of[column];
      const Panel& p = self.panels[s];
      const int* rows = sn.row.data() + p.rows;
      const int local_row = row < p.first + p.width
                                ? row - p.first
                                : p.width + static_cast<int>(std::lower_bound(rows, rows + p.height, row) - rows);
      scatter[s].push_back({a >= b ? k : ~k, local_row, column - p.first});
    }
  for (int s = 0; s < sn.count(); ++s) {
    self.panels[s].scatter_begin = static_cast<int>(self.scatter.size());
    self.scatter.insert(self.scatter.end(), scatter[s].begin(), scatter[s].end());
    self.panels[s].scatter_end = static_cast<int>(self.scatter.size());
  }
  self.split_tree();
  self.place_panels();
  self.place_updates();
  self.place_solve();
}

// --------------------------------------------------------------------------------------------------------------------
// Factorisation

void SparseCholesky::Impl::assemble(const Panel& p, const BlockMatrix& m, std::span<const double> w) {
  double* triangle = factor.data() + p.triangle;
  double* below = factor.data() + p.below;
  std::memset(triangle, 0, sizeof(double) * p.ld_triangle * 3 * p.width);
  std::memset(below, 0, sizeof(double) * p.ld_below * 3 * p.width);
  for (int k = p.scatter_begin; k < p.scatter_end; ++k) {
    const Scatter& at = scatter[k];
    const bool own = at.row < p.width;
    const std::size_t ld = own ? p.ld_triangle : p.ld_below;
    double* to = (own ? triangle + 3 * at.row : below + 3 * (at.row - p.width)) + 3 * at.column * ld;
    const double* from = m.block[at.source >= 0 ? at.source : ~at.source].data();
    if (at.source >= 0) {
      for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) to[j * ld + i] = from[3 * j + i];
    } else {
      for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) to[j * ld + i] = from[3 * i + j];
    }
  }
  if (w.empty()) return;
  for (int k = 0; k < p.width; ++k)
    for (int i = 3 * k; i < 3 * k + 3; ++i)
      triangle[i * (p.ld_triangle + std::size_t{1})] += w[supernodes.order[p.first + k]];
}

/// Adds a child's update to the columns of p (own_columns) or to the update of p.
void SparseCholesky::Impl::add_child(const Panel& p, const Panel& child, bool own_columns, bool inside) {
  const double* update = work + child.update;
  const Run* const run_end = runs.data() + child.run_end;
  const auto add_columns = [&](const Run* columns) {
    for (int k = 0; k < columns->length; ++k) {
      // Lower triangle: the run's own rows from the diagonal block on, then the later runs.
      const double* from = update + 3 * (columns->from + k) * static_cast<std::size_t>(child.ld_below);
      const int column = columns->to + k;
      for (const Run* rows = columns; rows < run_end; ++rows) {
        const int skip = rows == columns ? k : 0;
        const int row = rows->to + skip, length = 3 * (rows->length - skip);
        double* to;
        std::size_t ld;
        if (!own_columns) {
          ld = p.ld_below;
          to = work + p.update + 3 * (row - p.width) + 3 * (column - p.width) * ld;
        } else if (row < p.width) {
          ld = p.ld_triangle;
          to = factor.data() + p.triangle + 3 * row + 3 * column * ld;
        } else {
          ld = p.ld_below;
          to = factor.data() + p.below + 3 * (row - p.width) + 3 * column * ld;
        }
        const double* source = from + 3 * (rows->from + skip);
        for (int j = 0; j < 3; ++j, to += ld, source += child.ld_below)
          for (int i = 0; i < length; ++i) to[i] += source[i];
      }
    }
  };
  const Run* begin = runs.data() + child.run_begin;
  const Run* middle = std::find_if(begin, run_end, [&](const Run& run) { return run.to >= p.width; });
  const Run* const first = own_columns ? begin : middle;
  const Run* const last = own_columns ? middle : run_end;
  for_each_index(static_cast<int>(last - first), inside, [&](int i) { add_columns(first + i); });
}

bool SparseCholesky::Impl::factor_panel(const Panel& p, bool inside) {
  double* const L = factor.data() + p.triangle;
  double* const B = factor.data() + p.below;
  double* const U = work + p.update;
  const std::size_t ld = p.ld_triangle, ldb = p.ld_below;
  const int columns = 3 * p.width, rows = round_up(columns), rows_below = round_up(3 * p.height);
  const int tiles_below = (rows_below + kTileRows - 1) / kTileRows;

  for (int begin = 0; begin < columns; begin += kBlockColumns) {
    const int end = std::min(begin + kBlockColumns, columns), depth = end - begin;

    // The corner on the diagonal, tile column by tile column.
    const int corner_rows = round_up(end);
    for (int j = begin; j < end; j += kTileColumns) {
      const int n = std::min(kTileColumns, end - j), pivot_rows = round_up(j + n);
      double* column = L + j * ld;
      const double* left = L + begin * ld;
      for (int r = round_down(j); r < pivot_rows; r += kPackRows)
        any_tile<Start::kFromC, false>(1, n, left + r, ld, left + j, ld, j - begin, column + r, ld);
      if (!factor_corner(column + j, ld, n)) return false;
      for (int r = j + n; r < pivot_rows; ++r) panel::solve_row(column + r, ld, column + j, ld, n);
      for (int r = pivot_rows; r < corner_rows; r += kTileRows)
        any_tile<Start::kFromC, true>(std::min(kTilePacks, (corner_rows - r) / kPackRows), n, left + r, ld, left + j,
                                      ld, j - begin, column + r, ld, column + j, ld);
    }

    // The rows under the corner: in the triangle, then below.
    const int tiles = (rows - corner_rows + kTileRows - 1) / kTileRows;
    for_each_index(tiles + tiles_below, inside, [&](int t) {
      const bool own = t < tiles;
      const int r = own ? corner_rows + t * kTileRows : (t - tiles) * kTileRows;
      const int packs = std::min(kTilePacks, ((own ? rows : rows_below) - r) / kPackRows);
      double* const target = (own ? L : B) + r;
      const std::size_t ldt = own ? ld : ldb;
      for (int j = begin; j < end; j += kTileColumns)
        any_tile<Start::kFromC, true>(packs, std::min(kTileColumns, end - j), target + begin * ldt, ldt,
                                      L + begin * ld + j, ld, j - begin, target + j * ldt, ldt, L + j * ld + j, ld);
    });

    // Their products, subtracted from what follows: the later columns, then the update.
    const int later_tiles = end < columns ? (rows - round_down(end) + kTileRows - 1) / kTileRows : 0;
    for_each_index(later_tiles + tiles_below, inside, [&](int t) {
      if (t < later_tiles) {
        const int r = round_down(end) + t * kTileRows;
        subtract_product<Start::kFromC>(r, std::min(r + kTileRows, rows), end, columns, true, L + begin * ld, ld,
                                        L + begin * ld, ld, depth, L, ld);
        return;
      }
      const int r = (t - later_tiles) * kTileRows, r_end = std::min(r + kTileRows, rows_below);
      if (end < columns)
        subtract_product<Start::kFromC>(r, r_end, end, columns, false, B + begin * ldb, ldb, L + begin * ld, ld, depth,
                                        B, ldb);
      if (begin == 0)
        subtract_product<Start::kFromZero>(r, r_end, 0, 3 * p.height, true, B, ldb, B, ldb, depth, U, ldb);
      else
        subtract_product<Start::kFromC>(r, r_end, 0, 3 * p.height, true, B + begin * ldb, ldb, B + begin * ldb, ldb,
                                        depth, U, ldb);
    });
  }
  pack_triangle(L, ld, columns);
  return true;
}

bool SparseCholesky::Impl::factor_supernode(int s, const BlockMatrix& m, std::span<const double> w, bool inside) {
  const Panel& p = panels[s];
  assemble(p, m, w);
  for (int c = p.child_begin; c < p.child_end; ++c) add_child(p, panels[children[c]], true, inside);
  if (!factor_panel(p, inside)) return false;
  for (int c = p.child_begin; c < p.child_end; ++c) add_child(p, panels[children[c]], false, inside);
  return true;
}

bool SparseCholesky::factor(const BlockMatrix& m, std::span<const double> w) {
  Impl& self = *impl_;
  self.work = self.parallel() ? self.updates.data() : thread_work_space(self.updates_size);
  std::atomic<bool> positive = true;
  for_each_index(static_cast<int>(self.subtrees.size()), self.parallel(), [&](int t) {
    for (int s = self.subtrees[t].begin; s < self.subtrees[t].end; ++s)
      if (!self.factor_supernode(s, m, w, false)) {
        positive = false;
        return;
      }
  });
  if (!positive) return false;
  for (const int s : self.top)
    if (!self.factor_supernode(s, m, w, self.parallel())) return false;
  return true;
}

// --------------------------------------------------------------------------------------------------------------------
// Solution

/// x_own := L^-1 x_own; x_rows -= B x_own.
void SparseCholesky::Impl::forward(int s, bool inside) const {
  const Panel& p = panels[s];
  const double *const L = factor.data() + p.triangle, *const B = factor.data() + p.below;
  const std::size_t ldb = p.ld_below;
  const int columns = 3 * p.width, rows = round_up(columns), rows_below = round_up(3 * p.height);
  double *const y = scratch.data() + p.scratch, *const x = y + ldb, *const own = unknowns.data() + 3 * p.first;
  copy_padded(own, columns, x, rows);
  for (int j = 0; j < columns; j += kPackRows) {
    const int n = std::min(kPackRows, columns - j), length = rows - j;
    const double* strip = L + strip_offset(columns, j);
    Rows sum(0.0);
    for (int k = 0; k < n; ++k) sum += rows_at(strip + k * length) * x[j + k];
    rows_at(x + j) = sum;
    if (n == kPackRows)
      subtract_columns<kPackRows>(strip + kPackRows, length, length - kPackRows, x + j, x + j + kPackRows);
  }
  std::memcpy(own, x, sizeof(double) * columns);
  if (p.height == 0) return;

  const auto below = [&](int begin, int end) {
    std::fill(y + begin, y + end, 0.0);
    int j = 0;
    for (; j + 6 <= columns; j += 6) subtract_columns<6>(B + j * ldb + begin, ldb, end - begin, x + j, y + begin);
    if (j < columns) subtract_columns<3>(B + j * ldb + begin, ldb, end - begin, x + j, y + begin);
  };
  for_each_chunk(rows_below, 256, inside && ldb * columns * sizeof(double) > kParallelBytes, below);
  const int* row = solve_row.data() + p.rows;
  for (int k = 0; k < p.height; ++k) {
    double* to = unknowns.data() + 3 * row[k];
    for (int i = 0; i < 3; ++i) to[i] += y[3 * k + i];
  }
}

/// x_own := L^-T (x_own - B^T x_rows).
void SparseCholesky::Impl::backward(int s, bool inside) const {
  const Panel& p = panels[s];
  const double *const L = factor.data() + p.triangle, *const B = factor.data() + p.below;
  const std::size_t ldb = p.ld_below;
  const int columns = 3 * p.width, rows = round_up(columns), rows_below = round_up(3 * p.height);
  double *const y = scratch.data() + p.scratch, *const x = y + ldb, *const own = unknowns.data() + 3 * p.first;
  copy_padded(own, columns, x, rows);
  if (p.height > 0) {
    const int* row = solve_row.data() + p.rows;
    for (int k = 0; k < p.height; ++k)
      for (int i = 0; i < 3; ++i) y[3 * k + i] = unknowns[3 * row[k] + i];
    std::fill(y + 3 * p.height, y + rows_below, 0.0);
    const auto below = [&](int begin, int end) {
      int j = end;
      if ((end - begin) % 6 != 0) j -= 3, subtract_dots<3>(B + j * ldb, ldb, rows_below, y, x + j);
      while (j > begin) {
        j -= 6;
        subtract_dots<6>(B + j * ldb, ldb, rows_below, y, x + j);
      }
    };
    for_each_chunk(columns, 48, inside && ldb * columns * sizeof(double) > kParallelBytes, below);
  }
  for (int j = round_down(columns - 1); j >= 0; j -= kPackRows) {
    const int n = std::min(kPackRows, columns - j), length = rows - j;
    const double* strip = L + strip_offset(columns, j);
    if (n == kPackRows)
      subtract_dots<kPackRows>(strip + kPackRows, length, length - kPackRows, x + j + kPackRows, x + j);
    const Rows value = rows_at(x + j);
    for (int k = 0; k < n; ++k) x[j + k] = sum_of(rows_at(strip + k * length) * value);
  }
  std::memcpy(own, x, sizeof(double) * columns);
}

void SparseCholesky::solve(std::span<Vec3> x) const {
  const Impl& self = *impl_;
  const std::vector<int>& order = self.supernodes.order;
  double* const unknowns = self.unknowns.data();
  for (std::size_t k = 0; k < order.size(); ++k)
    for (int i = 0; i < 3; ++i) unknowns[3 * k + i] = x[order[k]][i];

  const int trees = static_cast<int>(self.subtrees.size());
  const auto outside = [&](const Subtree& tree, auto&& f) {  // f(boundary value, value above)
    const Panel& root = self.panels[tree.end - 1];
    for (int k = 0; k < root.height; ++k) {
      double* here = unknowns + 3 * (tree.boundary + k);
      double* above = unknowns + 3 * self.supernodes.row[root.rows + k];
      for (int i = 0; i < 3; ++i) f(here[i], above[i]);
    }
  };
  for_each_index(trees, self.parallel(), [&](int t) {
    const Subtree& tree = self.subtrees[t];
    std::fill_n(unknowns + 3 * tree.boundary, 3 * self.panels[tree.end - 1].height, 0.0);
    for (int s = tree.begin; s < tree.end; ++s) self.forward(s, false);
  });
  for (const Subtree& tree : self.subtrees) outside(tree, [](double here, double& above) { above += here; });
  for (const int s : self.top) self.forward(s, self.parallel());
  for (auto s = self.top.rbegin(); s != self.top.rend(); ++s) self.backward(*s, self.parallel());
  for_each_index(trees, self.parallel(), [&](int t) {
    const Subtree& tree = self.subtrees[t];
    outside(tree, [](double& here, double above) { here = above; });
    for (int s = tree.end - 1; s >= tree.begin; --s) self.backward(s, false);
  });

  for (std::size_t k = 0; k < order.size(); ++k)
    for (int i = 0; i < 3; ++i) x[order[k]][i] = unknowns[3 * k + i];
}

std::size_t SparseCholesky::factor_bytes() const { return impl_->packed * sizeof(double); }

double SparseCholesky::factor_flops() const {
  double sum = 0;
  for (int s = 0; s < impl_->supernodes.count(); ++s) sum += impl_->supernodes.flops(s);
  return sum;
}

}  // namespace stiction
