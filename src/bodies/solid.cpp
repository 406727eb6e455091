#include "bodies/solid.hpp"

#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/parallel_for.h>

#include <Eigen/LU>
#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>

namespace stiction {

namespace {

constexpr int kBatchesPerTask = 32;  // some 50 microseconds of work

[[noreturn]] void fail(const Solid& spec, const std::string& what) {
  throw std::invalid_argument("solid '" + spec.name + "': " + what);
}

const std::vector<Vec3>& rest_of(const Solid& spec) {
  return spec.rest_vertices.empty() ? spec.mesh.vertices : spec.rest_vertices;
}

Mat3 rest_edges(const Solid& spec, const Eigen::Vector4i& tet) {
  const std::vector<Vec3>& rest = rest_of(spec);
  Mat3 edges;
  for (int j = 0; j < 3; ++j) edges.col(j) = rest[tet[j + 1]] - rest[tet[0]];
  return edges;
}

void check(const Solid& spec) {
  const int count = static_cast<int>(spec.mesh.vertices.size());
  if (spec.mesh.tets.empty()) fail(spec, "the mesh has no tets");
  if (rest_of(spec).size() != spec.mesh.vertices.size())
    fail(spec, "rest_vertices must be as many as the mesh has vertices");
  if (!(spec.density > 0)) fail(spec, "density must be positive");
  std::vector<std::uint8_t> used(count, 0);
  for (std::size_t e = 0; e < spec.mesh.tets.size(); ++e) {
    const Eigen::Vector4i& tet = spec.mesh.tets[e];
    if (tet.minCoeff() < 0 || tet.maxCoeff() >= count)
      fail(spec, "tet " + std::to_string(e) + " names a vertex that does not exist");
    const Mat3 edges = rest_edges(spec, tet);
    const double size = edges.col(0).norm() * edges.col(1).norm() * edges.col(2).norm();
    if (!(edges.determinant() > 1e-12 * size))
      fail(spec, "tet " + std::to_string(e) + " is inverted or has no volume at rest");
    for (int j = 0; j < 4; ++j) used[tet[j]] = 1;
  }
  const auto idle = std::find(used.begin(), used.end(), 0);
  if (idle != used.end()) fail(spec, "vertex " + std::to_string(idle - used.begin()) + " belongs to no tet");
  for (const Pins& pins : spec.pins)
    for (const int i : pins.nodes)
      if (i < 0 || i >= count) fail(spec, "a pin names vertex " + std::to_string(i) + ", which does not exist");
  for (const VertexForce& force : spec.forces)
    if (force.vertex < 0 || force.vertex >= count)
      fail(spec, "a force names vertex " + std::to_string(force.vertex) + ", which does not exist");
}

SparseBodySpec sparse_spec(const Solid& spec, std::span<const int> pin_collider) {
  check(spec);
  SparseBodySpec r;
  r.name = spec.name;
  r.x = spec.mesh.vertices;
  r.mass.assign(r.x.size(), 0.0);
  for (const Eigen::Vector4i& tet : spec.mesh.tets) {
    const double quarter = spec.density * rest_edges(spec, tet).determinant() / 24;
    for (int j = 0; j < 4; ++j) r.mass[tet[j]] += quarter;
  }
  r.initial_velocity = spec.initial_velocity;
  std::vector<std::uint8_t> pinned(r.x.size(), 0);
  for (std::size_t i = 0; i < spec.pins.size(); ++i)
    for (const int node : spec.pins[i].nodes)
      if (!std::exchange(pinned[node], 1)) r.pinned.push_back({node, pin_collider[i]});
  r.forces = spec.forces;
  return r;
}

MaterialConstants constants_of(const Solid& spec) {
  try {
    return material_constants(spec.material, spec.young, spec.poisson);
  } catch (const std::invalid_argument& e) {
    fail(spec, e.what());
  }
}

V3<PackD> gather(std::span<const Vec3> x, const std::array<int, kLanes>& node) {
  V3<PackD> r;
  for (int lane = 0; lane < kLanes; ++lane) {
    const Vec3& value = x[node[lane]];
    r.x.set(lane, value[0]);
    r.y.set(lane, value[1]);
    r.z.set(lane, value[2]);
  }
  return r;
}

// Columns of F = Σ_j (x_j - x_0) grad_jᵀ.
void deformation_gradient(const V3<PackD> (&gradient)[3], std::span<const Vec3> x,
                          const std::array<std::array<int, kLanes>, 4>& node, V3<PackD> (&f)[3]) {
  const V3<PackD> x0 = gather(x, node[0]);
  const V3<PackD> d[3] = {gather(x, node[1]) - x0, gather(x, node[2]) - x0, gather(x, node[3]) - x0};
  for (int a = 0; a < 3; ++a) f[a] = gradient[0][a] * d[0] + gradient[1][a] * d[1] + gradient[2][a] * d[2];
}

void add_to(Block<PackD>& sum, const Block<PackD>& part) {
  for (int i = 0; i < 9; ++i) sum.m[i] += part.m[i];
}
Block<PackD> transposed(const Block<PackD>& k) {
  return {{k.m[0], k.m[3], k.m[6], k.m[1], k.m[4], k.m[7], k.m[2], k.m[5], k.m[8]}};
}
Block<PackD> negated(const Block<PackD>& k) {
  return {{-k.m[0], -k.m[1], -k.m[2], -k.m[3], -k.m[4], -k.m[5], -k.m[6], -k.m[7], -k.m[8]}};
}

}  // namespace

// What elements give before it is summed. Bodies that are assembled one after the other share one, so that it stays in
// the cache.
struct SolidBody::Workspace {
  std::vector<Vec3> gradient;  // dt ∂E/∂x, 4 a tet
  std::vector<Mat3> blocks;    // 10 a tet
  std::vector<double> energy;  // a tet

