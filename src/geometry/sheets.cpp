#include "geometry/sheets.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "geometry/creatures.hpp"

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

TriangleMesh make_tube_shirt(const ShirtOptions& options) {
  if (options.vertices < 200) throw std::invalid_argument("a shirt needs at least 200 vertices");
  if (!(options.ease > 0) || !(options.ease + options.flare > 0))
    throw std::invalid_argument("a shirt needs some ease");
  if (!(options.sleeve >= 0.2 && options.sleeve <= 1)) throw std::invalid_argument("a sleeve ends between 0.2 and 1");
  const ShirtForm form = character_shirt_form();

  // The body grown by the ease, which is wider towards the hem.
  const double chest = form.shoulder.z() - 0.1;
  const Field cloth = [&](const Vec3& x) {
    const double down = std::clamp((chest - x.z()) / (chest - form.waist), 0.0, 1.0);
    const double torso = std::clamp((0.26 - std::abs(x.y())) / 0.06, 0.0, 1.0);  // sleeves do not flare
    return form.body(x) - options.ease - options.flare * down * down * torso;
  };

  // Cut by a ball at the neck, level at the hem and across the arms, whose planes would reach the hips if they did not
  // end at some y.
  const bool upper = options.sleeve < 0.5;
  const Vec3 from = upper ? form.shoulder : form.elbow, to = upper ? form.elbow : form.wrist;
  const Vec3 cuff = from + (upper ? 2 * options.sleeve : 2 * options.sleeve - 1) * (to - from);
  const Vec3 along = (to - from).normalized();
  const double arms_begin = form.shoulder.y() + 0.02;
  const Field keep = [&](const Vec3& x) {
    const Vec3 left(x.x(), std::abs(x.y()), x.z());
    const double beyond_cuff = std::min(along.dot(left - cuff), 3 * (left.y() - arms_begin));
    return std::max({form.collar - (x - form.neck).norm(), form.waist - x.z(), beyond_cuff});
  };
  Box box;
  box.merge(Vec3(-0.3, -0.8, form.waist - 0.1));
  box.merge(Vec3(0.3, 0.8, form.neck.z() + 0.1));
  return polygonise_part_with(cloth, keep, box, options.vertices);
}

}  // namespace stiction
