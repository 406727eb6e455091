// The degrees of freedom that contacts act on: 3D nodes of all bodies in global arrays. A body owns a contiguous
// range of them. Nodes of kinematic bodies and clamped nodes are here too, with a prescribed velocity and no
// response (fixed), so that a contact need not know whom it touches.
#pragma once

#include <cstdint>
#include <vector>

#include "bodies/skin.hpp"
#include "stiction/types.hpp"

namespace stiction {

struct Nodes {
  std::vector<Vec3> x;              ///< position at the start of the step, m
  std::vector<Vec3> v;              ///< velocity at the start of the step, m/s
  std::vector<double> m;            ///< mass, kg
  std::vector<std::uint8_t> fixed;  ///< 1: its velocity is prescribed
  std::vector<int> component;       ///< the strand (or whole body) that a contact on this node couples to
  Skin skin;                        ///< surface vertices that hang on nodes

  int size() const { return static_cast<int>(x.size()); }

  /// Appends n nodes at rest at the origin and returns the index of the first.
  int append(int n) {
    const int first = size();
    x.resize(x.size() + n, Vec3::Zero());
    v.resize(v.size() + n, Vec3::Zero());
    m.resize(m.size() + n, 0.0);
    fixed.resize(fixed.size() + n, 0);
    component.resize(component.size() + n, -1);
    return first;
  }
};

}  // namespace stiction
