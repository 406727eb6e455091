#include "bodies/shell.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "bodies/strand_body.hpp"

namespace stiction {

namespace {

constexpr int kElementsPerTask = 128;
constexpr double kMinShape = 1e-9;  // twice the area over the longest edge squared, below which a triangle has no plane

using V = V3<double>;

V to_v3(const Vec3& a) { return {a.x(), a.y(), a.z()}; }
Vec3 to_vec3(const V& a) { return {a.x, a.y, a.z}; }

template <std::size_t K>
std::array<V, K> gather(std::span<const Vec3> x, const std::array<int, K>& nodes) {
  std::array<V, K> r;
  for (std::size_t k = 0; k < K; ++k) r[k] = to_v3(x[nodes[k]]);
  return r;
}

template <class F>
void for_each_element(std::size_t count, F&& f) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, kElementsPerTask), [&](const auto& range) {
    for (std::size_t e = range.begin(); e < range.end(); ++e) f(e);
  });
}

[[noreturn]] void fail(const Shell& spec, const std::string& what) {
  throw std::invalid_argument(fmt::format("shell '{}': {}", spec.name, what));
}

std::span<const Vec3> rest_vertices(const Shell& spec) {
  return spec.rest_vertices.empty() ? spec.mesh.vertices : spec.rest_vertices;
}

double twice_area(const Shell& spec, const Eigen::Vector3i& t) {
  const auto x = rest_vertices(spec);
  return (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]).norm();
}

void check(const Shell& spec, std::size_t pin_colliders) {
  const int count = static_cast<int>(spec.mesh.vertices.size());
  if (spec.mesh.triangles.empty()) fail(spec, "has no triangles");
  if (!spec.rest_vertices.empty() && static_cast<int>(spec.rest_vertices.size()) != count)
    fail(spec, fmt::format("has {} vertices but {} at rest", count, spec.rest_vertices.size()));
  if (!(spec.thickness > 0)) fail(spec, fmt::format("thickness {} is not positive", spec.thickness));
  if (!(spec.density > 0)) fail(spec, fmt::format("density {} is not positive", spec.density));
  if (!(std::abs(spec.poisson) < 1)) fail(spec, fmt::format("poisson {} is not between -1 and 1", spec.poisson));
  if (!(spec.stretch_modulus > 0) || !(spec.weft_modulus >= 0) || !(spec.shear_modulus >= 0) ||
      !(spec.bend_modulus >= 0))
    fail(spec, "a modulus is negative, or the stretch modulus zero");

  const auto x = rest_vertices(spec);
  std::vector<std::uint8_t> used(count, 0);
  for (std::size_t i = 0; i < spec.mesh.triangles.size(); ++i) {
    const Eigen::Vector3i& t = spec.mesh.triangles[i];
    if (t.minCoeff() < 0 || t.maxCoeff() >= count)
      fail(spec, fmt::format("triangle {} ({} {} {}) names a vertex outside 0 ... {}", i, t[0], t[1], t[2], count - 1));
    double longest = 0;
    for (int k = 0; k < 3; ++k) {
      longest = std::max(longest, (x[t[(k + 1) % 3]] - x[t[k]]).squaredNorm());
      used[t[k]] = 1;
    }
    if (!(twice_area(spec, t) > kMinShape * longest))
      fail(spec, fmt::format("triangle {} ({} {} {}) has no area at rest", i, t[0], t[1], t[2]));
  }
  if (const auto unused = std::find(used.begin(), used.end(), 0); unused != used.end())
    fail(spec, fmt::format("vertex {} belongs to no triangle", unused - used.begin()));

  if (pin_colliders != spec.pins.size())
    fail(spec, fmt::format("{} pins but {} colliders for them", spec.pins.size(), pin_colliders));
  for (const Pins& pins : spec.pins)
    for (const int node : pins.nodes)
      if (node < 0 || node >= count) fail(spec, fmt::format("pinned vertex {} is outside 0 ... {}", node, count - 1));
  for (const VertexForce& f : spec.forces)
    if (f.vertex < 0 || f.vertex >= count)
      fail(spec, fmt::format("force on vertex {}, which is outside 0 ... {}", f.vertex, count - 1));
}

