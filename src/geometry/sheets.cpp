#include "geometry/sheets.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace stiction {

TriangleMesh make_sheet(double width, double height, int nx, int ny, Diagonals diagonals) {
  if (nx < 1 || ny < 1) throw std::invalid_argument("a sheet needs at least one cell along each edge");
  if (!(width > 0) || !(height > 0)) throw std::invalid_argument("a sheet needs positive edges");
  TriangleMesh mesh;
  for (int j = 0; j <= ny; ++j) {
    for (int i = 0; i <= nx; ++i)
      mesh.vertices.emplace_back(width * (1.0 * i / nx - 0.5), height * (1.0 * j / ny - 0.5), 0);
  }
  for (int j = 0; j < ny; ++j) {
    for (int i = 0; i < nx; ++i) {
      const int a = i + (nx + 1) * j, b = a + 1, d = a + nx + 1, c = d + 1;  // counter-clockwise from the lower left
      if (diagonals == Diagonals::cross) {
        const int m = static_cast<int>(mesh.vertices.size());
        mesh.vertices.push_back(0.5 * (mesh.vertices[a] + mesh.vertices[c]));
        for (const auto& [from, to] : {std::pair(a, b), std::pair(b, c), std::pair(c, d), std::pair(d, a)}) {
          mesh.triangles.emplace_back(from, to, m);
        }
      } else if (diagonals == Diagonals::alternating && (i + j) % 2 == 1) {
        mesh.triangles.emplace_back(a, b, d);
        mesh.triangles.emplace_back(b, c, d);
      } else {
        mesh.triangles.emplace_back(a, b, c);
        mesh.triangles.emplace_back(a, c, d);
      }
    }
  }
  return mesh;
}

TriangleMesh make_band(double radius, double width, int n_around, int n_along) {
  if (n_around < 3 || n_along < 1) throw std::invalid_argument("a band needs at least 3 vertices around and a row");
  if (!(radius > 0) || !(width > 0)) throw std::invalid_argument("a band needs a positive radius and width");
  TriangleMesh mesh;
  for (int j = 0; j <= n_along; ++j) {
    for (int i = 0; i < n_around; ++i) {
      const double angle = 2 * std::numbers::pi * (i + 0.5 * (j % 2)) / n_around;
      mesh.vertices.emplace_back(radius * std::cos(angle), radius * std::sin(angle), width * (1.0 * j / n_along - 0.5));
    }
  }
  for (int j = 0; j < n_along; ++j) {
    const int lower = n_around * j, upper = lower + n_around;
    for (int i = 0; i < n_around; ++i) {
      const int next = (i + 1) % n_around;
      if (j % 2 == 0) {  // the upper vertex i is to the left of the lower next
        mesh.triangles.emplace_back(lower + i, lower + next, upper + i);
        mesh.triangles.emplace_back(lower + next, upper + next, upper + i);
      } else {
        mesh.triangles.emplace_back(lower + i, upper + next, upper + i);
        mesh.triangles.emplace_back(lower + i, lower + next, upper + next);
      }
    }
  }
  return mesh;
}

}  // namespace stiction
