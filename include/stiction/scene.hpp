// A scene as a value: everything the simulation needs, generators already run. The TOML reader (scene_file.hpp)
// produces one; tests and programs may fill one by hand. SI units. Defaults are those of Daviet 2020 (D20, Tables 4 and
// 5) but for what says otherwise.
#pragma once

#include "stiction/types.hpp"

namespace stiction {

struct TimeOptions {
  double duration = 2.0;    ///< simulated time, s
  double fps = 24.0;        ///< frames written a second, 1/s
  int steps_per_frame = 4;  ///< time steps in a frame

  double dt() const { return 1.0 / (fps * steps_per_frame); }  ///< s
  int frames() const;                                          ///< frames in `duration`, rounded to the nearest
};

struct WorldOptions {
  Vec3 gravity = {0, 0, -9.81};  ///< m/s²
  Vec3 wind = Vec3::Zero();      ///< air velocity, m/s
  double gust_speed = 0.0;       ///< amplitude of a travelling gust added along the wind's direction, m/s
  double gust_period = 2.0;      ///< s
  double gust_wavelength = 1.0;  ///< m
};

enum class FinalVelocity { p, v };          // D20 6.2.7
enum class Precision { single_, double_ };  // scalar of the contact projection

struct SolverOptions {
  int newton_iterations = 2;        ///< N_PN
  int predictor_iterations = 3;     ///< Newton iterations without contacts before these
  int admm_iterations = 25;         ///< N_ADMM
  int gauss_seidel_iterations = 5;  ///< N_GS
  double tolerance = 1e-5;          ///< ε∞, m
  double linear_tolerance = 1e-4;   ///< τ_LS: of iterative linear solves, as a fraction of δ∞ (D20 6.2.5)
  int ccd_interval = 5;             ///< ADMM iterations between two continuous detections (D20 6.2.3)
  int repair_passes = 3;            ///< detect-and-project rounds on the final velocity
  double weight_sigma = 0.001;      ///< σ of W (D20 6.2.6)
  double weight_beta = 25.0;        ///< β of W (D20 6.2.6)
  bool weight_lift = true;          ///< raise W of nodes that touch heavier ones; false: D20's W
  bool weight_raise = false;        ///< raise W of nodes that missed ε∞ for the Newton iterations that follow
  double over_relaxation = 1.0;     ///< α of ADMM, in (0, 2); 1: D20's
  FinalVelocity final_velocity = FinalVelocity::p;
  bool warm_start_forces = true;     ///< start λ from the last step (D20 6.2.2)
  bool accelerated = false;          ///< Nesterov variant with restart (D20 Alg. 4)
  bool sleeping = true;              ///< skip contacts that have converged (D20 6.3.3)
  double sleeping_threshold = 0.01;  ///< fraction of δ∞
  int sleeping_sweeps = 10;          ///< Gauss-Seidel sweeps that a sleeping contact sits out
  bool isotropic = true;             ///< false: local problems by full 3×3 blocks, same result (D20 Table 3)
  int stages = 64;                   ///< parallel colours of blocks of four contacts (D20 6.2.8: 8), at most 64
  Precision precision = Precision::double_;
  int max_step_halvings = 4;  ///< retries of a failed step at half the time step
};

struct ContactOptions {
  double margin = 0.5;              ///< proximity beyond touch, as a fraction of the sum of the radii
  double max_recovery_speed = 0.1;  ///< bound on the speed at which overlap is undone, m/s
  double compliance = 0.0;          ///< m/N; 0 = hard contact (D20 6.3.2)
  double cohesion = 0.0;            ///< attraction at touch, N a contact (D20 6.3.1)
  double cohesion_distance = 0.0;   ///< gap at which the attraction has fallen to zero, m
  double restitution = 0.0;         ///< B11's k: rebound speed over approach speed
  bool self_collision = true;       ///< contacts between and within strands
  int max_candidates = 0;           ///< pairs kept for detection in a step; 0: see the scene reference
};

/// A time and a value; values between keys are interpolated linearly, held before the first and after the last.
struct VectorKey {
  double time = 0;  ///< s
  Vec3 value = Vec3::Zero();
};

/// Motion of a kinematic body. Rotation vectors (axis times angle, rad) are interpolated as vectors, so keys may
/// be whole turns apart.
struct Motion {
  std::vector<VectorKey> position;  ///< m
  std::vector<VectorKey> rotation;  ///< rad

