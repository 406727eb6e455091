// The simulated world: bodies, nodes, surfaces and colliders built from a scene.
#pragma once

#include <memory>
#include <vector>

#include "bodies/body.hpp"
#include "bodies/chains.hpp"
#include "bodies/rods.hpp"
#include "collision/detector.hpp"

namespace stiction {

/// Vertices of a mesh collider: a range of nodes that follow its motion or its sequence of meshes.
struct KinematicMesh {
  int collider = 0;
  int first_node = 0;
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
  std::vector<Body*> bodies;  // rods, then chains
  std::vector<KinematicMesh> meshes;
  std::vector<TriangleMesh> shapes;  // of every collider, local coordinates, for pictures
  int component_count = 0;
  std::unique_ptr<Detector> detector;

 private:
  int collider_index(const std::string& name) const;
  void add_meshes();
  Surface build_surface() const;
  FrictionTable build_friction() const;
};

}  // namespace stiction
