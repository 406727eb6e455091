#include "bodies/rods.hpp"

#include <numbers>

#include "bodies/snapshot_io.hpp"
#include "kernels/rod.hpp"
#include "parallel/loops.hpp"

namespace stiction {

namespace {

V3<double> to_v3(const Vec3& a) { return {a[0], a[1], a[2]}; }

V3<double> lane_of(const V3<PackD>& a, int lane) { return {a.x[lane], a.y[lane], a.z[lane]}; }
void set_lane(V3<PackD>& a, int lane, const V3<double>& s) {
  a.x.set(lane, s.x);
  a.y.set(lane, s.y);
  a.z.set(lane, s.z);
}

V3<double> any_normal(const V3<double>& t) {
  const V3<double> axis = std::abs(t.x) < 0.9 ? V3<double>{1, 0, 0} : V3<double>{0, 1, 0};
  const V3<double> d = axis - dot(axis, t) * t;
  return (1.0 / norm(d)) * d;
}

// Twist-free directors along a polyline, starting from `first`.
std::vector<V3<double>> bishop_directors(std::span<const V3<double>> tangents, const V3<double>& first) {
  std::vector<V3<double>> d{first};
  for (std::size_t j = 1; j < tangents.size(); ++j)
    d.push_back(parallel_transport(d.back(), tangents[j - 1], tangents[j]));
  return d;
}

std::vector<V3<double>> tangents_of(std::span<const Vec3> x) {
  std::vector<V3<double>> t;
  for (std::size_t j = 0; j + 1 < x.size(); ++j) t.push_back(to_v3((x[j + 1] - x[j]).normalized()));
  return t;
}

double second_half_axis(const Rods& rods, const Strand& s) {
  return rods.radius_b > 0 ? rods.radius_b * radius_of(rods, s) / rods.radius : radius_of(rods, s);
}
double section_of(const Rods& rods, const Strand& s) {
  return std::numbers::pi * radius_of(rods, s) * second_half_axis(rods, s);
}

}  // namespace

// Edge frames of one batch at some positions; theta is the material angle there.
struct RodsBody::Frames {
  AlignedVector<V3<PackD>> tangent, director;
  AlignedVector<PackD> length;
  AlignedVector<MaterialFrame<PackD>> material;

