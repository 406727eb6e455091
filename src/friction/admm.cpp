#include "friction/admm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contact/touched.hpp"
#include "parallel/loops.hpp"
#include "parallel/stopwatch.hpp"

namespace stiction {

namespace {

constexpr int kSweepsIfStuck = 10;
constexpr int kForcesAnew = 5;  // iterations: in single precision p and r lose some 1e-7 of p on each other in each

template <class T>
class Admm {
 public:
  Admm(LinearDynamics& dynamics, const AdmmOptions& options, AdmmState& state)
      : dynamics_(dynamics),
        options_(options),
        state_(state),
        projection_(projection_of(state.work)),
        active_(state.work.active),
        is_active_(state.work.is_active),
        v_(state.v),
        v_previous_(state.work.v_previous),
        p_(state.p),
        p_hat_(state.work.p_hat),
        lambda_(state.work.lambda),
        lambda_hat_(state.work.lambda_hat),
        weighted_(state.work.weighted),
        p_previous_(state.work.p_previous),
        lambda_previous_(state.work.lambda_previous) {}

  AdmmReport run(const DetectContacts& detect);

 private:
  void start();
  static Projection<T>& projection_of(AdmmWork& work) {
    if constexpr (std::is_same_v<T, float>)
      return work.in_single;
    else
      return work.in_double;
  }
  void add_contacts(std::span<const Contact> contacts, std::span<const Vec3> r = {});
  bool append_detected(const DetectContacts& detect, std::span<const Vec3> v);
  void activate_components_of(std::span<const Contact> contacts);
  void linear_solve();
  void project(double delta_before);
  void take_projection();
  double update();
  void accelerate();
  /// v, drawn beyond itself from where p was. Momentum does that already.
  Vec3 relaxed(int j) const {
    const double alpha = options_.solver.accelerated ? 1.0 : options_.solver.over_relaxation;
    return alpha * v_[j] + (1 - alpha) * p_hat_[j];
  }
  const Skin& skin() const {
    static const Skin none;
    return dynamics_.skin() ? *dynamics_.skin() : none;
  }
  bool ends_with_p() const { return options_.solver.final_velocity == FinalVelocity::p; }
  /// What the step would end with: where it leads is looked for contacts. On the way to it v passes through most of
  /// what p keeps apart.
  std::span<const Vec3> final_velocity() const { return ends_with_p() ? p_ : v_; }
  bool gains() const;
  void give_up_recovery();
  void repair(const DetectContacts& detect);
  template <class F>
  double delta_of(F&& f) const;
  /// δ∞ of one node, m.
  double delta_at(int j) const { return options_.dt * ((v_[j] - v_previous_[j]).norm() + (v_[j] - p_[j]).norm()); }
  double delta_percentile(double share) const;
  void finish();

  template <class F>
  void for_active(F&& f) const {
    for_each_index(active_.size(), [&](std::size_t i) { f(active_[i]); });
  }

