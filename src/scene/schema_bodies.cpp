// The sections of colliders and of bodies made of strands.
#include <array>
#include <numbers>

#include "scene/document.hpp"
#include "scene/schema.hpp"

namespace stiction::scene {
namespace {

// In the order of the enumerations they name.
constexpr std::array<std::string_view, 7> shape_names{"locator",  "plane", "sphere", "capsule",
                                                      "cylinder", "box",   "mesh"};
constexpr std::array<std::string_view, 12> procedural_names{
    "none", "sphere", "capsule", "cylinder", "box", "torus", "plate", "cone", "bowl", "rabbit", "head", "character"};
constexpr std::array<std::string_view, 3> end_names{"free", "pinned", "clamped"};
constexpr std::span<const std::string_view> chain_end_names{end_names.data(), 2};
constexpr std::array<std::string_view, 2> twist_names{"dynamic", "quasistatic"};
constexpr std::array<std::string_view, 4> style_names{"straight", "wavy", "curly", "frizzy"};
constexpr std::array<std::string_view, 5> domain_names{"auto", "sphere", "hemisphere", "patch", "surface"};
constexpr std::array<std::string_view, 2> region_names{"all", "scalp"};
constexpr std::array<std::string_view, 5> rod_shape_names{"straight", "arc", "ring", "helix", "trefoil"};
constexpr std::array<std::string_view, 2> rest_names{"same", "straight"};
constexpr std::array<std::string_view, 2> model_names{"chain", "rod"};

constexpr double far = 1e6;      // bound on coordinates, m
constexpr double large = 1e4;    // bound on sizes, m
constexpr double thickest = 10;  // bound on radii of strands, m
constexpr int max_index = 1 << 30;

const Section& force_section() {
  using F = ForceEntry;
  static const Section section =
      SectionBuilder<F>("forces = [{...}, ...]", "Forces on single nodes: constant, or keyframed.")
          .add("strand", "", within(0, max_index), "Index of the strand.", [](F& f) { return &f.strand; })
          .add("node", "", within(-max_index, max_index), "Index of the node; negative counts from the tip.",
               [](F& f) { return &f.node; })
          .add("force", "N", magnitude(1e6), "A constant force.", [](F& f) { return &f.force; })
          .add("keys", "s, N", magnitude(1e6), "Times and forces, interpolated linearly; in place of `force`.",
               [](F& f) { return &f.keys; })
          .build();
  return section;
}

const Section& point_mass_section() {
  using P = PointMass;
  static const Section section =
      SectionBuilder<P>("point_masses = [{...}, ...]", "Masses added to single nodes.")
          .add("strand", "", within(0, max_index), "Index of the strand.", [](P& p) { return &p.strand; })
          .add("node", "", within(-max_index, max_index), "Index of the node; negative counts from the tip.",
               [](P& p) { return &p.node; })
          .required()
          .add("mass", "kg", positive(1e6), "The mass.", [](P& p) { return &p.mass; })
          .required()
          .build();
  return section;
}

/// What all strands have. Chains have no `clamped` end.
template <class T>
void add_strand_fields(SectionBuilder<T>& s, std::span<const std::string_view> ends) {
  s.add("name", "Name of the body; unique in the scene.", [](T& t) { return &t.rods.name; })
      .add("radius", "m", within(1e-8, thickest), "Radius of the section; the first half axis of an elliptic one.",
           [](T& t) { return &t.rods.radius; })
      .add("density", "kg/m³", positive(1e6), "Mass density.", [](T& t) { return &t.rods.density; })
      .add("stretch_modulus", "Pa", positive(1e13), "Young's modulus of stretching.",
           [](T& t) { return &t.rods.stretch_modulus; })
      .add("bend_modulus", "Pa", within(0, 1e13), "Young's modulus of bending and twisting.",
           [](T& t) { return &t.rods.bend_modulus; })
      .add("damping", "s", within(0, 100), "Material damping: viscous over elastic stress, ξ.",
           [](T& t) { return &t.rods.damping; })
      .add("drag", "kg/(m s)", within(0, 1e3), "Air drag per length and relative velocity.",
           [](T& t) { return &t.rods.drag; })
      .add("friction", "", within(0, 100), "Coulomb coefficient μ.", [](T& t) { return &t.rods.friction; })
      .add("root", "How the first node is held; clamped holds the first edge.",
           [ends](T& t) { return choice(t.rods.root, ends); })
      .add("tip", "How the last node is held; clamped holds the last edge.",
           [ends](T& t) { return choice(t.rods.tip, ends); })
      .add("root_attach", "Collider that a held root follows; empty: the world.",
           [](T& t) { return &t.rods.root_attach; })
      .add("tip_attach", "Collider that a held tip follows; empty: the world.", [](T& t) { return &t.rods.tip_attach; })
      .add("initial_velocity", "m/s", magnitude(1e4), "Velocity at time zero.",
           [](T& t) { return &t.rods.initial_velocity; })
      .add("position", "m", magnitude(far), "Moves the strands.", [](T& t) { return &t.position; })
      .add("rotation", "rad", magnitude(1e3), "Turns the strands about their origin before they are moved.",
           [](T& t) { return &t.rotation; })
      .add("forces", "", [](T& t) { return table_list(t.forces, force_section()); })
      .add("point_masses", "", [](T& t) { return table_list(t.rods.point_masses, point_mass_section()); });
}

/// What rods have and chains have not; `condition` names the choice under which a section's strands are rods.
template <class T>
void add_rod_fields(SectionBuilder<T>& s, const Condition& condition = {}) {
  s.add("radius_b", "m", within(0, thickest), "Second half axis of an elliptic section; 0: circular.",
        [](T& t) { return &t.rods.radius_b; })
      .only_where(condition.key, condition.values)
      .add("poisson", "", within(-0.99, 0.5), "Poisson's ratio ν.", [](T& t) { return &t.rods.poisson; })
      .only_where(condition.key, condition.values)
      .add("twist", "Twist with inertia, or in equilibrium at every step.",
           [](T& t) { return choice(t.rods.twist, twist_names); })
      .only_where(condition.key, condition.values);
}

/// The centreline of a single rod or chain.
template <class T>
void add_centreline_fields(SectionBuilder<T>& s) {
  s.add("shape", "Centreline, where `nodes` is not given.", [](T& t) { return choice(t.shape, rod_shape_names); })
      .add("nodes", "m", magnitude(far), "The centreline, node by node.", [](T& t) { return &t.nodes; })
      .add("rest", "Shape at rest: the one at time zero, or straight.", [](T& t) { return choice(t.rest, rest_names); })
      .add("elements", "", within(1, 10000000), "Edges.", [](T& t) { return &t.elements; })
      .add("from", "m", magnitude(far), "First node.", [](T& t) { return &t.from; })
      .only_where("shape", {"straight"})
      .add("to", "m", magnitude(far), "Last node.", [](T& t) { return &t.to; })
      .only_where("shape", {"straight"})
      .add("size", "m", positive(large), "Radius of the arc, ring, helix (about z) or knot.",
           [](T& t) { return &t.size; })
      .only_where("shape", {"arc", "ring", "helix", "trefoil"})
      .add("angle", "rad", positive(2 * std::numbers::pi), "Angle of the arc, in the xy plane.",
           [](T& t) { return &t.angle; })
      .only_where("shape", {"arc"})
      .add("pitch", "m", positive(large), "Rise of the helix in a turn.", [](T& t) { return &t.pitch; })
      .only_where("shape", {"helix"})
      .add("turns", "", positive(1e5), "Turns of the helix.", [](T& t) { return &t.turns; })
      .only_where("shape", {"helix"})
      .add("length", "m", positive(large), "Length of the rod that the knot is tied in, tails along x.",
           [](T& t) { return &t.length; })
      .only_where("shape", {"trefoil"});
}

/// Chains are carried as rods: their own defaults, in the fields they share.
void set_chain_defaults(Rods& rods) {
  const Chains chains;
  rods.radius = chains.radius;
  rods.density = chains.density;
  rods.stretch_modulus = chains.stretch_modulus;
  rods.bend_modulus = chains.bend_modulus;
  rods.damping = chains.damping;
  rods.drag = chains.drag;
  rods.friction = chains.friction;
  rods.root = chains.root;
  rods.tip = chains.tip;
}

}  // namespace

ChainEntry::ChainEntry() { set_chain_defaults(rods); }
BundleEntry::BundleEntry() { set_chain_defaults(rods); }

const Section& collider_section() {
  using C = ColliderEntry;
  static const Section section =
      SectionBuilder<C>("[[collider]]", "Scripted bodies that others collide with and may be attached to.")
          .add("name", "Name of the collider; unique in the scene.", [](C& c) { return &c.collider.name; })
          .add("shape", "Surface: none, z <= 0, about the centre, along z, or a mesh.",
               [](C& c) { return choice(c.collider.shape, shape_names); })
          .add("radius", "m", positive(large), "Radius; of a procedural mesh too (the ring of a torus).",
               [](C& c) { return &c.collider.radius; })
          .only_where("shape", {"sphere", "capsule", "cylinder", "mesh"})
          .add("length", "m", positive(large), "Length along z, of a capsule without its caps.",
               [](C& c) { return &c.collider.length; })
          .only_where("shape", {"capsule", "cylinder", "mesh"})
          .add("size", "m", positive(large), "Full extents of a box.", [](C& c) { return &c.size; })
          .only_where("shape", {"box", "mesh"})
          .add("file", "OBJ file of a mesh, relative to the scene file.", [](C& c) { return &c.file; })
          .only_where("shape", {"mesh"})
          .add("procedural", "A mesh made in place of a file.",
               [](C& c) { return choice(c.procedural, procedural_names); })
          .only_where("shape", {"mesh"})
          .add("minor_radius", "m", positive(large), "Radius of a torus' tube.", [](C& c) { return &c.minor_radius; })
          .only_where("procedural", {"torus"})
          .add("rim_height", "m", within(0, large), "Rise of a plate's rim.", [](C& c) { return &c.rim_height; })
          .only_where("procedural", {"plate"})
          .add("wall", "m", positive(large), "Thickness of a plate or bowl.", [](C& c) { return &c.wall; })
          .only_where("procedural", {"plate", "bowl"})
          .add("segments", "", within(3, 512), "Sectors around a procedural mesh.", [](C& c) { return &c.segments; })
          .only_where("procedural", {"sphere", "capsule", "cylinder", "torus", "plate", "cone", "bowl"})
          .add("height", "m", within(1e-3, large),
               "Height of a rabbit to the tips of its ears; of a head from chin to crown. A character is 1.72 m tall.",
               [](C& c) { return &c.height; })
          .only_where("procedural", {"rabbit", "head"})
          .add("faces", "", within(100, 2000000), "Triangles of a rabbit, head or character.",
               [](C& c) { return &c.faces; })
          .only_where("procedural", {"rabbit", "head", "character"})
          .add("run", "Whether the character runs in place, from rest, for the whole duration.",
               [](C& c) { return &c.run; })
          .only_where("procedural", {"character"})
          .add("follow_head_of", "A running character whose head carries this collider, placed as at time zero.",
               [](C& c) { return &c.follow_head_of; })
          .add("sequence", "OBJ files of an animated mesh: a list, or one pattern such as `body.%04d.obj`.",
               [](C& c) { return &c.sequence; })
          .only_where("shape", {"mesh"})
          .add("sequence_first", "", within(0, 1e9), "First number of a pattern.",
               [](C& c) { return &c.sequence_first; })
          .only_where("shape", {"mesh"})
          .add("sequence_count", "", within(0, 1e6), "Files of a pattern; 0: up to the first that is missing.",
               [](C& c) { return &c.sequence_count; })
          .only_where("shape", {"mesh"})
          .add("sequence_fps", "1/s", positive(1e5),
               "Files a second; of a run, samples a second (one a step if not given).",
               [](C& c) { return &c.collider.sequence_fps; })
          .only_where("shape", {"mesh"})
          .add("thickness", "m", within(0, 10), "Added to the surface of a mesh.",
               [](C& c) { return &c.collider.thickness; })
          .only_where("shape", {"mesh"})
          .add("friction", "", within(0, 100), "Coulomb coefficient μ.", [](C& c) { return &c.collider.friction; })
          .add("collides", "Whether bodies collide with it.", [](C& c) { return &c.collider.collides; })
          .add("position", "m", magnitude(far), "Placement, before the motion.", [](C& c) { return &c.position; })
          .add("rotation", "rad", magnitude(1e3), "Placement: axis times angle, before the position.",
               [](C& c) { return &c.rotation; })
          .add("position_keys", "s, m", magnitude(far), "Motion: times and positions, interpolated linearly.",
               [](C& c) { return &c.collider.motion.position; })
          .add("rotation_keys", "s, rad", magnitude(far),
               "Motion: times and axes times angles, interpolated as vectors, so keys may be whole turns apart.",
               [](C& c) { return &c.collider.motion.rotation; })
          .build();
  return section;
}

const Section& groom_section() {
  using G = GroomEntry;
  static const Section section = [] {
    SectionBuilder<G> s("[[groom]]",
                        "Hair grown on a collider, a soft body or a patch. Roots are attached to the collider; to a "
                        "soft body they are tied by springs.");
    s.add("on", "Collider, shell, solid or frames to grow on; empty: the world.", [](G& g) { return &g.on; })
        .add("domain",
             "Where roots lie; auto: all over a mesh, the upper (+z) half of a sphere or capsule, a patch elsewhere.",
             [](G& g) { return choice(g.domain, domain_names); })
        .add("region", "Part of a mesh where roots lie; the scalp is that of a head or character.",
             [](G& g) { return choice(g.region, region_names); })
        .only_where("domain", {"auto", "surface"})
        .add("region_min", "m", magnitude(far), "Roots on a mesh lie in the box from here, at time zero,",
             [](G& g) { return &g.region_min; })
        .only_where("domain", {"auto", "surface"})
        .add("region_max", "m", magnitude(far), "to here, in world coordinates.", [](G& g) { return &g.region_max; })
        .only_where("domain", {"auto", "surface"})
        .add("lean", "", within(0, 1),
             "How far strands turn from the normal to `lean_direction`; by no more than 80 degrees.",
             [](G& g) { return &g.lean; })
        .add("lean_direction", "", magnitude(far), "The direction, in world coordinates at time zero.",
             [](G& g) { return &g.lean_direction; })
        .add("root_stiffness", "N/m", positive(1e9), "Of the springs that tie a root to a soft body.",
             [](G& g) { return &g.root_stiffness; })
        .only_where("domain", {"auto", "surface"})
        .add("root_damping", "s", within(0, 100), "Damping of these springs, ξ.", [](G& g) { return &g.root_damping; })
        .only_where("domain", {"auto", "surface"})
        .add("domain_radius", "m", positive(large), "Radius of the domain, where it is not on a sphere.",
             [](G& g) { return &g.groom.domain_radius; })
        .only_where("domain", {"sphere", "hemisphere"})
        .add("patch_size", "m", positive(large), "Extents of the patch, in local z = 0 or on top of a solid.",
             [](G& g) { return &g.groom.patch_size; })
        .only_where("domain", {"auto", "patch"})
        .add("strands", "", within(1, 10000000), "Number of strands.", [](G& g) { return &g.groom.strands; })
        .add("elements", "", within(2, 100000), "Edges a strand.", [](G& g) { return &g.groom.elements; })
        .add("elements_jitter", "", within(0, 100000), "Random edges more or fewer, at most.",
             [](G& g) { return &g.groom.elements_jitter; })
        .add("length", "m", within(1e-6, 100), "Length of a strand.", [](G& g) { return &g.groom.length; })
        .add("length_jitter", "", within(0, 0.9), "Random part of the length.",
             [](G& g) { return &g.groom.length_jitter; })
        .add("root_jitter", "", within(0, 0.5), "Random shift of a root, over the distance between roots.",
             [](G& g) { return &g.groom.root_jitter; })
        .add("style", "Straight, a plane wave, a helix, or smooth noise.",
             [](G& g) { return choice(g.groom.style, style_names); })
        .add("curl_radius", "m", within(0, 1), "Amplitude of the wave, curl or noise.",
             [](G& g) { return &g.groom.curl_radius; })
        .only_where("style", {"wavy", "curly", "frizzy"})
        .add("curl_rate", "rad/m", within(0, 1e5), "Phase of the wave or curl over length.",
             [](G& g) { return &g.groom.curl_rate; })
        .only_where("style", {"wavy", "curly", "frizzy"})
        .add("frizz", "m", within(0, 1), "Amplitude of smooth noise on a wave or curl.",
             [](G& g) { return &g.groom.frizz; })
        .only_where("style", {"wavy", "curly"})
        .add("radius_jitter", "", within(0, 0.9), "Random part of the radius.",
             [](G& g) { return &g.groom.radius_jitter; })
        .add("seed", "", within(0, max_index), "Seed of all that is random.", [](G& g) { return &g.groom.seed; });
    add_strand_fields(s, end_names);
    add_rod_fields(s);
    return s.build();
  }();
  return section;
}

const Section& rod_section() {
  using R = RodEntry;
  static const Section section = [] {
    SectionBuilder<R> s("[[rod]]", "A single rod.");
    add_centreline_fields(s);
    add_strand_fields(s, end_names);
    add_rod_fields(s);
    return s.build();
  }();
  return section;
}

const Section& chain_section() {
  using C = ChainEntry;
  static const Section section = [] {
    SectionBuilder<C> s("[[chain]]", "A single mass-spring fibre: it stretches and bends, but has no twist.");
    add_centreline_fields(s);
    add_strand_fields(s, chain_end_names);
    return s.build();
  }();
  return section;
}

const Section& bundle_section() {
  using B = BundleEntry;
  static const Section section = [] {
    SectionBuilder<B> s("[[bundle]]", "A hexagonal stack of straight strands, parallel to x.");
    s.add("model", "Mass-spring chains, or rods with twist.", [](B& b) { return choice(b.model, model_names); })
        .add("count", "", within(1, 10000000), "Number of strands.", [](B& b) { return &b.bundle.count; })
        .add("nodes", "", within(2, 100000), "Nodes a strand.", [](B& b) { return &b.bundle.nodes; })
        .add("length", "m", positive(large), "Length of a strand.", [](B& b) { return &b.bundle.length; })
        .add("spacing", "m", within(0, large), "Distance between neighbours' centrelines; 0: 2.5 radii.",
             [](B& b) { return &b.bundle.spacing; })
        .add("jitter", "", within(0, 0.99), "Random shift, over the free gap between neighbours.",
             [](B& b) { return &b.bundle.jitter; })
        .add("columns", "", within(0, 10000000), "Strands in a layer; 0: about the square root of the count.",
             [](B& b) { return &b.bundle.columns; })
        .add("height", "m", magnitude(large), "Height of the lowest layer.", [](B& b) { return &b.bundle.height; })
        .add("seed", "", within(0, max_index), "Seed of all that is random.", [](B& b) { return &b.bundle.seed; });
    add_strand_fields(s, end_names);
    add_rod_fields(s, {"model", {"rod"}});
    return s.build();
  }();
  return section;
}

}  // namespace stiction::scene
