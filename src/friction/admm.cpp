#include "friction/admm.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "contact/projection.hpp"

namespace stiction {

namespace {

constexpr int kNodesPerTask = 4096;

class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_;
};

template <class T>
class Admm {
 public:
  Admm(LinearDynamics& dynamics, const AdmmOptions& options, AdmmState& state)
      : dynamics_(dynamics), options_(options), state_(state) {}

  AdmmReport run(const DetectContacts& detect);

 private:
  void start();
  void add_contacts(std::span<const Contact> contacts, std::span<const Vec3> r = {});
  void activate_components_of(std::span<const Contact> contacts);
  void linear_solve();
  void project(double delta_before);
  double update_duals();
  void accelerate(double change2);
  /// Whether p is the final velocity and must not lead to new contacts.
  bool repairs() const {
    return options_.solver.final_velocity == FinalVelocity::p && options_.solver.repair_passes > 0;
  }
  void repair(const DetectContacts& detect);
  double delta_infinity() const;
  double delta_percentile(double share) const;
  void finish();

  template <class F>
  void for_active(F&& f) const {
    const int n = static_cast<int>(active_.size());
    tbb::parallel_for(tbb::blocked_range<int>(0, n, kNodesPerTask), [&](const auto& range) {
      for (int i = range.begin(); i < range.end(); ++i) f(active_[i]);
    });
  }

