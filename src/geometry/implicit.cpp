#include "geometry/implicit.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "geometry/remesh.hpp"
#include "geometry/tet_mesh.hpp"

namespace stiction {

namespace {

/// The smaller of two numbers, rounded off by at most blend / 4 where they differ by less than `blend`.
double smooth_min(double a, double b, double blend) {
  if (blend <= 0) return std::min(a, b);
  const double h = std::max(blend - std::abs(a - b), 0.0) / blend;
  return std::min(a, b) - 0.25 * blend * h * h;
}

}  // namespace

Field field_sphere(const Vec3& centre, double radius) {
  return [=](const Vec3& x) { return (x - centre).norm() - radius; };
}

Field field_ellipsoid(const Vec3& centre, const Vec3& semi_axes, const Quat& rotation) {
  const Mat3 to_local = rotation.toRotationMatrix().transpose();
  return [=](const Vec3& x) {
    const Vec3 unit = (to_local * (x - centre)).cwiseQuotient(semi_axes);
    const double k = unit.norm(), slope = unit.cwiseQuotient(semi_axes).norm();
    if (k < 1e-9) return -semi_axes.minCoeff();
    return k * (k - 1) / slope;  // first order exact on the surface
  };
}

Field field_capsule(const Vec3& a, const Vec3& b, double radius_a, double radius_b) {
  const Vec3 axis = b - a;
  const double length = axis.norm();
  if (length <= std::abs(radius_a - radius_b))
    return radius_a > radius_b ? field_sphere(a, radius_a) : field_sphere(b, radius_b);
  const Vec3 along = axis / length;
  const double sine = (radius_a - radius_b) / length, cosine = std::sqrt(1 - sine * sine);
  return [=](const Vec3& x) {
    const Vec3 r = x - a;
    const double height = r.dot(along), width = (r - height * along).norm();
    const double s = height - width * sine / cosine;  // foot of the cone's normal through x, on the axis
    if (s <= 0) return r.norm() - radius_a;
    if (s >= length) return (x - b).norm() - radius_b;
    return width * cosine + height * sine - radius_a;
  };
}

Field field_half_space(const Vec3& point, const Vec3& normal) {
  const Vec3 n = normal.normalized();
  return [=](const Vec3& x) { return n.dot(x - point); };
}

Field field_union(std::vector<Field> parts, double blend) {
  if (parts.empty()) throw std::invalid_argument("a union needs parts");
  return [parts = std::move(parts), blend](const Vec3& x) {
    double value = parts[0](x);
    for (size_t i = 1; i < parts.size(); ++i) value = smooth_min(value, parts[i](x), blend);
    return value;
  };
}

Field field_intersection(Field a, Field b, double blend) {
  return [a = std::move(a), b = std::move(b), blend](const Vec3& x) { return -smooth_min(-a(x), -b(x), blend); };
}

Field field_difference(Field a, Field b, double blend) {
  return [a = std::move(a), b = std::move(b), blend](const Vec3& x) { return -smooth_min(-a(x), b(x), blend); };
}

Field field_offset(Field field, double distance) {
  return [field = std::move(field), distance](const Vec3& x) { return field(x) - distance; };
}

Field field_mirrored_y(Field field) {
  return [field = std::move(field)](const Vec3& x) { return std::min(field(x), field({x.x(), -x.y(), x.z()})); };
}

Vec3 field_gradient(const Field& field, const Vec3& x, double h) {
  Vec3 gradient;
  for (int a = 0; a < 3; ++a) {
    const Vec3 step = h * Vec3::Unit(a);
    gradient[a] = (field(x + step) - field(x - step)) / (2 * h);
  }
  return gradient;
}

namespace {

std::uint64_t edge_key(int i, int j) {
  return (static_cast<std::uint64_t>(std::min(i, j)) << 32) | static_cast<std::uint32_t>(std::max(i, j));
}

/// Vertices on the edges of a mesh where a quantity changes sign, each made once.
class CrossingVertices {
 public:
  /// The vertex between `i` at `xi` with value `vi` and `j`. Kept off the ends, where it would coincide with others.
  int between(int i, const Vec3& xi, double vi, int j, const Vec3& xj, double vj, std::vector<Vec3>& vertices) {
    const auto [entry, made] = index_.try_emplace(edge_key(i, j), static_cast<int>(vertices.size()));
    if (made) vertices.push_back(xi + std::clamp(vi / (vi - vj), 0.05, 0.95) * (xj - xi));
    return entry->second;
  }

