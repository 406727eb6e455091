// The description that rods and chains share, taken from their scene values.
#pragma once

#include <numbers>
#include <span>
#include <vector>

#include "stiction/scene.hpp"

namespace stiction {

struct StrandBodySpec {
  std::vector<std::vector<Vec3>> initial;         ///< nodes of each strand at time zero, m
  std::vector<std::vector<double>> rest_lengths;  ///< a value an edge, m
  std::vector<double> line_density;               ///< a value a strand, kg/m
  std::vector<double> stretch_stiffness;          ///< E_s S, a value a strand, N
  double damping = 0;                             ///< ξ, s
  double drag = 0;                                ///< kg/(m s)
  End root = End::free, tip = End::free;
  int root_collider = -1, tip_collider = -1;  ///< index, or -1 for the world
  Vec3 initial_velocity = Vec3::Zero();       ///< m/s
  std::span<const NodeForce> forces;
  std::span<const PointMass> point_masses;
};

/// The shape without stress: that at time zero where the strand gives no other.
inline const std::vector<Vec3>& rest_nodes_of(const Strand& s) { return s.rest_nodes.empty() ? s.nodes : s.rest_nodes; }

/// The strand's radius, or its body's. m.
template <class BodyValue>
double radius_of(const BodyValue& body, const Strand& s) {
  return s.radius > 0 ? s.radius : body.radius;
}

/// `section(strand)` is the area of the cross-section, m².
template <class BodyValue, class Section>
StrandBodySpec strand_spec(const BodyValue& body, int root_collider, int tip_collider, Section&& section) {
  StrandBodySpec spec;
  for (const Strand& s : body.strands) {
    const auto& rest = rest_nodes_of(s);
    spec.initial.push_back(s.nodes);
    auto& lengths = spec.rest_lengths.emplace_back();
    for (std::size_t j = 0; j + 1 < rest.size(); ++j) lengths.push_back((rest[j + 1] - rest[j]).norm());
    spec.line_density.push_back(body.density * section(s));
    spec.stretch_stiffness.push_back(body.stretch_modulus * section(s));
  }
  spec.damping = body.damping;
  spec.drag = body.drag;
  spec.root = body.root;
  spec.tip = body.tip;
  spec.root_collider = root_collider;
  spec.tip_collider = tip_collider;
  spec.initial_velocity = body.initial_velocity;
  spec.forces = body.forces;
  spec.point_masses = body.point_masses;
  return spec;
}

}  // namespace stiction
