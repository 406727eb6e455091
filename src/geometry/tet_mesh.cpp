#include "geometry/tet_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <stdexcept>

namespace stiction {

namespace {

using Index3 = std::array<int, 3>;

/// Faces of a tet of positive volume, outward.
constexpr std::array<Index3, 4> tet_faces = {{{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}}};

double signed_volume(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d) {
  return (b - a).cross(c - a).dot(d - a) / 6;
}

/// Whether a tet and a triangle share a point, by separating axes; closer than `tolerance` counts as touching.
bool touch(const std::array<Vec3, 4>& tet, const std::array<Vec3, 3>& triangle, double tolerance) {
  const auto separates = [&](const Vec3& axis, double scale) {
    const double length = axis.norm();
    if (length <= 1e-10 * scale) return false;  // parallel edges: no axis
    double tet_lo = axis.dot(tet[0]), tet_hi = tet_lo, triangle_lo = axis.dot(triangle[0]), triangle_hi = triangle_lo;
    for (int i = 1; i < 4; ++i) {
      const double along = axis.dot(tet[i]);
      tet_lo = std::min(tet_lo, along), tet_hi = std::max(tet_hi, along);
    }
    for (int i = 1; i < 3; ++i) {
      const double along = axis.dot(triangle[i]);
      triangle_lo = std::min(triangle_lo, along), triangle_hi = std::max(triangle_hi, along);
    }
    return std::max(tet_lo - triangle_hi, triangle_lo - tet_hi) > tolerance * length;
  };

  const std::array<Vec3, 3> edges = {triangle[1] - triangle[0], triangle[2] - triangle[1], triangle[0] - triangle[2]};
  const std::array<Vec3, 6> tet_edges = {tet[1] - tet[0], tet[2] - tet[0], tet[3] - tet[0],
                                         tet[2] - tet[1], tet[3] - tet[1], tet[3] - tet[2]};
  if (separates(edges[0].cross(edges[1]), edges[0].norm() * edges[1].norm())) return false;
  for (const Index3& face : tet_faces) {
    const Vec3 u = tet[face[1]] - tet[face[0]], v = tet[face[2]] - tet[face[0]];
    if (separates(u.cross(v), u.norm() * v.norm())) return false;
  }
  for (const Vec3& u : edges) {
    for (const Vec3& v : tet_edges) {
      if (separates(u.cross(v), u.norm() * v.norm())) return false;
    }
  }
  return true;
}

/// Sets of vertices that are known to lie on the same side of a surface.
class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }

  int find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  void join(int i, int j) { parent_[std::max(find(i), find(j))] = std::min(find(i), find(j)); }

 private:
  std::vector<int> parent_;
};

/// Per tet of the lattice, whether a triangle of the surface touches it.
std::vector<char> touched_tets(const TetLattice& lattice, const TriangleMesh& surface, double tolerance) {
  std::vector<char> touched(static_cast<size_t>(lattice.cell_count()) * 12, 0);
  for (const Eigen::Vector3i& t : surface.triangles) {
    const std::array<Vec3, 3> triangle = {surface.vertices[t[0]], surface.vertices[t[1]], surface.vertices[t[2]]};
    Box box;
    for (const Vec3& x : triangle) box.merge(x);
    lattice.for_tets_near(box, [&](int id, const Eigen::Vector4i& tet) {
      if (touched[id] != 0) return;
      std::array<Vec3, 4> corners;
      Box tet_box;
      for (int i = 0; i < 4; ++i) tet_box.merge(corners[i] = lattice.vertex(tet[i]));
      tet_box.inflate(tolerance);
      if (tet_box.overlaps(box) && touch(corners, triangle, tolerance)) touched[id] = 1;
    });
  }
  return touched;
}

/// The mesh of the tets that `keep(id, tet)` accepts, with the vertices they use.
template <typename Keep>
TetMesh extract(const TetLattice& lattice, const Keep& keep) {
  TetMesh mesh;
  lattice.for_all_tets([&](int id, const Eigen::Vector4i& tet) {
    if (keep(id, tet)) mesh.tets.push_back(tet);
  });
  std::vector<int> number(lattice.vertex_count(), -1);
  for (const Eigen::Vector4i& tet : mesh.tets) {
    for (const int v : tet) number[v] = 0;
  }
  for (int v = 0; v < lattice.vertex_count(); ++v) {
    if (number[v] < 0) continue;
    number[v] = static_cast<int>(mesh.vertices.size());
    mesh.vertices.push_back(lattice.vertex(v));
  }
  for (Eigen::Vector4i& tet : mesh.tets) {
    for (int& v : tet) v = number[v];
  }
  return mesh;
}

}  // namespace

