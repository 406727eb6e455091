// From surfaces and motion to contacts (D20 6.2.3).
//
// Every pass of a step tests the same candidates (collision/candidates.hpp), in full only where their motion in this
// pass may bring them together. A pair has one contact, whoever finds it first, and others in two cases: strands side
// by side get one at each end of the part that they share (proximity), and a pair that is about to pass through all the
// same, since it slides and its normal goes stale, is caught again at a fraction of its distance (continuous).
//
// On a mesh, a face, an edge and a vertex may all be near the same point, as may two edges of a strand. A contact is
// kept only on the feature whose Voronoi region its normal lies in, so that the inner edges of a flat face are not
// felt, nor the nodes of a straight strand that slides past.
//
// Normals point from the second primitive to the first as they stood at the start of the step (proximity) or at the
// time of impact (continuous): the side on which thin things pass is that of the start of the step.
#pragma once

#include <span>
#include <vector>

#include "bodies/nodes.hpp"
#include "collision/candidates.hpp"
#include "collision/collider_contacts.hpp"
#include "collision/contact_collector.hpp"
#include "collision/first_met.hpp"
#include "collision/pair_geometry.hpp"
#include "collision/step_vertices.hpp"
#include "collision/surface.hpp"
#include "contact/contact.hpp"
#include "stiction/scene.hpp"

namespace stiction {

class Detector {
 public:
  /// `first_collider_body`: row of the friction table of colliders[0].
  Detector(Surface surface, std::span<const Collider> colliders, int first_collider_body, FrictionTable friction,
           const ContactOptions& options);
  Detector(const Detector&) = delete;  // parts refer to each other
  Detector& operator=(const Detector&) = delete;

  /// Starts a step: broad phase for motion near `v` (m/s). Poses are the colliders' at both ends of the step.
  void begin_step(const Nodes& nodes, std::span<const Pose> pose_start, std::span<const Pose> pose_end, double dt,
                  std::span<const Vec3> v);

  /// Appends contacts of pairs that are near at the start of the step, sorted by key.
  void proximity(ContactList& contacts);

  /// Appends contacts of pairs that come to touch when nodes move with v, or pass through in spite of those they have,
  /// sorted by key. Of strands on strands only what they meet first is taken (collision/first_met.hpp).
  void continuous(std::span<const Vec3> v, ContactList& contacts);

  /// Pairs of centrelines and surfaces that pass through each other when nodes move with v.
  std::int64_t crossings(std::span<const Vec3> v);

  /// Largest overlap at the end of the step among the contacts given, m.
  double max_penetration(std::span<const Contact> contacts, std::span<const Vec3> v);

  std::size_t candidate_count() const { return candidates_.size(); }
  double deviation() const { return candidates_.deviation(); }
  void set_deviation(double deviation) { candidates_.set_deviation(deviation); }
  int broad_phases() const { return candidates_.broad_phases(); }       ///< in this step
  double broad_seconds() const { return candidates_.broad_seconds(); }  ///< in this step
  std::size_t deep_contacts() const { return deep_contacts_; }          ///< recovery bounded, in this step

 private:
  /// Two edges, or a point and a triangle.
  struct NearPair {
    ContactKey::Kind kind;
    std::pair<int, int> index;
    std::array<int, 4> vertex;
    double radii, mu;
  };
  /// A contact that a candidate comes to, when in the step (a share of it), and what the candidate has of them.
  struct Met {
    ContactKey key;
    double when;
    std::uint8_t* known;
  };
  NearPair near_edges(const std::pair<int, int>& edges) const;
  NearPair near_point(const std::pair<int, int>& pair) const;
  template <class Impact, class Geometry, class Owns>
  void test(const NearPair& pair, std::uint8_t& known, std::span<const Vec3> v, Impact&& impact, Geometry&& geometry,
            Owns&& owns, std::vector<Met>& found) const;
  void take_first_met(std::span<const Vec3> v);
  Contact met_contact(const Met& met, std::span<const Vec3> v) const;
  double reach(double radii) const;
  std::array<Vec3, 4> start_of(const std::array<int, 4>& vertex) const;
  std::array<Vec3, 4> end_of(const std::array<int, 4>& vertex, std::span<const Vec3> v) const;
  bool movable(const std::array<int, 4>& vertex, const std::array<double, 4>& b) const;
  Contact pair_contact(const NearPair& pair, unsigned ordinal, const PairGeometry& g) const;

  Surface surface_;
  FrictionTable friction_;
  ContactOptions options_;
  double largest_radii_ = 0;  // of any pair, m
  StepVertices vertices_;
  Candidates candidates_;
  ColliderContacts collider_contacts_;
  ContactCollector collector_;
  ChunkLists<Met> met_;
  std::vector<const Met*> met_at_;
  FirstMet first_met_;
  std::size_t deep_contacts_ = 0;
};

}  // namespace stiction
