// Pairs of primitives that may touch in a step.
//
// A step starts with one broad phase over moving boxes: where primitives are, and how far they are expected to go, with
// some slack. Where vertices leave their slack later, it grows and adds candidates. A candidate keeps the distance that
// it starts at: a pass can drop it when its two primitives cannot approach each other by as much.
#pragma once

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "collision/step_vertices.hpp"
#include "collision/surface.hpp"
#include "geometry/box.hpp"
#include "geometry/bvh.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// Candidates of one kind: edges and edges, or points and triangles.
struct CandidatePairs {
  std::vector<std::pair<int, int>> pair;
  std::vector<float> distance;      ///< at the start of the step, at least, m
  std::vector<std::uint8_t> known;  ///< contacts that the pair has in this step

  std::size_t size() const { return pair.size(); }
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

  CandidatePairs& edges() { return edge_pairs_; }
  CandidatePairs& points() { return point_pairs_; }

  /// How much nearer the pair comes at most, with the v followed last, m.
  double edge_approach(const std::pair<int, int>& pair) const {
    return edge_sweeps_[pair.first].approach(edge_sweeps_[pair.second]);
  }
  double point_approach(const std::pair<int, int>& pair) const {
    return point_sweeps_[pair.first].approach(triangle_sweeps_[pair.second]);
  }

  std::array<int, 4> edge_vertices(const std::pair<int, int>& pair) const;
  std::array<int, 4> point_vertices(const std::pair<int, int>& pair) const;

  std::size_t size() const { return edge_pairs_.size() + point_pairs_.size(); }
  int broad_phases() const { return broad_phases_; }  ///< in this step

 private:
  /// A displacement over the step that all points of a primitive stay within `radius` of, m.
  struct Sweep {
    Eigen::Vector3f mean;
    float radius;
    double approach(const Sweep& other) const { return (mean - other.mean).norm() + radius + other.radius; }
  };

  /// Primitives with a vertex whose range has grown, and their boxes before and after.
  struct Grown {
    std::size_t count = 0;
    std::vector<int> index;  // `count` of them
    std::vector<MovingBox> before, after;
    std::vector<int> rank;                // of each primitive in index, or -1
    std::vector<std::size_t> chunk_rank;  // of each chunk's first
  };

  /// The boxes of one kind of primitive and the tree over them.
  struct Boxes {
    std::vector<MovingBox> box;
    Bvh tree;
    Grown grown;

    std::span<const MovingBox> grown_boxes() const { return std::span(grown.after).first(grown.count); }
    /// As it was before the ranges of its vertices grew.
    const MovingBox& before(int i) const { return grown.rank[i] >= 0 ? grown.before[grown.rank[i]] : box[i]; }
  };

  void expect(std::span<const Vec3> v);
  void search();
  void extend();
  void measure(std::size_t edges_from, std::size_t points_from);
  void find_sweeps(std::span<const Vec3> v);
  template <class Primitive>
  MovingBox box_of(const Primitive& p) const;
  template <class Primitive>
  void build(std::span<const Primitive> primitives, Boxes& boxes) const;
  template <class Primitive>
  void refit_grown(std::span<const Primitive> primitives, Boxes& boxes) const;
  bool edges_may_touch(int i, int j) const;
  bool point_may_touch(int point, int triangle) const;
  template <class Distance2>
  bool apart_at_rest(const std::array<int, 4>& vertex, double radii, Distance2&& distance2) const;

  const Surface& surface_;
  const StepVertices& vertices_;
  ContactOptions options_;
  double mean_radius_ = 0;  // m

  std::vector<Box> expected_;  // displacements of each vertex that the candidates hold for, m
  std::vector<Vec3> first_;    // displacements of the first pass, m
  double slack_ = 0;           // about them, m
  double last_deviation_ = std::numeric_limits<double>::infinity();
  double largest_ = 0;                      // coordinate or displacement
  std::vector<std::uint8_t> vertex_grown_;  // its range, in the last pass
  Boxes edge_boxes_, point_boxes_, triangle_boxes_;
  CandidatePairs edge_pairs_, point_pairs_;
  std::vector<std::pair<int, int>> found_;
  std::vector<Sweep> edge_sweeps_, point_sweeps_, triangle_sweeps_;
  int broad_phases_ = 0;
};

}  // namespace stiction