  void resize(int edges) {
    if (static_cast<int>(tangent.size()) >= edges) return;
    tangent.resize(edges);
    director.resize(edges);
    length.resize(edges);
    material.resize(edges);
  }
};

RodsBody::RodsBody(const Rods& rods, Nodes& nodes, int root_collider, int tip_collider)
    : StrandBody(strand_spec(rods, root_collider, tip_collider, [&](const Strand& s) { return section_of(rods, s); }),
                 nodes),
      quasistatic_(rods.twist == Twist::quasistatic) {
  name = rods.name;
  const int packs = layout_.pack_count();
  theta_.assign(packs, PackD(0.0));
  const V3<PackD> x_axis{PackD(1.0), PackD(0.0), PackD(0.0)}, y_axis{PackD(0.0), PackD(1.0), PackD(0.0)};
  tangent_.assign(packs, x_axis);
  director_.assign(packs, y_axis);
  Vertex idle;
  for (int a = 0; a < 3; ++a) idle.stiffness[a] = idle.rest[a] = idle.effective[a] = PackD(0.0);
  idle.m_ref = PackD(0.0);
  vertices_.assign(packs, idle);
  set_rest_shape(rods);
  clamp_edges(rods, root_collider, tip_collider);
}

void RodsBody::set_rest_shape(const Rods& rods) {
  const bool clamped_somewhere = rods.root == End::clamped || rods.tip == End::clamped;
  for (int s = 0; s < component_count; ++s) {
    const Strand& strand = rods.strands[s];
    const auto [batch, lane] = place_of(s);
    const double a = radius_of(rods, strand), b = second_half_axis(rods, strand);
    const double section = section_of(rods, strand);
    // The first half axis lies along m1; kappa1 bends about m2, against I = pi a³ b / 4.
    const double bend_1 = rods.bend_modulus * section * a * a / 4, bend_2 = rods.bend_modulus * section * b * b / 4;
    const double shear = rods.bend_modulus / (2 * (1 + rods.poisson));
    const double torsion = shear * std::numbers::pi * a * a * a * b * b * b / (a * a + b * b);  // Saint-Venant

    const auto t_rest = tangents_of(rest_nodes_of(strand)), t_initial = tangents_of(strand.nodes);
    const V3<double> first_rest = any_normal(t_rest[0]);
    const auto d_rest = bishop_directors(t_rest, first_rest);
    const auto d_initial = bishop_directors(t_initial, parallel_transport(first_rest, t_rest[0], t_initial[0]));

    const int edges = static_cast<int>(t_rest.size());
    for (int j = 0; j < edges; ++j) {
      const int pack = batch->first + j;
      const double length = rest_length_[pack][lane];
      const bool massless = quasistatic_ && clamped_somewhere;
      mass_[pack * 4 + 3].set(lane, massless ? 0.0 : rods.density * section * length * (a * a + b * b) / 4);
      set_lane(tangent_[pack], lane, t_initial[j]);
      set_lane(director_[pack], lane, d_initial[j]);
      if (j == 0) continue;
      Vertex& vertex = vertices_[pack];
      const double voronoi = 0.5 * (length + rest_length_[pack - 1][lane]);
      const double stiffness[3] = {bend_1 / voronoi, bend_2 / voronoi, torsion / voronoi};
      const RodStrains<double> rest = rod_strains(material_frame(t_rest[j - 1], d_rest[j - 1], 0.0), 1.0,
                                                  material_frame(t_rest[j], d_rest[j], 0.0), 1.0);
      const double rest_value[3] = {rest.kappa1, rest.kappa2, 0.0};
      for (int k = 0; k < 3; ++k) {
        vertex.stiffness[k].set(lane, stiffness[k]);
        vertex.rest[k].set(lane, rest_value[k]);
      }
    }
  }
}

void RodsBody::clamp_edges(const Rods& rods, int root_collider, int tip_collider) {
  const auto clamp = [&](int s, int edge, int collider) {
    const auto [batch, lane] = place_of(s);
    const V3<double> m1 = lane_of(director_[batch->first + edge], lane);
    clamped_.push_back({s, edge, collider, Vec3(m1.x, m1.y, m1.z)});
    fix_row(s, edge, 3);
  };
  for (int s = 0; s < component_count; ++s) {
    if (rods.root == End::clamped) clamp(s, 0, root_collider);
    if (rods.tip == End::clamped) clamp(s, layout_.node_count(s) - 2, tip_collider);
  }
}

void RodsBody::begin_elastic(const StepContext& context, const Nodes& nodes, std::span<const Vec3> v) {
  guarded_ = 0;
  for_each_batch([&](const StrandBatch& batch) {
    strains_at_start(nodes, batch);
    PackD* iterate = rows(iterate_, batch);
    for (int j = 0; j < batch.nodes; ++j) iterate[j * 4 + 3] = twist_rate_[batch.first + j];
  });
  std::vector<double> rate(clamped_.size());
  for_each_index(clamped_.size(), [&](std::size_t i) {
    // The material frame follows the body: the angle that the transported director is short of it.
    const ClampedEdge& c = clamped_[i];
    const auto [batch, lane] = place_of(c.strand);
    const int pack = batch->first + c.edge, node = layout_.first_node(c.strand) + c.edge;
    const Vec3 e = nodes.x[node + 1] + context.dt * v[node + 1] - nodes.x[node] - context.dt * v[node];
    const V3<double> t = to_v3(e.normalized());
    const V3<double> d1 = parallel_transport(lane_of(director_[pack], lane), lane_of(tangent_[pack], lane), t);
    const Vec3 m1 = c.collider < 0 ? c.m1_initial : context.displacement[c.collider].rotation * c.m1_initial;
    const auto now = material_frame(t, d1, theta_[pack][lane]);
    rate[i] = signed_angle(now.m1, to_v3(m1), t) / context.dt;
  });
  for (std::size_t i = 0; i < clamped_.size(); ++i) {  // strands of one batch share packs
    const auto [batch, lane] = place_of(clamped_[i].strand);
    iterate_[(batch->first + clamped_[i].edge) * 4 + 3].set(lane, rate[i]);
  }
}

// The strain vector (kappa1, kappa2, m) of vertex i and, where asked for, its derivatives.
PackD RodsBody::vertex_strains(const StrandBatch& batch, int i, const Frames& frames, PackD* strain,
                               PackD (*grad)[11]) const {
  const PackD* iterate = iterate_.data() + static_cast<std::size_t>(batch.first) * 4;
  const auto angle = [&](int j) { return theta_[batch.first + j] + PackD(context_.dt) * iterate[j * 4 + 3]; };
  const RodStrains<PackD> s =
      rod_strains(frames.material[i - 1], frames.length[i - 1], frames.material[i], frames.length[i]);
  const PackD m_ref = reference_twist(frames.tangent[i - 1], frames.director[i - 1], frames.tangent[i],
                                      frames.director[i], vertices_[batch.first + i].m_ref);
  strain[0] = s.kappa1;
  strain[1] = s.kappa2;
  strain[2] = angle(i) - angle(i - 1) + m_ref;
  if (grad)
    for (int a = 0; a < 11; ++a) {
      grad[0][a] = s.grad_kappa1[a];
      grad[1][a] = s.grad_kappa2[a];
      grad[2][a] = s.grad_twist[a];
    }
  return s.one_plus_cos;
}

namespace {
// Transports a batch's directors from the start of the step to positions x and turns them by theta.
template <class Frames, class Angle>
void carry_frames(const V3<PackD>* x, int edges, const V3<PackD>* tangent, const V3<PackD>* director, Angle&& angle,
                  Frames& frames) {
  frames.resize(edges);
  for (int j = 0; j < edges; ++j) {
    const V3<PackD> e = x[j + 1] - x[j];
    frames.length[j] = norm(e);
    frames.tangent[j] = (PackD(1.0) / frames.length[j]) * e;
    frames.director[j] = parallel_transport(director[j], tangent[j], frames.tangent[j]);
    frames.material[j] = material_frame(frames.tangent[j], frames.director[j], angle(j));
  }
}
}  // namespace

void RodsBody::strains_at_start(const Nodes& nodes, const StrandBatch& batch) {
  thread_local Frames frames;
  thread_local AlignedVector<V3<PackD>> x;
  x.resize(std::max<std::size_t>(x.size(), batch.nodes));
  layout_.gather(
      batch, [&](int node) { return nodes.x[node]; }, x.data());
  const int edges = batch.nodes - 1;
  carry_frames(
      x.data(), edges, &tangent_[batch.first], &director_[batch.first], [&](int j) { return theta_[batch.first + j]; },
      frames);
  begin_stretch(batch, x.data());
  const auto [ratio, share] = damping_ratio_and_share();
  for (int j = 1; j < edges; ++j) {
    Vertex& vertex = vertices_[batch.first + j];
    const RodStrains<PackD> s =
        rod_strains(frames.material[j - 1], frames.length[j - 1], frames.material[j], frames.length[j]);
    const PackD m = theta_[batch.first + j] - theta_[batch.first + j - 1] + vertex.m_ref;
    const PackD now[3] = {s.kappa1, s.kappa2, m};
    for (int k = 0; k < 3; ++k) vertex.effective[k] = share * (vertex.rest[k] + ratio * now[k]);
  }
}

PackD RodsBody::add_elastic(const StrandBatch& batch, const V3<PackD>* x, PackD* g, BandView<10>* A) {
  thread_local Frames frames;
  const int edges = batch.nodes - 1;
  const double dt = context_.dt;
  const PackD* iterate = rows(iterate_, batch);
  carry_frames(
      x, edges, &tangent_[batch.first], &director_[batch.first],
      [&](int j) { return theta_[batch.first + j] + PackD(dt) * iterate[j * 4 + 3]; }, frames);

  const PackD damped(1.0 + damping_ / dt), dt_pack(dt), dt2(dt * dt);
  PackD energy = add_stretch(batch, x, g, A);
  std::int64_t guarded = 0;
  for (int i = 1; i < edges; ++i) {
    const Vertex& vertex = vertices_[batch.first + i];
    PackD strain[3], grad[3][11];
    const PackD one_plus_cos = vertex_strains(batch, i, frames, strain, grad);
    PackD force[3], k_dt2[3];
    for (int k = 0; k < 3; ++k) {
      const PackD off = strain[k] - vertex.rest[k];
      energy += PackD(0.5) * vertex.stiffness[k] * off * off;
      force[k] = dt_pack * damped * vertex.stiffness[k] * (strain[k] - vertex.effective[k]);
      k_dt2[k] = dt2 * damped * vertex.stiffness[k];
    }
    const int base = (i - 1) * 4;
    for (int a = 0; a < 11; ++a) {
      g[base + a] += force[0] * grad[0][a] + force[1] * grad[1][a] + force[2] * grad[2][a];
      if (!A) continue;
      const PackD h[3] = {k_dt2[0] * grad[0][a], k_dt2[1] * grad[1][a], k_dt2[2] * grad[2][a]};
      for (int b = 0; b <= a; ++b)
        A->entry(base + a, a - b) += h[0] * grad[0][b] + h[1] * grad[1][b] + h[2] * grad[2][b];
    }
    for (int lane = 0; lane < kLanes; ++lane)
      guarded += layout_.has_node(batch, lane, i + 1) && one_plus_cos[lane] < kMinOnePlusCos;
  }
  if (A && guarded > 0) guarded_ += guarded;
  return energy;
}

void RodsBody::accept_iterate(std::span<const std::uint8_t> components) {
  for_each_batch([&](const StrandBatch& batch) {
    PackD* iterate = rows(iterate_, batch);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int strand = batch.strand[lane] == kNoStrand ? batch.strand[0] : batch.strand[lane];
      if (!components[first_component + strand]) continue;
      for (int j = 0; j < batch.nodes; ++j) iterate[j * 4 + 3].set(lane, twist_solution_[batch.first + j][lane]);
    }
  });
}

