#include "step/projected_newton.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>

#include "contact/residual.hpp"
#include "contact/touched.hpp"
#include "parallel/loops.hpp"
#include "parallel/stopwatch.hpp"

namespace stiction {

namespace {

constexpr double kHeld = 0.5;      // of the change of velocity without contacts: less than that, and contacts hold it
constexpr double kSteady = 0.6;    // of a component's impulses: what changed by less is expected to go on as it is
constexpr double kSurprise = 1.5;  // of an earlier change of velocity: more than that, and it does not
constexpr double kWild = 3;        // of any change of velocity to expect: forces that lead to more are no start
constexpr double kDeepFall = 4;    // diameters of the thinnest body: a step's fall of more leads past its contacts

// One step, its stages in the order in which advance() calls them.
class Step {
 public:
  Step(World& world, StepState& state, double time, double dt, StepReport& report)
      : world_(world),
        nodes_(world.nodes),
        state_(state),
        time_(time),
        dt_(dt),
        report_(report),
        dynamics_(state.dynamics),
        v_(state.v),
        admm_(state.admm),
        thin_(kDeepFall * 2 * world.thinnest < dt * dt * world.scene.world.gravity.norm()) {
    admm_.contacts.clear();
    admm_.impulse.clear();
    dynamics_.begin_step();
  }

  void move_kinematic_bodies();
  bool predict();
  void linearise();
  bool solve_unconstrained(int newton_iteration);
  void detect_first_contacts();
  bool start_forces();
  bool release_untouched();
  void sort_contacts();
  bool solve_friction(int newton_iteration);
  void accept_iterate();
  void raise_weights();
  void count_crossings();
  bool measure_coulomb_error();
  void advance_state();
  void measure();
  bool finite(std::string& failure) const;
  /// Says which body's factor failed, unless another failure is named already; returns false.
  bool name_failure(std::string& failure) const {
    if (failure.empty()) failure = "body '" + dynamics_.failed_body() + "': its matrix is not positive definite";
    return false;
  }

 private:
  bool choose_start();
  void find_held();
  void try_kept_impulses();
  bool drop_useless_impulses();
  double change_of(std::size_t component) const { return change_of(component, v_); }
  double change_of(std::size_t component, std::span<const Vec3> v) const;
  double impulse_change(std::size_t component) const;
  std::vector<std::uint8_t> touching_components() const;
  /// A v = f + impulse for the marked components.
  bool solve(std::span<const std::uint8_t> components, std::span<const Vec3> impulse, std::span<Vec3> v);
  bool solve(std::span<const std::uint8_t> components, std::span<const Vec3> impulse) {
    return solve(components, impulse, v_);
  }
  /// Whether contacts pushed the component in the last step.
  bool pushed(std::size_t component) const {
    const auto [first, last] = world_.component_nodes[component];
    return std::any_of(state_.lambda.begin() + first, state_.lambda.begin() + last,
                       [](const Vec3& impulse) { return !impulse.isZero(0.0); });
  }
  /// Error that an unconstrained linear solve may leave where it takes iterations, m/s.
  double linear_tolerance() const { return world_.scene.solver.linear_tolerance * world_.scene.solver.tolerance / dt_; }

