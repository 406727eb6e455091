#include "bodies/sparse_body.hpp"

#include <Eigen/Eigenvalues>
#include <numeric>

#include "scene/motion.hpp"

namespace stiction {

SparseBody::SparseBody(const SparseBodySpec& spec, Nodes& nodes)
    : mass_(spec.mass), mass_matrix_(spec.mass_matrix), pinned_(spec.pinned), forces_(spec.forces) {
  name = spec.name;
  node_count = static_cast<int>(spec.x.size());
  first_node = nodes.append(node_count);
  component_count = 1;
  iterate_.assign(node_count, Vec3::Zero());
  minus_g_ = x_ = work_ = gravity_impulse_ = external_ = iterate_;
  is_pinned_.assign(node_count, 0);
  for (const auto& pin : pinned_) {
    is_pinned_[pin.node] = 1;
    pinned_x0_.push_back(spec.x[pin.node]);
  }
  for (int i = 0; i < node_count; ++i) {
    nodes.x[first_node + i] = spec.x[i];
    nodes.m[first_node + i] = mass_[i];
    nodes.fixed[first_node + i] = is_pinned_[i];
    if (!is_pinned_[i]) nodes.v[first_node + i] = spec.initial_velocity;
  }
}

void SparseBody::set_pattern(std::vector<std::pair<int, int>> pairs) {
  for (int j = 0; j < mass_matrix_.size; ++j)
    for (int k = mass_matrix_.column[j]; k < mass_matrix_.column[j + 1]; ++k)
      pairs.emplace_back(mass_matrix_.row[k], j);
  A_ = BlockMatrix::with_pattern(node_count, std::move(pairs));
  cholesky_.analyse(A_);
}

void SparseBody::multiply_mass(std::span<const Vec3> v, std::span<Vec3> p) const {
  if (mass_matrix_.size > 0)
    mass_matrix_.multiply(v, p);
  else
    for (int i = 0; i < node_count; ++i) p[i] = mass_[i] * v[i];
}

void SparseBody::begin_step(const StepContext& context, const Nodes& nodes, std::span<Vec3> v) {
  context_ = context;
  for (std::size_t i = 0; i < pinned_.size(); ++i) {
    const int node = first_node + pinned_[i].node, collider = pinned_[i].collider;
    const Vec3 target = collider < 0 ? pinned_x0_[i] : context.displacement[collider].apply(pinned_x0_[i]);
    v[node] = (target - nodes.x[node]) / context.dt;
  }
  std::fill(work_.begin(), work_.end(), context.dt * context.world->gravity);
  multiply_mass(work_, gravity_impulse_);
  std::fill(external_.begin(), external_.end(), Vec3::Zero());
  for (const VertexForce& f : forces_) external_[f.vertex] += interpolate(f.force, context.time_end);
  begin_elastic(own(nodes.x));
}

void SparseBody::assemble(const Nodes& nodes, std::span<const Vec3> v_all) {
  const double dt = context_.dt;
  const auto v = own(v_all), v_t = own(nodes.v), x_t = own(nodes.x);
  std::copy(v.begin(), v.end(), iterate_.begin());
  A_.set_zero();
  for (int i = 0; i < node_count; ++i) {
    x_[i] = x_t[i] + dt * v[i];
    work_[i] = v[i] - v_t[i];
    if (mass_matrix_.size == 0) A_.block[A_.column[i]].diagonal().setConstant(mass_[i]);
  }
  for (int j = 0; j < mass_matrix_.size; ++j)
    for (int k = mass_matrix_.column[j]; k < mass_matrix_.column[j + 1]; ++k)
      A_.block[A_.find(mass_matrix_.row[k], j)] += mass_matrix_.block[k];
  std::vector<Vec3>& g = minus_g_;
  multiply_mass(work_, g);
  for (int i = 0; i < node_count; ++i) g[i] -= gravity_impulse_[i] + dt * external_[i];
  add_elastic(x_, g, &A_);
  add_aerodynamic(x_, v, g, &A_);
  eliminate_pinned(g);
  for (Vec3& value : g) value = -value;
}

void SparseBody::eliminate_pinned(std::span<Vec3> g) {
  if (pinned_.empty()) return;
  for (int j = 0; j < node_count; ++j) {
    if (is_pinned_[j]) g[j].setZero();
    for (int k = A_.column[j]; k < A_.column[j + 1]; ++k) {
      if (!is_pinned_[j] && !is_pinned_[A_.row[k]]) continue;
      if (A_.row[k] == j)
        A_.block[k].setIdentity();
      else
        A_.block[k].setZero();
    }
  }
}

void SparseBody::add_coupling(int node_i, int node_j, double mass) {
  const int i = node_i - first_node, j = node_j - first_node;
  if (is_pinned_[i] || is_pinned_[j]) return;
  A_.block[A_.find(std::max(i, j), std::min(i, j))].diagonal().array() += mass;
}

void SparseBody::smallest_eigenvalues(std::span<double> eta) const {
  Eigen::SelfAdjointEigenSolver<Mat3> eigen;
  for (int i = 0; i < node_count; ++i) {
    eigen.computeDirect(A_.block[A_.column[i]], Eigen::EigenvaluesOnly);
    eta[first_node + i] = eigen.eigenvalues()[0];
  }
}

bool SparseBody::factor(std::span<const double> w, std::span<const std::uint8_t> stale) {
  if (!stale[first_component]) return true;
  return cholesky_.factor(A_, w.subspan(first_node, node_count));
}

void SparseBody::solve(std::span<const Vec3> impulse, std::span<Vec3> v, std::span<const std::uint8_t> active) {
  if (!active[first_component]) return;
  for (int i = 0; i < node_count; ++i) {
    work_[i] = minus_g_[i];
    if (!is_pinned_[i]) work_[i] += impulse[first_node + i];
  }
  cholesky_.solve(work_);
  for (int i = 0; i < node_count; ++i) v[first_node + i] = iterate_[i] + work_[i];
}

void SparseBody::precondition(std::span<const Vec3> r, std::span<Vec3> z, std::span<const std::uint8_t> active) {
  if (!active[first_component]) return;
  for (int i = 0; i < node_count; ++i) work_[i] = is_pinned_[i] ? Vec3::Zero() : r[first_node + i];
  cholesky_.solve(work_);
  std::copy(work_.begin(), work_.end(), z.begin() + first_node);
}

BodyEnergy SparseBody::measure(const Nodes& nodes, std::span<const Vec3> v_start, std::span<const Vec3> contact_impulse,
                               const WorldOptions& /*world*/) {
  const auto x = own(nodes.x), v = own(nodes.v);
  std::vector<Vec3> g(node_count, Vec3::Zero()), momentum(node_count);
  BodyEnergy sum;
  sum.elastic = add_elastic(x, g, nullptr);
  add_aerodynamic(x, v, g, nullptr);
  multiply_mass(v, momentum);
  for (int i = 0; i < node_count; ++i) {
    sum.kinetic += 0.5 * v[i].dot(momentum[i]);
    sum.gravity -= gravity_impulse_[i].dot(x[i]) / context_.dt;
    work_[i] = v[i] - v_start[first_node + i];
  }
  multiply_mass(work_, momentum);
  pin_reaction_.setZero();
  for (const auto& pin : pinned_)
    pin_reaction_ +=
        (momentum[pin.node] + g[pin.node] - gravity_impulse_[pin.node] - contact_impulse[first_node + pin.node]) /
            context_.dt -
        external_[pin.node];
  return sum;
}

Vec3 SparseBody::momentum(const Nodes& nodes) const {
  std::vector<Vec3> p(node_count);
  multiply_mass(own(nodes.v), p);
  return std::accumulate(p.begin(), p.end(), Vec3(Vec3::Zero()));
}

void SparseBody::append_matrix(std::vector<Eigen::Triplet<double>>& A, std::vector<double>& minus_g,
                               int /*first_auxiliary*/) const {
  for (int j = 0; j < node_count; ++j) {
    for (int a = 0; a < 3; ++a) minus_g[3 * (first_node + j) + a] = minus_g_[j][a];
    for (int k = A_.column[j]; k < A_.column[j + 1]; ++k)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
          const int row = 3 * (first_node + A_.row[k]) + a, column = 3 * (first_node + j) + b;
          A.emplace_back(row, column, A_.block[k](a, b));
          if (A_.row[k] != j) A.emplace_back(column, row, A_.block[k](a, b));
        }
  }
}

}  // namespace stiction