TetLattice::TetLattice(const Box& bounds, double cell) : cell_(cell) {
  constexpr double max_cells = 1 << 24;
  const Vec3 counts = ((bounds.hi - bounds.lo) / cell).array().ceil() + 2;  // a layer of cells to spare at each side
  if (!(counts.prod() <= max_cells)) throw std::invalid_argument("the tet lattice's cells are too small");
  for (int a = 0; a < 3; ++a) cells_[a] = static_cast<int>(counts[a]);
  origin_ = bounds.center() - 0.5 * cell * counts;
  corner_count_ = (cells_[0] + 1) * (cells_[1] + 1) * (cells_[2] + 1);
}

Vec3 TetLattice::vertex(int index) const {
  const bool centre = index >= corner_count_;
  if (centre) index -= corner_count_;
  const int nx = cells_[0] + (centre ? 0 : 1), ny = cells_[1] + (centre ? 0 : 1);
  const int i = index % nx, j = index / nx % ny, k = index / nx / ny;
  const Vec3 grid(i, j, k);
  return origin_ + cell_ * (grid + Vec3::Constant(centre ? 0.5 : 0.0));
}

TetMesh make_tet_box(const Vec3& size, std::array<int, 3> cells) {
  const auto [nx, ny, nz] = cells;
  if (nx < 1 || ny < 1 || nz < 1) throw std::invalid_argument("a tet box needs at least one cell along each axis");
  if (!(size.minCoeff() > 0)) throw std::invalid_argument("a tet box needs positive edges");
  if (static_cast<double>(nx) * ny * nz > 1 << 26) throw std::invalid_argument("a tet box has more than 2^26 cells");

  TetMesh mesh;
  for (int k = 0; k <= nz; ++k) {
    for (int j = 0; j <= ny; ++j) {
      for (int i = 0; i <= nx; ++i) {
        const Vec3 unit(static_cast<double>(i) / nx, static_cast<double>(j) / ny, static_cast<double>(k) / nz);
        mesh.vertices.push_back(size.cwiseProduct(unit - Vec3::Constant(0.5)));
      }
    }
  }

  // Corners by bits: x 1, y 2, z 4. A regular tet in the middle and one at each of the corners it leaves out; the other
  // kind of cube is its mirror image in x.
  constexpr std::array<std::array<int, 4>, 5> tets = {
      {{0, 3, 6, 5}, {1, 3, 0, 5}, {2, 0, 3, 6}, {4, 5, 0, 6}, {7, 6, 3, 5}}};
  for (int k = 0; k < nz; ++k) {
    for (int j = 0; j < ny; ++j) {
      for (int i = 0; i < nx; ++i) {
        const int mirror = (i + j + k) % 2;
        for (const auto& tet : tets) {
          Eigen::Vector4i t;
          for (int v = 0; v < 4; ++v) {
            const int corner = tet[v] ^ mirror;
            t[v] = (i + (corner & 1)) + (nx + 1) * ((j + (corner >> 1 & 1)) + (ny + 1) * (k + (corner >> 2)));
          }
          if (mirror != 0) std::swap(t[2], t[3]);
          mesh.tets.push_back(t);
        }
      }
    }
  }
  return mesh;
}

TetMesh make_tet_lattice(const TriangleMesh& closed, double cell) {
  if (!(cell > 0) || !std::isfinite(cell)) throw std::invalid_argument("a tet lattice needs a positive cell");
  if (closed.triangles.empty() || !is_closed(closed)) {
    throw std::invalid_argument("a tet lattice needs a closed surface");
  }
  Box bounds;
  for (const Vec3& x : closed.vertices) bounds.merge(x);
  const TetLattice lattice(bounds, cell);
  const std::vector<char> touched = touched_tets(lattice, closed, 1e-9 * cell);

  // A tet that does not touch the surface is on one side of it, and so are those that share vertices with it: one
  // winding number for each such set.
  DisjointSets sides(lattice.vertex_count());
  lattice.for_all_tets([&](int id, const Eigen::Vector4i& tet) {
    if (touched[id] != 0) return;
    for (int i = 1; i < 4; ++i) sides.join(tet[0], tet[i]);
  });
  enum : char { unknown, outside, inside };
  std::vector<char> side(lattice.vertex_count(), unknown);
  return extract(lattice, [&](int id, const Eigen::Vector4i& tet) {
    if (touched[id] != 0) return true;
    char& known = side[sides.find(tet[0])];
    if (known == unknown) known = winding_number(closed, lattice.vertex(tet[0])) > 0.5 ? inside : outside;
    return known == inside;
  });
}

