#include "bodies/strand_body.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <Eigen/Eigenvalues>
#include <atomic>
#include <numbers>
#include <numeric>

#include "kernels/spring.hpp"
#include "parallel/loops.hpp"
#include "scene/motion.hpp"

namespace stiction {

namespace {

constexpr int kBatchesPerTask = 4;

int node_index(int node, int count) { return node < 0 ? count + node : node; }

// Scratch that a task fills and empties: positions of one batch.
V3<PackD>* scratch_positions(int nodes) {
  thread_local AlignedVector<V3<PackD>> buffer;
  if (static_cast<int>(buffer.size()) < nodes) buffer.resize(nodes);
  return buffer.data();
}

}  // namespace

Vec3 wind_at(const WorldOptions& world, const Vec3& x, double time) {
  if (world.gust_speed == 0 || world.wind.isZero()) return world.wind;
  const Vec3 direction = world.wind.normalized();
  const double phase = time / world.gust_period - x.dot(direction) / world.gust_wavelength;
  return world.wind + world.gust_speed * std::sin(2 * std::numbers::pi * phase) * direction;
}

template <int D, int HB>
StrandBody<D, HB>::StrandBody(const StrandBodySpec& spec, Nodes& nodes) : damping_(spec.damping) {
  std::vector<int> node_counts;
  for (const auto& strand : spec.initial) node_counts.push_back(static_cast<int>(strand.size()));
  const int total = std::accumulate(node_counts.begin(), node_counts.end(), 0);
  first_node = nodes.append(total);
  node_count = total;
  component_count = static_cast<int>(node_counts.size());
  layout_ = StrandLayout(node_counts, first_node);

  const std::size_t row_packs = static_cast<std::size_t>(layout_.pack_count()) * D;
  for (auto* a : {&mass_, &iterate_, &minus_g_}) a->assign(row_packs, PackD(0.0));
  free_.assign(row_packs, PackD(0.0));
  rest_length_.assign(layout_.pack_count(), PackD(1.0));
  stretch_k_.assign(layout_.pack_count(), PackD(0.0));
  strain_eff_ = stretch_k_;
  if (D == 4) twist_rate_.assign(layout_.pack_count(), PackD(0.0));
  twist_solution_ = twist_rate_;
  band_.assign(row_packs * (HB + 1), PackD(0.0));
  factor_ = band_;
  drag_.assign(total, 0.0);
  external_.assign(total, Vec3::Zero());
  reactions_.assign(2 * static_cast<std::size_t>(component_count), Vec3::Zero());
  place_.resize(component_count);
  for (std::size_t b = 0; b < layout_.batches().size(); ++b)
    for (int lane = 0; lane < kLanes; ++lane)
      if (const int s = layout_.batches()[b].strand[lane]; s != kNoStrand) place_[s] = {static_cast<int>(b), lane};

  for (int s = 0; s < component_count; ++s) {
    const int first = layout_.first_node(s), count = layout_.node_count(s);
    const auto [batch, lane] = place_of(s);
    for (int i = 0; i < count; ++i) {
      nodes.x[first + i] = spec.initial[s][i];
      const double before = i > 0 ? spec.rest_lengths[s][i - 1] : 0.0;
      const double after = i + 1 < count ? spec.rest_lengths[s][i] : 0.0;
      const double share = 0.5 * (before + after);
      nodes.m[first + i] = spec.line_density[s] * share;
      drag_[first + i - first_node] = spec.drag * share;
      if (i + 1 < count) {
        rest_length_[batch->first + i].set(lane, after);
        stretch_k_[batch->first + i].set(lane, spec.stretch_stiffness[s]);
      }
      const int rows_of_node = D - static_cast<int>(D == 4 && i + 1 == count);  // the last node starts no edge
      for (int a = 0; a < rows_of_node; ++a) free_[(batch->first + i) * D + a].set(lane, 1.0);
    }
  }
  for (const PointMass& p : spec.point_masses)
    nodes.m[layout_.first_node(p.strand) + node_index(p.node, layout_.node_count(p.strand))] += p.mass;
  for (const NodeForce& f : spec.forces)
    forced_.push_back(
        {layout_.first_node(f.strand) + node_index(f.node, layout_.node_count(f.strand)) - first_node, f.force});
  for (int s = 0; s < component_count; ++s) {
    const auto [batch, lane] = place_of(s);
    for (int i = 0; i < layout_.node_count(s); ++i)
      for (int a = 0; a < 3; ++a) mass_[(batch->first + i) * D + a].set(lane, nodes.m[layout_.first_node(s) + i]);
  }

  const auto fix_end = [&](int s, End end, bool at_root) {
    const int count = layout_.node_count(s);
    const int held = end == End::clamped ? 2 : (end == End::pinned ? 1 : 0);
    for (int h = 0; h < held; ++h) {
      const int i = at_root ? h : count - 1 - h;
      const int node = layout_.first_node(s) + i;
      if (nodes.fixed[node]) continue;
      nodes.fixed[node] = 1;
      fixed_.push_back({node, s, at_root ? spec.root_collider : spec.tip_collider, at_root, nodes.x[node]});
      for (int a = 0; a < 3; ++a) fix_row(s, i, a);
    }
  };
  for (int s = 0; s < component_count; ++s) {
    fix_end(s, spec.root, true);
    fix_end(s, spec.tip, false);
  }
  for (int node = first_node; node < first_node + total; ++node)
    if (!nodes.fixed[node]) nodes.v[node] = spec.initial_velocity;
}

template <int D, int HB>
std::pair<const StrandBatch*, int> StrandBody<D, HB>::place_of(int strand) const {
  return {&layout_.batches()[place_[strand].first], place_[strand].second};
}

template <int D, int HB>
void StrandBody<D, HB>::fix_row(int strand, int i, int a) {
  const auto [batch, lane] = place_of(strand);
  free_[(batch->first + i) * D + a].set(lane, 0.0);
}

template <int D, int HB>
void StrandBody<D, HB>::for_each_batch(const std::function<void(const StrandBatch&)>& f) const {
  const auto batches = layout_.batches();
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, batches.size(), kBatchesPerTask), [&](const auto& range) {
    for (std::size_t b = range.begin(); b < range.end(); ++b) f(batches[b]);
  });
}

