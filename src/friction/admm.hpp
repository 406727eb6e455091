// The contact solver: D20 Algorithm 2 (and 4 where accelerated) on linearised dynamics A v = f + Bᵀ r.
//
//   v ← solve (A + W) v = f + W (p + λ)
//   v̂ ← α v + (1 − α) p                                         over-relaxation; the paper has α = 1
//   p ← v̂ − λ, projected onto the feasible set (contact/projection.hpp)
//   λ ← λ + (p − v̂)
//
// W is positive on the nodes of components (strands, bodies) that take part in a contact and zero elsewhere: what
// touches nothing solves A v = f and never enters the loop. Contacts found while it runs are appended; a component
// that gets its first contact then is weighted and factored at that moment.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "contact/contact.hpp"
#include "contact/projection.hpp"
#include "parallel/chunk_lists.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// The linearised dynamics, as the solver sees them: increments from the iterate v_k (bodies/body.hpp).
class LinearDynamics {
 public:
  virtual ~LinearDynamics() = default;

  /// v_k, a value a node.
  virtual std::span<const Vec3> iterate() const = 0;
  virtual std::span<const std::uint8_t> fixed() const = 0;
  virtual std::span<const int> component() const = 0;
  virtual int component_count() const = 0;
  /// The nodes of a component: [first, second). Ranges ascend with the component.
  virtual std::pair<int, int> nodes_of(int component) const = 0;
  /// Of the vertices that contacts may name; none: contacts act on nodes alone.
  virtual const Skin* skin() const { return nullptr; }
  /// Whether springs tie components together.
  virtual bool has_ties() const { return false; }

  /// Gives the nodes of these components their weight (kg), with a view to these contacts, and factors A + W for them.
  /// Components that springs tie to these enter the solve too, without weight.
  virtual void activate(std::span<const int> components, std::span<const Contact> contacts, std::span<double> w) = 0;

  /// v = v_k + (A + W)⁻¹ (impulse − g) on active components. Where that takes iterations, `tolerance` (m/s) is the
  /// error that may be left in v.
  virtual void solve(std::span<const Vec3> impulse, std::span<Vec3> v, double tolerance) = 0;
};

struct AdmmOptions {
  SolverOptions solver;
  ContactOptions contact;
  double dt = 0;  ///< s
  /// If after so many iterations the last half of them gained nothing, contacts of nodes that miss the tolerance stop
  /// undoing their overlap, and half as many iterations more sweep ten times as often; 0: never.
  int patience = 100;
  /// Whether it is the last solve of a step, whose result is looked at once more: for contacts, and for a percentile.
  bool last = true;
};

struct AdmmReport {
  int iterations = 0;
  double residual = 0;          ///< δ∞ at the end, m
  double residual_p999 = 0;     ///< 99.9th percentile over nodes of the same quantity, of a last solve, m
  double residual_first = 0;    ///< δ∞ of the first iteration, m
  std::vector<double> history;  ///< δ∞ of each iteration, m
  bool converged = false;
  std::size_t sequential_contacts = 0;
  std::size_t contact_updates = 0;                         ///< of single contacts in all sweeps
  double t_linear = 0, t_projection = 0, t_detection = 0;  ///< s
};

/// Appends contacts that the velocities v lead to and that are not known yet, sorted by key.
using DetectContacts = std::function<void(std::span<const Vec3> v, ContactList& contacts)>;

/// Work arrays, kept from one solve to the next so that iterations allocate nothing once they have grown, but where
/// contacts are appended. Of the largest, the contacts of a projection, the memory goes back at the end of a solve.
struct AdmmWork {
  Projection<double> in_double;
  Projection<float> in_single;
  std::vector<int> active;              ///< free nodes of components in contact, ascending
  std::vector<std::uint8_t> is_active;  ///< a value a component
  std::vector<Vec3> v_previous, p_hat, lambda, lambda_hat, weighted;
  std::vector<Vec3> p_previous, lambda_previous;  ///< of the last iteration, for momentum
  std::vector<double> k_N, compliance, cohesion;  ///< a value a contact
  ChunkLists<std::size_t> on_prescribed;          ///< contacts that act on prescribed nodes
};

/// State that the solver reads and writes; arrays have a value a node, or a contact where said.
struct AdmmState {
  std::vector<Vec3> v;         ///< in: start; out: velocity after the last linear solve, m/s
  std::vector<Vec3> p;         ///< out: feasible velocity; equals v where nothing touches
  std::vector<Vec3> lambda;    ///< in: W λ of the last solve; out: the same, kg m/s
  ContactList contacts;        ///< in: known contacts, sorted by key; out: with those appended
  std::vector<Vec3> impulse;   ///< in: as below, or empty; out: r of each contact with cohesion, kg m/s
  std::vector<Vec3> on_nodes;  ///< out: Bᵀ r, kg m/s
  std::vector<double> w;       ///< out: weights, kg
  AdmmWork work;
};

AdmmReport solve_admm(LinearDynamics& dynamics, const AdmmOptions& options, const DetectContacts& detect,
                      AdmmState& state);

/// The offset k_N of a contact's relative velocity: what closes the gap in one step, with the recovery bounded at the
/// contact's most mobile node (none where it was given up), and what the slack gives way under cohesion (the slack
/// feels r − ξ n).
double normal_offset(const Contact& contact, const ContactOptions& options, double dt);

/// Velocity that a unit impulse makes the contact's slack give way by, 1/kg (D20 6.3.2).
inline double slack_compliance(const ContactOptions& options, double dt) { return options.compliance / (dt * dt); }

}  // namespace stiction
