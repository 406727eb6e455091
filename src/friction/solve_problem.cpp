#include "friction/solve_problem.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <stdexcept>

#include "contact/residual.hpp"
#include "friction/weights.hpp"

namespace stiction {

namespace {

using Sparse = Eigen::SparseMatrix<double>;
using Factor = Eigen::SimplicialLDLT<Sparse>;

void factor(const Sparse& A, Factor& out) {
  out.compute(A);
  if (out.info() != Eigen::Success || out.vectorD().minCoeff() <= 0)
    throw std::invalid_argument("friction problem: A is not positive definite");
}

// A v = b.
Eigen::VectorXd solve(const Sparse& A, const Eigen::VectorXd& b) {
  Factor of_A;
  factor(A, of_A);
  return of_A.solve(b);
}

// That of all contacts.
double compliance_of(const FrictionProblem& problem) {
  for (const double c : problem.compliance)
    if (c != problem.compliance.front()) throw std::invalid_argument("friction problem: compliance differs by contact");
  return problem.compliance.empty() ? 0.0 : problem.compliance.front();
}

// The problem's matrix as linearised dynamics about v_k = 0: one component, all nodes free.
class SparseDynamics final : public LinearDynamics {
 public:
  SparseDynamics(const FrictionProblem& problem, const SolverOptions& options)
      : problem_(problem),
        options_(options),
        zero_(problem.node_count, Vec3::Zero()),
        fixed_(problem.node_count, 0),
        component_(problem.node_count, 0) {}

  std::span<const Vec3> iterate() const override { return zero_; }
  std::span<const std::uint8_t> fixed() const override { return fixed_; }
  std::span<const int> component() const override { return component_; }
  int component_count() const override { return 1; }
  std::pair<int, int> nodes_of(int) const override { return {0, problem_.node_count}; }

  void activate(std::span<const int>, std::span<const Contact>, std::span<double> w) override {
    Eigen::VectorXd diagonal = Eigen::VectorXd::Zero(problem_.A.rows());
    for (int j = 0; j < problem_.node_count; ++j) {
      Mat3 block;
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) block(a, b) = problem_.A.coeff(3 * j + a, 3 * j + b);
      const double eta = Eigen::SelfAdjointEigenSolver<Mat3>(block, Eigen::EigenvaluesOnly).eigenvalues()[0];
      w[j] = node_weight(options_, eta, problem_.mass[j]);
      diagonal.segment<3>(3 * j).setConstant(w[j]);
    }
    Sparse shifted = problem_.A;
    shifted += Sparse(diagonal.asDiagonal());
    factor(shifted, factor_);
  }

  void solve(std::span<const Vec3> impulse, std::span<Vec3> v, double /*tolerance*/) override {
    Eigen::VectorXd rhs = problem_.f;
    for (int j = 0; j < problem_.node_count; ++j) rhs.segment<3>(3 * j) += impulse[j];
    v_all_ = factor_.solve(rhs);
    for (int j = 0; j < problem_.node_count; ++j) v[j] = v_all_.segment<3>(3 * j);
  }

  const Eigen::VectorXd& velocities() const { return v_all_; }