template <int D, int HB>
void StrandBody<D, HB>::begin_step(const StepContext& context, const Nodes& nodes, std::span<Vec3> v) {
  context_ = context;
  for_each_index(fixed_.size(), [&](std::size_t i) {
    const FixedNode& node = fixed_[i];
    const Vec3 target = node.collider < 0 ? node.x_initial : context.displacement[node.collider].apply(node.x_initial);
    v[node.node] = (target - nodes.x[node.node]) / context.dt;
  });
  for (const ForcedNode& f : forced_) external_[f.node] = Vec3::Zero();
  for (const ForcedNode& f : forced_) external_[f.node] += interpolate(f.keys, context.time_end);
  begin_elastic(context, nodes, v);
}

template <int D, int HB>
Vec3 StrandBody<D, HB>::external_force(const Nodes& nodes, int node, const Vec3& v) const {
  const int local = node - first_node;
  Vec3 force = nodes.m[node] * context_.world->gravity + external_[local];
  if (drag_[local] > 0) force += drag_[local] * (wind_at(*context_.world, nodes.x[node], context_.time_end) - v);
  return force;
}

template <int D, int HB>
void StrandBody<D, HB>::add_external(const StrandBatch& batch, const Nodes& nodes, std::span<const Vec3> v, PackD* g,
                                     BandView<HB>& A) const {
  const double dt = context_.dt;
  const PackD* mass = mass_.data() + static_cast<std::size_t>(batch.first) * D;
  const PackD* iterate = iterate_.data() + static_cast<std::size_t>(batch.first) * D;
  for (int i = 0; i < batch.nodes; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!layout_.has_node(batch, lane, i)) continue;
      const int node = layout_.first_node(batch.strand[lane]) + i;
      const double m = nodes.m[node];
      const Vec3 gradient = m * (v[node] - nodes.v[node]) - dt * external_force(nodes, node, v[node]);
      for (int a = 0; a < 3; ++a) {
        g[i * D + a].set(lane, gradient[a]);
        A.entry(i * D + a, 0).set(lane, m + dt * drag_[node - first_node]);
      }
    }
    if constexpr (D == 4) {
      const int twist = i * D + 3;
      g[twist] = mass[twist] * (iterate[twist] - twist_rate_[batch.first + i]);
      A.entry(twist, 0) = mass[twist];
    }
  }
}

template <int D, int HB>
void StrandBody<D, HB>::begin_stretch(const StrandBatch& batch, const V3<PackD>* x) {
  const auto [ratio, share] = damping_ratio_and_share();
  for (int j = 0; j + 1 < batch.nodes; ++j) {
    const int pack = batch.first + j;
    strain_eff_[pack] = ratio * share * (norm(x[j + 1] - x[j]) / rest_length_[pack] - PackD(1.0));
  }
}

