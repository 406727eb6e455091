// What counts as a contact: distances, exclusions, and the terms that every contact gets.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bodies/nodes.hpp"
#include "contact/contact.hpp"
#include "stiction/scene.hpp"

namespace stiction {

// On a half circle whose ends just touch, the arc between them is pi/2 times their distance: anything closer along a
// strand or a sheet overlaps by construction.
inline constexpr double kFolded = 0.5 * std::numbers::pi;
inline constexpr std::uint8_t kMaxContacts = 8;  // of one pair in a step
inline constexpr double kInterior = 1e-3;        // an edge's contact nearer to its ends than this is its nodes' affair
inline constexpr double kCaughtAgain = 0.25;     // of the radii: distance at which a pair in contact is caught again
inline constexpr double kCaughtDeep = 0.5;       // of its distance, where it starts nearer than that

/// Distance at which a pair that another contact should hold apart is stopped all the same, m.
inline double caught_again(double radii, double distance_t0) {
  if (distance_t0 <= 0) return 2 * distance_t0;  // inside already: only going deeper counts
  return std::min(kCaughtAgain * radii, kCaughtDeep * distance_t0);
}

/// Distance up to which a pair is in contact at the start of a step, m.
inline double contact_reach(const ContactOptions& options, double radii) {
  return radii + std::max(options.margin * radii, options.cohesion > 0 ? options.cohesion_distance : 0.0);
}

/// Near to where a strand is tied to a body it cannot but touch it: as along a strand.
template <class Primitive>
bool tied_to(const Primitive& p, int body, double radii) {
  return p.tied == body && p.tied_distance <= kFolded * radii;
}

/// Share of recovery, cohesion by the gap (once a pair), and B11's rebound where the pair meets within the step of dt
/// seconds.
inline void finish_contact(Contact& c, const Nodes& nodes, const ContactOptions& options, double dt) {
  c.recovery = 0;
  c.for_each_node(nodes.skin, [&](int node, double b) {
    if (!nodes.fixed[node]) c.recovery = std::max(c.recovery, std::abs(b));
  });
  if (c.key.ordinal() == 0 && options.cohesion > 0 && options.cohesion_distance > 0)
    c.cohesion = options.cohesion * std::clamp(1.0 - c.gap / options.cohesion_distance, 0.0, 1.0);
  if (options.restitution > 0) {
    Vec3 u = -c.surface_velocity;
    for (int j = 0; j < 4; ++j)
      if (c.node[j] != kNoNode) u += c.b[j] * nodes.skin.at(c.node[j], nodes.v);
    const double approach = -u.dot(c.n);
    if (approach * dt > std::max(c.gap, 0.0)) {
      c.gap = std::min(c.gap, 0.0);
      c.rebound = options.restitution * approach;
    }
  }
}

}  // namespace stiction
