#include "stiction/simulation.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "bodies/snapshot_io.hpp"
#include "step/projected_newton.hpp"

namespace stiction {

struct Simulation::Impl {
  explicit Impl(Scene scene) : world(std::move(scene)), state(world) {}

  void save(Snapshot& s) const {
    s.step = step;
    s.time = time;
    put(s, "x", world.nodes.x);
    put(s, "v", world.nodes.v);
    put(s, "lambda", state.lambda);
    put(s, "velocity_change", state.velocity_change);
    put(s, "impulse_change", state.impulse_change);
    put(s, "deviation", std::array{world.detector->deviation()});
    for (const Body* body : world.bodies) body->save(s);
  }
  void load(const Snapshot& s) {
    step = s.step;
    time = s.time;
    get(s, "x", world.nodes.x);
    get(s, "v", world.nodes.v);
    get(s, "lambda", state.lambda);
    get(s, "velocity_change", state.velocity_change);
    get(s, "impulse_change", state.impulse_change);
    std::array<double, 1> deviation{};
    get(s, "deviation", deviation);
    world.detector->set_deviation(deviation[0]);
    state.contact_impulse.assign(state.lambda.size(), Vec3::Zero());
    for (Body* body : world.bodies) body->load(s);
  }

  // Impulses are proportional to the time step.
  void scale_warm_start(double factor) {
    if (factor == 1.0) return;
    for (Vec3& impulse : state.lambda) impulse *= factor;
  }

  // Calls f(body) with the rods or chains body of that index.
  template <class F>
  auto with_strands(int body, F&& f) const {
    if (body < static_cast<int>(world.rods.size())) return f(*world.rods[body]);
    return f(*world.chains.at(body - world.rods.size()));
  }