template <int D, int HB>
PackD StrandBody<D, HB>::add_stretch(const StrandBatch& batch, const V3<PackD>* x, PackD* g, BandView<HB>* A) const {
  const double dt = context_.dt;
  const PackD damped(1.0 + damping_ / dt), dt_pack(dt), dt2(dt * dt);
  PackD energy(0.0);
  for (int j = 0; j + 1 < batch.nodes; ++j) {
    const int pack = batch.first + j;
    const Stretch<PackD> s = stretch(x[j + 1] - x[j], rest_length_[pack], damped * stretch_k_[pack], strain_eff_[pack]);
    const PackD strain = s.length / rest_length_[pack] - PackD(1.0);
    energy += PackD(0.5) * stretch_k_[pack] * rest_length_[pack] * strain * strain;
    for (int a = 0; a < 3; ++a) {
      const PackD dg = dt_pack * s.tension * s.t[a];
      g[j * D + a] -= dg;
      g[(j + 1) * D + a] += dg;
      if (!A) continue;
      for (int b = 0; b < 3; ++b) {
        const PackD h = dt2 * ((s.along - s.across) * s.t[a] * s.t[b] + (a == b ? s.across : PackD(0.0)));
        A->entry((j + 1) * D + a, D + a - b) -= h;  // between the two nodes
        if (b > a) continue;
        A->entry(j * D + a, a - b) += h;
        A->entry((j + 1) * D + a, a - b) += h;
      }
    }
  }
  return energy;
}

template <int D, int HB>
void StrandBody<D, HB>::eliminate_fixed(const StrandBatch& batch, PackD* g, BandView<HB>& A) const {
  const PackD* free = free_.data() + static_cast<std::size_t>(batch.first) * D;
  const PackD one(1.0);
  for (int r = 0; r < A.rows; ++r) {
    bool any_fixed = false;
    for (int lane = 0; lane < kLanes; ++lane) any_fixed |= free[r][lane] == 0.0;
    if (!any_fixed) continue;
    g[r] *= free[r];
    A.entry(r, 0) = A.entry(r, 0) * free[r] + (one - free[r]);
    for (int d = 1; d <= std::min(HB, r); ++d) A.entry(r, d) *= free[r];
    for (int d = 1; d <= HB && r + d < A.rows; ++d) A.entry(r + d, d) *= free[r];
  }
}

template <int D, int HB>
void StrandBody<D, HB>::assemble(const Nodes& nodes, std::span<const Vec3> v) {
  for_each_batch([&](const StrandBatch& batch) {
    BandView<HB> A = band_of(band_, batch);
    PackD* g = rows(minus_g_, batch);
    PackD* iterate = rows(iterate_, batch);
    std::fill_n(A.data, static_cast<std::size_t>(A.rows) * (HB + 1), PackD(0.0));
    std::fill_n(g, A.rows, PackD(0.0));
    V3<PackD>* x = scratch_positions(batch.nodes);
    layout_.gather(
        batch, [&](int node) { return v[node]; }, x);
    for (int i = 0; i < batch.nodes; ++i)
      for (int a = 0; a < 3; ++a) iterate[i * D + a] = x[i][a];
    add_external(batch, nodes, v, g, A);
    layout_.gather(
        batch, [&](int node) -> Vec3 { return nodes.x[node] + context_.dt * v[node]; }, x);
    add_elastic(batch, x, g, &A);
    eliminate_fixed(batch, g, A);
    for (int r = 0; r < A.rows; ++r) g[r] = -g[r];
  });
}

template <int D, int HB>
void StrandBody<D, HB>::smallest_eigenvalues(std::span<double> eta) const {
  for_each_batch([&](const StrandBatch& batch) {
    const PackD* band = band_.data() + static_cast<std::size_t>(batch.first) * D * (HB + 1);
    const auto entry = [&](int r, int d, int lane) { return band[static_cast<std::size_t>(r) * (HB + 1) + d][lane]; };
    Eigen::SelfAdjointEigenSolver<Mat3> eigen;
    for (int i = 0; i < batch.nodes; ++i)
      for (int lane = 0; lane < kLanes; ++lane) {
        if (!layout_.has_node(batch, lane, i)) continue;
        Mat3 block;
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b <= a; ++b) block(a, b) = block(b, a) = entry(i * D + a, a - b, lane);
        eigen.computeDirect(block, Eigen::EigenvaluesOnly);
        // Not less than the mass, which rounding would take it below where a strand is stiff along and limp across.
        const double m = mass_[static_cast<std::size_t>(batch.first + i) * D][lane];
        eta[layout_.first_node(batch.strand[lane]) + i] = std::max(eigen.eigenvalues()[0], m);
      }
  });
}

