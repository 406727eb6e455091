// The sections of the simulation's options, and the root that lists all sections.
#include "scene/schema.hpp"

#include <algorithm>
#include <array>

#include "scene/document.hpp"

namespace stiction::scene {
namespace {

constexpr std::array<std::string_view, 2> final_velocity_names{"p", "v"};
constexpr std::array<std::string_view, 2> precision_names{"single", "double"};

}  // namespace

const Field* Section::find(std::string_view key) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

const Section& time_section() {
  using T = TimeOptions;
  static const Section section =
      SectionBuilder<T>("[time]", "How long to simulate, and in which steps.")
          .add("duration", "s", positive(1e5), "Simulated time.", [](T& t) { return &t.duration; })
          .add("fps", "1/s", positive(1e5), "Frames written a second.", [](T& t) { return &t.fps; })
          .add("steps_per_frame", "", within(1, 10000), "Time steps in a frame.",
               [](T& t) { return &t.steps_per_frame; })
          .build();
  return section;
}

const Section& world_section() {
  using W = WorldOptions;
  static const Section section =
      SectionBuilder<W>("[world]", "What acts on all bodies.")
          .add("gravity", "m/s²", magnitude(1e4), "Acceleration of free fall.", [](W& w) { return &w.gravity; })
          .add("wind", "m/s", magnitude(1e3), "Velocity of the air; acts on bodies with drag.",
               [](W& w) { return &w.wind; })
          .add("gust_speed", "m/s", within(0, 1e3), "Amplitude of a travelling gust, added along the wind's direction.",
               [](W& w) { return &w.gust_speed; })
          .add("gust_period", "s", positive(1e4), "Time from gust to gust.", [](W& w) { return &w.gust_period; })
          .add("gust_wavelength", "m", positive(1e4), "Distance from gust to gust.",
               [](W& w) { return &w.gust_wavelength; })
          .build();
  return section;
}

const Section& solver_section() {
  using S = SolverOptions;
  static const Section section =
      SectionBuilder<S>("[solver]", "The time step and its friction solver (D20: Daviet 2020).")
          .add("newton_iterations", "", within(1, 100),
               "Projected Newton iterations a step, N_PN. Ten where ends turn by more than a radian in a step, else "
               "edges stretch.",
               [](S& s) { return &s.newton_iterations; })
          .add("predictor_iterations", "", within(0, 100), "Newton iterations without contacts before these.",
               [](S& s) { return &s.predictor_iterations; })
          .add("admm_iterations", "", within(1, 100000), "ADMM iterations a Newton iteration, at most, N_ADMM.",
               [](S& s) { return &s.admm_iterations; })
          .add("gauss_seidel_iterations", "", within(1, 1000), "Contact sweeps an ADMM iteration, N_GS.",
               [](S& s) { return &s.gauss_seidel_iterations; })
          .add("tolerance", "m", within(0, 1), "Residual at which ADMM stops, ε∞.", [](S& s) { return &s.tolerance; })
          .add("linear_tolerance", "", within(1e-12, 1),
               "Tolerance of iterative linear solves, as a fraction of δ∞, τ_LS (D20 6.2.5).",
               [](S& s) { return &s.linear_tolerance; })
          .add("ccd_interval", "", within(1, 100000),
               "ADMM iterations between two continuous collision detections (D20 6.2.3).",
               [](S& s) { return &s.ccd_interval; })
          .add("repair_passes", "", within(0, 100), "Detect-and-project rounds on the final velocity.",
               [](S& s) { return &s.repair_passes; })
          .add("weight_sigma", "", positive(1e6), "σ of the ADMM weight W (D20 6.2.6).",
               [](S& s) { return &s.weight_sigma; })
          .add("weight_beta", "", within(0, 1e6), "β of the ADMM weight W (D20 6.2.6).",
               [](S& s) { return &s.weight_beta; })
          .add("weight_lift", "Raise W of nodes that touch heavier ones; without, W is D20's.",
               [](S& s) { return &s.weight_lift; })
          .add("weight_raise", "Raise W of nodes that missed the tolerance for the Newton iterations that follow.",
               [](S& s) { return &s.weight_raise; })
          .add("over_relaxation", "", within(0.1, 1.99), "α of ADMM; 1 is D20's. Not used where accelerated.",
               [](S& s) { return &s.over_relaxation; })
          .add("final_velocity", "The velocity a step ends with: `p` obeys the contacts, `v` the dynamics (D20 6.2.7).",
               [](S& s) { return choice(s.final_velocity, final_velocity_names); })
          .add("warm_start_forces", "Start contact forces from the last step (D20 6.2.2).",
               [](S& s) { return &s.warm_start_forces; })
          .add("accelerated", "Nesterov acceleration with restart (D20 Alg. 4).", [](S& s) { return &s.accelerated; })
          .add("sleeping", "Skip contacts that have converged (D20 6.3.3).", [](S& s) { return &s.sleeping; })
          .add("sleeping_threshold", "", within(0, 1), "Residual below which a contact sleeps, as a fraction of δ∞.",
               [](S& s) { return &s.sleeping_threshold; })
          .add("sleeping_sweeps", "", within(0, 10000), "Sweeps that a sleeping contact sits out.",
               [](S& s) { return &s.sleeping_sweeps; })
          .add("isotropic",
               "Local contact problems in closed form, which W allows for; without, by full 3×3 blocks: the same "
               "result, "
               "slower (D20 Table 3).",
               [](S& s) { return &s.isotropic; })
          .add("stages", "", within(1, 64), "Parallel colours of blocks of four contacts (D20 6.2.8).",
               [](S& s) { return &s.stages; })
          .add("precision", "Scalar of the contact projection.",
               [](S& s) { return choice(s.precision, precision_names); })
          .add("max_step_halvings", "", within(0, 20), "Retries of a failed step, each at half the time step.",
               [](S& s) { return &s.max_step_halvings; })
          .build();
  return section;
}

const Section& contact_section() {
  using C = ContactOptions;
  static const Section section =
      SectionBuilder<C>("[contact]", "Detection and law of all contacts.")
          .add("margin", "", within(0, 10), "Proximity beyond touch that makes a contact, over the sum of the radii.",
               [](C& c) { return &c.margin; })
          .add("max_recovery_speed", "m/s", within(0, 1e3), "Bound on the speed at which overlap is undone.",
               [](C& c) { return &c.max_recovery_speed; })
          .add("compliance", "m/N", within(0, 1e3), "Give of a contact; 0 is hard (D20 6.3.2).",
               [](C& c) { return &c.compliance; })
          .add("cohesion", "N", within(0, 1e3), "Attraction at touch, a contact (D20 6.3.1).",
               [](C& c) { return &c.cohesion; })
          .add("cohesion_distance", "m", within(0, 1), "Gap at which the attraction has fallen to zero.",
               [](C& c) { return &c.cohesion_distance; })
          .add("restitution", "", within(0, 1), "Rebound speed over approach speed.",
               [](C& c) { return &c.restitution; })
          .add("self_collision", "Contacts between and within strands.", [](C& c) { return &c.self_collision; })
          .add("max_candidates", "", within(0, 2e9),
               "Pairs that detection keeps, up to 60 bytes each; a step that needs more is halved. 0: 250 an edge, "
               "and a vertex that may meet triangles, at least ten million.",
               [](C& c) { return &c.max_candidates; })
          .build();
  return section;
}

const Section& render_section() {
  using R = RenderOptions;
  static const Section section =
      SectionBuilder<R>("[render]", "Pictures.")
          .add("width", "pixels", within(1, 16384), "Width of a picture.", [](R& r) { return &r.width; })
          .add("height", "pixels", within(1, 16384), "Height of a picture.", [](R& r) { return &r.height; })
          .add("samples", "", within(1, 65536), "Rays a pixel.", [](R& r) { return &r.samples; })
          .add("frame_scene", "Place the camera so that everything fits.", [](R& r) { return &r.frame_scene; })
          .add("eye", "m", magnitude(1e6), "Position of the camera.", [](R& r) { return &r.eye; })
          .add("target", "m", magnitude(1e6), "The point that the camera looks at.", [](R& r) { return &r.target; })
          .add("field_of_view", "degrees", within(1, 170), "Vertical angle of view.",
               [](R& r) { return &r.field_of_view; })
          .add("ground", "Draw a ground under the lowest point where the scene has no plane.",
               [](R& r) { return &r.ground; })
          .add("curve_color", "", within(0, 1), "Colour of strands, linear RGB.", [](R& r) { return &r.curve_color; })
          .build();
  return section;
}

const Section& friction_section() {
  using F = FrictionPair;
  static const Section section =
      SectionBuilder<F>("[[friction]]",
                        "Overrides the friction of two bodies, which is the geometric mean of their coefficients.")
          .add("a", "Name of a collider or body.", [](F& f) { return &f.a; })
          .required()
          .add("b", "Name of a collider or body; may be the same as `a`.", [](F& f) { return &f.b; })
          .required()
          .add("friction", "", within(0, 100), "Coulomb coefficient μ of the pair.", [](F& f) { return &f.friction; })
          .required()
          .build();
  return section;
}

const Section& root_section() {
  using D = Document;
  static const Section section =
      SectionBuilder<D>("Top level", "The keys before the first section.")
          .add("name", "Name of the scene.", [](D& d) { return &d.name; })
          .add("time", "",
               [](D& d) {
                 return SubTable{&time_section(), &d.time};
               })
          .add("world", "",
               [](D& d) {
                 return SubTable{&world_section(), &d.world};
               })
          .add("solver", "",
               [](D& d) {
                 return SubTable{&solver_section(), &d.solver};
               })
          .add("contact", "",
               [](D& d) {
                 return SubTable{&contact_section(), &d.contact};
               })
          .add("render", "",
               [](D& d) {
                 return SubTable{&render_section(), &d.render};
               })
          .add("collider", "", [](D& d) { return table_list(d.colliders, collider_section()); })
          .add("groom", "", [](D& d) { return table_list(d.grooms, groom_section()); })
          .add("rod", "", [](D& d) { return table_list(d.rods, rod_section()); })
          .add("bundle", "", [](D& d) { return table_list(d.bundles, bundle_section()); })
          .add("chain", "", [](D& d) { return table_list(d.chains, chain_section()); })
          .add("shell", "", [](D& d) { return table_list(d.shells, shell_section()); })
          .add("solid", "", [](D& d) { return table_list(d.solids, solid_section()); })
          .add("frames", "", [](D& d) { return table_list(d.frames, frames_section()); })
          .add("attachment", "", [](D& d) { return table_list(d.attachments, attachment_section()); })
          .add("friction", "", [](D& d) { return table_list(d.friction_pairs, friction_section()); })
          .build();
  return section;
}

}  // namespace stiction::scene
