// Pairs of primitives that may touch in a step.
//
// A step starts with one broad phase over moving boxes: where primitives are, and how far they are expected to go, with
// some slack. Where vertices leave their slack later, it follows them and adds candidates. A candidate keeps the
// direction in which its primitives are apart at the start, and by how much: as long as their motion along it leaves
// enough of that, a pass need not look at the pair closely.
#pragma once

#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "collision/edge_blocks.hpp"
#include "collision/pair_set.hpp"
#include "collision/step_vertices.hpp"
#include "collision/surface.hpp"
#include "geometry/bvh.hpp"
#include "parallel/large_vector.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// A direction from the second primitive of a pair to the first, in six bytes: no longer than a unit vector.
struct Direction {
  std::array<std::int16_t, 3> n{};

  static Direction of(const Vec3& unit);
  Eigen::Vector3f vector() const { return Eigen::Vector3f(n[0], n[1], n[2]) * (1.0f / 32767.0f); }
};

/// Candidates of one kind: edges and edges, or points and triangles.
struct CandidatePairs {
  LargeVector<std::pair<int, int>> pair;  ///< places of two edges, or a point and a triangle
  LargeVector<Direction> direction;
  LargeVector<float> apart;         ///< along it at the start of the step: the distance, or a little less, m
  LargeVector<std::uint8_t> known;  ///< contacts that the pair has in this step
  PairSet listed;                   ///< those in `pair`; of edges, those found after the step's first search

  std::size_t size() const { return pair.size(); }
};

/// A step in which so many pairs may meet that memory would not hold them: something moves too far at once.
class TooManyPairs : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Candidates {
 public:
  /// Keeps references to the surface and its vertices.
  Candidates(const Surface& surface, const StepVertices& vertices, const ContactOptions& options);

  /// Starts a step: pairs that may meet when vertices move about as with v (m/s, of all vertices).
  void begin_step(std::span<const Vec3> v);

  /// Adds pairs that may meet when vertices move with v, and finds how primitives then move.
  void follow(std::span<const Vec3> v);

  /// Remembers for the next step by how much this one's end, reached with v, differs from what was expected.
  void learn_slack(std::span<const Vec3> v);
  /// What iterates were typically off by in the last step, m. It decides how many candidates the next one has.
  double deviation() const { return last_deviation_; }
  void set_deviation(double deviation) { last_deviation_ = deviation; }

  CandidatePairs& edges() { return edge_pairs_; }
  CandidatePairs& points() { return point_pairs_; }

  /// Distance that a pair keeps, at least, all the way through the step with the v followed last, m.
  double edges_stay_apart(std::size_t i) const { return stay_apart(edge_pairs_, i, edge_motion_, edge_motion_); }
  double point_stays_apart(std::size_t i) const { return stay_apart(point_pairs_, i, point_motion_, triangle_motion_); }

  /// The two edges of a candidate, the lower index first.
  std::pair<int, int> edge_pair(std::size_t i) const;
  std::array<int, 4> edge_vertices(const std::pair<int, int>& edges) const;
  std::array<int, 4> point_vertices(const std::pair<int, int>& pair) const;

  std::size_t size() const { return edge_pairs_.size() + point_pairs_.size(); }
  int broad_phases() const { return broad_phases_; }       ///< in this step
  double broad_seconds() const { return broad_seconds_; }  ///< in this step

 private:
  /// Displacements of a primitive's vertices over the step, m.
  template <std::size_t N>
  struct Motion {
    std::array<Eigen::Vector3f, N> vertex;

    float least_along(const Eigen::Vector3f& n) const {
      float least = n.dot(vertex[0]);
      for (std::size_t k = 1; k < N; ++k) least = std::min(least, n.dot(vertex[k]));
      return least;
    }
  };

  // Every point of the pair moves between its vertices, and linearly: what is left at the end was there all along.
  template <class First, class Second>
  double stay_apart(const CandidatePairs& pairs, std::size_t i, const First& first, const Second& second) const {
    const Eigen::Vector3f n = pairs.direction[i].vector();
    const float parting = first[pairs.pair[i].first].least_along(n) + second[pairs.pair[i].second].least_along(-n);
    return pairs.apart[i] + std::min(0.0f, parting) - rounding_;
  }

  /// Primitives with a vertex whose range has changed, and their boxes.
  struct Changed {
    std::vector<std::uint8_t> mark;  // of each primitive
    std::vector<int> index;
    std::vector<MovingBox> box;
    ChunkLists<int> found;
  };

  /// The boxes of one kind of primitive and the tree over them.
  struct Boxes {
    std::vector<MovingBox> box;
    Bvh tree;
    Changed changed;
  };

  /// How many more pairs may be added.
  std::size_t room() const { return most_pairs_ - size(); }
  /// Throws TooManyPairs otherwise.
  void require(bool found_all) const;
  void expect(std::span<const Vec3> v);
  void search();
  void extend();
  template <class PairOf>
  void add_found(CandidatePairs& pairs, PairOf&& pair_of);
  void complete(CandidatePairs& pairs, std::size_t from);
  void find_motion(std::span<const Vec3> v);
  template <class Primitive>
  MovingBox box_of(const Primitive& p) const;
  template <class Primitive>
  void build(std::span<const Primitive> primitives, Boxes& boxes) const;
  template <class Primitive>
  void refit_changed(std::span<const Primitive> primitives, Boxes& boxes) const;
  bool edges_may_touch(int i, int j) const;
  bool places_may_touch(int i, int j) const;
  bool point_may_touch(int point, int triangle) const;
  template <class Distance2>
  bool apart_at_rest(const std::array<int, 4>& vertex, double radii, Distance2&& distance2) const;

  const Surface& surface_;
  const StepVertices& vertices_;
  ContactOptions options_;
  double mean_radius_ = 0;      // m
  std::size_t most_pairs_ = 0;  // in a step

  std::vector<Expected> expected_;  // of each vertex: what the candidates hold for
  EdgeBlocks edge_blocks_;
  std::vector<Vec3> first_;                // displacements of the first pass, m
  double slack_ = 0;                       // about them, m
  double last_deviation_ = 0;              // of the last step from them, typically, m
  double largest_ = 0;                     // coordinate or displacement
  std::vector<std::uint8_t> vertex_left_;  // its range, in the last pass
  Boxes point_boxes_, triangle_boxes_;
  CandidatePairs edge_pairs_, point_pairs_;
  LargeVector<std::pair<int, int>> found_;
  std::vector<Eigen::Vector3f> moved_;  // displacements of the vertices, m
  std::vector<Motion<2>> edge_motion_;  // by place
  std::vector<Motion<1>> point_motion_;
  std::vector<Motion<3>> triangle_motion_;
  float rounding_ = 0;  // of motions along a direction, m
  int broad_phases_ = 0;
  double broad_seconds_ = 0;
};

}  // namespace stiction
