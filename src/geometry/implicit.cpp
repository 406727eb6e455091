#include "geometry/implicit.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <utility>

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

/// Where a mesh's vertices belong: on field = 0, those of the boundary on keep = 0 as well.
struct Target {
  const Field& field;
  const Field* keep;  // null: no boundary
  double step;        // of central differences, m

  Vec3 normal(const Vec3& x) const { return field_gradient(field, x, step).normalized(); }

  Vec3 project(Vec3 x, bool boundary) const {
    for (int i = 0; i < 6; ++i) {
      const Vec3 g = field_gradient(field, x, step);
      const double f = field(x), gg = g.squaredNorm();
      if (gg < 1e-12) return x;
      Vec3 move = -f / gg * g;
      if (boundary && keep != nullptr) {  // the least move with g·move = -f and k·move = -keep
        const Vec3 k = field_gradient(*keep, x, step);
        const double gk = g.dot(k), kk = k.squaredNorm(), det = gg * kk - gk * gk, value = (*keep)(x);
        if (det > 1e-4 * gg * kk) move = (-(f * kk - value * gk) * g - (value * gg - f * gk) * k) / det;
      }
      x += move;
      if (move.norm() < 1e-4 * step) break;  // and the next would be of the square of that
    }
    return x;
  }
};

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

/// Local operations on a manifold, each of which keeps it one.
class Remesher {
 public:
  Remesher(const TriangleMesh& mesh, const Target& target, double adaptivity)
      : target_(target), adaptivity_(adaptivity), x_(mesh.vertices), faces_of_(x_.size()), boundary_(x_.size(), 0) {
    for (const Eigen::Vector3i& t : mesh.triangles) add_face(t);
    for (int v = 0; v < static_cast<int>(x_.size()); ++v) {
      for (const int f : faces_of_[v]) {
        const int next = next_vertex(f, v);
        if (edge_faces(v, next).size() == 1) boundary_[v] = boundary_[next] = 1;
      }
    }
    normal_.resize(x_.size());
    for (int v = 0; v < static_cast<int>(x_.size()); ++v) place(v, x_[v]);
    live_vertices_ = static_cast<int>(x_.size());
  }

  int vertex_count() const { return live_vertices_; }