  Pose at(double time) const;
};

enum class ColliderShape {
  locator,   // no surface: something to clamp to
  plane,     // local z = 0, solid below
  sphere,    // radius
  capsule,   // radius, segment of `length` along local z, centred
  cylinder,  // radius, `length` along local z, centred, flat caps
  box,       // half extents
  mesh       // `mesh`, or `mesh_sequence`
};

/// A scripted body that simulated bodies collide with and may be clamped to.
struct Collider {
  std::string name;
  ColliderShape shape = ColliderShape::sphere;
  double radius = 0.1;                           ///< m
  double length = 1.0;                           ///< m
  Vec3 half_extents = Vec3::Constant(0.1);       ///< m
  TriangleMesh mesh;                             ///< local coordinates, m
  std::vector<std::vector<Vec3>> mesh_sequence;  ///< vertices per sample, same topology as `mesh`
  double sequence_fps = 24.0;                    ///< samples a second of mesh_sequence, 1/s
  double thickness = 0.0;                        ///< added to the surface of a mesh, m
  double friction = 0.5;                         ///< μ of this body
  bool collides = true;
  Pose placement;  ///< applied before the motion: x = motion(placement(x_local))
  Motion motion;
};

enum class End { free, pinned, clamped };
enum class Twist { dynamic, quasistatic };

/// One strand: its centreline at time zero and at rest (the same where rest_nodes is empty).
struct Strand {
  std::vector<Vec3> nodes;       ///< m
  std::vector<Vec3> rest_nodes;  ///< m; same count as nodes
  double radius = 0;             ///< overrides the body's radius where positive, m
};

/// A force on one node, keyframed. N.
struct NodeForce {
  int strand = 0;
  int node = 0;  ///< negative counts from the tip
  std::vector<VectorKey> force;
};

struct PointMass {
  int strand = 0;
  int node = 0;     ///< negative counts from the tip
  double mass = 0;  ///< kg
};

/// A groom, rope, or bundle: many strands of one material.
struct Rods {
  std::string name;
  std::vector<Strand> strands;
  double radius = 3.7e-5;        ///< first half axis of the section, m
  double radius_b = 0;           ///< second half axis; 0: circular, m
  double density = 1300;         ///< kg/m³
  double stretch_modulus = 1e8;  ///< E_s, Pa
  double bend_modulus = 4e9;     ///< E_b, Pa
  double poisson = 0.48;         ///< ν
  double damping = 1e-3;         ///< ξ, s
  double drag = 0.0;             ///< air drag per length and relative velocity, kg/(m s)
  double friction = 0.2;         ///< μ of this body
  Twist twist = Twist::dynamic;
  End root = End::clamped;
  End tip = End::free;
  std::string root_attach;  ///< collider that a pinned or clamped root follows; empty: the world
  std::string tip_attach;
  Vec3 initial_velocity = Vec3::Zero();  ///< m/s
  std::vector<NodeForce> forces;
  std::vector<PointMass> point_masses;
};

/// Mass-spring fibres (B11): stretch springs between neighbours, angular springs between successive edges.
struct Chains {
  std::string name;
  std::vector<Strand> strands;
  double radius = 1e-3;          ///< m
  double density = 1300;         ///< kg/m³
  double stretch_modulus = 1e7;  ///< Pa
  double bend_modulus = 1e7;     ///< Pa
  double damping = 1e-3;         ///< ξ, s
  double drag = 0.0;             ///< kg/(m s)
  double friction = 0.3;         ///< μ
  End root = End::free;          ///< free or pinned
  End tip = End::free;
  std::string root_attach;
  std::string tip_attach;
  Vec3 initial_velocity = Vec3::Zero();  ///< m/s
  std::vector<NodeForce> forces;
  std::vector<PointMass> point_masses;
};

/// Nodes that follow a collider, or stand still where `attach` is empty.
struct Pins {
  std::vector<int> nodes;  ///< vertices of a shell or solid; frames of a frames body
  std::string attach;
};

/// A force on one vertex of a shell or solid, keyframed. N.
struct VertexForce {
  int vertex = 0;
  std::vector<VectorKey> force;
};

/// Cloth, paper, bands: a triangle mesh with membrane and bending stiffness.
struct Shell {
  std::string name;
  TriangleMesh mesh;                     ///< at time zero, world coordinates, m
  std::vector<Vec3> rest_vertices;       ///< shape at rest; empty: that of time zero, m
  double thickness = 1e-3;               ///< h; the collision radius is half of it, m
  double density = 500;                  ///< kg/m³
  double stretch_modulus = 1e5;          ///< E_s, along the warp where it differs, Pa
  double weft_modulus = 0;               ///< E_s across the warp; 0: isotropic, Pa
  double shear_modulus = 0;              ///< of an orthotropic membrane; 0: E/(2 (1 + ν)) of the mean modulus, Pa
  Vec3 warp = Vec3::UnitX();             ///< direction of the warp in the rest shape, projected on each triangle
  double poisson = 0.3;                  ///< ν
  double bend_modulus = 1e5;             ///< E_b, Pa
  double damping = 1e-3;                 ///< ξ, s
  double pressure = 0;                   ///< on the inner side of counter-clockwise faces, Pa
  double drag_normal = 0;                ///< air drag per area and relative normal velocity, kg/(m² s)
  double drag_tangential = 0;            ///< the same along the surface, kg/(m² s)
  double friction = 0.3;                 ///< μ of this body
  Vec3 initial_velocity = Vec3::Zero();  ///< m/s
  std::vector<Pins> pins;
  std::vector<VertexForce> forces;
};

enum class Material { corotated, fixed_corotated, st_venant_kirchhoff, neo_hookean, stable_neo_hookean };

/// A soft body of linear tetrahedra, and the surface that touches: its boundary, or a mesh embedded in it.
struct Solid {
  std::string name;
  TetMesh mesh;                     ///< at time zero, world coordinates, m
  std::vector<Vec3> rest_vertices;  ///< shape at rest; empty: that of time zero, m
  TriangleMesh surface;             ///< embedded by its position at time zero; empty: the boundary of the mesh
  Material material = Material::fixed_corotated;
  double young = 1e5;                    ///< E, Pa
  double poisson = 0.3;                  ///< ν
  double density = 1000;                 ///< kg/m³
  double damping = 1e-3;                 ///< ξ of strain rates, s
  double mass_damping = 0;               ///< Rayleigh's α, 1/s: slows rigid motion, too
  double contact_radius = 1e-3;          ///< thickness of the surface for collision, m
  double friction = 0.3;                 ///< μ of this body
  Vec3 initial_velocity = Vec3::Zero();  ///< m/s
  std::vector<Pins> pins;
  std::vector<VertexForce> forces;
};

/// Share of a frame in the motion of a point: linear blend skinning.
struct FrameWeight {
  int frame = 0;
  double weight = 0;
  Vec3 gradient = Vec3::Zero();  ///< of the weight over the rest position; used at samples only, 1/m
};

/// A point of material that stands for a volume (a piece of a curve, a sheet or a solid).
struct FrameSample {
  Vec3 position;      ///< at rest, m
  double volume = 0;  ///< m³
  std::vector<FrameWeight> weights;
};

/// A body of affine frames (Faure et al. 2011): points move as x = Σ w_i(X) T_i(X), T_i affine.
struct Frames {
  std::string name;
  std::vector<Vec3> frames;                               ///< origins at rest and time zero, m
  double frame_size = 0.1;                                ///< length over which a frame's columns are measured, m
  std::vector<FrameSample> samples;                       ///< mass and elasticity
  TriangleMesh surface;                                   ///< what touches, m
  std::vector<std::vector<FrameWeight>> surface_weights;  ///< a list a vertex
  Material material = Material::corotated;
  double young = 1e6;                    ///< E, Pa
  double poisson = 0.3;                  ///< ν
  double density = 500;                  ///< kg/m³
  double damping = 1e-3;                 ///< ξ, s
  double drag = 0;                       ///< air drag per area and relative velocity of the surface, kg/(m² s)
  double contact_radius = 1e-3;          ///< m
  double friction = 0.3;                 ///< μ
  Vec3 initial_velocity = Vec3::Zero();  ///< m/s
  std::vector<Pins> pins;                ///< of frames
};

/// Soft constraints that hold two bodies together as they are at time zero: a spring of no length at each point, from
/// the nearest point of a to the nearest of b.
struct Attachment {
  std::string a, b;          ///< bodies; b may be a collider's name
  bool roots = false;        ///< a is a body of strands: hold the root and the direction of each
  std::vector<Vec3> points;  ///< where else, world coordinates at time zero, m
  double stiffness = 100;    ///< of each spring, N/m
  double damping = 1e-3;     ///< ξ, s
};

/// Overrides the geometric mean of two bodies' friction coefficients.
struct FrictionPair {
  std::string a, b;
  double friction = 0;
};

struct RenderOptions {
  int width = 1280, height = 720;
  int samples = 32;                       ///< rays a pixel
  bool frame_scene = true;                ///< place the camera so that everything fits
  Vec3 eye = {0.5, -0.8, 0.4};            ///< m
  Vec3 target = Vec3::Zero();             ///< m
  double field_of_view = 30;              ///< vertical, degrees
  bool ground = true;                     ///< draw a ground under the lowest point where the scene has no plane
  Vec3 curve_color = {0.36, 0.21, 0.11};  ///< linear RGB
};

struct Scene {
  std::string name = "scene";
  TimeOptions time;
  WorldOptions world;
  SolverOptions solver;
  ContactOptions contact;
  RenderOptions render;
  std::vector<Collider> colliders;
  std::vector<Rods> rods;
  std::vector<Chains> chains;
  std::vector<Shell> shells;
  std::vector<Solid> solids;
  std::vector<Frames> frames;
  std::vector<Attachment> attachments;
  std::vector<FrictionPair> friction_pairs;
};

}  // namespace stiction