  LinearDynamics& dynamics_;
  const AdmmOptions& options_;
  AdmmState& state_;
  AdmmReport report_;
  Projection<T> projection_;
  std::vector<int> active_;              // free nodes of components in contact
  std::vector<std::uint8_t> is_active_;  // a value a component
  std::vector<Vec3> v_, v_previous_, p_, p_hat_, lambda_, lambda_hat_, impulse_;
  std::vector<Vec3> p_previous_, lambda_previous_;  // of the last iteration, for momentum
  double theta_ = 1, change2_previous_ = 0;
  bool repairing_ = false;
};

template <class T>
void Admm<T>::start() {
  const std::size_t n = state_.v.size();
  v_ = state_.v;
  v_previous_ = v_;
  p_ = v_;
  lambda_.assign(n, Vec3::Zero());
  impulse_.assign(n, Vec3::Zero());
  is_active_.assign(dynamics_.component_count(), 0);
  state_.w.assign(n, 0.0);
  projection_.reset(std::vector<double>(n, 0.0), options_.solver.stages, dynamics_.skin());
  for (std::size_t j = 0; j < n; ++j) projection_.set_p(static_cast<int>(j), v_[j]);
  std::vector<Contact> known;
  known.swap(state_.contacts);
  std::vector<Vec3> r;
  r.swap(state_.impulse);
  if (r.size() != known.size()) r.clear();
  for (std::size_t i = 0; i < r.size(); ++i) r[i] += known[i].cohesion * options_.dt * known[i].n;
  add_contacts(known, r);
  p_hat_ = p_;
  lambda_hat_ = lambda_;
  if (options_.solver.accelerated) {
    p_previous_ = p_;
    lambda_previous_ = lambda_;
  }
}

template <class T>
void Admm<T>::activate_components_of(std::span<const Contact> contacts) {
  std::vector<int> fresh;
  const Skin no_skin;
  const Skin& skin = dynamics_.skin() ? *dynamics_.skin() : no_skin;
  for (const Contact& c : contacts)
    c.for_each_node(skin, [&](int node, double) {
      if (dynamics_.fixed()[node]) return;
      const int component = dynamics_.component()[node];
      if (is_active_[component]) return;
      is_active_[component] = 1;
      fresh.push_back(component);
    });
  if (fresh.empty()) return;
  std::sort(fresh.begin(), fresh.end());
  dynamics_.activate(fresh, contacts, state_.w);

  std::vector<std::uint8_t> is_fresh(is_active_.size(), 0);
  for (const int component : fresh) is_fresh[component] = 1;
  const auto component = dynamics_.component();
  for (int j = 0; j < static_cast<int>(component.size()); ++j) {
    if (component[j] < 0 || !is_fresh[component[j]] || dynamics_.fixed()[j]) continue;
    active_.push_back(j);
    projection_.set_inverse_weight(j, 1.0 / state_.w[j]);
    if (options_.solver.warm_start_forces && !repairing_) lambda_[j] = state_.lambda[j] / state_.w[j];
    p_[j] = v_[j];
    if (!lambda_hat_.empty()) {  // joined while the loop runs
      lambda_hat_[j] = lambda_[j];
      p_hat_[j] = p_[j];
    }
    if (!lambda_previous_.empty()) {
      lambda_previous_[j] = lambda_[j];
      p_previous_[j] = p_[j];
    }
  }
  std::sort(active_.begin(), active_.end());
}

template <class T>
void Admm<T>::add_contacts(std::span<const Contact> contacts, std::span<const Vec3> r) {
  if (contacts.empty()) return;
  activate_components_of(contacts);
  std::vector<double> k_N, compliance, cohesion;
  for (const Contact& c : contacts) {
    k_N.push_back(normal_offset(c, options_.contact, options_.dt));
    compliance.push_back(slack_compliance(options_.contact, options_.dt));
    cohesion.push_back(c.cohesion * options_.dt);
  }
  projection_.append(contacts, k_N, compliance, cohesion, r);
  state_.contacts.insert(state_.contacts.end(), contacts.begin(), contacts.end());
}

template <class T>
void Admm<T>::linear_solve() {
  const Stopwatch watch(report_.t_linear);
  const auto v_k = dynamics_.iterate();
  for_active([&](int j) {
    v_previous_[j] = v_[j];
    impulse_[j] = state_.w[j] * (p_hat_[j] + lambda_hat_[j] - v_k[j]);
  });
  const double delta = report_.history.empty() ? options_.solver.tolerance : report_.history.back();
  dynamics_.solve(impulse_, v_, options_.solver.linear_tolerance * delta / options_.dt);
  // What moves along without a contact of its own is feasible as it is.
  for (std::size_t j = 0; dynamics_.has_ties() && j < v_.size(); ++j)
    if (state_.w[j] == 0) p_[j] = v_[j];
}

template <class T>
void Admm<T>::project(double delta_before) {
  const Stopwatch watch(report_.t_projection);
  for_active([&](int j) { projection_.set_p(j, v_[j] - lambda_hat_[j]); });
  SweepOptions sweep;
  sweep.sweeps = options_.solver.gauss_seidel_iterations;
  sweep.sleeping_sweeps = options_.solver.sleeping_sweeps;
  if (options_.solver.sleeping)
    sweep.sleeping_threshold = options_.solver.sleeping_threshold * delta_before / options_.dt;
  projection_.project(sweep);
  for_active([&](int j) { p_[j] = projection_.p(j); });
}

// λ ← λ̂ + (p − v); returns the squared change of (p, λ) in the norm of W, which drives the restart.
template <class T>
double Admm<T>::update_duals() {
  for_active([&](int j) { lambda_[j] = lambda_hat_[j] + p_[j] - v_[j]; });
  if (!options_.solver.accelerated) return 0;
  double sum = 0;
  for (const int j : active_)
    sum += state_.w[j] * ((lambda_[j] - lambda_hat_[j]).squaredNorm() + (p_[j] - p_hat_[j]).squaredNorm());
  return sum;
}

// D20 Algorithm 4: momentum, dropped when the residual grows.
template <class T>
void Admm<T>::accelerate(double change2) {
  const bool restart = change2 > change2_previous_ && change2_previous_ > 0;
  const double theta_next = restart ? 1.0 : 0.5 * (1 + std::sqrt(1 + 4 * theta_ * theta_));
  const double momentum = restart ? 0.0 : (theta_ - 1) / theta_next;
  for_active([&](int j) {
    p_hat_[j] = p_[j] + momentum * (p_[j] - p_previous_[j]);
    lambda_hat_[j] = lambda_[j] + momentum * (lambda_[j] - lambda_previous_[j]);
    p_previous_[j] = p_[j];
    lambda_previous_[j] = lambda_[j];
  });
  theta_ = theta_next;
  change2_previous_ = change2;
}

template <class T>
AdmmReport Admm<T>::run(const DetectContacts& detect) {
  start();
  const auto append_detected = [&](std::span<const Vec3> v) {
    const Stopwatch watch(report_.t_detection);
    const std::vector<Contact> found = detect(v);
    add_contacts(found);
    return !found.empty();
  };
  if (active_.empty() && !append_detected(v_)) {
    report_.converged = true;
    finish();
    return report_;
  }

  double delta = 0;
  for (int l = 1; l <= options_.solver.admm_iterations; ++l) {
    linear_solve();
    if ((l - 1) % options_.solver.ccd_interval == 0) append_detected(v_);
    project(delta);

    delta = delta_infinity();
    report_.history.push_back(delta);
    report_.iterations = l;
    if (l == 1) report_.residual_first = delta;
    const double change2 = update_duals();
    report_.converged = delta < options_.solver.tolerance && !(repairs() && append_detected(p_));
    if (report_.converged || l == options_.solver.admm_iterations) break;
    if (options_.solver.accelerated) {
      accelerate(change2);
    } else {
      for_active([&](int j) {
        p_hat_[j] = p_[j];
        lambda_hat_[j] = lambda_[j];
      });
    }
  }
  if (!report_.converged) repair(detect);
  report_.residual = delta_infinity();
  report_.residual_p999 = delta_percentile(0.999);
  finish();
  return report_;
}

// δ∞ = dt (‖v − v_previous‖∞ + ‖v − p‖∞)                                         (D20 Alg. 2)
template <class T>
double Admm<T>::delta_infinity() const {
  double step = 0, offset = 0;
  for (const int j : active_) {
    step = std::max(step, (v_[j] - v_previous_[j]).squaredNorm());
    offset = std::max(offset, (v_[j] - p_[j]).squaredNorm());
  }
  return options_.dt * (std::sqrt(step) + std::sqrt(offset));
}

// The same of single nodes: what all but a share of them are below.
template <class T>
double Admm<T>::delta_percentile(double share) const {
  std::vector<double> delta;
  delta.reserve(active_.size());
  for (const int j : active_) delta.push_back(options_.dt * ((v_[j] - v_previous_[j]).norm() + (v_[j] - p_[j]).norm()));
  if (delta.empty()) return 0;
  const auto nth = delta.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(delta.size() - 1));
  std::nth_element(delta.begin(), nth, delta.end());
  return *nth;
}