namespace {
bool any_component(const StrandBatch& batch, int first_component, std::span<const std::uint8_t> marked) {
  for (const int s : batch.strand)
    if (s != kNoStrand && marked[first_component + s]) return true;
  return false;
}
}  // namespace

template <int D, int HB>
bool StrandBody<D, HB>::factor(std::span<const double> w, std::span<const std::uint8_t> stale) {
  std::atomic<bool> good = true;
  for_each_batch([&](const StrandBatch& batch) {
    if (!any_component(batch, first_component, stale)) return;
    BandView<HB> A = band_of(band_, batch);
    thread_local AlignedVector<PackD> shift;
    shift.assign(A.rows, PackD(0.0));
    const PackD* free = rows(free_, batch);
    for (int i = 0; i < batch.nodes; ++i)
      for (int lane = 0; lane < kLanes; ++lane)
        if (layout_.has_node(batch, lane, i))
          for (int a = 0; a < 3; ++a)
            shift[i * D + a].set(lane, w[layout_.first_node(batch.strand[lane]) + i] * free[i * D + a][lane]);
    if (!banded_factor<HB>(A, shift.data(), band_of(factor_, batch))) good = false;
  });
  return good;
}

// v = v_k + (A + W)⁻¹ (impulse − g), or without v_k and g where homogeneous.
template <int D, int HB>
template <typename StrandBody<D, HB>::Solve kind>
void StrandBody<D, HB>::solve_batches(std::span<const Vec3> impulse, std::span<Vec3> v,
                                      std::span<const std::uint8_t> active) {
  for_each_batch([&](const StrandBatch& batch) {
    if (!any_component(batch, first_component, active)) return;
    const PackD* free = rows(free_, batch);
    thread_local AlignedVector<PackD> solution;
    solution.resize(std::max<std::size_t>(solution.size(), batch.nodes * D));
    PackD* b = solution.data();
    if constexpr (kind == Solve::affine)
      std::copy_n(rows(minus_g_, batch), batch.nodes * D, b);
    else
      std::fill_n(b, batch.nodes * D, PackD(0.0));
    for (int lane = 0; lane < kLanes; ++lane) {
      if (batch.strand[lane] == kNoStrand) continue;
      const int first = layout_.first_node(batch.strand[lane]), count = layout_.node_count(batch.strand[lane]);
      for (int i = 0; i < count; ++i)
        for (int a = 0; a < 3; ++a) b[i * D + a].add(lane, impulse[first + i][a] * free[i * D + a][lane]);
    }
    banded_solve<HB>(band_of(factor_, batch), b);
    if constexpr (kind == Solve::affine) {
      const PackD* iterate = rows(iterate_, batch);
      for (int r = 0; r < batch.nodes * D; ++r) b[r] += iterate[r];
      if constexpr (D == 4)
        for (int i = 0; i < batch.nodes; ++i) twist_solution_[batch.first + i] = b[i * D + 3];
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      if (batch.strand[lane] == kNoStrand || !active[first_component + batch.strand[lane]]) continue;
      const int first = layout_.first_node(batch.strand[lane]), count = layout_.node_count(batch.strand[lane]);
      for (int i = 0; i < count; ++i)
        for (int a = 0; a < 3; ++a) v[first + i][a] = b[i * D + a][lane];
    }
  });
}

template <int D, int HB>
void StrandBody<D, HB>::solve(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> active) {
  solve_batches<Solve::affine>(impulse, v, active);
}

template <int D, int HB>
void StrandBody<D, HB>::precondition(std::span<const Vec3> r, std::span<Vec3> z, std::span<const std::uint8_t> active) {
  solve_batches<Solve::homogeneous>(r, z, active);
}

template <int D, int HB>
void StrandBody<D, HB>::add_coupling(int node_i, int node_j, double mass) {
  if (node_i < node_j) std::swap(node_i, node_j);
  const int strand = layout_.strand_of(node_i), i = node_i - layout_.first_node(strand), apart = node_i - node_j;
  const auto [batch, lane] = place_of(strand);
  const PackD* free = rows(free_, *batch);
  BandView<HB> A = band_of(band_, *batch);
  for (int a = 0; a < 3; ++a)
    if (free[i * D + a][lane] != 0.0 && free[(i - apart) * D + a][lane] != 0.0)
      A.entry(i * D + a, apart * D).add(lane, mass);
}

