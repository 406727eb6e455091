// What can touch: edges, points and triangles over global nodes, whatever body they belong to (D20 Assumption 1).
#pragma once

#include <array>
#include <vector>

#include "stiction/types.hpp"

namespace stiction {

struct SurfaceEdge {
  int a, b;                             ///< vertices: nodes, or those of the skin
  double radius;                        ///< m
  int body;                             ///< row of the friction table
  int strand = -1;                      ///< component that excludes its own neighbours; -1: a mesh
  double arc_a = 0, arc_b = 0;          ///< rest arc length along the strand, m
  std::array<int, 2> next{-1, -1};      ///< of a strand: the node before a, and the one after b
  int tied = -1;                        ///< of a strand: a body that it is tied to
  double tied_distance = 0;             ///< from there, along the strand at rest, m
  std::array<int, 2> opposite{-1, -1};  ///< of a mesh: third vertices of the triangles beside it
};

struct SurfacePoint {
  int node;
  double radius;  ///< m
  int body;
  int tied = -1;             ///< as of an edge
  double tied_distance = 0;  ///< m
};

struct SurfaceTriangle {
  int a, b, c;
  double radius;  ///< m
  int body;
  std::array<int, 3> opposite{-1, -1, -1};  ///< third vertices of the neighbours across bc, ca, ab
};

struct Surface {
  std::vector<SurfaceEdge> edges;
  std::vector<SurfacePoint> points;
  std::vector<SurfaceTriangle> triangles;
  std::vector<Vec3> rest;  ///< of vertices of simulated meshes; empty where there is none
};

/// Friction coefficient of each pair of bodies: geometric mean, or an override.
class FrictionTable {
 public:
  explicit FrictionTable(std::vector<double> mu);
  void set(int a, int b, double mu) { at(a, b) = at(b, a) = mu; }
  double operator()(int a, int b) const { return table_[static_cast<std::size_t>(a) * count_ + b]; }

 private:
  double& at(int a, int b) { return table_[static_cast<std::size_t>(a) * count_ + b]; }
  std::size_t count_;
  std::vector<double> table_;
};

}  // namespace stiction