 private:
  const FrictionProblem& problem_;
  SolverOptions options_;
  std::vector<Vec3> zero_;
  std::vector<std::uint8_t> fixed_;
  std::vector<int> component_;
  Factor factor_;
  Eigen::VectorXd v_all_;
};

// The rows of B as contacts on nodes.
std::vector<Contact> contacts_of(const FrictionProblem& problem, double dt) {
  const Eigen::SparseMatrix<double, Eigen::RowMajor> B = problem.B;
  std::vector<Contact> contacts(problem.contact_count());
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    Contact& c = contacts[i];
    c.key = ContactKey::make(ContactKey::edge_edge, static_cast<std::uint32_t>(i), 0, 0);
    c.n = problem.normal[i];
    c.mu = problem.mu[i];
    c.cohesion = problem.cohesion[i] / dt;
    const double k_N = problem.k[i].dot(c.n);
    c.gap = k_N * dt;
    c.surface_velocity = k_N * c.n - problem.k[i];
    if (c.surface_velocity.norm() <= 1e-14 * problem.k[i].norm()) c.surface_velocity.setZero();  // rounding of k_N n
    int slot = 0;
    double sum = 0;
    for (Eigen::SparseMatrix<double, Eigen::RowMajor>::InnerIterator it(B, static_cast<int>(3 * i)); it; ++it) {
      const int node = static_cast<int>(it.col()) / 3;
      const bool isotropic = it.col() % 3 == 0 && node < problem.node_count &&
                             B.coeff(static_cast<int>(3 * i) + 1, 3 * node + 1) == it.value() &&
                             B.coeff(static_cast<int>(3 * i) + 2, 3 * node + 2) == it.value();
      if (!isotropic || slot == 4)
        throw std::invalid_argument("friction problem: a contact is not nodal (D20 Assumption 1)");
      c.node[slot] = node;
      c.b[slot++] = it.value();
      sum += it.value();
    }
    if (slot == 0 || B.innerVector(static_cast<int>(3 * i) + 1).nonZeros() != slot ||
        B.innerVector(static_cast<int>(3 * i) + 2).nonZeros() != slot)
      throw std::invalid_argument("friction problem: a contact is not nodal (D20 Assumption 1)");
    if (slot == 4 && (std::abs(sum) > 1e-12 || c.surface_velocity.norm() > 0))
      throw std::invalid_argument("friction problem: a contact of four nodes has a kinematic part");
    // Weights of fewer nodes are completed by a surface at weight -sum, so its velocity is scaled by that.
    if (slot < 4 && sum != 0) c.surface_velocity /= sum;
    if (slot < 4 && sum == 0 && c.surface_velocity.norm() > 0)
      throw std::invalid_argument("friction problem: a contact between nodes has a kinematic part");
  }
  return contacts;
}

}  // namespace

ProblemSolution solve_admm(const FrictionProblem& problem, const SolverOptions& options, double dt) {
  SparseDynamics dynamics(problem, options);
  AdmmOptions admm;
  admm.solver = options;
  admm.solver.repair_passes = 0;
  admm.contact.max_recovery_speed = std::numeric_limits<double>::infinity();
  admm.patience = 0;
  admm.contact.compliance = compliance_of(problem) * dt * dt;
  admm.dt = dt;
  AdmmState state;
  const std::vector<Contact> contacts = contacts_of(problem, dt);
  state.contacts.assign(contacts.begin(), contacts.end());
  state.v.assign(problem.node_count, Vec3::Zero());
  const Eigen::VectorXd start = solve(problem.A, problem.f);  // D20 6.2.1
  for (int j = 0; j < problem.node_count; ++j) state.v[j] = start.segment<3>(3 * j);
  state.lambda.assign(problem.node_count, Vec3::Zero());

  ProblemSolution solution;
  solution.report = solve_admm(
      dynamics, admm, [](std::span<const Vec3>, ContactList&) {}, state);
  solution.v = state.contacts.empty() ? start : dynamics.velocities();
  for (int j = 0; j < problem.node_count; ++j) solution.v.segment<3>(3 * j) = state.p[j];
  const Eigen::VectorXd u = problem.B * solution.v;
  for (std::size_t i = 0; i < problem.contact_count(); ++i) {
    solution.u.push_back(u.segment<3>(static_cast<Eigen::Index>(3 * i)) + problem.k[i]);
    solution.r.push_back(state.impulse[i] + problem.cohesion[i] * problem.normal[i]);
  }
  return solution;
}

double coulomb_error(const FrictionProblem& problem, std::span<const Vec3> r) {
  Eigen::VectorXd impulse(problem.B.rows());
  for (std::size_t i = 0; i < r.size(); ++i)
    impulse.segment<3>(static_cast<Eigen::Index>(3 * i)) = r[i] - problem.cohesion[i] * problem.normal[i];
  const Eigen::VectorXd v = solve(problem.A, problem.f + problem.B.transpose() * impulse);
  std::vector<Vec3> v_hat(problem.node_count);
  std::vector<double> inverse_mass(problem.node_count), k_N(r.size());
  for (int j = 0; j < problem.node_count; ++j) {
    v_hat[j] = v.segment<3>(3 * j);
    inverse_mass[j] = 1.0 / problem.mass[j];
  }
  const std::vector<Contact> contacts = contacts_of(problem, 1.0);
  const double compliance = compliance_of(problem);
  for (std::size_t i = 0; i < r.size(); ++i)
    k_N[i] = problem.k[i].dot(problem.normal[i]) - compliance * problem.cohesion[i];
  return coulomb_error(contacts, r, k_N, compliance, v_hat, inverse_mass);
}

}  // namespace stiction