  World world;
  StepState state;
  Snapshot before;  // the step at hand; room for copies of the state between steps
  std::int64_t step = 0;
  double time = 0;
};

namespace {
// A halved step reports as one: counts and times add up, the worst of its parts stands, states are the last part's.
void add_part(StepReport& sum, const StepReport& part) {
  const StepReport before = sum;
  sum = part;
  sum.dt += before.dt;
  sum.newton_iterations += before.newton_iterations;
  sum.admm_iterations += before.admm_iterations;
  sum.linear_iterations += before.linear_iterations;
  sum.linear_unsolved += before.linear_unsolved;
  sum.crossings += before.crossings;
  sum.deep_contacts += before.deep_contacts;
  sum.guarded_stencils += before.guarded_stencils;
  sum.broad_phases += before.broad_phases;
  sum.contact_updates += before.contact_updates;
  for (const auto field :
       {&StepReport::residual_m, &StepReport::residual_p999_m, &StepReport::residual_ratio, &StepReport::coulomb_error,
        &StepReport::max_penetration_m, &StepReport::max_stretch, &StepReport::max_speed})
    sum.*field = std::max(part.*field, before.*field);
  for (const auto field : {&StepReport::t_dynamics, &StepReport::t_collision, &StepReport::t_solver,
                           &StepReport::t_linear, &StepReport::t_projection, &StepReport::t_broad})
    sum.*field = part.*field + before.*field;
}
}  // namespace

Simulation::Simulation(Scene scene) : impl_(std::make_unique<Impl>(std::move(scene))) {}
Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;

StepReport Simulation::step() {
  const auto start = std::chrono::steady_clock::now();
  Snapshot& before = impl_->before;
  impl_->save(before);
  const double dt = scene().time.dt();
  std::string failure;
  for (int halvings = 0; halvings <= scene().solver.max_step_halvings; ++halvings) {
    const int parts = 1 << halvings;
    StepReport report;
    bool good = true;
    impl_->scale_warm_start(1.0 / parts);
    for (int i = 0; good && i < parts; ++i) {
      StepReport part;
      good = advance(impl_->world, impl_->state, before.time + i * dt / parts, dt / parts, part, failure);
      add_part(report, part);
    }
    if (!good) {
      impl_->load(before);
      continue;
    }
    impl_->scale_warm_start(parts);
    impl_->step = before.step + 1;
    impl_->time = static_cast<double>(impl_->step) * dt;
    report.step = impl_->step;
    report.time = impl_->time;
    report.halvings = halvings;
    report.t_step = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  }
  throw SimulationError("step " + std::to_string(before.step + 1) + " failed at every size tried: " + failure);
}

const Scene& Simulation::scene() const { return impl_->world.scene; }
double Simulation::time() const { return impl_->time; }
std::int64_t Simulation::step_index() const { return impl_->step; }
std::span<const Vec3> Simulation::positions() const { return impl_->world.nodes.x; }
std::span<const Vec3> Simulation::velocities() const { return impl_->world.nodes.v; }
std::span<const double> Simulation::masses() const { return impl_->world.nodes.m; }
std::span<const Vec3> Simulation::contact_impulses() const { return impl_->state.contact_impulse; }

NodeRange Simulation::strand(int body, int strand) const {
  return impl_->with_strands(body, [&](const auto& b) {
    return NodeRange{b.layout().first_node(strand), b.layout().node_count(strand)};
  });
}
NodeRange Simulation::body_nodes(const std::string& name) const {
  for (const Body* body : impl_->world.bodies)
    if (body->name == name) return {body->first_node, body->node_count};
  throw std::invalid_argument("no body is called '" + name + "'");
}
Vec3 Simulation::momentum(const std::string& name) const {
  const Nodes& nodes = impl_->world.nodes;
  for (const auto& body : impl_->world.sparse)
    if (body->name == name) return body->momentum(nodes);
  const NodeRange own = body_nodes(name);
  Vec3 sum = Vec3::Zero();
  for (int j = own.first; j < own.first + own.count; ++j) sum += nodes.m[j] * nodes.v[j];
  return sum;
}
Vec3 Simulation::pin_reaction(const std::string& name) const {
  for (const auto& body : impl_->world.sparse)
    if (body->name == name) return body->pin_reaction();
  throw std::invalid_argument("no body with pins is called '" + name + "'");
}
Vec3 Simulation::root_reaction(int body, int strand) const {
  return impl_->with_strands(body, [&](const auto& b) { return b.root_reaction(strand); });
}
Vec3 Simulation::tip_reaction(int body, int strand) const {
  return impl_->with_strands(body, [&](const auto& b) { return b.tip_reaction(strand); });
}
double Simulation::twist_angle(int rods, int strand, int edge) const {
  return impl_->world.rods.at(rods)->twist_angle(strand, edge);
}

void Simulation::set_velocities(std::span<const Vec3> v) {
  Nodes& nodes = impl_->world.nodes;
  for (std::size_t j = 0; j < nodes.v.size(); ++j)
    if (!nodes.fixed[j]) nodes.v[j] = v[j];
}

FrameLayout Simulation::frame_layout() const {
  FrameLayout layout;
  const auto add_curves = [&](const auto& spec) {
    CurveLayout curves{spec.name, {0}, {}};
    for (const Strand& s : spec.strands) {
      curves.offsets.push_back(curves.offsets.back() + static_cast<int>(s.nodes.size()));
      curves.radius.insert(curves.radius.end(), s.nodes.size(), s.radius > 0 ? s.radius : spec.radius);
    }
    layout.curves.push_back(std::move(curves));
  };
  for (const Rods& r : scene().rods) add_curves(r);
  for (const Chains& c : scene().chains) add_curves(c);
  for (const SimulatedMesh& surface : impl_->world.surfaces)
    layout.meshes.push_back({impl_->world.bodies[surface.body]->name, surface.triangles,
                             static_cast<int>(surface.vertex.size()), false, true});
  for (std::size_t c = 0; c < scene().colliders.size(); ++c) {
    const TriangleMesh& shape = impl_->world.shapes[c];
    if (shape.triangles.empty()) continue;
    layout.meshes.push_back({scene().colliders[c].name, shape.triangles, static_cast<int>(shape.vertices.size()),
                             scene().colliders[c].shape == ColliderShape::plane});
  }
  return layout;
}

Frame Simulation::frame() const {
  Frame frame;
  frame.index = static_cast<int>(impl_->step / scene().time.steps_per_frame);
  frame.time = impl_->time;
  const auto& x = impl_->world.nodes.x;
  const World& world = impl_->world;
  for (std::size_t b = 0; b < world.rods.size() + world.chains.size(); ++b) {
    const auto first = x.begin() + world.bodies[b]->first_node;
    frame.curves.emplace_back(first, first + world.bodies[b]->node_count);
  }
  for (const SimulatedMesh& surface : world.surfaces) {
    auto& vertices = frame.meshes.emplace_back();
    for (const int vertex : surface.vertex) vertices.push_back(world.nodes.skin.at(vertex, x));
  }
  std::vector<Pose> poses;
  impl_->world.poses_at(impl_->time, poses);
  for (std::size_t c = 0; c < poses.size(); ++c) {
    const TriangleMesh& shape = impl_->world.shapes[c];
    if (shape.triangles.empty()) continue;
    auto& vertices = frame.meshes.emplace_back();
    const KinematicMesh mesh{static_cast<int>(c), 0};
    const bool sequence = !scene().colliders[c].mesh_sequence.empty();
    for (std::size_t i = 0; i < shape.vertices.size(); ++i)
      vertices.push_back(sequence ? impl_->world.mesh_vertex_at(mesh, static_cast<int>(i), impl_->time)
                                  : poses[c].apply(shape.vertices[i]));
  }
  return frame;
}

Snapshot Simulation::snapshot() const {
  Snapshot s;
  impl_->save(s);
  return s;
}

void Simulation::restore(const Snapshot& snapshot) { impl_->load(snapshot); }

std::uint64_t Simulation::state_hash() const {
  std::uint64_t hash = 1469598103934665603ull;  // FNV-1a over 64-bit words, with a final mix per word
  impl_->save(impl_->before);
  for (const Snapshot::Array& array : impl_->before.arrays)
    for (const double value : array.values) {
      std::uint64_t word = 0;
      std::memcpy(&word, &value, sizeof word);
      hash = (hash ^ word) * 1099511628211ull;
      hash ^= hash >> 29;
    }
  return hash;
}

}  // namespace stiction
