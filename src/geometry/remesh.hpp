// Remeshing of a surface that is known as a field (Botsch and Kobbelt 2004): long edges are split, short ones
// collapsed, edges flipped towards valence six and vertices smoothed along the tangent plane, with every vertex drawn
// back on to field = 0 throughout. Operations are local, and refused where the mesh would cease to be a manifold or a
// triangle would fold over, so that a manifold, closed or with a boundary, keeps its topology.
#pragma once

#include <array>
#include <vector>

#include "geometry/implicit.hpp"
#include "stiction/types.hpp"

namespace stiction {

/// Where a mesh's vertices belong: on field = 0, those of the boundary on keep = 0 as well.
struct SurfaceTarget {
  const Field& field;
  const Field* keep;  // null: no boundary
  double step;        // of central differences, m

  Vec3 normal(const Vec3& x) const;
  Vec3 project(Vec3 x, bool boundary) const;
};

/// Local operations on a manifold, each of which keeps it one.
class Remesher {
 public:
  /// With an `adaptivity` above zero edges that bend over an angle θ (rad) are to be shorter by 1 + adaptivity θ.
  Remesher(const TriangleMesh& mesh, const SurfaceTarget& target, double adaptivity);

  int vertex_count() const { return live_vertices_; }

  /// Rounds of splits, collapses, flips and smoothing towards edges of `edge` metres.
  void remesh(double edge, int rounds);

  /// Collapses the shortest edges or splits the longest until `count` vertices are left, or none can go.
  void reach(int count);

  /// Flips and smooths, first towards even valence and then towards wide angles; keeps the numbers of all elements.
  void finish();

  TriangleMesh result() const;

 private:
  struct Edge {
    int a, b;
    double length;
  };

  /// The triangles a b c and b a d of an inner edge.
  struct Diamond {
    int a, b, c, d;
  };

  /// Edges whose length `wanted` accepts, in order of length.
  template <typename Wanted>
  std::vector<Edge> edges(const Wanted& wanted, bool longest_first) const;

  /// The length that edges are judged by: those that bend count as longer.
  double measure(const Vec3& a, const Vec3& normal_a, const Vec3& b, const Vec3& normal_b) const;

  void add_face(const Eigen::Vector3i& t);
  void detach(int v, int f) { std::erase(faces_of_[v], f); }
  bool has(int f, int v) const { return faces_[f][0] == v || faces_[f][1] == v || faces_[f][2] == v; }

  /// The vertex after v in face f.
  int next_vertex(int f, int v) const;
  int third_vertex(int f, int a, int b) const { return faces_[f].sum() - a - b; }
  std::vector<int> edge_faces(int a, int b) const;
  std::vector<int> neighbours(int v) const;

  /// Excess of a vertex's valence over that of a regular mesh.
  int excess(int v) const { return static_cast<int>(faces_of_[v].size()) - (boundary_[v] != 0 ? 3 : 6); }

  void place(int v, const Vec3& x);

  /// The point of the surface over the middle of an edge, or the middle itself where the field leads astray.
  Vec3 middle(int a, int b, bool boundary) const;

  /// Cosine between a triangle with these corners and the surface there.
  double uprightness(const std::array<int, 3>& v, const std::array<Vec3, 3>& x) const;

  /// The least over the faces of v, except those that hold `without`, with v at x.
  double least_uprightness(int v, const Vec3& x, int without = -1) const;

  /// Whether v may go to x: its faces stay upright, or what was folded does not get worse.
  bool can_move(int v, const Vec3& x, int without = -1) const;

  void split(int a, int b);

  /// Merges b into a, if that keeps the mesh a manifold, upright and with edges of at most `longest`.
  bool collapse(int a, int b, double longest);

  bool evens_valence(const Diamond& e) const;
  bool widens_angles(const Diamond& e) const;

  template <typename Wanted>
  void flip_all(const Wanted& wanted);
  template <typename Wanted>
  void flip(int a, int b, const Wanted& wanted);

  void improve();
  void smooth();

  SurfaceTarget target_;
  double adaptivity_;
  std::vector<Vec3> x_, normal_;
  std::vector<Eigen::Vector3i> faces_;  // -1 first: gone
  std::vector<std::vector<int>> faces_of_;
  std::vector<char> boundary_;
  int live_vertices_;
};

}  // namespace stiction