// Rounds of detection on the feasible velocity and projection with what it found: the last word on crossings.
template <class T>
void Admm<T>::repair(const DetectContacts& detect) {
  if (!repairs()) return;
  repairing_ = true;
  for (int pass = 0; pass < options_.solver.repair_passes; ++pass) {
    std::vector<Contact> found;
    {
      const Stopwatch watch(report_.t_detection);
      found = detect(p_);
    }
    if (found.empty()) return;
    add_contacts(found);
    project(0.0);
  }
}

template <class T>
void Admm<T>::finish() {
  for (const int j : active_) state_.lambda[j] = state_.w[j] * lambda_[j];
  for (std::size_t j = 0; j < state_.w.size(); ++j)
    if (state_.w[j] == 0) state_.lambda[j] = Vec3::Zero();
  state_.impulse.resize(state_.contacts.size());
  for (std::size_t i = 0; i < state_.contacts.size(); ++i) {
    const Contact& c = state_.contacts[i];
    state_.impulse[i] = projection_.impulse(i) - c.cohesion * options_.dt * c.n;
  }
  report_.sequential_contacts = projection_.sequential_count();
  state_.v = std::move(v_);
  state_.p = std::move(p_);
}

}  // namespace

double normal_offset(const Contact& contact, const ContactOptions& options, double dt) {
  const double closing = std::max(contact.gap / dt, -options.max_recovery_speed * contact.mobility);
  return closing - contact.rebound - slack_compliance(options, dt) * contact.cohesion * dt;
}

AdmmReport solve_admm(LinearDynamics& dynamics, const AdmmOptions& options, const DetectContacts& detect,
                      AdmmState& state) {
  if (options.solver.precision == Precision::single_) return Admm<float>(dynamics, options, state).run(detect);
  return Admm<double>(dynamics, options, state).run(detect);
}

}  // namespace stiction
