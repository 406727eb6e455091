// The vertices of the surface in the step at hand: nodes, and after them those of the skin.
#pragma once

#include <span>
#include <vector>

#include "bodies/nodes.hpp"
#include "collision/surface.hpp"

namespace stiction {

struct StepVertices {
  const Nodes* nodes = nullptr;
  double dt = 0;                                    ///< s
  std::vector<Vec3> x;                              ///< at the start of the step, m
  std::vector<std::uint8_t> fixed;                  ///< of the skin: it hangs on fixed nodes alone
  std::vector<std::uint8_t> edge_free, point_free;  ///< the primitive touches a vertex that is not fixed

  void begin_step(const Nodes& step_nodes, const Surface& surface, double step);

  /// Velocities of all vertices from those of the nodes; valid until the next call.
  std::span<const Vec3> velocities(std::span<const Vec3> v_nodes);

  /// Where a vertex is at the end of the step, m.
  Vec3 end_of(int vertex, std::span<const Vec3> v) const { return x[vertex] + dt * v[vertex]; }

 private:
  std::vector<Vec3> v_all_;  // where there is a skin
};

/// Positions at time t of the step, 0 to 1, when vertices move with v.
struct VerticesAt {
  const StepVertices& vertices;
  std::span<const Vec3> v;  ///< not read at t = 0
  double t;

  Vec3 operator()(int j) const {
    if (t == 0) return vertices.x[j];
    return vertices.x[j] + t * vertices.dt * v[j];
  }
};

}  // namespace stiction
