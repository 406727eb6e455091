// A contact between two surface points, and the hot record that the projection sweeps over.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "bodies/skin.hpp"
#include "parallel/large_vector.hpp"
#include "stiction/types.hpp"

namespace stiction {

/// What touches what: the primitive pair, unique within a step and stable between steps. Orders contacts.
struct ContactKey {
  enum Kind : std::uint64_t { edge_edge = 0, point_triangle = 1, node_collider = 2, edge_collider = 3 };

  std::uint64_t value = 0;

  /// A pair may touch more than once in a step: `ordinal` (0 to 7) counts its contacts.
  static ContactKey make(Kind kind, std::uint32_t a, std::uint32_t b, unsigned ordinal) {
    return {(static_cast<std::uint64_t>(a) << 34) | (static_cast<std::uint64_t>(b) << 5) | (kind << 3) | ordinal};
  }
  Kind kind() const { return static_cast<Kind>((value >> 3) & 3u); }
  std::uint32_t a() const { return static_cast<std::uint32_t>(value >> 34); }
  std::uint32_t b() const { return static_cast<std::uint32_t>((value >> 5) & ((1u << 29) - 1)); }
  unsigned ordinal() const { return static_cast<unsigned>(value & 7u); }
  bool operator<(const ContactKey& o) const { return value < o.value; }
  bool operator==(const ContactKey& o) const = default;
};

/// No node: its weight belongs to the collider's surface, whose velocity is `surface_velocity`.
inline constexpr std::int32_t kNoNode = -1;

/// A contact as detection describes it, on vertices: nodes, or vertices of the skin. The gap is
/// h = Σ b_j x_j − (surface point); the weights sum to zero when the surface is counted with weight −1 (its slot has no
/// node).
struct Contact {
  ContactKey key;
  std::array<std::int32_t, 4> node{kNoNode, kNoNode, kNoNode, kNoNode};
  std::array<double, 4> b{0, 0, 0, 0};
  Vec3 n = Vec3::UnitZ();                ///< from B to A
  double gap = 0;                        ///< h_N at the start of the step, less the radii, m
  Vec3 surface_velocity = Vec3::Zero();  ///< of an analytic collider at the point, m/s
  double mu = 0;
  double cohesion = 0;       ///< attraction, N
  double recovery = 1;       ///< share of the bound on recovery: the largest weight of a free node; 0: gave it up
  double rest_distance = 0;  ///< sum of the radii, m
  double rebound = 0;        ///< B11's c: normal velocity that an impact leaves with, m/s

  /// Calls f(node, b) for every node that the contact acts on; a node may come more than once.
  template <class F>
  void for_each_node(const Skin& skin, F&& f) const {
    for (int j = 0; j < 4; ++j)
      if (node[j] != kNoNode) skin.for_each_node(node[j], [&](int i, double weight) { f(i, b[j] * weight); });
  }
};

/// Contacts of a step: a resize leaves them to be written.
using ContactList = LargeVector<Contact>;

/// What a sweep of the projection (D20 Alg. 3) reads and writes for one contact: 64 bytes in single precision.
/// b[3] is not stored: weights sum to zero. r is the scaled force r̄ = s_c r. A contact on the skin acts on more nodes:
/// node[0] = ~(its first place in the list of wide contacts' nodes), node[1] = how many.
template <class T>
struct HotContact {
  std::int32_t node[4];
  T b[3];
  T n[3];
  T k_N;  // normal part of k, m/s; the rest of k is the velocity of kinematic nodes
  T r[3];
  T mu;
  T compliance;  // 1/w of the slack degree of freedom, 1/kg
};
static_assert(sizeof(HotContact<float>) == 64);

/// A node as a sweep sees it: p, and the inverse of its weight (zero where its velocity is prescribed).
template <class T>
struct HotNode {
  T p[3];
  T inv_w;
};

}  // namespace stiction
