// What the renderer's rays see: sample points, lights, materials and smooth normals. Nothing here knows of Embree.
//
// Units of light: a white matte surface facing a light of colour c has radiance c. A material's `reflectance` is
// therefore  pi * BSDF * |cos theta_light|  (1 for a white matte surface at normal incidence).
//
// Hair follows the lobes of Marschner et al. 2003 (R, TT, TRT as Gaussians in the half angle of the inclinations,
// shifted by the tilt of the cuticle), with simple azimuthal lobes and a Kajiya-Kay term for what is scattered many
// times.
#pragma once

#include <cstdint>

#include "stiction/types.hpp"

namespace stiction::shading {

using Vec2f = Eigen::Vector2f;
using Vec3f = Eigen::Vector3f;
using Color = Eigen::Array3f;  // linear RGB

/// A well mixed 32-bit hash of two integers.
std::uint32_t hash(std::uint32_t a, std::uint32_t b);

/// The points of one sample of one pixel: a pair in [0, 1)² a dimension. Each dimension is an Owen-scrambled,
/// shuffled Sobol' (0,2)-sequence over the samples (Burley 2020, Practical Hash-based Owen Scrambling).
class SamplePoint {
 public:
  SamplePoint(std::uint32_t pixel_seed, std::uint32_t sample) : seed_(pixel_seed), sample_(sample) {}
  Vec2f operator()(std::uint32_t dimension) const;

 private:
  std::uint32_t seed_, sample_;
};

/// Offset in pixels from a pixel's centre, distributed as the reconstruction filter (a Gaussian).
Vec2f filter_offset(const Vec2f& point);

/// Direction about the unit vector `normal` with density cos / pi.
Vec3f cosine_direction(const Vec3f& normal, const Vec2f& point);

/// A light at infinity that fills a cone.
struct DistantLight {
  Vec3f direction;  ///< towards the light, unit
  float spread;     ///< tangent of the cone's half angle
  Color color;
};

Vec3f sample_light(const DistantLight& light, const Vec2f& point);

/// A studio: a warm key light, a rim light from behind, and a dome.
struct Studio {
  DistantLight key, rim;
  Color open_ground;  ///< radiance of the ground far from all objects

  /// Light that arrives at an object from a direction that meets nothing.
  Color dome(const Vec3f& direction) const;
  /// What the camera sees in that direction.
  Color backdrop(const Vec3f& direction) const;
};

/// Lights placed relative to the camera that looks along `view` (unit).
Studio make_studio(const Vec3f& view);

enum class Finish { ground, matte, fibre };

/// A point to be shaded; `normal` faces the viewer.
struct Surface {
  Finish material = Finish::matte;
  Vec3f position = Vec3f::Zero();
  Vec3f normal = Vec3f::UnitZ();
  Vec3f tangent = Vec3f::UnitX();  ///< of a fibre, unit
  Color color = Color::Ones();     ///< albedo
  float hairiness = 0;             ///< of a fibre: 1 a hair, 0 an opaque tube
  float clearance = 0;             ///< how far a ray that leaves must start away, m
};

Color reflectance(const Surface& surface, const Vec3f& to_viewer, const Vec3f& to_light);

/// 1 for radii of hair, 0 for radii of spaghetti and rope, smooth between. Radius in m.
float hairiness(double radius);

/// Fraction of light that goes on after it met a fibre.
Color fibre_transmittance(const Color& color, float hairiness);

Color ground_color();
Color mesh_color(int body);   ///< of colliders
Color cloth_color(int body);  ///< of simulated meshes
/// Colour of a body of curves: `base` for the first; the others are told apart by their hue, hair only a little.
Color body_color(const Color& base, float hairiness, int body);
/// `color` with the slight variation of one strand of a body.
Color strand_color(const Color& color, float hairiness, std::uint32_t strand);

/// Three normals a triangle: averages over the faces at the vertex that meet the triangle at less than the crease
/// angle (40 degrees).
std::vector<Vec3f> corner_normals(std::span<const Vec3> vertices, std::span<const Eigen::Vector3i> triangles);

}  // namespace stiction::shading
