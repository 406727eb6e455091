// Problems for the projection of D20 5.2 alone, and how far a result is from solving one:
//
//   W p = W p_0 + Bᵀ (r − ξ n),   u = B p + k + c r,   (u, r) in C_mu        with cohesion ξ and compliance c
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "contact/projection.hpp"
#include "support/random.hpp"

namespace stiction::test {

struct Problem {
  std::vector<double> inv_w;  // 1/kg; zero: prescribed
  std::vector<Vec3> p_0;
  std::vector<Contact> contacts;
  std::vector<double> k_N, compliance, cohesion;  // a value a contact: m/s, 1/kg, kg m/s

  int add_node(double weight, const Vec3& p) {
    inv_w.push_back(weight > 0 ? 1 / weight : 0);
    p_0.push_back(p);
    return static_cast<int>(inv_w.size()) - 1;
  }
  void add_contact(const Contact& contact, double offset = 0, double give = 0, double attraction = 0) {
    contacts.push_back(contact);
    k_N.push_back(offset);
    compliance.push_back(give);
    cohesion.push_back(attraction);
  }
};

struct Solution {
  std::vector<Vec3> p, r;
  std::size_t sequential = 0, at_hubs = 0, updates = 0;  // contacts; updates of contacts
};

/// Contacts appended one after the other: the first so many at once, the others so many at a time.
struct Parts {
  std::size_t first = std::numeric_limits<std::size_t>::max(), later = 1;
};

template <class T = double>
Solution solve(const Problem& problem, const SweepOptions& options, int stages = 8, int projections = 1,
               Parts parts = {}) {
  Projection<T> projection;
  projection.reset(problem.inv_w, stages);
  const std::size_t contacts = problem.contacts.size();
  for (std::size_t begin = 0, end = std::min(parts.first, contacts); begin < contacts;
       begin = end, end = std::min(end + parts.later, contacts)) {
    const auto part = [&](const auto& all) { return std::span(all).subspan(begin, end - begin); };
    projection.append(part(problem.contacts), part(problem.k_N), part(problem.compliance), part(problem.cohesion), {});
  }
  const int nodes = static_cast<int>(problem.p_0.size());
  for (int i = 0; i < projections; ++i) {  // each but the first starts from the forces of the one before
    for (int j = 0; j < nodes; ++j) projection.set_p(j, problem.p_0[j]);
    projection.project(options);
  }
  Solution solution;
  for (int j = 0; j < nodes; ++j) solution.p.push_back(projection.p(j));
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) solution.r.push_back(projection.impulse(i));
  solution.sequential = projection.sequential_count();
  solution.at_hubs = projection.hub_count();
  solution.updates = projection.update_count();
  return solution;
}

inline SweepOptions sweeps(int count, double sleeping_threshold = 0) {
  SweepOptions options;
  options.sweeps = count;
  options.sleeping_threshold = sleeping_threshold;
  return options;
}

/// Enough for all small problems here: doubling it changes nothing above rounding.
inline constexpr int kConverged = 4000;

inline double distance(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) worst = std::max(worst, (a[i] - b[i]).norm());
  return worst;
}

inline bool same_bits(const std::vector<Vec3>& a, const std::vector<Vec3>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Vec3)) == 0;
}

/// A node against a surface at rest.
inline Contact against_surface(int node, const Vec3& n, double mu) {
  Contact c;
  c.node[0] = node;
  c.b[0] = 1;
  c.n = n;
  c.mu = mu;
  return c;
}

inline Contact between_edges(const std::array<int, 4>& node, double s, double t, const Vec3& n, double mu) {
  Contact c;
  for (int j = 0; j < 4; ++j) c.node[j] = node[j];
  c.b = {1 - s, s, -(1 - t), -t};
  c.n = n;
  c.mu = mu;
  return c;
}

enum class Ends { free_only, with_prescribed };