SparseBodySpec sparse_spec(const Shell& spec, std::span<const int> pin_collider) {
  check(spec, pin_collider.size());
  SparseBodySpec r;
  r.name = spec.name;
  r.x = spec.mesh.vertices;
  r.mass.assign(r.x.size(), 0.0);
  for (const Eigen::Vector3i& t : spec.mesh.triangles)
    for (int k = 0; k < 3; ++k) r.mass[t[k]] += spec.density * spec.thickness * twice_area(spec, t) / 6;
  r.initial_velocity = spec.initial_velocity;
  std::vector<std::uint8_t> pinned(r.x.size(), 0);
  for (std::size_t i = 0; i < spec.pins.size(); ++i)
    for (const int node : spec.pins[i].nodes)
      if (!std::exchange(pinned[node], std::uint8_t{1})) r.pinned.push_back({node, pin_collider[i]});
  r.forces = spec.forces;
  return r;
}

MembraneModuli<double> moduli_of(const Shell& spec) {
  const double warp = spec.stretch_modulus, weft = spec.weft_modulus > 0 ? spec.weft_modulus : warp;
  const double shear = spec.shear_modulus > 0 ? spec.shear_modulus : 0.5 * (warp + weft) / (2 * (1 + spec.poisson));
  return orthotropic_moduli(warp, weft, shear, spec.poisson);
}

// The rest triangle in coordinates along the warp, as it lies in the triangle's plane, and across it.
RestTriangle<double> make_rest_triangle(const Shell& spec, int index) {
  const Eigen::Vector3i& t = spec.mesh.triangles[index];
  const auto x = rest_vertices(spec);
  const Vec3 e1 = x[t[1]] - x[t[0]], e2 = x[t[2]] - x[t[0]], normal = e1.cross(e2).normalized();
  Vec3 along = spec.warp - spec.warp.dot(normal) * normal;
  if (!(along.norm() > 1e-6 * spec.warp.norm())) {
    const MembraneModuli<double> C = moduli_of(spec);
    if (C.uu != C.vv || std::abs(C.uu - C.uv - 2 * C.shear) > 1e-9 * C.uu)
      fail(spec, fmt::format("the warp is normal to triangle {}", index));
    along = e1;  // isotropic: any direction will do
  }
  along.normalize();
  const Vec3 across = normal.cross(along);
  const double u[3] = {0, e1.dot(along), e2.dot(along)}, v[3] = {0, e1.dot(across), e2.dot(across)};
  return rest_triangle(u, v, spec.thickness);
}

}  // namespace

ShellBody::ShellBody(const Shell& spec, Nodes& nodes, std::span<const int> pin_collider)
    : SparseBody(sparse_spec(spec, pin_collider), nodes),
      moduli_(moduli_of(spec)),
      damping_(spec.damping),
      pressure_(spec.pressure),
      drag_normal_(spec.drag_normal),
      drag_tangential_(spec.drag_tangential) {
  const auto x = rest_vertices(spec);
  // Edges with the vertices opposite to them, in the direction that the first of their triangles has.
  struct Edge {
    std::array<int, 4> nodes{};
    int triangles = 0;
  };
  std::map<std::pair<int, int>, Edge> edges;
  for (int i = 0; i < static_cast<int>(spec.mesh.triangles.size()); ++i) {
    const Eigen::Vector3i& t = spec.mesh.triangles[i];
    triangles_.push_back({t[0], t[1], t[2]});
    rest_triangles_.push_back(make_rest_triangle(spec, i));
    for (int k = 0; k < 3; ++k) {
      const int from = t[k], to = t[(k + 1) % 3], opposite = t[(k + 2) % 3];
      Edge& edge = edges[std::minmax(from, to)];
      if (edge.triangles == 2) fail(spec, fmt::format("edge {} {} has more than two triangles", from, to));
      if (edge.triangles == 0)
        edge.nodes = {from, to, opposite, -1};
      else
        edge.nodes[3] = opposite;
      ++edge.triangles;
    }
  }
  const double nu = spec.poisson, h = spec.thickness;
  const double D = spec.bend_modulus * h * h * h / (12 * (1 - nu * nu));  // flexural rigidity, N m
  for (const auto& [ends, edge] : edges) {
    edges_.push_back({ends.first, ends.second});
    edge_length_.push_back((x[ends.second] - x[ends.first]).norm());
    if (edge.triangles < 2) continue;
    hinges_.push_back(edge.nodes);
    rest_hinges_.push_back(rest_hinge(gather(x, edge.nodes).data(), D));
  }

  const std::size_t triangle_count = triangles_.size(), hinge_count = hinges_.size();
  strain_t_.assign(triangle_count, {0, 0, 0});
  theta_t_.assign(hinge_count, 0.0);
  triangle_energy_.assign(triangle_count, 0.0);
  hinge_energy_.assign(hinge_count, 0.0);
  triangle_gradient_.assign(3 * triangle_count, Vec3::Zero());
  hinge_gradient_.assign(4 * hinge_count, Vec3::Zero());
  triangle_hessian_.assign(ElementScatter<3>::kBlocks * triangle_count, Mat3::Zero());
  hinge_hessian_.assign(ElementScatter<4>::kBlocks * hinge_count, Mat3::Zero());

  std::vector<std::pair<int, int>> pairs;
  ElementScatter<3>::append_pairs(triangles_, pairs);
  ElementScatter<4>::append_pairs(hinges_, pairs);
  set_pattern(std::move(pairs));
  triangle_scatter_.prepare(triangles_, node_count, matrix());
  hinge_scatter_.prepare(hinges_, node_count, matrix());
}

