// All round bodies are surfaces of revolution: a profile (rho, z), followed with the body on its left, turned about z.
#include "geometry/primitives.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace stiction {

namespace {

constexpr double pi = std::numbers::pi;

using Profile = std::vector<Eigen::Vector2d>;  // (rho, z), m

void require_at_least(int minimum, int count, const char* what) {
  if (count < minimum) {
    throw std::invalid_argument(std::string(what) + " = " + std::to_string(count) + " is less than " +
                                std::to_string(minimum));
  }
}

/// Appends `count` points of a circle, at even angles (rad) after `begin` and up to `end`.
void append_arc(Profile& profile, const Eigen::Vector2d& centre, double radius, double begin, double end, int count) {
  for (int i = 1; i <= count; ++i) {
    const double angle = begin + (end - begin) * i / count;
    profile.push_back(centre + radius * Eigen::Vector2d(std::cos(angle), std::sin(angle)));
  }
}

/// Turns a profile about z. A profile point with rho == 0 becomes a single vertex; `closed` joins the last point to
/// the first, otherwise both should be on the axis.
TriangleMesh revolve(const Profile& profile, int sectors, bool closed) {
  require_at_least(3, sectors, "sectors");
  TriangleMesh mesh;
  std::vector<int> first_vertex;
  for (const Eigen::Vector2d& point : profile) {
    first_vertex.push_back(static_cast<int>(mesh.vertices.size()));
    const int copies = point.x() == 0 ? 1 : sectors;
    for (int j = 0; j < copies; ++j) {
      const double angle = 2 * pi * j / sectors;
      mesh.vertices.emplace_back(point.x() * std::cos(angle), point.x() * std::sin(angle), point.y());
    }
  }

  const size_t bands = closed ? profile.size() : profile.size() - 1;
  for (size_t i = 0; i < bands; ++i) {
    const size_t next = (i + 1) % profile.size();
    const auto vertex = [&](size_t ring, int sector) {
      return first_vertex[ring] + (profile[ring].x() == 0 ? 0 : sector % sectors);
    };
    for (int j = 0; j < sectors; ++j) {
      const int a = vertex(i, j), b = vertex(i, j + 1), c = vertex(next, j + 1), d = vertex(next, j);
      if (a != b) mesh.triangles.emplace_back(a, b, c);
      if (c != d) mesh.triangles.emplace_back(a, c, d);
    }
  }
  return mesh;
}

}  // namespace

TriangleMesh make_sphere(double radius, int rings, int sectors) {
  require_at_least(2, rings, "rings");
  Profile profile = {{0, -radius}};
  append_arc(profile, Eigen::Vector2d::Zero(), radius, -0.5 * pi, 0.5 * pi, rings);
  profile.back() = {0, radius};
  return revolve(profile, sectors, false);
}

TriangleMesh make_capsule(double radius, double length, int rings, int sectors) {
  require_at_least(1, rings, "rings");
  const double top = 0.5 * length;
  Profile profile = {{0, -top - radius}};
  append_arc(profile, {0, -top}, radius, -0.5 * pi, 0, rings);
  profile.emplace_back(radius, top);
  append_arc(profile, {0, top}, radius, 0, 0.5 * pi, rings);
  profile.back() = {0, top + radius};
  return revolve(profile, sectors, false);
}

TriangleMesh make_cylinder(double radius, double length, int sectors) {
  const double top = 0.5 * length;
  return revolve({{0, -top}, {radius, -top}, {radius, top}, {0, top}}, sectors, false);
}

TriangleMesh make_box(const Vec3& half_extents) {
  TriangleMesh mesh;
  for (int corner = 0; corner < 8; ++corner) {  // bit i of a corner: the upper end along axis i
    const Vec3 sign(corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, corner & 4 ? 1 : -1);
    mesh.vertices.push_back(half_extents.cwiseProduct(sign));
  }
  mesh.triangles = {{0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}};
  return mesh;
}

TriangleMesh make_plane_quad(double half_size) {
  const double h = half_size;
  return {{{-h, -h, 0}, {h, -h, 0}, {h, h, 0}, {-h, h, 0}}, {{0, 1, 2}, {0, 2, 3}}};
}

TriangleMesh make_torus(double major_radius, double minor_radius, int rings, int sectors) {
  require_at_least(3, rings, "rings");
  Profile profile;
  append_arc(profile, {major_radius, 0}, minor_radius, 0, 2 * pi, rings);
  return revolve(profile, sectors, true);
}

TriangleMesh make_plate(double radius, double rim_height, double thickness, int sectors) {
  constexpr int rim_bands = 8;
  const double base = radius * 2 / 3;
  Profile under = {{0, 0}, {base, 0}};
  for (int i = 1; i <= rim_bands; ++i) {
    const double u = static_cast<double>(i) / rim_bands;
    under.emplace_back(base + u * (radius - base), rim_height * u * u);
  }
  Profile profile = under;
  for (auto point = under.rbegin(); point != under.rend(); ++point) {
    profile.emplace_back(point->x(), point->y() + thickness);
  }
  return revolve(profile, sectors, false);
}

TriangleMesh tessellate(const Collider& collider) {
  constexpr int sectors = 64;
  switch (collider.shape) {
    case ColliderShape::locator:
      return {};
    case ColliderShape::plane:
      return make_plane_quad(10);
    case ColliderShape::sphere:
      return make_sphere(collider.radius, sectors / 2, sectors);
    case ColliderShape::capsule:
      return make_capsule(collider.radius, collider.length, sectors / 4, sectors);
    case ColliderShape::cylinder:
      return make_cylinder(collider.radius, collider.length, sectors);
    case ColliderShape::box:
      return make_box(collider.half_extents);
    case ColliderShape::mesh:
      break;
  }
  return collider.mesh;
}

}  // namespace stiction
