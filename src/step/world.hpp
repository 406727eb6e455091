// The simulated world: bodies, nodes, surfaces and colliders built from a scene.
#pragma once

#include <memory>
#include <vector>

#include "bodies/body.hpp"
#include "bodies/chains.hpp"
#include "bodies/frames.hpp"
#include "bodies/rods.hpp"
#include "bodies/shell.hpp"
#include "bodies/solid.hpp"
#include "collision/detector.hpp"
#include "step/ties.hpp"

namespace stiction {

/// Vertices of a mesh collider: a range of nodes that follow its motion or its sequence of meshes.
struct KinematicMesh {
  int collider = 0;
  int first_node = 0;
};

/// The surface of a simulated shell, solid or frames body.
struct SimulatedMesh {
  int body = 0;                            ///< index into World::bodies
  std::vector<int> vertex;                 ///< nodes, or vertices of the skin
  std::vector<Vec3> rest;                  ///< positions at rest, m
  std::vector<Eigen::Vector3i> triangles;  ///< local indices
  double radius = 0;                       ///< m
};

/// Where a strand is tied to a body: on the edge that starts at `node`, a share `t` along it.
struct StrandTie {
  int node = 0;
  double t = 0;
  int body = 0;  ///< row of the friction table
};

struct World {
  explicit World(Scene scene_in);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Placement of each collider at a time: motion after placement.
  void poses_at(double time, std::vector<Pose>& poses) const;
  /// Position of a mesh collider's vertex at a time, m.
  Vec3 mesh_vertex_at(const KinematicMesh& mesh, int vertex, double time) const;
  int free_degrees_of_freedom() const;

  Scene scene;
  Nodes nodes;
  std::vector<std::unique_ptr<RodsBody>> rods;
  std::vector<std::unique_ptr<ChainsBody>> chains;
  std::vector<std::unique_ptr<SparseBody>> sparse;  // shells, then solids, then frames
  std::vector<Body*> bodies;                        // rods, chains, then sparse ones
  std::vector<SimulatedMesh> surfaces;              // of sparse bodies, in their order
  Ties ties;
  std::vector<StrandTie> strand_ties;
  std::vector<KinematicMesh> meshes;
  std::vector<TriangleMesh> shapes;  // of every collider, local coordinates, for pictures
  int component_count = 0;
  int strand_count = 0;                              // components that are strands: the first ones
  std::vector<std::pair<int, int>> component_nodes;  // [first, second) of each
  double thinnest = 0;                               // radius of any simulated body, m
  std::unique_ptr<Detector> detector;

 private:
  int collider_index(const std::string& name) const;
  int body_index(const std::string& name) const;
  void add_sparse_bodies();
  void add_meshes();
  void add_surfaces();
  void add_ties();
  void mark_tied(Surface& surface) const;
  Surface build_surface() const;
  FrictionTable build_friction() const;
};

}  // namespace stiction
