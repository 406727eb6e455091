// Contacts of vertices and edges with analytic colliders, in the collider's own frame.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collision/contact_collector.hpp"
#include "collision/step_vertices.hpp"
#include "collision/surface.hpp"
#include "contact/contact.hpp"
#include "stiction/scene.hpp"

namespace stiction {

class ColliderContacts {
 public:
  /// Keeps references to all but the options. `first_body`: row of the friction table of colliders[0].
  ColliderContacts(const Surface& surface, const StepVertices& vertices, std::span<const Collider> colliders,
                   int first_body, const FrictionTable& friction, const ContactOptions& options);

  /// Starts a step with the colliders' poses at both of its ends.
  void begin_step(std::span<const Pose> pose_start, std::span<const Pose> pose_end);

  /// Contacts of what is near at the start of the step.
  void proximity(ContactCollector& out);

  /// Contacts of what comes to touch when vertices move with v, or gets through in spite of those it has.
  void continuous(std::span<const Vec3> v, ContactCollector& out);

  /// Edges whose centreline enters a collider when vertices move with v.
  std::int64_t crossings(std::span<const Vec3> v) const;

  /// Of a contact's point from the collider at the end of the step, m.
  double distance_at_end(const Contact& contact, std::span<const Vec3> v) const;

 private:
  /// Where a vertex starts with respect to a collider.
  struct Start {
    Eigen::Vector3f carried;  ///< displacement over the step if it were fixed to the collider, m
    float distance;           ///< at most, m
  };

  /// A node (a == b) or an edge at both ends of the step, in the collider's frame, m.
  struct Way {
    int a, b;
    Vec3 a_t0, b_t0, a_t1, b_t1;
  };

  void measure();
  double room_of_point(int collider, int vertex, std::span<const Vec3> v) const;
  double room_of_edge(int collider, const SurfaceEdge& e, std::span<const Vec3> v) const;
  Contact contact(ContactKey key, int collider, int a, int b, double s, const Vec3& x_local, double when, double radius,
                  double mu) const;
  Way way(int collider, int a, int b, std::span<const Vec3> v) const;
  std::optional<double> impact(int collider, const Way& way, double radius, int known) const;
  std::optional<Contact> contact_at(ContactKey key, int collider, const Way& way, double when, double radius,
                                    double mu) const;
  std::optional<Contact> contact_that_holds(ContactKey key, int collider, const Way& way, double when, double radius,
                                            double mu, std::span<const Vec3> v) const;
  bool holds_out(const Contact& contact, std::span<const Vec3> v) const;
  Vec3 end_of(const Contact& contact, std::span<const Vec3> v) const;

  const Surface& surface_;
  const StepVertices& vertices_;
  std::span<const Collider> colliders_;
  int first_body_;
  const FrictionTable& friction_;
  ContactOptions options_;
  std::span<const Pose> pose_start_, pose_end_;
  std::vector<std::vector<Start>> start_;                            // a collider, a vertex
  std::vector<std::vector<std::uint8_t>> point_known_, edge_known_;  // contacts that a primitive has with a collider
};

}  // namespace stiction
