// From surfaces and motion to contacts (D20 6.2.3).
//
// A step starts with one broad phase over moving boxes: where primitives are, and how far they are expected to go, with
// some slack. Every later pass tests its candidates only; where vertices leave their slack it grows and adds
// candidates. A candidate is tested in full only where its distance at the start is less than its two primitives can
// approach each other in this pass. A pair is one contact: proximity and continuous detection merge by key. A pair that
// is in contact already gets another one if it is about to pass through all the same (it slides, and its normal goes
// stale), found by continuous detection at a fraction of its distance.
//
// On a mesh, a face, an edge and a vertex may all be near the same point, as may two edges of a strand. A contact is
// kept only on the feature whose Voronoi region its normal lies in, so that the inner edges of a flat face are not
// felt, nor the nodes of a straight strand that slides past.
//
// Normals point from the second primitive to the first as they stood at the start of the step (proximity) or at the
// time of impact (continuous): the side on which thin things pass is that of the start of the step.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "bodies/nodes.hpp"
#include "collision/surface.hpp"
#include "contact/contact.hpp"
#include "geometry/bvh.hpp"
#include "stiction/scene.hpp"

namespace stiction {

class Detector {
 public:
  /// `first_collider_body`: row of the friction table of colliders[0].
  Detector(Surface surface, std::span<const Collider> colliders, int first_collider_body, FrictionTable friction,
           const ContactOptions& options);

  /// Starts a step: broad phase for motion near `v` (m/s). Poses are the colliders' at both ends of the step.
  void begin_step(const Nodes& nodes, std::span<const Pose> pose_start, std::span<const Pose> pose_end, double dt,
                  std::span<const Vec3> v);

  /// Contacts of pairs that are near at the start of the step, sorted by key.
  std::vector<Contact> proximity();

  /// Contacts of pairs that come to touch when nodes move with v and that have none yet, sorted by key.
  std::vector<Contact> continuous(std::span<const Vec3> v);

  /// Pairs of centrelines and surfaces that pass through each other when nodes move with v.
  std::int64_t crossings(std::span<const Vec3> v);

  /// Largest overlap at the end of the step among the contacts given, m.
  double max_penetration(std::span<const Contact> contacts, std::span<const Vec3> v);

  std::size_t candidate_count() const { return edge_pairs_.size() + point_pairs_.size(); }
  int broad_phases() const { return broad_phases_; }            ///< in this step
  std::size_t deep_contacts() const { return deep_contacts_; }  ///< recovery bounded, in this step

 private:
  struct Changed;
  /// A displacement over the step that all points of a primitive stay within `radius` of, m.
  struct Sweep {
    Eigen::Vector3f mean;
    float radius;
    /// How much nearer two primitives come at most, m.
    double approach(const Sweep& other) const { return (mean - other.mean).norm() + radius + other.radius; }
  };

  /// Where a vertex starts with respect to an analytic collider.
  struct ColliderStart {
    Eigen::Vector3f carried;  ///< displacement over the step if it were fixed to the collider, m
    float distance;           ///< at most, m
  };