  void reserve(std::size_t tets, bool with_matrix) {
    if (energy.size() < tets) {
      gradient.resize(4 * tets);
      energy.resize(tets);
    }
    if (with_matrix && blocks.size() < 10 * tets) blocks.resize(10 * tets);
  }

  // Lends a workspace for the duration of a scope.
  class Loan {
   public:
    Loan() {
      if (!idle().try_pop(work_)) work_ = std::make_unique<Workspace>();
    }
    ~Loan() { idle().push(std::move(work_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Workspace& operator*() const { return *work_; }

   private:
    static tbb::concurrent_queue<std::unique_ptr<Workspace>>& idle() {
      static tbb::concurrent_queue<std::unique_ptr<Workspace>> queue;
      return queue;
    }
    std::unique_ptr<Workspace> work_;
  };
};

SolidBody::SolidBody(const Solid& spec, Nodes& nodes, std::span<const int> pin_collider)
    : SparseBody(sparse_spec(spec, pin_collider), nodes),
      material_(spec.material),
      constants_(constants_of(spec)),
      damping_(spec.damping),
      mass_damping_(spec.mass_damping),
      lumped_(nodes.m.begin() + first_node, nodes.m.begin() + first_node + node_count),
      tet_count_(spec.mesh.tets.size()) {
  batches_.resize((tet_count_ + kLanes - 1) / kLanes);
  std::vector<std::array<int, 4>> elements;
  for (std::size_t e = 0; e < batches_.size() * kLanes; ++e) {
    // Lanes after the last tet repeat it without volume.
    const Eigen::Vector4i& tet = spec.mesh.tets[std::min(e, tet_count_ - 1)];
    const Mat3 edges = rest_edges(spec, tet), inverse = edges.inverse();
    Batch& batch = batches_[e / kLanes];
    const int lane = static_cast<int>(e % kLanes);
    for (int j = 0; j < 3; ++j)
      for (int a = 0; a < 3; ++a) batch.gradient[j][a].set(lane, inverse(j, a));
    batch.volume.set(lane, e < tet_count_ ? edges.determinant() / 6 : 0.0);
    for (int j = 0; j < 4; ++j) batch.node[j][lane] = tet[j];
    if (e < tet_count_) elements.push_back({tet[0], tet[1], tet[2], tet[3]});
  }

  std::vector<std::pair<int, int>> pairs;
  ElementScatter<4>::append_pairs(elements, pairs);
  for (auto& [a, b] : pairs)
    if (a > b) std::swap(a, b);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (const auto& [a, b] : pairs) edges_.push_back({a, b, (rest_of(spec)[a] - rest_of(spec)[b]).norm()});
  set_pattern(std::move(pairs));
  scatter_.prepare(elements, node_count, matrix());
}

double SolidBody::max_stretch(std::span<const Vec3> x) const {
  double worst = 0;
  for (const Edge& e : edges_)
    worst = std::max(worst, std::abs((x[first_node + e.a] - x[first_node + e.b]).norm() / e.length - 1.0));
  return worst;
}

void SolidBody::begin_elastic(std::span<const Vec3> x) {
  if (damping_ == 0) return;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, batches_.size(), kBatchesPerTask), [&](const auto& range) {
    for (std::size_t b = range.begin(); b < range.end(); ++b) {
      V3<PackD> f[3];
      deformation_gradient(batches_[b].gradient, x, batches_[b].node, f);
      batches_[b].strain_t = green_strain(f);
    }
  });
}

template <Material M>
void SolidBody::compute(const Batch& batch, std::size_t index, std::span<const Vec3> x, bool with_matrix,
                        Workspace& work) const {
  const double ratio = damping_ / dt();
  V3<PackD> f[3];
  deformation_gradient(batch.gradient, x, batch.node, f);
  const Svd3<PackD> svd = svd3(f);
  Principal<PackD> elastic = principal<M>(svd.s, constants_);
  Viscous<PackD> damping;
  if (ratio > 0)
    damping = viscous(f, batch.strain_t, PackD(ratio * constants_.lame_mu), PackD(ratio * constants_.lame_lambda));

  // Nodal values of all lanes, then turned into one tet after the other.
  constexpr int kGradients = 12, kEntries = kGradients + 90;
  PackD out[kEntries];
  V3<PackD> frame[3];
  V3<PackD> sum{PackD(0.0), PackD(0.0), PackD(0.0)};
  const PackD weight = PackD(dt()) * batch.volume;
  for (int j = 0; j < 3; ++j) {
    frame[j] = to_frame(svd.v, batch.gradient[j]);
    V3<PackD> force = stress_times(svd, elastic, frame[j]);
    if (ratio > 0) force = force + times(f, times(damping.S, batch.gradient[j]));
    for (int a = 0; a < 3; ++a) out[3 * (j + 1) + a] = weight * force[a];
    sum = sum + force;
  }
  for (int a = 0; a < 3; ++a) out[a] = -(weight * sum[a]);

  if (with_matrix) {
    project_positive(elastic);
    if (ratio > 0) project_positive(damping.S);
    const PackD weight2 = PackD(dt()) * weight;
    V3<PackD> moved[3];  // F grad_j
    for (int j = 0; j < 3; ++j) moved[j] = times(f, batch.gradient[j]);
    Block<PackD> k[ElementScatter<4>::kBlocks] = {};
    const auto at = [&](int p, int q) -> Block<PackD>& { return k[ElementScatter<4>::block_index(p, q)]; };
    for (int p = 1; p < 4; ++p)
      for (int q = 1; q <= p; ++q) {
        Block<PackD> block = stiffness_block(svd, elastic, frame[p - 1], frame[q - 1]);
        if (ratio > 0)
          add_viscous_block(damping, batch.gradient[p - 1], batch.gradient[q - 1], moved[p - 1], moved[q - 1], block);
        for (PackD& entry : block.m) entry *= weight2;
        at(p, q) = block;
        // The shape functions sum to one: so do the rows of the matrix, to zero.
        const Block<PackD> minus = negated(block);
        add_to(at(p, 0), minus);
        if (p != q) add_to(at(q, 0), transposed(minus));
      }
    for (int p = 1; p < 4; ++p) add_to(at(0, 0), transposed(negated(at(p, 0))));
    for (int b = 0; b < ElementScatter<4>::kBlocks; ++b)
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) out[kGradients + 9 * b + 3 * c + r] = k[b].m[3 * r + c];
  }