  World& world_;
  Nodes& nodes_;
  StepState& state_;
  double time_, dt_;
  StepReport& report_;
  BodyDynamics& dynamics_;
  std::vector<Pose> pose_start_, pose_end_, displacement_, displacement_start_;
  std::vector<Vec3>& v_;  // iterate; at the end the step's velocity
  AdmmState& admm_;
  bool thin_;  // bodies, so much that a step's fall without contacts leads far past these
  std::size_t proximity_contacts_ = 0;
};

void Step::move_kinematic_bodies() {
  world_.poses_at(time_, pose_start_);
  world_.poses_at(time_ + dt_, pose_end_);
  const auto displace = [&](double time, std::vector<Pose>& displacement) {
    displacement.clear();
    for (const Collider& c : world_.scene.colliders) {
      const Pose now = c.motion.at(time), zero = c.motion.at(0);
      const Quat turn = now.rotation * zero.rotation.conjugate();
      displacement.push_back({turn, now.position - turn * zero.position});
    }
  };
  displace(time_, displacement_start_);
  displace(time_ + dt_, displacement_);
  copy_in_chunks(nodes_.v, v_);
  for (const KinematicMesh& mesh : world_.meshes) {
    const int count = static_cast<int>(world_.scene.colliders[mesh.collider].mesh.vertices.size());
    for_each_index(count, [&](std::size_t i) {
      const std::size_t j = mesh.first_node + i;
      v_[j] = (world_.mesh_vertex_at(mesh, static_cast<int>(i), time_ + dt_) - nodes_.x[j]) / dt_;
    });
  }
  StepContext context;
  context.dt = dt_;
  context.time_end = time_ + dt_;
  context.world = &world_.scene.world;
  context.displacement = displacement_;
  context.displacement_start = displacement_start_;
  for (Body* body : world_.bodies) body->begin_step(context, nodes_, v_);
  if (dynamics_.has_ties()) world_.ties.begin_step(context, nodes_);
}

// Newton iterations without contacts: where the first linearisation with contacts is taken. Scripted roots may jump
// to another velocity within a step; linearised about the old one, two iterations leave strands stretched.
bool Step::predict() {
  bool good = true;
  state_.free.assign(world_.component_count, 1);
  state_.kept_on.assign(world_.component_count, 0);
  copy_in_chunks(state_.no_impulse, state_.kept);
  for (int k = 0; good && k < world_.scene.solver.predictor_iterations; ++k) {
    linearise();
    good = k == 0 ? choose_start() : solve(state_.free, state_.kept);
    for (Body* body : world_.bodies) body->accept_iterate(state_.free);
  }
  return good;
}

// Without contacts at all, hair that rests on hair falls through it, a stretched band contracts into the head that it
// lies on, and hair pinched under it springs out: contacts met on that way push where nothing is, and a linearisation
// there is of little use. So what contacts hold keeps its velocity, and the other thin things the forces of the last
// step, where these lead to no surprise.
bool Step::choose_start() {
  if (!solve(state_.free, state_.kept)) return false;
  state_.free_change.resize(state_.free.size());
  for_each_index(state_.free.size(), [&](std::size_t c) { state_.free_change[c] = change_of(c); });
  find_held();
  if (!thin_) return true;
  try_kept_impulses();
  return solve(state_.free, state_.kept) && (!drop_useless_impulses() || solve(state_.free, state_.kept));
}

// A component is held if contacts pushed it in the last step and its velocity then changed by far less than it would
// without them now, which would take it further than the thinnest body's radius; unless prescribed nodes pull it along
// with theirs. Where things only rest on each other, the unconstrained start is kept: what an early stop leaves undone
// is then a little of the fall, and not of a force that ends a slow slide.
void Step::find_held() {
  for_each_index(world_.component_nodes.size(), [&](std::size_t c) {
    if (!pushed(c)) return;
    const auto [first, last] = world_.component_nodes[c];
    double pulled = 0;
    for (int j = first; j < last; ++j)
      if (nodes_.fixed[j]) pulled = std::max(pulled, (v_[j] - nodes_.v[j]).norm());
    const double change = state_.free_change[c];
    const bool flies = dt_ * change > world_.thinnest;
    if (flies && std::max(state_.velocity_change[c], pulled) < kHeld * change) state_.free[c] = 0;
  });
  dynamics_.mark_groups(state_.free);
  for_each_index(nodes_.x.size(), [&](std::size_t j) {
    const int c = nodes_.component[j];
    if (c >= 0 && !state_.free[c] && !nodes_.fixed[j]) v_[j] = nodes_.v[j];
  });
}

// Impulses that have just come up, as in an impact, would push where nothing is; those of components whose solve was
// off by more than they are thick are none to build on.
void Step::try_kept_impulses() {
  for_each_index(state_.kept_on.size(), [&](std::size_t c) {
    state_.kept_on[c] = state_.free[c] && pushed(c) && state_.impulse_change[c] < kSteady;
  });
  for_each_index(nodes_.x.size(), [&](std::size_t j) {
    const int c = nodes_.component[j];
    if (c >= 0 && state_.kept_on[c]) state_.kept[j] = state_.lambda[j];
  });
}

// They are kept only where velocities change with them by hardly more than in the last step, and than without them.
// Returns whether any are dropped.
bool Step::drop_useless_impulses() {
  const auto dropped = sum_in_chunks(state_.kept_on.size(), std::size_t{0}, [&](std::size_t c) {
    if (!state_.kept_on[c]) return 0;
    if (change_of(c) <= kSurprise * std::min(state_.free_change[c], state_.velocity_change[c])) return 0;
    state_.kept_on[c] = 0;
    const auto [first, last] = world_.component_nodes[c];
    std::fill(state_.kept.begin() + first, state_.kept.begin() + last, Vec3::Zero());
    return 1;
  });
  return dropped > 0;
}

// From the start of the step to v, root mean square over the mass of the free nodes, m/s.
double Step::change_of(std::size_t component, std::span<const Vec3> v) const {
  const auto [first, last] = world_.component_nodes[component];
  double sum = 0, mass = 0;
  for (int j = first; j < last; ++j) {
    if (nodes_.fixed[j]) continue;
    sum += nodes_.m[j] * (v[j] - nodes_.v[j]).squaredNorm();
    mass += nodes_.m[j];
  }
  return mass > 0 ? std::sqrt(sum / mass) : 0.0;
}

void Step::linearise() {
  const Stopwatch watch(report_.t_dynamics);
  dynamics_.assemble(v_);
}

std::vector<std::uint8_t> Step::touching_components() const {
  std::vector<std::uint8_t> touching =
      touched_components(admm_.contacts, nodes_.skin, nodes_.fixed, nodes_.component, world_.component_count);
  dynamics_.mark_groups(touching);
  return touching;
}

bool Step::solve(std::span<const std::uint8_t> components, std::span<const Vec3> impulse, std::span<Vec3> v) {
  const Stopwatch watch(report_.t_dynamics);
  return dynamics_.solve_unweighted(components, impulse, v, linear_tolerance());
}

// A v = f: in the first iteration, with the impulses that are kept, the warm start (D20 6.2.1); in later ones the
// answer for components that touch nothing.
bool Step::solve_unconstrained(int newton_iteration) {
  if (newton_iteration == 0) return solve(state_.free, state_.kept);
  state_.free = touching_components();
  for (std::uint8_t& mark : state_.free) mark = !mark;
  return solve(state_.free, state_.no_impulse);
}

// Hair that rests on hair falls by many diameters in a step without contacts, and most contacts found on that way are
// not those of the step. Where there are bodies so thin, continuous detection gets its first path from the first linear
// solve, with the forces of the last step. Thicker ones converge better with all their contacts from the start.
void Step::detect_first_contacts() {
  const Stopwatch watch(report_.t_collision);
  Detector& detector = *world_.detector;
  detector.begin_step(nodes_, pose_start_, pose_end_, dt_, v_);
  detector.proximity(admm_.contacts);
  proximity_contacts_ = admm_.contacts.size();
  if (!thin_) detector.continuous(v_, admm_.contacts);
}

// Contacts start with the forces of the last step (D20 6.2.2). Among hairs so dense that contacts contradict each other
// forces grow from step to step, and once their contacts let go they throw a hair through all others. A component
// that they would change the velocity of by far more than it would change without contacts, and did in the last step,
// starts without them.
bool Step::start_forces() {
  copy_in_chunks(state_.lambda, admm_.lambda);
  if (!thin_ || state_.free_change.empty()) return true;
  std::vector<std::uint8_t> marked(world_.component_count);
  for_each_index(marked.size(), [&](std::size_t c) { marked[c] = pushed(c); });
  dynamics_.mark_groups(marked);
  copy_in_chunks(v_, state_.v_hat);
  if (!solve(marked, state_.lambda, state_.v_hat)) return false;
  for_each_index(marked.size(), [&](std::size_t c) {
    if (!marked[c] || change_of(c, state_.v_hat) <= kWild * std::max(state_.free_change[c], state_.velocity_change[c]))
      return;
    const auto [first, last] = world_.component_nodes[c];
    std::fill(admm_.lambda.begin() + first, admm_.lambda.begin() + last, Vec3::Zero());
  });
  return true;
}

// What was held or pushed by contacts that are no longer there moves without any.
bool Step::release_untouched() {
  std::vector<std::uint8_t> released = touching_components();
  for (std::size_t c = 0; c < released.size(); ++c)
    released[c] = !released[c] && (!state_.free[c] || state_.kept_on[c]);
  dynamics_.mark_groups(released);
  return solve(released, state_.no_impulse);
}

// Contacts appended by the last solve take their place in the order of keys, with their impulses.
void Step::sort_contacts() {
  const std::size_t count = admm_.contacts.size();
  const auto after_next = [&](std::size_t i) { return admm_.contacts[i + 1].key < admm_.contacts[i].key ? 1 : 0; };
  if (sum_in_chunks(count > 0 ? count - 1 : 0, std::size_t{0}, after_next) == 0) return;
  auto& order = state_.order;
  order.resize(count);
  for_each_index(count, [&](std::size_t i) { order[i] = {admm_.contacts[i].key, static_cast<std::uint32_t>(i)}; });
  tbb::parallel_sort(order.begin(), order.end());
  reserve_for(state_.sorted_contacts, count);
  state_.sorted_contacts.resize(count);
  state_.sorted_impulse.resize(admm_.impulse.size());
  for_each_index(count, [&](std::size_t i) {
    state_.sorted_contacts[i] = admm_.contacts[order[i].second];
    if (!admm_.impulse.empty()) state_.sorted_impulse[i] = admm_.impulse[order[i].second];
  });
  admm_.contacts.swap(state_.sorted_contacts);
  admm_.impulse.swap(state_.sorted_impulse);
  clear_large(state_.sorted_contacts);
  clear_large(state_.sorted_impulse);
}

bool Step::solve_friction(int newton_iteration) {
  const Stopwatch watch(report_.t_solver);
  AdmmOptions options;
  options.solver = world_.scene.solver;
  options.contact = world_.scene.contact;
  options.dt = dt_;
  options.last = newton_iteration + 1 == options.solver.newton_iterations;
  copy_in_chunks(v_, admm_.v);
  sort_contacts();
  const AdmmReport admm = solve_admm(
      dynamics_, options,
      [&](std::span<const Vec3> v, ContactList& contacts) { world_.detector->continuous(v, contacts); }, admm_);
  report_.newton_iterations = newton_iteration + 1;
  report_.admm_iterations += admm.iterations;
  report_.residual_m = admm.residual;
  report_.residual_p999_m = admm.residual_p999;
  report_.residual_ratio = admm.residual_first > 0 ? admm.residual / admm.residual_first : 0;
  report_.sequential_contacts = static_cast<std::int64_t>(admm.sequential_contacts);
  report_.contact_updates += static_cast<std::int64_t>(admm.contact_updates);
  report_.admm_history = admm.history;
  report_.t_linear += admm.t_linear;
  report_.t_projection += admm.t_projection;
  report_.t_collision += admm.t_detection;
  report_.t_solver -= admm.t_detection;
  return dynamics_.factors_good();
}

void Step::accept_iterate() {
  for (Body* body : world_.bodies) body->accept_iterate(state_.all);
  copy_in_chunks(world_.scene.solver.final_velocity == FinalVelocity::p ? admm_.p : admm_.v, v_);
}

// Where v hardly answers to p, as in hairs wound round each other, λ grows by a small part of what it takes in each
// iteration: this Newton iteration weighs nodes more that missed the tolerance in the last.
void Step::raise_weights() {
  if (!world_.scene.solver.weight_raise) return;
  state_.missed.resize(nodes_.x.size());
  const double most = world_.scene.solver.tolerance / dt_;
  for_each_index(state_.missed.size(),
                 [&](std::size_t j) { state_.missed[j] = (admm_.v[j] - admm_.p[j]).norm() > most; });
  dynamics_.raise_weights(state_.missed);
}

void Step::count_crossings() {
  const Stopwatch watch(report_.t_collision);
  Detector& detector = *world_.detector;
  report_.crossings = detector.crossings(v_);
  report_.contacts = static_cast<std::int64_t>(admm_.contacts.size());
  report_.contacts_ccd = report_.contacts - static_cast<std::int64_t>(proximity_contacts_);
  report_.max_penetration_m = detector.max_penetration(admm_.contacts, v_);
  report_.broad_phases = detector.broad_phases();
  report_.t_broad = detector.broad_seconds();
  report_.candidates = static_cast<std::int64_t>(detector.candidate_count());
  report_.deep_contacts = static_cast<std::int64_t>(detector.deep_contacts());
  const double mu_sum = sum_in_chunks(admm_.contacts.size(), 0.0, [&](std::size_t i) { return admm_.contacts[i].mu; });
  report_.mu_n_over_m = mu_sum / std::max(1, world_.free_degrees_of_freedom());
  report_.nu = 3.0 * static_cast<double>(report_.contacts) / std::max(1, world_.free_degrees_of_freedom());
}

// The one residual, of the last linearised problem.
bool Step::measure_coulomb_error() {
  const Stopwatch watch(report_.t_solver);
  copy_in_chunks(admm_.contacts.empty() ? state_.no_impulse : admm_.on_nodes, state_.contact_impulse);
  if (admm_.contacts.empty()) return true;
  state_.r.resize(admm_.contacts.size());
  state_.k_N.resize(admm_.contacts.size());
  for_each_index(state_.r.size(), [&](std::size_t i) {
    const Contact& c = admm_.contacts[i];
    state_.r[i] = admm_.impulse[i] + c.cohesion * dt_ * c.n;
    state_.k_N[i] = normal_offset(c, world_.scene.contact, dt_);
  });
  state_.inverse_mass.resize(nodes_.x.size());
  for_each_index(nodes_.x.size(),
                 [&](std::size_t j) { state_.inverse_mass[j] = nodes_.fixed[j] ? 0.0 : 1.0 / nodes_.m[j]; });
  copy_in_chunks(v_, state_.v_hat);
  const std::vector<std::uint8_t> touching(dynamics_.active().begin(), dynamics_.active().end());
  if (!dynamics_.solve_unweighted(touching, state_.contact_impulse, state_.v_hat, linear_tolerance())) return false;
  report_.coulomb_error =
      coulomb_error(admm_.contacts, state_.r, state_.k_N, slack_compliance(world_.scene.contact, dt_), state_.v_hat,
                    state_.inverse_mass, nodes_.skin);
  return true;
}

// Relative to the last step's, or 1 where the solve left v and p further apart than the thinnest body's radius.
double Step::impulse_change(std::size_t component) const {
  const auto [first, last] = world_.component_nodes[component];
  double change = 0, sum = 0, residual = 0;
  for (int j = first; j < last; ++j) {
    change += (admm_.lambda[j] - state_.lambda[j]).squaredNorm();
    sum += admm_.lambda[j].squaredNorm();
    residual = std::max(residual, (admm_.v[j] - admm_.p[j]).squaredNorm());
  }
  if (dt_ * std::sqrt(residual) > world_.thinnest) return 1;
  return sum > 0 ? std::sqrt(change / sum) : 0.0;
}

void Step::advance_state() {
  for (Body* body : world_.bodies) body->end_step(nodes_, v_);
  for_each_index(state_.velocity_change.size(), [&](std::size_t c) { state_.velocity_change[c] = change_of(c); });
  std::swap(nodes_.v, v_);  // v_ now holds the velocity at the start of the step
  for_each_index(nodes_.x.size(), [&](std::size_t j) { nodes_.x[j] += dt_ * nodes_.v[j]; });
  for_each_index(state_.impulse_change.size(), [&](std::size_t c) { state_.impulse_change[c] = impulse_change(c); });
  state_.lambda.swap(admm_.lambda);
}

void Step::measure() {
  report_.dt = dt_;
  report_.linear_iterations = dynamics_.linear_iterations();
  report_.linear_unsolved = dynamics_.linear_unsolved();
  std::vector<Vec3> with_ties;
  if (dynamics_.has_ties()) {
    with_ties = state_.contact_impulse;
    world_.ties.add_impulses(nodes_.x, with_ties);
  }
  const std::vector<Vec3>& impulse = dynamics_.has_ties() ? with_ties : state_.contact_impulse;
  for (Body* body : world_.bodies) {
    const BodyEnergy energy = body->measure(nodes_, v_, impulse, world_.scene.world);
    report_.energy_kinetic += energy.kinetic;
    report_.energy_elastic += energy.elastic;
    report_.energy_gravity += energy.gravity;
    report_.max_stretch = std::max(report_.max_stretch, body->max_stretch(nodes_.x));
  }
  if (dynamics_.has_ties()) report_.energy_elastic += world_.ties.energy(nodes_.x);
  for (const auto& r : world_.rods) report_.guarded_stencils += r->guarded_stencils();
  report_.max_speed = std::sqrt(
      max_in_chunks(nodes_.v.size(), [&](std::size_t j) { return nodes_.fixed[j] ? 0.0 : nodes_.v[j].squaredNorm(); }));
}

bool Step::finite(std::string& failure) const {
  for (const Body* body : world_.bodies) {
    const double broken = max_in_chunks(
        body->node_count, [&](std::size_t j) { return v_[body->first_node + j].allFinite() ? 0.0 : 1.0; });
    if (broken == 0) continue;
    failure = "body '" + body->name + "': velocities are not finite";
    return false;
  }
  return true;
}

}  // namespace

bool advance(World& world, StepState& state, double time, double dt, StepReport& report, std::string& failure) try {
  Step step(world, state, time, dt, report);
  step.move_kinematic_bodies();
  failure.clear();
  if (!step.predict()) return step.name_failure(failure);
  for (int k = 0; k < world.scene.solver.newton_iterations; ++k) {
    if (k > 0) step.raise_weights();
    step.linearise();
    bool good = (k > 0 || step.start_forces()) && step.solve_unconstrained(k);
    good = good && step.finite(failure);
    if (good && k == 0) {
      step.detect_first_contacts();
      good = step.release_untouched();
    }
    good = good && step.solve_friction(k);
    if (!good) return step.name_failure(failure);
    step.accept_iterate();
  }
  if (!step.finite(failure)) return false;
  step.count_crossings();
  if (!step.measure_coulomb_error()) return step.name_failure(failure);
  step.advance_state();
  step.measure();
  return true;
} catch (const TooManyPairs& error) {
  failure = error.what();
  return false;
} catch (const std::bad_alloc&) {
  failure = "out of memory";
  return false;
}

}  // namespace stiction
