// The sections of shells, solids, frames, and of what ties bodies together.
#include <array>

#include "scene/document.hpp"
#include "scene/schema.hpp"

namespace stiction::scene {
namespace {

// In the order of the enumerations they name.
constexpr std::array<std::string_view, 4> shell_shape_names{"sheet", "band", "shirt", "file"};
constexpr std::array<std::string_view, 3> diagonals_names{"alternating", "one_way", "cross"};
constexpr std::array<std::string_view, 5> solid_shape_names{"box", "sphere", "rabbit", "surface", "file"};
constexpr std::array<std::string_view, 4> frames_shape_names{"rigid", "beam", "sheet", "palm"};
constexpr std::array<std::string_view, 3> rigid_mesh_names{"box", "sphere", "file"};
constexpr std::array<std::string_view, 5> material_names{"corotated", "fixed_corotated", "st_venant_kirchhoff",
                                                         "neo_hookean", "stable_neo_hookean"};

constexpr double far = 1e6;        // bound on coordinates, m
constexpr double large = 1e4;      // bound on sizes, m
constexpr double smallest = 1e-6;  // bound on sizes of meshes, m
constexpr double thinnest = 1e-7;  // bound on thicknesses, m
constexpr double thickest = 10;    // bound on thicknesses, m
constexpr int max_index = 1 << 30;
constexpr int max_count = 10'000'000;

Range size_range() { return within(smallest, large); }

void add_box_fields(SectionBuilder<PinsEntry>& s, std::string_view from) {
  using P = PinsEntry;
  s.add("box_min", "m", magnitude(far), from, [](P& p) {
     return &p.box_min;
   }).add("box_max", "m", magnitude(far), "to here; each bound may be left out.", [](P& p) { return &p.box_max; });
}

void add_attach_field(SectionBuilder<PinsEntry>& s) {
  s.add("attach", "Collider that they follow; empty: they stand still.", [](PinsEntry& p) { return &p.attach; });
}

const Section& pins_section() {
  using P = PinsEntry;
  static const Section section = [] {
    SectionBuilder<P> s("pins = [{...}, ...]",
                        "Vertices that are held: those in a box, the corners, or listed ones; one of the three.");
    add_box_fields(s, "Vertices in the box from here, in world coordinates at time zero,");
    s.add("corners", "The corners of a sheet or box.", [](P& p) { return &p.corners; })
        .add("vertices", "", within(-max_index, max_index), "Indices of vertices; negative ones count from the last.",
             [](P& p) { return &p.indices; });
    add_attach_field(s);
    return s.build();
  }();
  return section;
}

const Section& frame_pins_section() {
  using P = PinsEntry;
  static const Section section = [] {
    SectionBuilder<P> s("pins = [{...}, ...] of frames", "Frames that are held: those in a box, or listed ones.");
    add_box_fields(s, "Frames whose origin is in the box from here, in world coordinates at time zero,");
    s.add("frames", "", within(-max_index, max_index), "Indices of frames; negative ones count from the last.",
          [](P& p) { return &p.indices; });
    add_attach_field(s);
    return s.build();
  }();
  return section;
}

const Section& vertex_force_section() {
  using F = VertexForceEntry;
  static const Section section =
      SectionBuilder<F>("forces = [{...}, ...] on vertices", "Forces on single vertices: constant, or keyframed.")
          .add("vertex", "", within(-max_index, max_index), "Index of the vertex; negative counts from the last.",
               [](F& f) { return &f.vertex; })
          .required()
          .add("force", "N", magnitude(1e6), "A constant force.", [](F& f) { return &f.force; })
          .add("keys", "s, N", magnitude(1e6), "Times and forces, interpolated linearly; in place of `force`.",
               [](F& f) { return &f.keys; })
          .build();
  return section;
}

template <class T>
void add_placement_fields(SectionBuilder<T>& s) {
  s.add("position", "m", magnitude(far), "Moves the body.", [](T& t) { return &t.position; })
      .add("rotation", "rad", magnitude(1e3), "Turns the body about its origin before it is moved: axis times angle.",
           [](T& t) { return &t.rotation; });
}

/// `body` is the member of T that becomes part of the scene.
template <class T, class Body>
void add_common_fields(SectionBuilder<T>& s, Body T::*body) {
  s.add("name", "Name of the body; unique in the scene.", [body](T& t) { return &(t.*body).name; })
      .add("density", "kg/m³", positive(1e6), "Mass density.", [body](T& t) { return &(t.*body).density; })
      .add("damping", "s", within(0, 100), "Material damping: viscous over elastic stress, ξ.",
           [body](T& t) { return &(t.*body).damping; })
      .add("friction", "", within(0, 100), "Coulomb coefficient μ.", [body](T& t) { return &(t.*body).friction; })
      .add("initial_velocity", "m/s", magnitude(1e4), "Velocity at time zero.",
           [body](T& t) { return &(t.*body).initial_velocity; });
}

/// What solids and frames share.
template <class T, class Body>
void add_elastic_fields(SectionBuilder<T>& s, Body T::*body) {
  s.add("material", "Law of elasticity.", [body](T& t) { return choice((t.*body).material, material_names); })
      .add("young", "Pa", positive(1e13), "Young's modulus E.", [body](T& t) { return &(t.*body).young; })
      .add("poisson", "", within(-0.9, 0.499), "Poisson's ratio ν.", [body](T& t) { return &(t.*body).poisson; })
      .add("contact_radius", "m", within(thinnest, thickest), "Thickness of the surface for collision.",
           [body](T& t) { return &(t.*body).contact_radius; });
}

template <class T>
void add_rest_scale(SectionBuilder<T>& s) {
  s.add("rest_scale", "", within(0.01, 100),
        "Shape at rest over shape at time zero, along the axes before `rotation`: below 1 the body starts stretched.",
        [](T& t) { return Scale{&t.rest_scale}; });
}

}  // namespace

const Section& shell_section() {
  using S = ShellEntry;
  static const Section section = [] {
    SectionBuilder<S> s("[[shell]]", "Cloth, paper, bands: triangle meshes with membrane and bending stiffness.");
    s.add("shape",
          "A rectangle in z = 0, a ring about z, a shirt on the procedural character (at its rest), or a mesh.",
          [](S& t) { return choice(t.shape, shell_shape_names); })
        .add("width", "m", size_range(), "Extent of a sheet along x, of a band along z.", [](S& t) { return &t.width; })
        .only_where("shape", {"sheet", "band"})
        .add("height", "m", size_range(), "Extent of a sheet along y.", [](S& t) { return &t.height; })
        .only_where("shape", {"sheet"})
        .add("radius", "m", size_range(), "Radius of a band.", [](S& t) { return &t.radius; })
        .only_where("shape", {"band"})
        .add("vertices", "", within(4, max_count), "About how many vertices.", [](S& t) { return &t.vertices; })
        .only_where("shape", {"sheet", "band", "shirt"})
        .add("nx", "", within(0, max_count), "Cells of a sheet along x, of a band around z; 0: from `vertices`.",
             [](S& t) { return &t.nx; })
        .only_where("shape", {"sheet", "band"})
        .add("ny", "", within(0, max_count), "Cells of a sheet along y, of a band along z; 0: from `vertices`.",
             [](S& t) { return &t.ny; })
        .only_where("shape", {"sheet", "band"})
        .add("diagonals", "How the cells of a sheet are cut.",
             [](S& t) { return choice(t.diagonals, diagonals_names); })
        .only_where("shape", {"sheet"})
        .add("ease", "m", within(0.001, 0.1), "Gap between body and shirt.", [](S& t) { return &t.shirt.ease; })
        .only_where("shape", {"shirt"})
        .add("flare", "m", within(0, 0.2), "Added to the gap towards the hem.", [](S& t) { return &t.shirt.flare; })
        .only_where("shape", {"shirt"})
        .add("sleeve", "", within(0.25, 1), "Where the sleeves end: 1 at the wrist, 0.5 at the elbow.",
             [](S& t) { return &t.shirt.sleeve; })
        .only_where("shape", {"shirt"})
        .add("file", "OBJ file, relative to the scene file.", [](S& t) { return &t.file; })
        .only_where("shape", {"file"});
    add_placement_fields(s);
    add_rest_scale(s);
    add_common_fields(s, &S::shell);
    s.add("thickness", "m", within(thinnest, thickest), "Thickness h; the collision radius is half of it.",
          [](S& t) { return &t.shell.thickness; })
        .add("stretch_modulus", "Pa", positive(1e13), "Young's modulus of the membrane E_s; along the warp.",
             [](S& t) { return &t.shell.stretch_modulus; })
        .add("weft_modulus", "Pa", within(0, 1e13), "The same across the warp; 0: isotropic.",
             [](S& t) { return &t.shell.weft_modulus; })
        .add("shear_modulus", "Pa", within(0, 1e13), "Of an orthotropic membrane; 0: that of the mean modulus.",
             [](S& t) { return &t.shell.shear_modulus; })
        .add("warp", "", magnitude(far), "Direction of the warp, before `rotation`; projected on each triangle.",
             [](S& t) { return &t.shell.warp; })
        .add("poisson", "", within(-0.99, 0.5), "Poisson's ratio ν.", [](S& t) { return &t.shell.poisson; })
        .add("bend_modulus", "Pa", within(0, 1e13), "Young's modulus of bending E_b.",
             [](S& t) { return &t.shell.bend_modulus; })
        .add("pressure", "Pa", magnitude(1e7), "On the inner side of counter-clockwise faces.",
             [](S& t) { return &t.shell.pressure; })
        .add("drag_normal", "kg/(m² s)", within(0, 1e4), "Air drag per area and relative normal velocity.",
             [](S& t) { return &t.shell.drag_normal; })
        .add("drag_tangential", "kg/(m² s)", within(0, 1e4), "The same along the surface.",
             [](S& t) { return &t.shell.drag_tangential; })
        .add("pins", "", [](S& t) { return table_list(t.pins, pins_section()); })
        .add("forces", "", [](S& t) { return table_list(t.forces, vertex_force_section()); });
    return s.build();
  }();
  return section;
}

const Section& solid_section() {
  using S = SolidEntry;
  static const Section section = [] {
    SectionBuilder<S> s("[[solid]]", "Soft bodies of tetrahedra, and the surface that touches.");
    s.add("shape",
          "A box, a sphere or a rabbit; a closed surface (OBJ) with a lattice around it; a tetrahedral mesh "
          "(Gmsh .msh, TetGen .node and .ele).",
          [](S& t) { return choice(t.shape, solid_shape_names); })
        .add("size", "m", size_range(), "Extents of a box.", [](S& t) { return &t.size; })
        .only_where("shape", {"box"})
        .add("radius", "m", size_range(), "Radius of a sphere.", [](S& t) { return &t.radius; })
        .only_where("shape", {"sphere"})
        .add("height", "m", within(1e-3, large), "Height of a rabbit to the tips of its ears.",
             [](S& t) { return &t.height; })
        .only_where("shape", {"rabbit"})
        .add("file", "File of a surface or mesh, relative to the scene file.", [](S& t) { return &t.file; })
        .only_where("shape", {"surface", "file"})
        .add("tets", "", within(5, max_count), "About how many tetrahedra.", [](S& t) { return &t.tets; })
        .only_where("shape", {"box", "sphere", "rabbit", "surface"})
        .add("cells", "", within(0, 10000), "Cells of a box along x, y, z, of five tetrahedra each; 0: from `tets`.",
             [](S& t) { return &t.cells; })
        .only_where("shape", {"box"})
        .add("faces", "", within(20, max_count), "About how many triangles a procedural surface has.",
             [](S& t) { return &t.faces; })
        .only_where("shape", {"sphere", "rabbit"})
        .add("embedded", "Whether the surface touches, carried by the lattice, or the boundary of the lattice.",
             [](S& t) { return &t.embedded; })
        .only_where("shape", {"sphere", "rabbit", "surface"});
    add_placement_fields(s);
    add_rest_scale(s);
    s.add("copies", "", within(1, 1000), "Bodies along x, y and z, named `name.0`, `name.1`, ..., about the position.",
          [](S& t) { return &t.copies; })
        .add("spacing", "m", within(0, large), "From copy to copy; 0: as much as keeps them apart.",
             [](S& t) { return Scale{&t.spacing}; })
        .add("turn_seed", "", within(0, max_index), "Turns each copy about its middle at random; 0: does not.",
             [](S& t) { return &t.turn_seed; });
    add_common_fields(s, &S::solid);
    add_elastic_fields(s, &S::solid);
    s.add("mass_damping", "1/s", within(0, 1e6), "Rayleigh's α: slows rigid motion, too.",
          [](S& t) { return &t.solid.mass_damping; })
        .add("pins", "", [](S& t) { return table_list(t.pins, pins_section()); })
        .add("forces", "", [](S& t) { return table_list(t.forces, vertex_force_section()); });
    return s.build();
  }();
  return section;
}

const Section& frames_section() {
  using F = FramesEntry;
  static const Section section = [] {
    SectionBuilder<F> s("[[frames]]",
                        "Bodies of a few affine frames between which the material is blended linearly. A frame "
                        "carries 12 degrees of freedom; a single stiff one stands in for a rigid body.");
    s.add("shape", "One frame; frames along x; frames in z = 0; a palm tree that stands on z = 0.",
          [](F& f) { return choice(f.shape, frames_shape_names); })
        .add("mesh", "What a single frame carries.", [](F& f) { return choice(f.mesh, rigid_mesh_names); })
        .only_where("shape", {"rigid"})
        .add("size", "m", size_range(), "Extents of a rigid box.", [](F& f) { return &f.size; })
        .only_where("shape", {"rigid"})
        .add("radius", "m", size_range(), "Radius of a rigid sphere.", [](F& f) { return &f.radius; })
        .only_where("shape", {"rigid"})
        .add("segments", "", within(3, 512), "Sectors around a rigid sphere.", [](F& f) { return &f.segments; })
        .only_where("shape", {"rigid"})
        .add("file", "OBJ file of a rigid mesh, closed, relative to the scene file.", [](F& f) { return &f.file; })
        .only_where("shape", {"rigid"})
        .add("count", "", within(1, 100000), "Frames of a beam, each in the middle of its piece.",
             [](F& f) { return &f.count; })
        .only_where("shape", {"beam"})
        .add("length", "m", size_range(), "Length of a beam along x.", [](F& f) { return &f.length; })
        .only_where("shape", {"beam"})
        .add("section", "m", size_range(), "Extents of a beam along y and z.", [](F& f) { return &f.section; })
        .only_where("shape", {"beam"})
        .add("width", "m", size_range(), "Extent of a sheet along x.", [](F& f) { return &f.width; })
        .only_where("shape", {"sheet"})
        .add("height", "m", size_range(), "Extent of a sheet along y.", [](F& f) { return &f.height; })
        .only_where("shape", {"sheet"})
        .add("thickness", "m", within(thinnest, thickest), "Thickness of a sheet.", [](F& f) { return &f.thickness; })
        .only_where("shape", {"sheet"})
        .add("nx", "", within(1, 1000), "Frames of a sheet along x.", [](F& f) { return &f.nx; })
        .only_where("shape", {"sheet"})
        .add("ny", "", within(1, 1000), "Frames of a sheet along y.", [](F& f) { return &f.ny; })
        .only_where("shape", {"sheet"})
        .add("trunk_height", "m", within(0.01, large), "Height of a palm's trunk.",
             [](F& f) { return &f.palm.tree.height; })
        .only_where("shape", {"palm"})
        .add("trunk_bend", "m", within(0, large), "Of the top of the trunk to the side.",
             [](F& f) { return &f.palm.tree.bend; })
        .only_where("shape", {"palm"})
        .add("trunk_frames", "", within(2, 1000), "Frames along the trunk; frame 0 is at its foot.",
             [](F& f) { return &f.palm.tree.trunk_frames; })
        .only_where("shape", {"palm"})
        .add("leaves", "", within(3, 1000), "Leaves of a palm.", [](F& f) { return &f.palm.tree.leaves; })
        .only_where("shape", {"palm"})
        .add("leaf_length", "m", within(0.01, large), "Length of a leaf.",
             [](F& f) { return &f.palm.tree.leaf_length; })
        .only_where("shape", {"palm"})
        .add("leaf_frames", "", within(2, 1000), "Frames along a leaf; the first is the top of the trunk.",
             [](F& f) { return &f.palm.tree.leaf_frames; })
        .only_where("shape", {"palm"})
        .add("leaf_thickness", "m", within(thinnest, thickest), "Thickness of a leaf's material.",
             [](F& f) { return &f.palm.leaf_thickness; })
        .only_where("shape", {"palm"});
    add_placement_fields(s);
    add_common_fields(s, &F::frames);
    add_elastic_fields(s, &F::frames);
    s.add("drag", "kg/(m² s)", within(0, 1e4), "Air drag per area and relative velocity of the surface.", [](F& f) {
       return &f.frames.drag;
     }).add("pins", "", [](F& f) { return table_list(f.pins, frame_pins_section()); });
    return s.build();
  }();
  return section;
}

const Section& attachment_section() {
  using A = Attachment;
  static const Section section =
      SectionBuilder<A>("[[attachment]]",
                        "Springs that hold two bodies together as they are at time zero, from the nearest point of "
                        "one to the nearest point of the other.")
          .add("a", "Name of a body.", [](A& a) { return &a.a; })
          .required()
          .add("b", "Name of another body, or of a collider.", [](A& a) { return &a.b; })
          .required()
          .add("roots", "Whether to hold the root of each strand of `a`, and its direction.",
               [](A& a) { return &a.roots; })
          .add("points", "m", magnitude(far), "Where else, in world coordinates at time zero.",
               [](A& a) { return &a.points; })
          .add("stiffness", "N/m", positive(1e9), "Of each spring.", [](A& a) { return &a.stiffness; })
          .add("damping", "s", within(0, 100), "Of each spring: viscous over elastic force, ξ.",
               [](A& a) { return &a.damping; })
          .build();
  return section;
}

}  // namespace stiction::scene