 private:
  std::unordered_map<std::uint64_t, int> index_;
};

TriangleMesh march(const Field& field, const TetLattice& lattice) {
  std::vector<double> value(lattice.vertex_count());
  tbb::parallel_for(0, lattice.vertex_count(), [&](int v) { value[v] = field(lattice.vertex(v)); });

  TriangleMesh mesh;
  CrossingVertices crossings;
  lattice.for_all_tets([&](int, const Eigen::Vector4i& tet) {
    // Inside vertices first, by an even permutation, so that the tet keeps its orientation.
    std::array<int, 4> v = {tet[0], tet[1], tet[2], tet[3]};
    const auto inside = [&](int i) { return value[v[i]] < 0; };
    const auto count = (inside(0) ? 1 : 0) + (inside(1) ? 1 : 0) + (inside(2) ? 1 : 0) + (inside(3) ? 1 : 0);
    if (count == 0 || count == 4) return;
    int swaps = 0;
    for (int i = 0; i < count; ++i) {
      for (int j = i; !inside(i); ++j) {
        if (!inside(j)) continue;
        std::swap(v[i], v[j]);
        ++swaps;
      }
    }
    if (swaps % 2 == 1) count >= 2 ? std::swap(v[0], v[1]) : std::swap(v[2], v[3]);
    const auto cut = [&](int i, int j) {
      return crossings.between(v[i], lattice.vertex(v[i]), value[v[i]], v[j], lattice.vertex(v[j]), value[v[j]],
                               mesh.vertices);
    };
    if (count == 1) {
      mesh.triangles.emplace_back(cut(0, 1), cut(0, 2), cut(0, 3));
    } else if (count == 3) {
      mesh.triangles.emplace_back(cut(0, 3), cut(1, 3), cut(2, 3));
    } else {
      const int a = cut(0, 2), b = cut(0, 3), c = cut(1, 3), d = cut(1, 2);
      mesh.triangles.emplace_back(a, b, c);
      mesh.triangles.emplace_back(a, c, d);
    }
  });
  return mesh;
}

/// The part of a mesh where `keep` is negative.
TriangleMesh clip(const TriangleMesh& mesh, const Field& keep) {
  TriangleMesh part;
  std::vector<double> value;
  std::vector<int> number(mesh.vertices.size(), -1);
  for (const Vec3& x : mesh.vertices) {
    const double k = keep(x);
    if (k < 0) {
      number[value.size()] = static_cast<int>(part.vertices.size());
      part.vertices.push_back(x);
    }
    value.push_back(k);
  }
  CrossingVertices crossings;
  for (Eigen::Vector3i t : mesh.triangles) {
    const auto cut = [&](int i, int j) {
      return crossings.between(t[i], mesh.vertices[t[i]], value[t[i]], t[j], mesh.vertices[t[j]], value[t[j]],
                               part.vertices);
    };
    const int inside = (number[t[0]] >= 0 ? 1 : 0) + (number[t[1]] >= 0 ? 1 : 0) + (number[t[2]] >= 0 ? 1 : 0);
    if (inside == 3) part.triangles.emplace_back(number[t[0]], number[t[1]], number[t[2]]);
    if (inside != 1 && inside != 2) continue;
    while (!((number[t[0]] >= 0) == (inside == 1) && (number[t[1]] >= 0) == (number[t[2]] >= 0))) {
      t = Eigen::Vector3i(t[1], t[2], t[0]);  // the one that differs from the other two first
    }
    const int b = cut(0, 1), c = cut(0, 2);
    if (inside == 1) {
      part.triangles.emplace_back(number[t[0]], b, c);
    } else {
      part.triangles.emplace_back(b, number[t[1]], number[t[2]]);
      part.triangles.emplace_back(b, number[t[2]], c);
    }
  }
  return part;
}

/// The component of a mesh with the most triangles: cuts that graze the surface leave crumbs.
TriangleMesh largest_component(const TriangleMesh& mesh) {
  std::vector<int> label(mesh.vertices.size());
  std::iota(label.begin(), label.end(), 0);
  const auto find = [&](int v) {
    while (label[v] != v) v = label[v] = label[label[v]];
    return v;
  };
  for (const Eigen::Vector3i& t : mesh.triangles) {
    label[find(t[1])] = find(t[0]);
    label[find(t[2])] = find(t[0]);
  }
  std::vector<int> size(mesh.vertices.size(), 0);
  for (const Eigen::Vector3i& t : mesh.triangles) ++size[find(t[0])];
  const auto largest = static_cast<int>(std::max_element(size.begin(), size.end()) - size.begin());

  TriangleMesh part;
  std::vector<int> number(mesh.vertices.size(), -1);
  for (int v = 0; v < static_cast<int>(number.size()); ++v) {
    if (find(v) != largest) continue;
    number[v] = static_cast<int>(part.vertices.size());
    part.vertices.push_back(mesh.vertices[v]);
  }
  for (const Eigen::Vector3i& t : mesh.triangles) {
    if (number[t[0]] >= 0) part.triangles.emplace_back(number[t[0]], number[t[1]], number[t[2]]);
  }
  return part;
}

double area(const TriangleMesh& mesh) {
  double sum = 0;
  const std::vector<Vec3>& x = mesh.vertices;
  for (const Eigen::Vector3i& t : mesh.triangles) sum += 0.5 * (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]).norm();
  return sum;
}

TriangleMesh raw_surface(const Field& field, const Field* keep, const Box& box, double cell) {
  TriangleMesh mesh = march(field, TetLattice(box, cell));
  if (keep != nullptr) mesh = clip(mesh, *keep);
  if (mesh.triangles.empty()) throw std::invalid_argument("the box holds no surface");
  return keep != nullptr ? largest_component(mesh) : mesh;
}

constexpr int rounds = 6;
constexpr double coarsest_lattice = 56;   // cells along the box, so that clefts are not bridged in coarse meshes
constexpr double lattice_per_edge = 0.8;  // finer than the mesh: its edges are then of about half the length

/// The surface with an exact number of vertices, given by a function of the Euler characteristic.
template <typename Count>
TriangleMesh with_vertices(const Field& field, const Field* keep, const Box& box, double adaptivity,
                           const Count& vertices_for) {
  const Vec3 size = box.hi - box.lo;
  const auto characteristic = [](const TriangleMesh& mesh) {  // V - E + F
    std::vector<std::uint64_t> edges;
    for (const Eigen::Vector3i& t : mesh.triangles) {
      for (int i = 0; i < 3; ++i) edges.push_back(edge_key(t[i], t[(i + 1) % 3]));
    }
    std::sort(edges.begin(), edges.end());
    const auto count = std::unique(edges.begin(), edges.end()) - edges.begin();
    return static_cast<int>(mesh.vertices.size()) - static_cast<int>(count) + static_cast<int>(mesh.triangles.size());
  };

  // An equilateral mesh has two faces a vertex, of √3/4 edge² each.
  const double coarse_area = area(raw_surface(field, keep, box, size.maxCoeff() / coarsest_lattice));
  double edge = std::sqrt(2 / std::sqrt(3.0) * coarse_area / std::max(vertices_for(2), 4));
  const double cell = std::min(lattice_per_edge * edge, size.maxCoeff() / coarsest_lattice);
  const TriangleMesh raw = raw_surface(field, keep, box, cell);
  const int target = std::max(vertices_for(characteristic(raw)), 4);

  Remesher remesher(raw, {field, keep, 1e-3 * edge}, adaptivity);
  for (int attempt = 0; attempt < 4; ++attempt) {
    remesher.remesh(edge, attempt == 0 ? rounds : 2);
    const double ratio = static_cast<double>(remesher.vertex_count()) / target;
    if (std::abs(ratio - 1) < 0.02) break;
    edge *= std::sqrt(ratio);
  }
  remesher.reach(target);
  remesher.finish();
  return remesher.result();
}

}  // namespace

TriangleMesh polygonise(const Field& field, const Box& box, double edge) {
  if (!(edge > 0)) throw std::invalid_argument("polygonise needs a positive edge");
  Remesher remesher(raw_surface(field, nullptr, box, lattice_per_edge * edge), {field, nullptr, 1e-3 * edge}, 0);
  remesher.remesh(edge, rounds);
  remesher.finish();
  return remesher.result();
}

TriangleMesh polygonise_with(const Field& field, const Box& box, int target_faces, double adaptivity) {
  // V - E + F and 3 F = 2 E
  return with_vertices(field, nullptr, box, adaptivity,
                       [&](int characteristic) { return target_faces / 2 + characteristic; });
}

TriangleMesh polygonise_part_with(const Field& field, const Field& keep, const Box& box, int target_vertices) {
  return with_vertices(field, &keep, box, 0, [&](int) { return target_vertices; });
}

}  // namespace stiction