  void remesh(double edge, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (const Edge& e : edges([&](double length) { return length > 4.0 / 3 * edge; }, true)) split(e.a, e.b);
      for (const Edge& e : edges([&](double length) { return length < 4.0 / 5 * edge; }, false)) {
        collapse(e.a, e.b, 4.0 / 3 * edge);
      }
      improve();
    }
  }

  /// Collapses the shortest edges or splits the longest until `count` vertices are left, or none can go.
  void reach(int count) {
    constexpr double any_length = 1e300;
    const auto all = [](double) { return true; };
    while (live_vertices_ != count) {
      const int before = live_vertices_;
      int batch = std::max(1, std::abs(live_vertices_ - count) / 4);
      if (live_vertices_ > count) {
        for (const Edge& e : edges(all, false)) {
          if (batch > 0 && collapse(e.a, e.b, any_length)) --batch;
        }
      } else {
        for (const Edge& e : edges(all, true)) {
          if (batch-- <= 0) break;
          split(e.a, e.b);
        }
      }
      if (live_vertices_ == before) return;
      improve();
    }
  }

  /// Flips and smooths, first towards even valence and then towards wide angles; keeps the numbers of all elements.
  void finish() {
    for (int round = 0; round < 6; ++round) improve();
    for (int round = 0; round < 4; ++round) {
      flip_all([this](const Diamond& d) { return widens_angles(d); });
      smooth();
    }
    flip_all([this](const Diamond& d) { return widens_angles(d); });
  }

  TriangleMesh result() const {
    TriangleMesh mesh;
    std::vector<int> number(x_.size(), -1);
    for (size_t v = 0; v < x_.size(); ++v) {
      if (faces_of_[v].empty()) continue;
      number[v] = static_cast<int>(mesh.vertices.size());
      mesh.vertices.push_back(x_[v]);
    }
    for (const Eigen::Vector3i& t : faces_) {
      if (t[0] >= 0) mesh.triangles.emplace_back(number[t[0]], number[t[1]], number[t[2]]);
    }
    return mesh;
  }

 private:
  struct Edge {
    int a, b;
    double length;
  };

  /// Edges whose length `wanted` accepts, in order of length.
  template <typename Wanted>
  std::vector<Edge> edges(const Wanted& wanted, bool longest_first) const {
    std::vector<Edge> found;
    for (const Eigen::Vector3i& t : faces_) {
      if (t[0] < 0) continue;
      for (int i = 0; i < 3; ++i) {
        const int a = t[i], b = t[(i + 1) % 3];
        if (a > b && edge_faces(a, b).size() > 1) continue;  // seen from the other side
        const double length = measure(x_[a], normal_[a], x_[b], normal_[b]);
        if (wanted(length)) found.push_back({a, b, length});
      }
    }
    std::stable_sort(found.begin(), found.end(), [&](const Edge& p, const Edge& q) {
      return longest_first ? p.length > q.length : p.length < q.length;
    });
    return found;
  }

  /// The length that edges are judged by: those that bend count as longer.
  double measure(const Vec3& a, const Vec3& normal_a, const Vec3& b, const Vec3& normal_b) const {
    const double bend = 2 * std::asin(std::min(0.5 * (normal_a - normal_b).norm(), 1.0));
    return (a - b).norm() * (1 + adaptivity_ * std::min(bend, 1.0));  // creases have no end
  }

  void add_face(const Eigen::Vector3i& t) {
    for (const int v : t) faces_of_[v].push_back(static_cast<int>(faces_.size()));
    faces_.push_back(t);
  }

  void detach(int v, int f) { std::erase(faces_of_[v], f); }

  bool has(int f, int v) const { return faces_[f][0] == v || faces_[f][1] == v || faces_[f][2] == v; }

  /// The vertex after v in face f.
  int next_vertex(int f, int v) const {
    const Eigen::Vector3i& t = faces_[f];
    return t[0] == v ? t[1] : t[1] == v ? t[2] : t[0];
  }

  int third_vertex(int f, int a, int b) const { return faces_[f].sum() - a - b; }

  std::vector<int> edge_faces(int a, int b) const {
    std::vector<int> found;
    for (const int f : faces_of_[a]) {
      if (has(f, b)) found.push_back(f);
    }
    return found;
  }

  std::vector<int> neighbours(int v) const {
    std::vector<int> found;
    for (const int f : faces_of_[v]) {
      for (const int w : faces_[f]) {
        if (w != v) found.push_back(w);
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  void place(int v, const Vec3& x) {
    x_[v] = target_.project(x, boundary_[v] != 0);
    normal_[v] = target_.normal(x_[v]);
  }

  /// The point of the surface over the middle of an edge, or the middle itself where the field leads astray.
  Vec3 middle(int a, int b, bool boundary) const {
    const Vec3 x = 0.5 * (x_[a] + x_[b]), projected = target_.project(x, boundary);
    return (projected - x).norm() < 0.5 * (x_[a] - x_[b]).norm() ? projected : x;
  }

  /// Cosine between a triangle with these corners and the surface there.
  double uprightness(const std::array<int, 3>& v, const std::array<Vec3, 3>& x) const {
    const Vec3 n = (x[1] - x[0]).cross(x[2] - x[0]);
    const Vec3 outward = (normal_[v[0]] + normal_[v[1]] + normal_[v[2]]).normalized();
    return n.dot(outward) / std::max(n.norm(), 1e-300);
  }

  /// The least over the faces of v, except those that hold `without`, with v at x.
  double least_uprightness(int v, const Vec3& x, int without = -1) const {
    double least = 1;
    for (const int f : faces_of_[v]) {
      if (without >= 0 && has(f, without)) continue;
      const Eigen::Vector3i& t = faces_[f];
      std::array<Vec3, 3> corners;
      for (int i = 0; i < 3; ++i) corners[i] = t[i] == v ? x : x_[t[i]];
      least = std::min(least, uprightness({t[0], t[1], t[2]}, corners));
    }
    return least;
  }

  /// Whether v may go to x: its faces stay upright, or what was folded does not get worse.
  bool can_move(int v, const Vec3& x, int without = -1) const {
    const double then = least_uprightness(v, x, without);
    return then > 0.5 || then >= least_uprightness(v, x_[v]);
  }

  void split(int a, int b) {
    const std::vector<int> sides = edge_faces(a, b);
    if (sides.empty()) return;
    const int m = static_cast<int>(x_.size());
    x_.emplace_back();
    normal_.emplace_back();
    faces_of_.emplace_back();
    boundary_.push_back(sides.size() == 1 ? 1 : 0);
    x_[m] = middle(a, b, boundary_[m] != 0);
    normal_[m] = target_.normal(x_[m]);
    ++live_vertices_;
    for (const int f : sides) {
      Eigen::Vector3i other = faces_[f];
      for (int i = 0; i < 3; ++i) {
        if (faces_[f][i] == b) faces_[f][i] = m;
        if (other[i] == a) other[i] = m;
      }
      detach(b, f);
      faces_of_[m].push_back(f);
      add_face(other);
    }
  }

  /// Merges b into a, if that keeps the mesh a manifold, upright and with edges of at most `longest`.
  bool collapse(int a, int b, double longest) {
    if (boundary_[b] != 0 && boundary_[a] == 0) std::swap(a, b);
    const std::vector<int> sides = edge_faces(a, b);
    if (sides.empty()) return false;
    const bool boundary_edge = sides.size() == 1;
    if (boundary_[a] != 0 && boundary_[b] != 0 && !boundary_edge) return false;
    const std::vector<int> near_a = neighbours(a), near_b = neighbours(b);
    std::vector<int> common;
    std::set_intersection(near_a.begin(), near_a.end(), near_b.begin(), near_b.end(), std::back_inserter(common));
    if (common.size() != sides.size()) return false;  // the link condition
    for (const int c : common) {
      if (faces_of_[c].size() <= (boundary_[c] != 0 ? 1u : 3u)) return false;
    }

    const bool keep_a = boundary_[a] != 0 && !boundary_edge;
    const Vec3 x = keep_a ? x_[a] : middle(a, b, boundary_edge);
    const Vec3 normal = keep_a ? normal_[a] : target_.normal(x);
    for (const std::vector<int>& ring : {near_a, near_b}) {
      for (const int w : ring) {
        if (w != a && w != b && measure(x_[w], normal_[w], x, normal) > longest) return false;
      }
    }
    if (!can_move(a, x, b) || !can_move(b, x, a)) return false;

    for (const int f : sides) {
      for (const int v : faces_[f]) {
        if (v != b) detach(v, f);
      }
    }
    for (const int f : faces_of_[b]) {
      if (std::find(sides.begin(), sides.end(), f) != sides.end()) {
        faces_[f][0] = -1;
        continue;
      }
      for (int& v : faces_[f]) {
        if (v == b) v = a;
      }
      faces_of_[a].push_back(f);
    }
    faces_of_[b].clear();
    x_[a] = x;
    normal_[a] = normal;
    --live_vertices_;
    return true;
  }

  /// Excess of a vertex's valence over that of a regular mesh.
  int excess(int v) const { return static_cast<int>(faces_of_[v].size()) - (boundary_[v] != 0 ? 3 : 6); }

  /// The triangles a b c and b a d of an inner edge.
  struct Diamond {
    int a, b, c, d;
  };

  bool evens_valence(const Diamond& e) const {
    const auto square = [](int i) { return i * i; };
    const int now = square(excess(e.a)) + square(excess(e.b)) + square(excess(e.c)) + square(excess(e.d));
    const int then =
        square(excess(e.a) - 1) + square(excess(e.b) - 1) + square(excess(e.c) + 1) + square(excess(e.d) + 1);
    return then < now && (x_[e.c] - x_[e.d]).norm() < 1.6 * (x_[e.a] - x_[e.b]).norm();
  }

  bool widens_angles(const Diamond& e) const {  // as in a Delaunay triangulation
    const auto angle = [&](int apex) {
      const Vec3 u = x_[e.a] - x_[apex], v = x_[e.b] - x_[apex];
      return std::atan2(u.cross(v).norm(), u.dot(v));
    };
    return angle(e.c) + angle(e.d) > std::numbers::pi + 0.05;
  }

  template <typename Wanted>
  void flip_all(const Wanted& wanted) {
    for (const Edge& e : edges([](double) { return true; }, true)) flip(e.a, e.b, wanted);
  }

  template <typename Wanted>
  void flip(int a, int b, const Wanted& wanted) {
    const std::vector<int> sides = edge_faces(a, b);
    if (sides.size() != 2 || faces_of_[a].size() <= 3 || faces_of_[b].size() <= 3) return;
    int f = sides[0], g = sides[1];
    if (next_vertex(f, a) != b) std::swap(f, g);
    const int c = third_vertex(f, a, b), d = third_vertex(g, a, b);
    if (!wanted(Diamond{a, b, c, d}) || !edge_faces(c, d).empty()) return;
    const double least =
        std::min(uprightness({a, d, c}, {x_[a], x_[d], x_[c]}), uprightness({d, b, c}, {x_[d], x_[b], x_[c]}));
    if (least < 0.5) return;
    faces_[f] = {a, d, c};
    faces_[g] = {d, b, c};
    detach(b, f);
    detach(a, g);
    faces_of_[d].push_back(f);
    faces_of_[c].push_back(g);
  }

  void improve() {
    flip_all([this](const Diamond& d) { return evens_valence(d); });
    smooth();
  }

  void smooth() {
    for (int v = 0; v < static_cast<int>(x_.size()); ++v) {
      if (faces_of_[v].empty()) continue;
      Vec3 mean = Vec3::Zero();
      double count = 0;
      for (const int w : neighbours(v)) {
        if (boundary_[v] != 0 && edge_faces(v, w).size() != 1) continue;  // along the boundary only
        mean += x_[w];
        ++count;
      }
      const Vec3 move = mean / count - x_[v];
      const Vec3 x = target_.project(x_[v] + 0.7 * (move - move.dot(normal_[v]) * normal_[v]), boundary_[v] != 0);
      if (!can_move(v, x)) continue;
      x_[v] = x;
      normal_[v] = target_.normal(x);
    }
  }

  Target target_;
  double adaptivity_;
  std::vector<Vec3> x_, normal_;
  std::vector<Eigen::Vector3i> faces_;  // -1 first: gone
  std::vector<std::vector<int>> faces_of_;
  std::vector<char> boundary_;
  int live_vertices_;
};

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