void RodsBody::end_step(const Nodes& nodes, std::span<const Vec3> v) {
  for_each_batch([&](const StrandBatch& batch) {
    thread_local Frames frames;
    thread_local AlignedVector<V3<PackD>> x;
    x.resize(std::max<std::size_t>(x.size(), batch.nodes));
    layout_.gather(
        batch, [&](int node) -> Vec3 { return nodes.x[node] + context_.dt * v[node]; }, x.data());
    const PackD* iterate = rows(iterate_, batch);
    const int edges = batch.nodes - 1;
    carry_frames(
        x.data(), edges, &tangent_[batch.first], &director_[batch.first],
        [&](int j) { return theta_[batch.first + j]; }, frames);
    for (int j = 0; j < edges; ++j) {
      const int pack = batch.first + j;
      if (j > 0)
        vertices_[pack].m_ref = reference_twist(frames.tangent[j - 1], frames.director[j - 1], frames.tangent[j],
                                                frames.director[j], vertices_[pack].m_ref);
      tangent_[pack] = frames.tangent[j];
      director_[pack] = frames.director[j];
      theta_[pack] += PackD(context_.dt) * iterate[j * 4 + 3];
      twist_rate_[pack] = quasistatic_ ? PackD(0.0) : iterate[j * 4 + 3];
    }
  });
}