  void measure_colliders();
  double room_of_point(int collider, int vertex, std::span<const Vec3> v) const;
  double room_of_edge(int collider, const SurfaceEdge& e, std::span<const Vec3> v) const;
  void broad_phase();
  void extend_candidates();
  void measure_candidates();
  void find_sweeps(std::span<const Vec3> v);
  MovingBox box_of(std::initializer_list<int> vertices, double radius) const;
  MovingBox box_of(const SurfaceEdge& e) const;
  MovingBox box_of(const SurfacePoint& p) const;
  MovingBox box_of(const SurfaceTriangle& t) const;
  template <class Primitive>
  void fit_boxes(std::span<const Primitive> primitives, std::vector<MovingBox>& boxes) const;
  template <class Primitive>
  Changed refit_grown(std::span<const Primitive> primitives, std::vector<MovingBox>& boxes, Bvh& tree) const;
  void expect(std::span<const Vec3> v);
  void learn_slack(std::span<const Vec3> v);
  void follow(std::span<const Vec3> v);
  bool edges_may_touch(int i, int j) const;
  bool point_may_touch(int point, int triangle) const;
  template <class Distance2>
  bool apart_at_rest(const std::array<int, 4>& vertex, double radii, Distance2&& distance2) const;
  std::span<const Vec3> on_vertices(std::span<const Vec3> v);
  Vec3 end_of(int node, std::span<const Vec3> v) const { return x_[node] + dt_ * v[node]; }
  std::array<int, 4> edge_nodes(const std::pair<int, int>& pair) const;
  std::array<int, 4> point_nodes(const std::pair<int, int>& pair) const;
  double reach(double radii) const;
  template <class Where>
  bool edges_own(const std::pair<int, int>& pair, const Vec3& n, Where&& where) const;
  bool strands_own(const std::pair<int, int>& pair, const std::array<double, 4>& b, const Vec3& n) const;
  bool movable(const std::array<int, 4>& node, const std::array<double, 4>& b) const;
  template <class Where>
  bool triangle_owns(int triangle, const std::array<double, 4>& b, const Vec3& n, Where&& where) const;

  Contact pair_contact(ContactKey key, const std::array<int, 4>& node, const std::array<double, 4>& b, const Vec3& n,
                       double radii, double mu) const;
  void finish(Contact& contact) const;
  Contact collider_contact(ContactKey key, int collider, int a, int b, double s, const Vec3& x_local, double when,
                           double radius, double mu) const;
  void collider_proximity(std::vector<Contact>& out);
  void collider_continuous(std::span<const Vec3> v, std::vector<Contact>& out);
  template <class Test>
  void collect(std::size_t count, std::vector<Contact>& out, Test&& test);

  Surface surface_;
  std::span<const Collider> colliders_;
  int first_collider_body_;
  FrictionTable friction_;
  ContactOptions options_;
  double mean_radius_ = 0;                            // m
  std::vector<std::uint8_t> edge_free_, point_free_;  // touches a free node

  // The step at hand.
  const Nodes* nodes_ = nullptr;
  std::span<const Pose> pose_start_, pose_end_;
  double dt_ = 0;
  std::vector<Vec3> x_;              // of all vertices, at the start of the step
  std::vector<std::uint8_t> fixed_;  // a vertex; of the skin: it hangs on fixed nodes alone
  std::vector<Vec3> v_all_;          // where there is a skin
  std::vector<Box> expected_;        // displacements of each vertex that the candidates hold for, m
  std::vector<Vec3> first_;          // displacements of the first pass, m
  double slack_ = 0;                 // about them, m
  double last_deviation_ = std::numeric_limits<double>::infinity();
  double largest_ = 0;  // coordinate or displacement
  std::vector<MovingBox> edge_boxes_, point_boxes_, triangle_boxes_;
  Bvh edge_tree_, triangle_tree_, point_tree_;
  std::vector<std::uint8_t> grown_;  // vertices whose range the last pass grew
  std::vector<std::pair<int, int>> edge_pairs_, point_pairs_;
  std::vector<std::uint8_t> edge_known_, point_known_;                    // contacts that a candidate has
  std::vector<std::vector<ColliderStart>> collider_start_;                // of analytic colliders, a vertex
  std::vector<std::vector<std::uint8_t>> collider_node_, collider_edge_;  // the same, a collider and primitive
  std::vector<float> edge_distance_, point_distance_;                     // of candidates at the start, at least, m
  std::vector<Sweep> edge_sweeps_, point_sweeps_, triangle_sweeps_;
  std::vector<std::vector<Contact>> chunk_contacts_;
  int broad_phases_ = 0;
  std::size_t deep_contacts_ = 0;
};

}  // namespace stiction
