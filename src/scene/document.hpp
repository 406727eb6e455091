// A scene file as read: the records that the schema's sections fill, before meshes are loaded and generators run.
#pragma once

#include <numbers>

#include "scene/generators.hpp"
#include "stiction/scene.hpp"

namespace stiction::scene {

enum class Procedural { none, sphere, capsule, cylinder, box, torus, plate };

struct ColliderEntry {
  Collider collider;  // shape sizes, material and motion
  Vec3 size = 2 * Collider{}.half_extents;
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  std::string file;
  Procedural procedural = Procedural::none;
  double minor_radius = 0.03;
  double rim_height = 0.02;
  double wall = 0.005;
  int segments = 32;
  std::vector<std::string> sequence;
  int sequence_first = 1;
  int sequence_count = 0;
};

struct ForceEntry {
  int strand = 0;
  int node = -1;
  Vec3 force = Vec3::Zero();
  std::vector<VectorKey> keys;
};

/// What grooms, rods, bundles and chains share. Chains are carried as rods with the defaults of Chains.
struct StrandsEntry {
  Rods rods;
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  std::vector<ForceEntry> forces;
};

enum class GroomDomainChoice { automatic, sphere, hemisphere, patch };

struct GroomEntry : StrandsEntry {
  GroomOptions groom;
  std::string on;
  GroomDomainChoice domain = GroomDomainChoice::automatic;
};

enum class RodShape { straight, arc, ring, helix, trefoil };
enum class RestShape { same, straight };

struct RodEntry : StrandsEntry {
  RodShape shape = RodShape::straight;
  RestShape rest = RestShape::same;
  int elements = 30;
  Vec3 from = Vec3::Zero();
  Vec3 to = {0.2, 0, 0};
  std::vector<Vec3> nodes;
  double size = 0.05;
  double angle = std::numbers::pi;
  double pitch = 0.02;
  double turns = 3;
  double length = 1.0;
};

struct ChainEntry : RodEntry {
  ChainEntry();
};

enum class BundleModel { chain, rod };

struct BundleEntry : StrandsEntry {
  BundleModel model = BundleModel::chain;
  BundleOptions bundle;
  BundleEntry();
};

struct Document {
  std::string name = Scene{}.name;
  TimeOptions time;
  WorldOptions world;
  SolverOptions solver;
  ContactOptions contact;
  RenderOptions render;
  std::vector<ColliderEntry> colliders;
  std::vector<GroomEntry> grooms;
  std::vector<RodEntry> rods;
  std::vector<BundleEntry> bundles;
  std::vector<ChainEntry> chains;
  std::vector<FrictionPair> friction_pairs;
};

}  // namespace stiction::scene