void ShellBody::begin_elastic(std::span<const Vec3> x) {
  for_each_element(triangles_.size(), [&](std::size_t e) {
    strain_t_[e] = green_strain(deformation_gradient(gather(x, triangles_[e]).data(), rest_triangles_[e]));
  });
  for_each_element(hinges_.size(), [&](std::size_t e) {
    theta_t_[e] = hinge_angle(gather(x, hinges_[e]).data(), rest_hinges_[e]).theta;
  });
}

double ShellBody::compute_elements(std::span<const Vec3> x, double ratio, double gradient_scale, double hessian_scale) {
  const double damped = 1 + ratio;
  const MembraneModuli<double> damped_moduli{damped * moduli_.uu, damped * moduli_.vv, damped * moduli_.uv,
                                             damped * moduli_.shear};
  for_each_element(triangles_.size(), [&](std::size_t e) {
    const RestTriangle<double>& rest = rest_triangles_[e];
    const auto F = deformation_gradient(gather(x, triangles_[e]).data(), rest);
    const auto strain = green_strain(F);
    triangle_energy_[e] = membrane_energy(moduli_, rest, strain);
    const auto S = membrane_stress(moduli_, strain + ratio * (strain - strain_t_[e]));
    V gradient[3];
    membrane_gradient(rest, F, S, gradient);
    for (int j = 0; j < 3; ++j) triangle_gradient_[3 * e + j] = gradient_scale * to_vec3(gradient[j]);
    if (hessian_scale == 0) return;
    const auto S_plus = positive_part(S);
    Mat3* blocks = triangle_hessian_.data() + ElementScatter<3>::kBlocks * e;
    for (int j = 0; j < 3; ++j)
      for (int l = 0; l <= j; ++l) {
        Eigen::Matrix<double, 3, 3, Eigen::RowMajor> block;
        membrane_hessian(damped_moduli, rest, F, S_plus, j, l, block.data());
        blocks[ElementScatter<3>::block_index(j, l)] = hessian_scale * block;
      }
  });
  for_each_element(hinges_.size(), [&](std::size_t e) {
    const RestHinge<double>& rest = rest_hinges_[e];
    const auto angle = hinge_angle(gather(x, hinges_[e]).data(), rest);
    const double bend = angle.theta - rest.theta;
    double change = angle.theta - theta_t_[e];
    change -= 2 * std::numbers::pi * std::round(change / (2 * std::numbers::pi));
    hinge_energy_[e] = 0.5 * rest.stiffness * bend * bend;
    const double moment = gradient_scale * rest.stiffness * (bend + ratio * change);
    Vec3 direction[4];
    for (int j = 0; j < 4; ++j) {
      direction[j] = to_vec3(angle.gradient[j]);
      hinge_gradient_[4 * e + j] = moment * direction[j];
    }
    if (hessian_scale == 0) return;
    const double k = hessian_scale * damped * rest.stiffness;
    Mat3* blocks = hinge_hessian_.data() + ElementScatter<4>::kBlocks * e;
    for (int j = 0; j < 4; ++j)
      for (int l = 0; l <= j; ++l)
        blocks[ElementScatter<4>::block_index(j, l)] = k * direction[j] * direction[l].transpose();
  });
  double energy = 0;  // in the order of the elements: the same for any number of threads
  for (const double e : triangle_energy_) energy += e;
  for (const double e : hinge_energy_) energy += e;
  return energy;
}