template <int D, int HB>
BodyEnergy StrandBody<D, HB>::measure(const Nodes& nodes, std::span<const Vec3> v_start,
                                      std::span<const Vec3> contact_impulse, const WorldOptions& world) {
  // Called after positions advanced: nodes.x, nodes.v are the end of the step.
  const auto batches = layout_.batches();
  std::vector<double> elastic(batches.size(), 0.0);
  internal_.resize(node_count);  // dt times the elastic gradient
  tbb::parallel_for(std::size_t{0}, batches.size(), [&](std::size_t b) {
    const StrandBatch& batch = batches[b];
    thread_local AlignedVector<PackD> g;
    g.assign(static_cast<std::size_t>(batch.nodes) * D, PackD(0.0));
    V3<PackD>* x = scratch_positions(batch.nodes);
    layout_.gather(
        batch, [&](int node) { return nodes.x[node]; }, x);
    const PackD energy = add_elastic(batch, x, g.data(), nullptr);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int s = batch.strand[lane];
      if (s == kNoStrand) continue;
      elastic[b] += energy[lane];
      for (int i = 0; i < layout_.node_count(s); ++i)
        for (int a = 0; a < 3; ++a) internal_[layout_.first_node(s) + i - first_node][a] = g[i * D + a][lane];
    }
  });

  std::fill(reactions_.begin(), reactions_.end(), Vec3::Zero());
  for (const FixedNode& f : fixed_) {
    const Vec3 impulse = nodes.m[f.node] * (nodes.v[f.node] - v_start[f.node]) + internal_[f.node - first_node] -
                         contact_impulse[f.node];
    reactions_[2 * f.strand + (f.at_root ? 0 : 1)] +=
        impulse / context_.dt - external_force(nodes, f.node, nodes.v[f.node]);
  }

  BodyEnergy sum;
  for (const double e : elastic) sum.elastic += e;
  sum.kinetic = sum_in_chunks(node_count, 0.0, [&](std::size_t i) {
    return 0.5 * nodes.m[first_node + i] * nodes.v[first_node + i].squaredNorm();
  });
  sum.gravity = -sum_in_chunks(node_count, 0.0, [&](std::size_t i) {
    return nodes.m[first_node + i] * world.gravity.dot(nodes.x[first_node + i]);
  });
  return sum;
}

template <int D, int HB>
double StrandBody<D, HB>::max_stretch(std::span<const Vec3> x) const {
  return max_in_chunks(component_count, [&](std::size_t s) {
    const auto [batch, lane] = place_of(static_cast<int>(s));
    const int first = layout_.first_node(static_cast<int>(s));
    double worst = 0;
    for (int i = 0; i + 1 < layout_.node_count(static_cast<int>(s)); ++i) {
      const double length = (x[first + i + 1] - x[first + i]).norm();
      worst = std::max(worst, std::abs(length / rest_length_[batch->first + i][lane] - 1.0));
    }
    return worst;
  });
}

template <int D, int HB>
void StrandBody<D, HB>::append_matrix(std::vector<Eigen::Triplet<double>>& A, std::vector<double>& minus_g,
                                      int first_auxiliary) const {
  for (int s = 0; s < component_count; ++s) {
    const auto [batch, lane] = place_of(s);
    const int first = layout_.first_node(s), rows_of_strand = layout_.node_count(s) * D;
    const auto index = [&, first = first](int r) {
      const int node = first + r / D;
      return r % D < 3 ? 3 * node + r % D : first_auxiliary + (node - first_node);
    };
    const std::size_t row_0 = static_cast<std::size_t>(batch->first) * D;
    for (int r = 0; r < rows_of_strand; ++r) {
      minus_g[index(r)] = minus_g_[row_0 + r][lane];
      for (int d = 0; d <= std::min(HB, r); ++d) {
        const double value = band_[(row_0 + r) * (HB + 1) + d][lane];
        if (value == 0.0) continue;
        A.emplace_back(index(r), index(r - d), value);
        if (d > 0) A.emplace_back(index(r - d), index(r), value);
      }
    }
  }
}

template class StrandBody<4, 10>;
template class StrandBody<3, 8>;

}  // namespace stiction