  LinearDynamics& dynamics_;
  const AdmmOptions& options_;
  AdmmState& state_;
  AdmmReport report_;
  Projection<T>& projection_;
  std::vector<int>& active_;
  std::vector<std::uint8_t>& is_active_;
  std::vector<Vec3>&v_, &v_previous_, &p_, &p_hat_, &lambda_, &lambda_hat_, &weighted_, &p_previous_, &lambda_previous_;
  double theta_ = 1, change2_previous_ = 0;
  bool started_ = false, repairing_ = false, stuck_ = false;
  bool adds_forces_ = true;  // of contacts, in the next projection
};

template <class T>
void Admm<T>::start() {
  const std::size_t n = state_.v.size();
  active_.clear();
  state_.work.on_prescribed.clear();  // where the last solve did not come to its end
  is_active_.assign(dynamics_.component_count(), 0);
  state_.w.resize(n);
  for (auto* a : {&v_previous_, &p_, &p_hat_, &lambda_, &lambda_hat_, &weighted_, &state_.on_nodes}) a->resize(n);
  for_each_index(n, [&](std::size_t j) {
    v_previous_[j] = p_[j] = p_hat_[j] = v_[j];
    lambda_[j] = lambda_hat_[j] = weighted_[j] = Vec3::Zero();
    state_.w[j] = 0;
  });
  projection_.reset(state_.w, options_.solver.stages, dynamics_.skin());
  for_each_index(n, [&](std::size_t j) { projection_.set_p(static_cast<int>(j), v_[j]); });
  std::vector<Vec3>& r = state_.impulse;
  if (r.size() != state_.contacts.size()) r.clear();
  for_each_index(r.size(),
                 [&](std::size_t i) { r[i] += state_.contacts[i].cohesion * options_.dt * state_.contacts[i].n; });
  add_contacts(state_.contacts, r);
  if (options_.solver.accelerated) {
    p_previous_ = p_;
    lambda_previous_ = lambda_;
  }
  started_ = true;
}

template <class T>
void Admm<T>::activate_components_of(std::span<const Contact> contacts) {
  const std::vector<std::uint8_t> touched =
      touched_components(contacts, skin(), dynamics_.fixed(), dynamics_.component(), is_active_.size());
  std::vector<int> fresh;
  for (std::size_t c = 0; c < touched.size(); ++c)
    if (touched[c] && !is_active_[c]) {
      is_active_[c] = 1;
      fresh.push_back(static_cast<int>(c));
    }
  if (fresh.empty()) return;
  dynamics_.activate(fresh, contacts, state_.w);

  const std::size_t before = active_.size();
  const auto fixed = dynamics_.fixed();
  for (const int component : fresh) {
    const auto [first, last] = dynamics_.nodes_of(component);
    for (int j = first; j < last; ++j)
      if (!fixed[j]) active_.push_back(j);
  }
  for_each_index(active_.size() - before, [&](std::size_t i) {
    const int j = active_[before + i];
    projection_.set_inverse_weight(j, 1.0 / state_.w[j]);
    if (options_.solver.warm_start_forces && !repairing_) lambda_[j] = state_.lambda[j] / state_.w[j];
    lambda_hat_[j] = lambda_[j];
    p_[j] = p_hat_[j] = v_[j];
    if (started_ && options_.solver.accelerated) {
      lambda_previous_[j] = lambda_[j];
      p_previous_[j] = p_[j];
    }
  });
  std::inplace_merge(active_.begin(), active_.begin() + static_cast<std::ptrdiff_t>(before), active_.end());
}

template <class T>
void Admm<T>::add_contacts(std::span<const Contact> contacts, std::span<const Vec3> r) {
  if (contacts.empty()) return;
  activate_components_of(contacts);
  AdmmWork& work = state_.work;
  for (auto* a : {&work.k_N, &work.compliance, &work.cohesion}) a->resize(contacts.size());
  for_each_index(contacts.size(), [&](std::size_t i) {
    work.k_N[i] = normal_offset(contacts[i], options_.contact, options_.dt);
    work.compliance[i] = slack_compliance(options_.contact, options_.dt);
    work.cohesion[i] = contacts[i].cohesion * options_.dt;
  });
  projection_.append(contacts, work.k_N, work.compliance, work.cohesion, r);
}

// Contacts that v leads to join the problem; returns whether there are any.
template <class T>
bool Admm<T>::append_detected(const DetectContacts& detect, std::span<const Vec3> v) {
  const Stopwatch watch(report_.t_detection);
  const std::size_t before = state_.contacts.size();
  detect(v, state_.contacts);
  const auto found = std::span<const Contact>(state_.contacts).subspan(before);
  add_contacts(found);
  return !found.empty();
}

template <class T>
void Admm<T>::linear_solve() {
  const Stopwatch watch(report_.t_linear);
  const auto v_k = dynamics_.iterate();
  for_active([&](int j) {
    v_previous_[j] = v_[j];
    weighted_[j] = state_.w[j] * (p_hat_[j] + lambda_hat_[j] - v_k[j]);
  });
  const double delta = report_.history.empty() ? options_.solver.tolerance : report_.history.back();
  dynamics_.solve(weighted_, v_, options_.solver.linear_tolerance * delta / options_.dt);
  // What moves along without a contact of its own is feasible as it is.
  if (!dynamics_.has_ties()) return;
  for_each_index(v_.size(), [&](std::size_t j) {
    if (state_.w[j] == 0) p_[j] = v_[j];
  });
}

// From p = v̂ − λ̂ and the forces of all contacts. These make up λ once they have been through an update, so that p is v̂
// then (with momentum, v̂ − λ̂ + λ), and no contact needs to be looked at. New contacts' nodes have a λ of the last step.
template <class T>
void Admm<T>::project(double delta_before) {
  const Stopwatch watch(report_.t_projection);
  SweepOptions sweep;
  sweep.add_forces = std::exchange(adds_forces_, false);
  for_active([&](int j) {
    Vec3 p = relaxed(j);
    if (sweep.add_forces)
      p -= lambda_hat_[j];
    else if (options_.solver.accelerated)
      p += lambda_[j] - lambda_hat_[j];
    projection_.set_p(j, p);
  });
  sweep.sweeps = options_.solver.gauss_seidel_iterations;
  if (stuck_) sweep.sweeps *= kSweepsIfStuck;  // inexact projections can lead round in a circle
  sweep.sleeping_sweeps = options_.solver.sleeping_sweeps;
  sweep.isotropic = options_.solver.isotropic;
  if (options_.solver.sleeping)
    sweep.sleeping_threshold = options_.solver.sleeping_threshold * delta_before / options_.dt;
  projection_.project(sweep);
}

template <class T>
void Admm<T>::take_projection() {
  for_active([&](int j) { p_[j] = projection_.p(j); });
}

// p from the projection and λ ← λ̂ + (p − v̂), v̂ the relaxed v, in one walk over the nodes; returns δ∞.
template <class T>
double Admm<T>::update() {
  return delta_of([&](int j) {
    p_[j] = projection_.p(j);
    lambda_[j] = lambda_hat_[j] + p_[j] - relaxed(j);
  });
}

// D20 Algorithm 4: momentum, dropped when the change of (p, λ) in the norm of W grows.
template <class T>
void Admm<T>::accelerate() {
  const double change2 = sum_in_chunks(active_.size(), 0.0, [&](std::size_t i) {
    const int j = active_[i];
    return state_.w[j] * ((lambda_[j] - lambda_hat_[j]).squaredNorm() + (p_[j] - p_hat_[j]).squaredNorm());
  });
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
  if (active_.empty() && !append_detected(detect, v_)) {
    report_.converged = true;
    finish();
    return report_;
  }

  double delta = 0;
  for (int l = 1; l <= options_.solver.admm_iterations; ++l) {
    linear_solve();
    project(delta);
    delta = update();
    report_.history.push_back(delta);
    report_.iterations = l;
    if (l == 1) report_.residual_first = delta;
    const bool small = delta < options_.solver.tolerance, last = l == options_.solver.admm_iterations;
    const bool in_turn = l == 1 || l % options_.solver.ccd_interval == 0;
    const bool looks = !last && (small || in_turn);  // repair() looks after the last
    const bool found = looks && append_detected(detect, final_velocity());
    report_.converged = small && looks && !found;
    if (report_.converged || last) break;
    adds_forces_ = found || l % kForcesAnew == 0;
    if (l == options_.patience && !gains()) {
      stuck_ = true;
      give_up_recovery();
    }
    if (l == options_.patience + options_.patience / 2) stuck_ = false;  // more of the same would not help
    if (options_.solver.accelerated) {
      accelerate();
    } else {  // the next update writes all of p and λ
      p_hat_.swap(p_);
      lambda_hat_.swap(lambda_);
    }
  }
  if (options_.last && !report_.converged) repair(detect);
  report_.residual = delta_of([](int) {});
  if (options_.last) report_.residual_p999 = delta_percentile(0.999);
  finish();
  return report_;
}

// δ∞ = dt (‖v − v_previous‖∞ + ‖v − p‖∞), calling f(j) before a node is looked at  (D20 Alg. 2)
template <class T>
template <class F>
double Admm<T>::delta_of(F&& f) const {
  using Largest = std::pair<double, double>;
  const auto [step, offset] = reduce_in_chunks(
      active_.size(), Largest(0, 0),
      [&](std::size_t i) {
        const int j = active_[i];
        f(j);
        return Largest((v_[j] - v_previous_[j]).squaredNorm(), (v_[j] - p_[j]).squaredNorm());
      },
      [](const Largest& a, const Largest& b) {
        return Largest(std::max(a.first, b.first), std::max(a.second, b.second));
      });
  return options_.dt * (std::sqrt(step) + std::sqrt(offset));
}

// The same of single nodes: what all but a share of them are below.
template <class T>
double Admm<T>::delta_percentile(double share) const {
  if (active_.empty()) return 0;
  std::vector<double> delta(active_.size());
  for_each_index(delta.size(), [&](std::size_t i) { delta[i] = delta_at(active_[i]); });
  const auto nth = delta.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(delta.size() - 1));
  std::nth_element(delta.begin(), nth, delta.end());
  return *nth;
}

// Whether δ∞ has halved from one half of the last iterations to the other.
template <class T>
bool Admm<T>::gains() const {
  const auto last = report_.history.end(), middle = last - options_.patience / 2, first = last - options_.patience;
  return *std::min_element(middle, last) < 0.5 * *std::min_element(first, middle);
}

// A fold that is to leave two others at once, fast, finds no velocity that obeys them all. Moving along with them obeys
// all contacts that do not ask to undo overlap, so those of nodes that found nothing else stop asking for this step.
template <class T>
void Admm<T>::give_up_recovery() {
  for_each_index(state_.contacts.size(), [&](std::size_t i) {
    Contact& c = state_.contacts[i];
    if (c.gap >= 0 || c.recovery == 0) return;
    bool any = false;
    c.for_each_node(skin(), [&](int j, double) { any = any || delta_at(j) >= options_.solver.tolerance; });
    if (!any) return;
    c.recovery = 0;
    projection_.set_offset(i, normal_offset(c, options_.contact, options_.dt));
  });
}

// Rounds of detection on the feasible velocity and projection with what it found: the last word on crossings.
template <class T>
void Admm<T>::repair(const DetectContacts& detect) {
  if (!ends_with_p()) return;
  repairing_ = true;
  for (int pass = 0; pass < options_.solver.repair_passes; ++pass) {
    if (!append_detected(detect, p_)) return;
    adds_forces_ = true;
    project(0.0);
    take_projection();
  }
}

template <class T>
void Admm<T>::finish() {
  for_each_index(v_.size(), [&](std::size_t j) { state_.lambda[j] = state_.on_nodes[j] = Vec3::Zero(); });
  for_active([&](int j) {
    state_.lambda[j] = state_.w[j] * lambda_[j];
    state_.on_nodes[j] = state_.w[j] * (p_[j] + lambda_hat_[j] - relaxed(j));  // W p = W p_0 + Bᵀ r
  });
  state_.impulse.resize(state_.contacts.size());
  for_each_index(state_.contacts.size(), [&](std::size_t i) {
    const Contact& c = state_.contacts[i];
    state_.impulse[i] = projection_.impulse(i) - c.cohesion * options_.dt * c.n;
  });
  // Prescribed nodes are not in the problem; what pushes them is wanted for reactions.
  const auto fixed = dynamics_.fixed();
  ChunkLists<std::size_t>& on_prescribed = state_.work.on_prescribed;
  on_prescribed.collect(state_.contacts.size(), [&](std::size_t i, std::vector<std::size_t>& list) {
    bool any = false;
    state_.contacts[i].for_each_node(skin(), [&](int node, double) { any = any || fixed[node]; });
    if (any) list.push_back(i);
  });
  on_prescribed.for_each_in_order([&](std::size_t i) {
    state_.contacts[i].for_each_node(skin(), [&](int node, double b) {
      if (fixed[node]) state_.on_nodes[node] += b * state_.impulse[i];
    });
  });
  on_prescribed.clear();
  report_.sequential_contacts = projection_.sequential_count();
  report_.contact_updates = projection_.update_count();
  projection_.release();
}

}  // namespace

double normal_offset(const Contact& contact, const ContactOptions& options, double dt) {
  const double closing = std::max(contact.gap / dt, -options.max_recovery_speed * contact.recovery);
  return closing - contact.rebound - slack_compliance(options, dt) * contact.cohesion * dt;
}

AdmmReport solve_admm(LinearDynamics& dynamics, const AdmmOptions& options, const DetectContacts& detect,
                      AdmmState& state) {
  if (options.solver.precision == Precision::single_) return Admm<float>(dynamics, options, state).run(detect);
  return Admm<double>(dynamics, options, state).run(detect);
}

}  // namespace stiction
