#include "step/body_dynamics.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "friction/weights.hpp"
#include "parallel/loops.hpp"

namespace stiction {

namespace {
constexpr int kMaxLinearIterations = 200;

// Bodies do not share data; many small ones keep all threads busy, a large one is parallel inside.
template <class F>
void for_each_body(std::span<Body* const> bodies, F&& f) {
  tbb::parallel_for(std::size_t{0}, bodies.size(), [&](std::size_t b) { f(*bodies[b]); });
}

double dot(std::span<const int> nodes, std::span<const Vec3> a, std::span<const Vec3> b) {
  return sum_in_chunks(nodes.size(), 0.0, [&](std::size_t i) { return a[nodes[i]].dot(b[nodes[i]]); });
}
}  // namespace

void BodyDynamics::assemble(std::span<const Vec3> v_k) {
  copy_in_chunks(v_k, v_k_);
  active_.assign(world_.component_count, 0);
  factored_.assign(world_.component_count, 0);
  has_eta_ = false;
  y_.clear();
  failed_body_ = nullptr;
  for_each_body(world_.bodies, [&](Body& body) { body.assemble(world_.nodes, v_k_); });
  if (has_ties()) world_.ties.assemble(world_.nodes, v_k_, world_.bodies);
}

void BodyDynamics::mark_groups(std::span<std::uint8_t> components) const {
  if (!has_ties()) return;
  for (int c = 0; c < static_cast<int>(components.size()); ++c) {
    if (components[c] != 1) continue;
    for (const int member : world_.ties.group(c)) components[member] = 2;  // once a group
  }
  for (std::uint8_t& mark : components) mark = mark != 0;
}

bool BodyDynamics::solve_unweighted(std::span<const std::uint8_t> components, std::span<const Vec3> impulse,
                                    std::span<Vec3> v, double tolerance) {
  no_weight_.resize(world_.nodes.x.size(), 0.0);
  stale_.resize(components.size());
  for (std::size_t c = 0; c < components.size(); ++c) {
    stale_[c] = components[c] && !factored_[c];
    factored_[c] |= components[c];
  }
  factor(no_weight_, stale_);
  y_.clear();
  solve_marked(impulse, v, components, tolerance);
  y_.clear();
  return factors_good();
}

void BodyDynamics::activate(std::span<const int> components, std::span<const Contact> contacts, std::span<double> w) {
  if (!has_eta_) {
    eta_.resize(world_.nodes.x.size(), 0.0);
    for (const Body* body : world_.bodies) body->smallest_eigenvalues(eta_);
    has_eta_ = true;
  }
  std::vector<std::uint8_t> stale(world_.component_count, 0);
  for (const int c : components) stale[c] = 1;
  const auto is_fresh = [&](std::size_t j) {
    const int c = world_.nodes.component[j];
    return c >= 0 && stale[c];
  };
  for_each_index(w.size(), [&](std::size_t j) {
    if (is_fresh(j)) w[j] = weight_factor_[j] * node_weight(options_, eta_[j], world_.nodes.m[j]);
  });
  if (options_.weight_lift) {
    lift_weights(contacts, world_.nodes.skin, world_.nodes.fixed, w, lifted_);
    for_each_index(w.size(), [&](std::size_t j) {
      if (is_fresh(j)) w[j] = lifted_[j];
    });
  }
  const std::vector<std::uint8_t> fresh = stale;
  mark_groups(stale);
  for (std::size_t c = 0; c < stale.size(); ++c) {
    if (!fresh[c] && active_[c]) stale[c] = 0;  // in the solve already, and its weight stays
    active_[c] |= stale[c];
  }
  factored_.assign(world_.component_count, 0);
  factor(w, stale);
}

void BodyDynamics::factor(std::span<const double> w, std::span<const std::uint8_t> components) {
  std::vector<std::uint8_t> good(world_.bodies.size(), 1);
  tbb::parallel_for(std::size_t{0}, good.size(),
                    [&](std::size_t b) { good[b] = world_.bodies[b]->factor(w, components); });
  for (std::size_t b = 0; b < good.size(); ++b)
    if (!good[b]) failed_body_ = world_.bodies[b];
  if (has_ties()) elimination_.factor(world_.bodies, components);
}

void BodyDynamics::solve_bodies(std::span<const Vec3> impulse, std::span<Vec3> v,
                                std::span<const std::uint8_t> components) {
  for_each_body(world_.bodies, [&](Body& body) { body.solve(impulse, v, components); });
}

void BodyDynamics::solve(std::span<const Vec3> impulse, std::span<Vec3> v, double tolerance) {
  solve_marked(impulse, v, active_, tolerance);
}

// (P + C) y = b with y = v − v_k and b = impulse − g. What has no ties is done at once; what is eliminated is solved
// without the others first, and once more when these are known.
void BodyDynamics::solve_marked(std::span<const Vec3> impulse, std::span<Vec3> v,
                                std::span<const std::uint8_t> components, double tolerance) {
  if (!has_ties()) return solve_bodies(impulse, v, components);
  Ties& ties = world_.ties;
  const std::size_t n = world_.nodes.x.size();
  for (auto* marks : {&kept_, &tied_, &others_}) marks->resize(components.size());
  kept_nodes_.clear();
  for (std::size_t c = 0; c < components.size(); ++c) {
    kept_[c] = components[c] && elimination_.kept()[c];
    tied_[c] = components[c] && (elimination_.kept()[c] || elimination_.eliminated()[c]);
    others_[c] = components[c] && !elimination_.kept()[c];
    if (!kept_[c]) continue;
    const auto [first, last] = world_.component_nodes[c];
    for (int j = first; j < last; ++j)
      if (!world_.nodes.fixed[j]) kept_nodes_.push_back(j);
  }

  for (auto* a : {&b_, &known_, &r_, &z_, &d_, &pd_, &q_}) a->resize(n, Vec3::Zero());
  if (y_.empty()) y_.assign(n, Vec3::Zero());
  const auto multiply_between = [&](auto&& y_at) {  // q = C y
    for_each_index(n, [&](std::size_t j) {
      const int c = world_.nodes.component[j];
      known_[j] = c >= 0 && !world_.nodes.fixed[j] ? y_at(j, c) : Vec3::Zero();
      q_[j].setZero();
    });
    ties.multiply_between(known_, q_);
  };
  for_each_index(n, [&](std::size_t j) { b_[j] = impulse[j] + ties.minus_g()[j]; });
  solve_bodies(b_, v, others_);
  multiply_between([&](std::size_t j, int c) -> Vec3 { return others_[c] ? Vec3(v[j] - v_k_[j]) : Vec3::Zero(); });
  for_each_index(n, [&](std::size_t j) { b_[j] -= q_[j]; });
  solve_kept(v, tolerance);

  // Once more all that is tied, which finds the auxiliary degrees of freedom, too. Strands that are not in this solve
  // share batches with some that are, and get theirs anew.
  multiply_between([&](std::size_t j, int c) -> Vec3 {
    if (kept_[c]) return y_[j];
    return components[c] ? Vec3::Zero() : Vec3(v[j] - v_k_[j]);
  });
  for_each_index(n, [&](std::size_t j) { q_[j] = b_[j] - q_[j]; });
  load_kept();
  solve_bodies(q_, v, tied_);
}

template <class F>
void BodyDynamics::for_each_kept(F&& f) const {
  for_each_index(kept_nodes_.size(), [&](std::size_t i) { f(kept_nodes_[i]); });
}

// q = b − N y at kept nodes.
void BodyDynamics::load_kept() {
  multiply_kept(y_, q_);
  for_each_kept([&](int j) { q_[j] = b_[j] - q_[j]; });
}

// out = N x at kept nodes.
void BodyDynamics::multiply_kept(std::span<const Vec3> x, std::span<Vec3> out) {
  for_each_kept([&](int j) { out[j].setZero(); });
  elimination_.multiply(x, out, kept_);
}

// (P_K + N) y = b. Starts from the last y, as N y moves little from one solve to the next: y_0 = P⁻¹ (b − N y_last),
// whose residual is N (y_last − y_0). The tolerance is that of kept nodes: what hangs on them follows, the tip of a
// long quill by more than its root.
void BodyDynamics::solve_kept(std::span<Vec3> v, double tolerance) {
  load_kept();
  solve_bodies(q_, v, kept_);
  for_each_kept([&](int j) {
    const Vec3 y = v[j] - v_k_[j];
    d_[j] = y_[j] - y;
    y_[j] = y;
  });
  multiply_kept(d_, r_);
  const auto precondition = [&] {
    for_each_body(world_.bodies, [&](Body& body) { body.precondition(r_, z_, kept_); });
    return std::sqrt(
        max_in_chunks(kept_nodes_.size(), [&](std::size_t i) { return z_[kept_nodes_[i]].squaredNorm(); }));
  };
  double error = precondition();
  if (error <= tolerance) return;
  for_each_kept([&](int j) {
    d_[j] = z_[j];
    pd_[j] = r_[j];
  });
  double rz = dot(kept_nodes_, r_, z_);
  for (int k = 0; k < kMaxLinearIterations; ++k) {
    ++linear_iterations_;
    multiply_kept(d_, q_);
    for_each_kept([&](int j) { q_[j] += pd_[j]; });
    const double dq = dot(kept_nodes_, d_, q_);
    if (!(dq > 0)) break;  // rounding has eaten up what is left
    const double alpha = rz / dq;
    for_each_kept([&](int j) {
      y_[j] += alpha * d_[j];
      r_[j] -= alpha * q_[j];
    });
    error = precondition();
    const double rz_next = dot(kept_nodes_, r_, z_);
    if (error <= tolerance || !(rz_next > 0)) break;
    const double beta = rz_next / rz;
    rz = rz_next;
    for_each_kept([&](int j) {
      d_[j] = z_[j] + beta * d_[j];
      pd_[j] = r_[j] + beta * pd_[j];
    });
  }
  if (!(error <= tolerance)) ++linear_unsolved_;
}

}  // namespace stiction