/// Edges of random nodes that touch, at random, each other and (with_prescribed) prescribed nodes and moving surfaces.
/// p = 0 separates at every contact, so a solution exists; fewer contacts than nodes, so it is well conditioned.
inline Problem random_problem(unsigned seed, int nodes, int contacts, double mu, Ends ends) {
  Random random(seed);
  Problem problem;
  for (int j = 0; j < nodes; ++j) {
    const bool prescribed = ends == Ends::with_prescribed && j % 7 == 0;
    const double weight = std::pow(10.0, random(-1, 1));
    problem.add_node(prescribed ? 0 : weight, prescribed ? Vec3(Vec3::Zero()) : Vec3(random.direction()));
  }
  for (int i = 0; i < contacts; ++i) {
    if (ends == Ends::with_prescribed && i % 4 == 0) {
      int node = random.below(nodes);
      while (problem.inv_w[node] == 0) node = random.below(nodes);
      Contact c = against_surface(node, random.direction(), mu);
      c.surface_velocity = 0.2 * random.direction();
      problem.add_contact(c, std::abs(c.surface_velocity.dot(c.n)) + random(0.01, 0.05));
      continue;
    }
    std::array<int, 4> node{};
    bool good = false;
    while (!good) {
      for (int& j : node) j = random.below(nodes);
      std::array<int, 4> sorted = node;
      std::sort(sorted.begin(), sorted.end());
      good = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
             std::any_of(node.begin(), node.end(), [&](int j) { return problem.inv_w[j] > 0; });
    }
    problem.add_contact(between_edges(node, random(0, 1), random(0, 1), random.direction(), mu), random(0.01, 0.05));
  }
  return problem;
}

inline Problem rotated(Problem problem, const Quat& q) {
  for (Vec3& p : problem.p_0) p = q * p;
  for (Contact& c : problem.contacts) {
    c.n = q * c.n;
    c.surface_velocity = q * c.surface_velocity;
  }
  return problem;
}

/// The relative velocity at a contact, from p and r by the definition.
inline Vec3 relative_velocity(const Problem& problem, const Solution& solution, std::size_t i) {
  const Contact& c = problem.contacts[i];
  Vec3 u = problem.k_N[i] * c.n + problem.compliance[i] * solution.r[i];
  for (int j = 0; j < 4; ++j)
    if (c.node[j] != kNoNode) u += c.b[j] * solution.p[c.node[j]];
  if (c.node[3] == kNoNode) u -= c.surface_velocity;
  return u;
}

/// Largest violation of each line of the problem at the head of this file, m/s (impulses times the inverse mass).
struct Violation {
  double momentum = 0, cone = 0, penetration = 0, complementarity = 0, sliding = 0;
  int separated = 0, stuck = 0, slid = 0;
};

inline Violation violation(const Problem& problem, const Solution& solution, double tolerance) {
  Violation v;
  std::vector<Vec3> p = problem.p_0;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const Contact& c = problem.contacts[i];
    const Vec3 r = solution.r[i], u = relative_velocity(problem, solution, i);
    double s = problem.compliance[i];
    for (int j = 0; j < 4; ++j) {
      if (c.node[j] == kNoNode) continue;
      const double inv_w = problem.inv_w[c.node[j]];
      p[c.node[j]] += c.b[j] * inv_w * (r - problem.cohesion[i] * c.n);
      s += c.b[j] * c.b[j] * inv_w;
    }
    const double r_N = s * r.dot(c.n), u_N = u.dot(c.n);
    const Vec3 r_T = s * r - r_N * c.n, u_T = u - u_N * c.n;
    v.cone = std::max(v.cone, r_T.norm() - c.mu * r_N);
    v.penetration = std::max(v.penetration, -u_N);
    v.complementarity = std::max(v.complementarity, std::min(std::abs(r_N), std::abs(u_N)));
    if (u_T.norm() > tolerance)  // r_T = − μ r_N u_T / ‖u_T‖
      v.sliding = std::max(v.sliding, (r_T + c.mu * r_N * u_T.normalized()).norm());
    (r_N <= tolerance ? v.separated : u_T.norm() <= tolerance ? v.stuck : v.slid) += 1;
  }
  v.momentum = distance(p, solution.p);
  return v;
}

}  // namespace stiction::test