double ShellBody::add_elastic(std::span<const Vec3> x, std::span<Vec3> g, BlockMatrix* A) {
  const double energy = compute_elements(x, damping_ / dt(), dt(), A ? dt() * dt() : 0.0);
  triangle_scatter_.add_gradient(triangle_gradient_, g);
  hinge_scatter_.add_gradient(hinge_gradient_, g);
  if (A) {
    triangle_scatter_.add_matrix(triangle_hessian_, *A);
    hinge_scatter_.add_matrix(hinge_hessian_, *A);
  }
  return energy;
}

// Pressure follows the surface and its Hessian is indefinite, so A has none of it: on a closed surface it would be
// p ∂²volume/∂x², which Newton can do without as the membrane that carries p is far stiffer. Drag is implicit in v;
// that it turns with the surface is left to the next Newton iteration.
void ShellBody::add_aerodynamic(std::span<const Vec3> x, std::span<const Vec3> v, std::span<Vec3> g, BlockMatrix* A) {
  const bool drag = drag_normal_ > 0 || drag_tangential_ > 0;
  if (pressure_ == 0 && !drag) return;
  for_each_element(triangles_.size(), [&](std::size_t e) {
    const auto& nodes = triangles_[e];
    const V area = area_vector(gather(x, nodes).data());
    Mat3 c;  // symmetric: its order in memory does not matter
    vertex_drag(area, drag_normal_, drag_tangential_, c.data());
    const Vec3 centroid = (x[nodes[0]] + x[nodes[1]] + x[nodes[2]]) / 3;
    const Vec3 wind = drag ? wind_at(*context().world, centroid, context().time_end) : Vec3::Zero();
    Mat3* blocks = triangle_hessian_.data() + ElementScatter<3>::kBlocks * e;
    for (int j = 0; j < 3; ++j) {
      triangle_gradient_[3 * e + j] = -dt() * (pressure_ / 3 * to_vec3(area) + c * (wind - v[nodes[j]]));
      if (!A) continue;
      for (int l = 0; l < j; ++l) blocks[ElementScatter<3>::block_index(j, l)].setZero();
      blocks[ElementScatter<3>::block_index(j, j)] = dt() * c;
    }
  });
  triangle_scatter_.add_gradient(triangle_gradient_, g);
  if (A && drag) triangle_scatter_.add_matrix(triangle_hessian_, *A);
}

double ShellBody::elastic(std::span<const Vec3> x, std::span<Vec3> gradient) {
  std::fill(gradient.begin(), gradient.end(), Vec3::Zero());
  const double energy = compute_elements(x, 0.0, 1.0, 0.0);
  triangle_scatter_.add_gradient(triangle_gradient_, gradient);
  hinge_scatter_.add_gradient(hinge_gradient_, gradient);
  return energy;
}

Sym2<double> ShellBody::stress(int triangle, std::span<const Vec3> x) const {
  const auto F = deformation_gradient(gather(x, triangles_[triangle]).data(), rest_triangles_[triangle]);
  return membrane_stress(moduli_, green_strain(F));
}

double ShellBody::max_stretch(std::span<const Vec3> x) const {
  double worst = 0;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const double length = (x[first_node + edges_[i][1]] - x[first_node + edges_[i][0]]).norm();
    worst = std::max(worst, std::abs(length / edge_length_[i] - 1.0));
  }
  return worst;
}

}  // namespace stiction
