// A running simulation: a scene and its state. step() advances it by one time step.
#pragma once

#include <memory>
#include <span>

#include "stiction/frame.hpp"
#include "stiction/report.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// The simulation cannot go on: a step failed at every size tried. The message names the body, where it is one's fault.
class SimulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nodes of one strand: indices into positions() and velocities().
struct NodeRange {
  int first = 0, count = 0;
};

class Simulation {
 public:
  /// Builds bodies and colliders. Throws std::invalid_argument where the scene is inconsistent.
  explicit Simulation(Scene scene);
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  /// Advances by scene().time.dt(). Throws SimulationError; the state is then that of before the step.
  StepReport step();

  const Scene& scene() const;
  double time() const;              ///< s
  std::int64_t step_index() const;  ///< steps done

  std::span<const Vec3> positions() const;   ///< m
  std::span<const Vec3> velocities() const;  ///< m/s
  std::span<const double> masses() const;    ///< kg

  /// A strand of a rods or chains body, by the body's index: rods first, then chains, in the scene's order.
  NodeRange strand(int body, int strand) const;
  /// Nodes of a body; those of a shell or solid are the vertices of its mesh, a frame has four.
  NodeRange body_nodes(const std::string& name) const;
  /// Momentum of a body (of its consistent mass, where that is not the masses on its nodes), kg m/s.
  Vec3 momentum(const std::string& name) const;
  /// Force that holds the pinned nodes of a shell, solid or frames body over the last step, N.
  Vec3 pin_reaction(const std::string& name) const;
  /// Force that holds an end of a strand over the last step, N.
  Vec3 root_reaction(int body, int strand) const;
  Vec3 tip_reaction(int body, int strand) const;
  /// Twist angle of an edge of a rod relative to its reference director, rad.
  double twist_angle(int rods, int strand, int edge) const;
  /// Sum over the contacts of the last step of their impulses on each node, kg m/s.
  std::span<const Vec3> contact_impulses() const;

  /// Sets the velocities of all nodes, a value each; fixed ones keep following their script.
  void set_velocities(std::span<const Vec3> v);

  FrameLayout frame_layout() const;
  Frame frame() const;

  Snapshot snapshot() const;
  void restore(const Snapshot& snapshot);
  /// Hash of all that a snapshot holds: equal hashes, equal futures.
  std::uint64_t state_hash() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stiction
