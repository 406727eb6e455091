// A scene file as read: the records that the schema's sections fill, before meshes are loaded and generators run.
#pragma once

#include <numbers>

#include "geometry/sheets.hpp"
#include "scene/frame_shapes.hpp"
#include "scene/generators.hpp"
#include "stiction/scene.hpp"

namespace stiction::scene {

enum class Procedural { none, sphere, capsule, cylinder, box, torus, plate, cone, bowl, rabbit, head, character };

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
  double height = 0.22;
  int faces = 10000;
  bool run = false;
  std::string follow_head_of;
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

enum class GroomDomainChoice { automatic, sphere, hemisphere, patch, surface };
enum class GroomRegion { all, scalp };

struct GroomEntry : StrandsEntry {
  GroomOptions groom;
  std::string on;
  GroomDomainChoice domain = GroomDomainChoice::automatic;
  GroomRegion region = GroomRegion::all;
  Vec3 region_min = Vec3::Constant(-1e6);
  Vec3 region_max = Vec3::Constant(1e6);
  double lean = 0;
  Vec3 lean_direction = -Vec3::UnitZ();
  double root_stiffness = Attachment{}.stiffness;
  double root_damping = Attachment{}.damping;
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

/// Vertices of a mesh, or frames, chosen by one of the three ways.
struct PinsEntry {
  Vec3 box_min = Vec3::Constant(-1e6);
  Vec3 box_max = Vec3::Constant(1e6);
  bool corners = false;
  std::vector<int> indices;
  std::string attach;
};

struct VertexForceEntry {
  int vertex = 0;
  Vec3 force = Vec3::Zero();
  std::vector<VectorKey> keys;
};

/// What bodies of meshes share.
struct MeshEntry {
  Vec3 position = Vec3::Zero();
  Vec3 rotation = Vec3::Zero();
  std::string file;
  std::vector<PinsEntry> pins;
  std::vector<VertexForceEntry> forces;
};

enum class ShellShape { sheet, band, shirt, file };

struct ShellEntry : MeshEntry {
  Shell shell;
  ShellShape shape = ShellShape::sheet;
  double width = 1, height = 1, radius = 0.1;
  int vertices = 1000;
  int nx = 0, ny = 0;
  Diagonals diagonals = Diagonals::alternating;
  ShirtOptions shirt;  // but for its vertices
  Vec3 rest_scale = Vec3::Ones();
};

enum class SolidShape { box, sphere, rabbit, surface, file };

struct SolidEntry : MeshEntry {
  Solid solid;
  SolidShape shape = SolidShape::box;
  Vec3 size = Vec3::Constant(0.2);
  double radius = 0.1, height = 0.2;
  int tets = 2000;
  Eigen::Vector3i cells = Eigen::Vector3i::Zero();
  int faces = 2500;
  bool embedded = true;
  Vec3 rest_scale = Vec3::Ones();
  Eigen::Vector3i copies = Eigen::Vector3i::Ones();
  Vec3 spacing = Vec3::Zero();
  int turn_seed = 0;
};

enum class FramesShape { rigid, beam, sheet, palm };
enum class RigidMesh { box, sphere, file };

struct FramesEntry : MeshEntry {
  Frames frames;
  FramesShape shape = FramesShape::rigid;
  RigidMesh mesh = RigidMesh::box;
  Vec3 size = Vec3::Constant(0.1);
  double radius = 0.1;
  int segments = 24;
  int count = 6;
  double length = 1;
  Eigen::Vector2d section = {0.05, 0.05};
  double width = 1, height = 1, thickness = 0.01;
  int nx = 4, ny = 4;
  PalmShape palm;
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
  std::vector<ShellEntry> shells;
  std::vector<SolidEntry> solids;
  std::vector<FramesEntry> frames;
  std::vector<Attachment> attachments;
  std::vector<FrictionPair> friction_pairs;
};

}  // namespace stiction::scene
