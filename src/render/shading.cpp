#include "render/shading.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

namespace stiction::shading {
namespace {

constexpr float pi = std::numbers::pi_v<float>;

std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

std::uint32_t reverse_bits(std::uint32_t x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
  return std::rotl(x, 16);
}

/// Scrambles each bit by a hash of the bits below it (Laine and Karras 2011, with Burley's constants).
std::uint32_t scramble_upwards(std::uint32_t x, std::uint32_t seed) {
  x += seed;
  x ^= x * 0x6c50b47cu;
  x ^= x * 0xb82f1e52u;
  x ^= x * 0xc7afe638u;
  x ^= x * 0x8d22f6e6u;
  return x;
}

std::uint32_t owen_scramble(std::uint32_t x, std::uint32_t seed) {
  return reverse_bits(scramble_upwards(reverse_bits(x), seed));
}

/// Second dimension of Sobol's sequence.
std::uint32_t sobol_second(std::uint32_t index) {
  std::uint32_t result = 0;
  for (std::uint32_t v = 0x80000000u; index != 0; index >>= 1, v ^= v >> 1) {
    if (index & 1u) result ^= v;
  }
  return result;
}

float unit_float(std::uint32_t x) { return static_cast<float>(x >> 8) * 0x1p-24f; }

float smoothstep(float low, float high, float x) {
  const float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3.0f - 2.0f * t);
}

Color lerp(const Color& a, const Color& b, float t) { return a + t * (b - a); }

/// Two unit vectors that complete a unit vector to an orthonormal basis.
std::array<Vec3f, 2> complete_basis(const Vec3f& n) {
  const Vec3f helper = std::abs(n.x()) > 0.7f ? Vec3f::UnitY() : Vec3f::UnitX();
  const Vec3f a = n.cross(helper).normalized();
  return {a, n.cross(a)};
}

Vec2f disc_point(const Vec2f& point) {
  const float radius = std::sqrt(point.x());
  return {radius * std::cos(2 * pi * point.y()), radius * std::sin(2 * pi * point.y())};
}

float gaussian(float x, float width) {
  return std::exp(-0.5f * x * x / (width * width)) / (width * std::sqrt(2.0f * pi));
}

float fresnel(float f0, float cosine) { return f0 + (1.0f - f0) * std::pow(1.0f - cosine, 5.0f); }

/// Blinn-Phong highlight, normalised so that its reflectance does not exceed the Fresnel factor by much.
float highlight(const Vec3f& n, const Vec3f& to_viewer, const Vec3f& to_light, float exponent) {
  const Vec3f h = (to_viewer + to_light).normalized();
  const float lobe = (exponent + 8.0f) / 8.0f * std::pow(std::max(n.dot(h), 0.0f), exponent);
  return fresnel(0.04f, std::clamp(h.dot(to_light), 0.0f, 1.0f)) * lobe * std::max(n.dot(to_light), 0.0f);
}

Color matte_reflectance(const Surface& s, const Vec3f& to_viewer, const Vec3f& to_light) {
  return s.color * std::max(s.normal.dot(to_light), 0.0f) + highlight(s.normal, to_viewer, to_light, 12.0f);
}

/// A tube of a slightly translucent solid: light wraps around it and takes its colour on the way.
Color tube_reflectance(const Surface& s, const Vec3f& to_viewer, const Vec3f& to_light) {
  const float cosine = s.normal.dot(to_light);
  const Color wrap = 0.3f * s.color.sqrt();
  const Color diffuse = s.color * ((cosine + wrap) / (1.0f + wrap)).max(0.0f);
  return diffuse + 1.2f * highlight(s.normal, to_viewer, to_light, 60.0f);
}

Color hair_reflectance(const Surface& s, const Vec3f& to_viewer, const Vec3f& to_light) {
  constexpr float cuticle_tilt = 0.055f;  // rad
  constexpr float roughness = 0.12f;      // width of the R lobe, rad
  constexpr float f0 = 0.046f;            // of keratin, n = 1.55

  // Inclinations to the normal plane, their half angles, and the azimuth between light and viewer.
  const float sin_i = std::clamp(s.tangent.dot(to_light), -0.9999f, 0.9999f);
  const float sin_r = std::clamp(s.tangent.dot(to_viewer), -0.9999f, 0.9999f);
  const float cos_i = std::sqrt(1.0f - sin_i * sin_i);
  const float cos_r = std::sqrt(1.0f - sin_r * sin_r);
  const float theta_h = 0.5f * (std::asin(sin_i) + std::asin(sin_r));
  const float cos_d = std::cos(0.5f * (std::asin(sin_r) - std::asin(sin_i)));
  const float cos_phi = std::clamp((to_light.dot(to_viewer) - sin_i * sin_r) / (cos_i * cos_r), -1.0f, 1.0f);
  const float cos_half_phi = std::sqrt(0.5f * (1.0f + cos_phi));

  // Single scattering: reflection, transmission, internal reflection; weights by eye.
  const float f = fresnel(f0, cos_d * cos_half_phi);
  const Color once = s.color.sqrt();
  const Color r = Color::Constant(f * gaussian(theta_h + 2 * cuticle_tilt, roughness) * 0.25f * cos_half_phi);
  const Color tt = (1 - f) * (1 - f) * once * gaussian(theta_h - cuticle_tilt, 0.8f * roughness) *
                   gaussian(std::acos(-cos_phi), 0.45f);
  const Color trt = (1 - f) * (1 - f) * 0.22f * s.color * gaussian(theta_h - 3 * cuticle_tilt, 1.8f * roughness) *
                    (0.2f + 0.8f * cos_half_phi * cos_half_phi);
  const Color single = pi * cos_i / std::max(cos_d * cos_d, 0.2f) * (2.2f * r + 0.25f * tt + trt);

  // Multiple scattering: diffuse about the fibre, stronger on the lit side.
  const Color multiple = s.color * cos_i * (0.28f + 0.20f * cos_phi);
  return single + multiple;
}

float luminance(const Color& color) { return color.matrix().dot(Vec3f(0.2126f, 0.7152f, 0.0722f)); }

}  // namespace