  const std::size_t first = index * kLanes;
  const int lanes = static_cast<int>(std::min<std::size_t>(kLanes, tet_count_ - first));
  const PackD energy = batch.volume * elastic.psi;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::size_t e = first + lane;
    work.energy[e] = energy[lane];
    double* gradient = work.gradient[4 * e].data();
    for (int i = 0; i < kGradients; ++i) gradient[i] = out[i][lane];
    if (!with_matrix) continue;
    double* block = work.blocks[10 * e].data();
    for (int i = 0; i < 90; ++i) block[i] = out[kGradients + i][lane];
  }
}

double SolidBody::add_elastic(std::span<const Vec3> x, std::span<Vec3> g, BlockMatrix* A) {
  const Workspace::Loan loan;
  Workspace& work = *loan;
  work.reserve(tet_count_, A != nullptr);
  with_material(material_, [&](auto material) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, batches_.size(), kBatchesPerTask), [&](const auto& range) {
      for (std::size_t b = range.begin(); b < range.end(); ++b)
        compute<decltype(material)::value>(batches_[b], b, x, A != nullptr, work);
    });
  });
  scatter_.add_gradient(std::span(work.gradient).first(4 * tet_count_), g);
  if (A) scatter_.add_matrix(std::span(work.blocks).first(10 * tet_count_), *A);
  return std::accumulate(work.energy.begin(), work.energy.begin() + static_cast<std::ptrdiff_t>(tet_count_), 0.0);
}

void SolidBody::add_aerodynamic(std::span<const Vec3> /*x*/, std::span<const Vec3> v, std::span<Vec3> g,
                                BlockMatrix* A) {
  if (mass_damping_ == 0) return;
  for (int i = 0; i < node_count; ++i) {
    const double weight = dt() * mass_damping_ * lumped_[i];
    g[i] += weight * v[i];
    if (A) A->block[A->column[i]].diagonal().array() += weight;
  }
}

}  // namespace stiction
