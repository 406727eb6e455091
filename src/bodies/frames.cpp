#include "bodies/frames.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "bodies/strand_body.hpp"

namespace stiction {

namespace {

constexpr double kWeightTolerance = 1e-6;  // of sums of weights, which are then normalised
constexpr double kOwnShare = 0.01;         // of the mass that frames carry by themselves
constexpr int kSamplesPerTask = 32;

using Skinning = std::vector<std::pair<int, double>>;  // node and N_j

[[noreturn]] void fail(const Frames& spec, const std::string& what) {
  throw std::invalid_argument("frames '" + spec.name + "': " + what);
}

struct ShapeFunctions {
  std::vector<int> node;
  std::vector<double> value;
  std::vector<Vec3> gradient;
};

// N_j and ∇N_j at X.
ShapeFunctions shape_functions(const Frames& spec, const Vec3& X, const std::vector<FrameWeight>& weights,
                               const std::string& where) {
  double sum = 0, largest = 0;
  Vec3 gradient_sum = Vec3::Zero();
  for (const FrameWeight& w : weights) {
    if (w.frame < 0 || w.frame >= static_cast<int>(spec.frames.size()))
      fail(spec, where + " names frame " + std::to_string(w.frame) + ", which does not exist");
    sum += w.weight;
    gradient_sum += w.gradient;
    largest = std::max(largest, w.gradient.norm());
  }
  if (!(std::abs(sum - 1) < kWeightTolerance)) fail(spec, "the weights of " + where + " do not sum to one");
  if (!(gradient_sum.norm() <= kWeightTolerance * (largest + 1 / spec.frame_size)))
    fail(spec, "the gradients of the weights of " + where + " do not sum to zero");
  ShapeFunctions r;
  const double inv_h = 1 / spec.frame_size;
  for (const FrameWeight& w : weights) {
    const double weight = w.weight / sum;
    const Vec3 gradient = w.gradient - weight * gradient_sum;
    const Vec3 local = inv_h * (X - spec.frames[w.frame]);
    const double beta[4] = {1 - local.sum(), local[0], local[1], local[2]};
    for (int k = 0; k < 4; ++k) {
      const Vec3 beta_gradient = k == 0 ? Vec3::Constant(-inv_h).eval() : (inv_h * Vec3::Unit(k - 1)).eval();
      r.node.push_back(4 * w.frame + k);
      r.value.push_back(weight * beta[k]);
      r.gradient.push_back(beta[k] * gradient + weight * beta_gradient);
    }
  }
  return r;
}

ShapeFunctions at_sample(const Frames& spec, std::size_t s) {
  return shape_functions(spec, spec.samples[s].position, spec.samples[s].weights, "sample " + std::to_string(s));
}

SparseBodySpec sparse_spec(const Frames& spec, std::span<const int> pin_collider) {
  if (spec.frames.empty()) fail(spec, "there are no frames");
  if (!(spec.frame_size > 0)) fail(spec, "frame_size must be positive");
  if (!(spec.density > 0)) fail(spec, "density must be positive");
  if (spec.surface_weights.size() != spec.surface.vertices.size())
    fail(spec, "surface_weights must be as many as the surface has vertices");
  SparseBodySpec r;
  r.name = spec.name;
  for (const Vec3& X : spec.frames) {
    r.x.push_back(X);
    for (int a = 0; a < 3; ++a) r.x.push_back(X + spec.frame_size * Vec3::Unit(a));
  }
  const int count = static_cast<int>(r.x.size());

  std::map<std::pair<int, int>, double> entries;  // lower triangle of M
  for (std::size_t s = 0; s < spec.samples.size(); ++s) {
    const double V = spec.samples[s].volume;
    if (!(V > 0)) fail(spec, "sample " + std::to_string(s) + " has no volume");
    const double second_moment = std::pow(V, 5.0 / 3.0) / 12;
    const auto add = [&](const ShapeFunctions& n, double density) {
      for (std::size_t p = 0; p < n.node.size(); ++p)
        for (std::size_t q = 0; q < n.node.size(); ++q)
          if (n.node[p] >= n.node[q])
            entries[{n.node[p], n.node[q]}] +=
                density * (V * n.value[p] * n.value[q] + second_moment * n.gradient[p].dot(n.gradient[q]));
    };
    add(at_sample(spec, s), (1 - kOwnShare) * spec.density);
    double positive = 0;
    for (const FrameWeight& w : spec.samples[s].weights) positive += std::max(w.weight, 0.0);
    for (const FrameWeight& w : spec.samples[s].weights)
      if (w.weight > 0)
        add(shape_functions(spec, spec.samples[s].position, {{w.frame, 1.0, Vec3::Zero()}}, ""),
            kOwnShare * spec.density * w.weight / positive);
  }
  std::vector<std::pair<int, int>> pairs;
  pairs.reserve(entries.size());
  for (const auto& [pair, value] : entries) pairs.push_back(pair);
  r.mass_matrix = BlockMatrix::with_pattern(count, std::move(pairs));
  for (const auto& [pair, value] : entries)
    r.mass_matrix.block[r.mass_matrix.find(pair.first, pair.second)] = value * Mat3::Identity();
  SparseCholesky factor;
  factor.analyse(r.mass_matrix);
  bool determined = true;
  for (int j = 0; j < count; ++j) {
    r.mass.push_back(r.mass_matrix.block[r.mass_matrix.column[j]](0, 0));
    determined = determined && r.mass.back() > 0;
  }
  if (!determined || !factor.factor(r.mass_matrix)) fail(spec, "some frame has no mass of its own: it needs samples");

  r.initial_velocity = spec.initial_velocity;
  std::vector<std::uint8_t> pinned(spec.frames.size(), 0);
  for (std::size_t i = 0; i < spec.pins.size(); ++i)
    for (const int frame : spec.pins[i].nodes) {
      if (frame < 0 || frame >= static_cast<int>(spec.frames.size()))
        fail(spec, "a pin names frame " + std::to_string(frame) + ", which does not exist");
      if (std::exchange(pinned[frame], 1)) continue;
      for (int k = 0; k < 4; ++k) r.pinned.push_back({4 * frame + k, pin_collider[i]});
    }
  return r;
}

MaterialConstants constants_of(const Frames& spec) {
  try {
    return material_constants(spec.material, spec.young, spec.poisson);
  } catch (const std::invalid_argument& e) {
    fail(spec, e.what());
  }
}

// Sorts (target, source) into rows of sources, ascending within a target.
void make_rows(const std::vector<std::pair<int, int>>& parts, std::size_t targets, std::vector<int>& first,
               std::vector<int>& from) {
  first.assign(targets + 1, 0);
  for (const auto& part : parts) ++first[part.first + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  from.resize(parts.size());
  std::vector<int> next(first.begin(), first.end() - 1);
  for (const auto& [target, source] : parts) from[next[target]++] = source;
}

constexpr int lower_index(int p, int q) { return p * (p + 1) / 2 + q; }

}  // namespace

FramesBody::FramesBody(const Frames& spec, Nodes& nodes, std::span<const int> pin_collider)
    : SparseBody(sparse_spec(spec, pin_collider), nodes),
      material_(spec.material),
      constants_(constants_of(spec)),
      damping_(spec.damping) {
  std::vector<std::pair<int, int>> pairs;
  const auto couple = [&](const std::vector<int>& coupled) {
    for (const int i : coupled)
      for (const int j : coupled)
        if (i > j) pairs.emplace_back(i, j);
  };
  int blocks = 0;
  for (std::size_t s = 0; s < spec.samples.size(); ++s) {
    const ShapeFunctions n = at_sample(spec, s);
    const int count = static_cast<int>(n.node.size());
    samples_.push_back({spec.samples[s].volume, {}, static_cast<int>(sample_node_.size()), count, blocks});
    blocks += lower_index(count, 0);
    for (int p = 0; p < count; ++p) {
      sample_node_.push_back(n.node[p]);
      gradient_.push_back({n.gradient[p][0], n.gradient[p][1], n.gradient[p][2]});
    }
    couple(n.node);
  }
  for (std::size_t i = 0; i < spec.surface.vertices.size(); ++i) {
    const ShapeFunctions n =
        shape_functions(spec, spec.surface.vertices[i], spec.surface_weights[i], "surface vertex " + std::to_string(i));
    Skinning skin;
    for (std::size_t p = 0; p < n.node.size(); ++p) skin.emplace_back(n.node[p], n.value[p]);
    skin_.push_back(std::move(skin));
    if (spec.drag > 0) couple(n.node);
  }
  for (const Eigen::Vector3i& t : spec.surface.triangles) {  // a point within may be tied to another body
    std::vector<int> coupled;
    for (const int v : t)
      for (const auto& [node, weight] : skin_[v]) coupled.push_back(node);
    couple(coupled);
  }
  local_gradient_.resize(sample_node_.size());
  local_block_.resize(blocks);
  local_energy_.resize(samples_.size());
  set_pattern(std::move(pairs));
  prepare_gather();
  prepare_drag(spec);
}

void FramesBody::prepare_gather() {
  std::vector<std::pair<int, int>> to_node, to_block;
  for (const Sample& s : samples_)
    for (int p = 0; p < s.node_count; ++p) {
      const int i = sample_node_[s.first_node + p];
      to_node.emplace_back(i, s.first_node + p);
      for (int q = 0; q <= p; ++q) {
        const int j = sample_node_[s.first_node + q], source = s.first_block + lower_index(p, q);
        to_block.emplace_back(matrix().find(std::max(i, j), std::min(i, j)), i >= j ? source : ~source);
      }
    }
  make_rows(to_node, node_count, node_first_, node_from_);
  make_rows(to_block, matrix().block.size(), block_first_, block_from_);
}

void FramesBody::prepare_drag(const Frames& spec) {
  vertex_drag_.assign(skin_.size(), 0.0);
  if (spec.drag == 0) return;
  for (const Eigen::Vector3i& t : spec.surface.triangles) {
    const auto& x = spec.surface.vertices;
    const double area = 0.5 * (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]).norm();
    for (int k = 0; k < 3; ++k) vertex_drag_[t[k]] += spec.drag * area / 3;
  }
  std::map<std::pair<int, int>, double> entries;
  for (std::size_t i = 0; i < skin_.size(); ++i)
    for (const auto& [a, wa] : skin_[i])
      for (const auto& [b, wb] : skin_[i])
        if (a >= b) entries[{a, b}] += vertex_drag_[i] * wa * wb;
  for (const auto& [pair, value] : entries)
    drag_.push_back({matrix().find(pair.first, pair.second), pair.first, pair.second, value});
}

void FramesBody::deformation_gradient(const Sample& sample, const Vec3* x, V3<double> (&f)[3]) const {
  // Relative to one of the nodes: Σ ∇N_j = 0, and differences keep their digits far from the origin.
  const Vec3 origin = x[sample_node_[sample.first_node]];
  for (V3<double>& column : f) column = {0, 0, 0};
  for (int p = sample.first_node; p < sample.first_node + sample.node_count; ++p) {
    const Vec3 d = x[sample_node_[p]] - origin;
    for (int a = 0; a < 3; ++a) f[a] = f[a] + gradient_[p][a] * V3<double>{d[0], d[1], d[2]};
  }
}

double FramesBody::max_stretch(std::span<const Vec3> x) const {
  double worst = 0;
  for (const Sample& sample : samples_) {
    V3<double> f[3];
    deformation_gradient(sample, x.data() + first_node, f);
    const Svd3<double> svd = svd3(f);
    for (const double s : svd.s) worst = std::max(worst, std::abs(s - 1));
  }
  return worst;
}

void FramesBody::begin_elastic(std::span<const Vec3> x) {
  if (damping_ == 0) return;
  for (Sample& sample : samples_) {
    V3<double> f[3];
    deformation_gradient(sample, x.data(), f);
    sample.strain_t = green_strain(f);
  }
}

template <Material M>
double FramesBody::compute(const Sample& sample, std::span<const Vec3> x, bool with_matrix) {
  const double ratio = damping_ / dt(), weight = dt() * sample.volume;
  V3<double> f[3];
  deformation_gradient(sample, x.data(), f);
  const Svd3<double> svd = svd3(f);
  Principal<double> elastic = principal<M>(svd.s, constants_);
  Viscous<double> damping{};
  if (ratio > 0) damping = viscous(f, sample.strain_t, ratio * constants_.lame_mu, ratio * constants_.lame_lambda);
  for (int p = sample.first_node; p < sample.first_node + sample.node_count; ++p) {
    V3<double> force = stress_times(svd, elastic, to_frame(svd.v, gradient_[p]));
    if (ratio > 0) force = force + times(f, times(damping.S, gradient_[p]));
    local_gradient_[p] = weight * Vec3(force.x, force.y, force.z);
  }
  if (with_matrix) {
    project_positive(elastic);
    if (ratio > 0) project_positive(damping.S);
    for (int p = 0; p < sample.node_count; ++p) {
      const V3<double>& gp = gradient_[sample.first_node + p];
      const V3<double> frame_p = to_frame(svd.v, gp), moved_p = times(f, gp);
      for (int q = 0; q <= p; ++q) {
        const V3<double>& gq = gradient_[sample.first_node + q];
        Block<double> k = stiffness_block(svd, elastic, frame_p, to_frame(svd.v, gq));
        if (ratio > 0) add_viscous_block(damping, gp, gq, moved_p, times(f, gq), k);
        Mat3& block = local_block_[sample.first_block + lower_index(p, q)];
        for (int r = 0; r < 3; ++r)
          for (int c = 0; c < 3; ++c) block(r, c) = weight * dt() * k.m[3 * r + c];
      }
    }
  }
  return sample.volume * elastic.psi;
}

double FramesBody::add_elastic(std::span<const Vec3> x, std::span<Vec3> g, BlockMatrix* A) {
  with_material(material_, [&](auto material) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, samples_.size(), kSamplesPerTask), [&](const auto& range) {
      for (std::size_t s = range.begin(); s < range.end(); ++s)
        local_energy_[s] = compute<decltype(material)::value>(samples_[s], x, A != nullptr);
    });
  });
  for (int i = 0; i < node_count; ++i)
    for (int k = node_first_[i]; k < node_first_[i + 1]; ++k) g[i] += local_gradient_[node_from_[k]];
  if (A)
    tbb::parallel_for(std::size_t{0}, A->block.size(), [&](std::size_t b) {
      for (int k = block_first_[b]; k < block_first_[b + 1]; ++k) {
        const int source = block_from_[k];
        if (source >= 0)
          A->block[b] += local_block_[source];
        else
          A->block[b] += local_block_[~source].transpose();
      }
    });
  return std::accumulate(local_energy_.begin(), local_energy_.end(), 0.0);
}

// Drag c (wind - v) on each vertex of the surface; its matrix Σ c N_i N_j does not change.
void FramesBody::add_aerodynamic(std::span<const Vec3> x, std::span<const Vec3> v, std::span<Vec3> g, BlockMatrix* A) {
  if (drag_.empty()) return;
  for (const Drag& d : drag_) {
    g[d.i] += dt() * d.value * v[d.j];
    if (d.i != d.j) g[d.j] += dt() * d.value * v[d.i];
    if (A) A->block[d.block].diagonal().array() += dt() * d.value;
  }
  for (std::size_t i = 0; i < skin_.size(); ++i) {
    Vec3 position = Vec3::Zero();
    for (const auto& [j, w] : skin_[i]) position += w * x[j];
    const Vec3 impulse = dt() * vertex_drag_[i] * wind_at(*context().world, position, context().time_end);
    for (const auto& [j, w] : skin_[i]) g[j] -= w * impulse;
  }
}

}  // namespace stiction