std::uint32_t hash(std::uint32_t a, std::uint32_t b) { return mix(mix(a) + 0x9e3779b9u * (b + 1)); }

Vec2f SamplePoint::operator()(std::uint32_t dimension) const {
  const std::uint32_t seed = hash(seed_, dimension);
  const std::uint32_t index = owen_scramble(sample_, seed);
  return {unit_float(reverse_bits(scramble_upwards(index, hash(seed, 1)))),  // index reversed, then Owen-scrambled
          unit_float(owen_scramble(sobol_second(index), hash(seed, 2)))};
}

Vec2f filter_offset(const Vec2f& point) {
  constexpr float sigma = 0.42f;  // pixels
  const float radius = sigma * std::sqrt(-2.0f * std::log(1.0f - 0.99f * point.x()));
  return {radius * std::cos(2 * pi * point.y()), radius * std::sin(2 * pi * point.y())};
}

Vec3f cosine_direction(const Vec3f& normal, const Vec2f& point) {
  const auto [a, b] = complete_basis(normal);
  const Vec2f disc = disc_point(point);
  return disc.x() * a + disc.y() * b + std::sqrt(std::max(1.0f - disc.squaredNorm(), 1e-6f)) * normal;
}

Vec3f sample_light(const DistantLight& light, const Vec2f& point) {
  const auto [a, b] = complete_basis(light.direction);
  const Vec2f disc = light.spread * disc_point(point);
  return (light.direction + disc.x() * a + disc.y() * b).normalized();
}

Studio make_studio(const Vec3f& view) {
  const float azimuth = std::atan2(-view.y(), -view.x());  // from the scene towards the camera
  const auto placed = [&](float degrees, float elevation) {
    const float a = azimuth + degrees * pi / 180, e = elevation * pi / 180;
    return Vec3f(std::cos(e) * std::cos(a), std::cos(e) * std::sin(a), std::sin(e));
  };
  Studio studio;
  studio.key = {placed(-48, 48), 0.2f, Color(0.94f, 0.90f, 0.84f)};
  studio.rim = {placed(150, 38), 0.2f, Color(0.50f, 0.52f, 0.55f)};
  // Cosine-weighted mean of dome() over the upper half plus the key light.
  const Color dome = lerp(studio.dome(Vec3f::UnitX()), studio.dome(Vec3f::UnitZ()), 2.0f / 3.0f);
  studio.open_ground = ground_color() * (dome + studio.key.color * studio.key.direction.z());
  return studio;
}

Color Studio::dome(const Vec3f& direction) const {
  const Color zenith(0.42f, 0.43f, 0.45f), horizon(0.19f, 0.195f, 0.20f);
  if (direction.z() < 0) return lerp(horizon, 0.5f * open_ground, smoothstep(0.0f, 0.3f, -direction.z()));
  return lerp(horizon, zenith, direction.z());
}

Color Studio::backdrop(const Vec3f& direction) const {
  return open_ground * (0.80f - 0.45f * smoothstep(-0.35f, 0.45f, direction.z()));
}