TetMesh make_tet_lattice_with(const TriangleMesh& closed, int target_tets) {
  if (target_tets < 1) throw std::invalid_argument("a tet lattice needs at least one tet");
  Box bounds;
  for (const Vec3& x : closed.vertices) bounds.merge(x);

  TetMesh best;
  const auto count = [&](double cell) {
    TetMesh mesh = make_tet_lattice(closed, cell);
    const int tets = static_cast<int>(mesh.tets.size());
    const auto error = [&](size_t n) { return std::abs(static_cast<double>(n) - target_tets); };
    if (best.tets.empty() || error(mesh.tets.size()) < error(best.tets.size())) best = std::move(mesh);
    return tets;
  };

  // The number jumps as the cell shrinks, and not always upwards: bisect, and keep the best.
  double coarse = (bounds.hi - bounds.lo).maxCoeff(), fine = coarse;
  while (count(fine) < target_tets) {
    coarse = fine;
    fine *= 0.75;
  }
  for (int i = 0; i < 24 && static_cast<int>(best.tets.size()) != target_tets; ++i) {
    const double middle = std::sqrt(coarse * fine);
    (count(middle) < target_tets ? coarse : fine) = middle;
  }
  return best;
}

TriangleMesh boundary_surface(const TetMesh& mesh, std::vector<int>* vertex_of) {
  struct Face {
    Index3 sorted;
    Eigen::Vector3i outward;
  };
  std::vector<Face> faces;
  faces.reserve(4 * mesh.tets.size());
  for (const Eigen::Vector4i& tet : mesh.tets) {
    for (const Index3& corners : tet_faces) {
      Index3 face = {tet[corners[0]], tet[corners[1]], tet[corners[2]]};
      const Eigen::Vector3i outward(face[0], face[1], face[2]);
      std::sort(face.begin(), face.end());
      faces.push_back({face, outward});
    }
  }
  std::stable_sort(faces.begin(), faces.end(), [](const Face& a, const Face& b) { return a.sorted < b.sorted; });

  TriangleMesh surface;
  std::vector<int> number(mesh.vertices.size(), -1);
  for (size_t i = 0; i < faces.size();) {
    size_t next = i + 1;
    while (next < faces.size() && faces[next].sorted == faces[i].sorted) ++next;
    if (next == i + 1) {
      surface.triangles.push_back(faces[i].outward);
      for (const int v : faces[i].sorted) number[v] = 0;
    }
    i = next;
  }
  if (vertex_of != nullptr) vertex_of->clear();
  for (size_t v = 0; v < number.size(); ++v) {
    if (number[v] < 0) continue;
    number[v] = static_cast<int>(surface.vertices.size());
    surface.vertices.push_back(mesh.vertices[v]);
    if (vertex_of != nullptr) vertex_of->push_back(static_cast<int>(v));
  }
  for (Eigen::Vector3i& triangle : surface.triangles) {
    for (int& v : triangle) v = number[v];
  }
  return surface;
}

std::vector<double> tet_volumes(const TetMesh& mesh) {
  std::vector<double> volumes;
  volumes.reserve(mesh.tets.size());
  const std::vector<Vec3>& x = mesh.vertices;
  for (const Eigen::Vector4i& t : mesh.tets) volumes.push_back(signed_volume(x[t[0]], x[t[1]], x[t[2]], x[t[3]]));
  return volumes;
}

double total_volume(const TetMesh& mesh) {
  const std::vector<double> volumes = tet_volumes(mesh);
  return std::accumulate(volumes.begin(), volumes.end(), 0.0);
}

double enclosed_volume(const TriangleMesh& closed) {
  if (closed.vertices.empty()) return 0;
  const std::vector<Vec3>& x = closed.vertices;
  double volume = 0;
  for (const Eigen::Vector3i& t : closed.triangles) volume += signed_volume(x[0], x[t[0]], x[t[1]], x[t[2]]);
  return volume;
}

bool is_closed(const TriangleMesh& mesh) {
  std::vector<std::pair<int, int>> edges;
  edges.reserve(3 * mesh.triangles.size());
  for (const Eigen::Vector3i& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) edges.emplace_back(t[i], t[(i + 1) % 3]);
  }
  std::sort(edges.begin(), edges.end());
  if (std::adjacent_find(edges.begin(), edges.end()) != edges.end()) return false;
  return std::all_of(edges.begin(), edges.end(), [&](const auto& edge) {
    return std::binary_search(edges.begin(), edges.end(), std::pair(edge.second, edge.first));
  });
}

double winding_number(const TriangleMesh& mesh, const Vec3& x) {
  double solid_angle = 0;  // Van Oosterom and Strackee 1983
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const Vec3 a = mesh.vertices[t[0]] - x, b = mesh.vertices[t[1]] - x, c = mesh.vertices[t[2]] - x;
    const double la = a.norm(), lb = b.norm(), lc = c.norm();
    solid_angle += 2 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
  }
  return solid_angle / (4 * std::numbers::pi);
}

}  // namespace stiction