BodyEnergy RodsBody::measure(const Nodes& nodes, std::span<const Vec3> v_start, std::span<const Vec3> contact_impulse,
                             const WorldOptions& world) {
  // end_step has advanced the angles: the elastic terms are wanted at the iterate's zero displacement.
  for_each_index(twist_rate_.size(), [&](std::size_t j) { iterate_[j * 4 + 3] = PackD(0.0); });
  BodyEnergy energy = StrandBody::measure(nodes, v_start, contact_impulse, world);
  energy.kinetic += sum_in_chunks(twist_rate_.size(), 0.0, [&](std::size_t j) {
    const PackD kinetic = PackD(0.5) * mass_[j * 4 + 3] * twist_rate_[j] * twist_rate_[j];
    double sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) sum += kinetic[lane];
    return sum;
  });
  return energy;
}

double RodsBody::twist_angle(int strand, int edge) const {
  const auto [batch, lane] = place_of(strand);
  return theta_[batch->first + edge][lane];
}

double RodsBody::twist(int strand, int vertex) const {
  const auto [batch, lane] = place_of(strand);
  const int pack = batch->first + vertex;
  return theta_[pack][lane] - theta_[pack - 1][lane] + vertices_[pack].m_ref[lane];
}

void RodsBody::save(Snapshot& snapshot) const {
  put(snapshot, name + ".theta", theta_);
  put(snapshot, name + ".twist_rate", twist_rate_);
  put(snapshot, name + ".director", director_);
  put(snapshot, name + ".tangent", tangent_);
  AlignedVector<PackD> m_ref(vertices_.size());
  for (std::size_t i = 0; i < m_ref.size(); ++i) m_ref[i] = vertices_[i].m_ref;
  put(snapshot, name + ".m_ref", m_ref);
}

void RodsBody::load(const Snapshot& snapshot) {
  get(snapshot, name + ".theta", theta_);
  get(snapshot, name + ".twist_rate", twist_rate_);
  get(snapshot, name + ".director", director_);
  get(snapshot, name + ".tangent", tangent_);
  AlignedVector<PackD> m_ref(vertices_.size());
  get(snapshot, name + ".m_ref", m_ref);
  for (std::size_t i = 0; i < m_ref.size(); ++i) vertices_[i].m_ref = m_ref[i];
}

}  // namespace stiction