Color reflectance(const Surface& surface, const Vec3f& to_viewer, const Vec3f& to_light) {
  switch (surface.material) {
    case Finish::ground:
      return surface.color * std::max(surface.normal.dot(to_light), 0.0f);
    case Finish::matte:
      return matte_reflectance(surface, to_viewer, to_light);
    case Finish::fibre:
      break;
  }
  if (surface.hairiness >= 1) return hair_reflectance(surface, to_viewer, to_light);
  Color tube = tube_reflectance(surface, to_viewer, to_light);
  if (surface.hairiness <= 0) return tube;
  return lerp(tube, hair_reflectance(surface, to_viewer, to_light), surface.hairiness);
}

float hairiness(double radius) { return 1.0f - smoothstep(1.5e-4f, 5e-4f, static_cast<float>(radius)); }

Color fibre_transmittance(const Color& color, float hairiness) { return 0.65f * hairiness * color.sqrt().sqrt(); }

Color ground_color() { return {0.55f, 0.57f, 0.59f}; }

Color cloth_color(int body) {
  static const std::array<Color, 6> palette = {Color(0.55f, 0.16f, 0.12f), Color(0.12f, 0.28f, 0.48f),
                                               Color(0.62f, 0.45f, 0.16f), Color(0.17f, 0.40f, 0.27f),
                                               Color(0.42f, 0.22f, 0.46f), Color(0.60f, 0.55f, 0.48f)};
  return palette[static_cast<size_t>(body) % palette.size()];
}

Color mesh_color(int body) {
  static const std::array<Color, 4> palette = {Color(0.42f, 0.38f, 0.35f), Color(0.26f, 0.32f, 0.38f),
                                               Color(0.44f, 0.25f, 0.19f), Color(0.30f, 0.35f, 0.26f)};
  return palette[static_cast<size_t>(body) % palette.size()];
}

Color body_color(const Color& base, float hairiness, int body) {
  static const std::array<Color, 4> hues = {Color(0.16f, 0.30f, 0.42f), Color(0.50f, 0.13f, 0.09f),
                                            Color(0.25f, 0.36f, 0.20f), Color(0.32f, 0.17f, 0.30f)};
  if (body == 0) return base;
  const Color& hue = hues[static_cast<size_t>(body - 1) % hues.size()];
  const Color other = hue * (0.7f * luminance(base) / luminance(hue));
  return lerp(other, base, 0.2f + 0.7f * hairiness).min(0.95f);
}

Color strand_color(const Color& color, float hairiness, std::uint32_t strand) {
  const float lightness = 2.0f * unit_float(hash(strand, 17)) - 1.0f;
  const float warmth = 2.0f * unit_float(hash(strand, 29)) - 1.0f;
  const float amount = 0.10f + 0.18f * hairiness;
  const Color tint(1.0f + 0.06f * warmth, 1.0f, 1.0f - 0.10f * warmth);
  return (color * tint * std::exp(amount * lightness)).min(0.95f);
}

std::vector<Vec3f> corner_normals(std::span<const Vec3> vertices, std::span<const Eigen::Vector3i> triangles) {
  const double crease_cosine = std::cos(40.0 * std::numbers::pi / 180.0);

  // Normals times twice the area, and the faces at each vertex in compressed rows.
  std::vector<Vec3> area_normal(triangles.size());
  std::vector<int> row(vertices.size() + 1, 0);
  for (size_t f = 0; f < triangles.size(); ++f) {
    const Eigen::Vector3i& t = triangles[f];
    area_normal[f] = (vertices[t[1]] - vertices[t[0]]).cross(vertices[t[2]] - vertices[t[0]]);
    for (const int v : t) ++row[v + 1];
  }
  for (size_t v = 0; v < vertices.size(); ++v) row[v + 1] += row[v];
  std::vector<int> faces(3 * triangles.size());
  std::vector<int> next(row.begin(), row.end() - 1);
  for (size_t f = 0; f < triangles.size(); ++f) {
    for (const int v : triangles[f]) faces[next[v]++] = static_cast<int>(f);
  }

  std::vector<Vec3f> normals;
  normals.reserve(3 * triangles.size());
  for (size_t f = 0; f < triangles.size(); ++f) {
    const Vec3 face_normal = area_normal[f].normalized();
    for (const int v : triangles[f]) {
      Vec3 sum = Vec3::Zero();
      for (int k = row[v]; k < row[v + 1]; ++k) {
        const Vec3& other = area_normal[faces[k]];
        if (other.dot(face_normal) >= crease_cosine * other.norm()) sum += other;
      }
      normals.push_back(sum.normalized().cast<float>());
    }
  }
  return normals;
}

}  // namespace stiction::shading
