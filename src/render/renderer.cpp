// Everything is traced in coordinates relative to the scene's centre, in single precision.
#include "render/renderer.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range2d.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "render/shading.hpp"

#if __has_include(<embree4/rtcore.h>)
#include <embree4/rtcore.h>
#else
#include <embree3/rtcore.h>
#endif

namespace stiction {
namespace {

using namespace shading;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double min_pixel_radius = 0.4;  // a thinner strand is drawn with this radius

// ---------------------------------------------------------------- Embree 3 and 4 behind one face

#if RTC_VERSION_MAJOR >= 4
using QueryContext = RTCRayQueryContext;

void intersect_scene(RTCScene scene, RTCRayHit& hit) { rtcIntersect1(scene, &hit); }

void occlude_in_scene(RTCScene scene, QueryContext& context, RTCRay& ray) {
  rtcInitRayQueryContext(&context);
  RTCOccludedArguments arguments;
  rtcInitOccludedArguments(&arguments);
  arguments.context = &context;
  rtcOccluded1(scene, &ray, &arguments);
}
#else
using QueryContext = RTCIntersectContext;

void intersect_scene(RTCScene scene, RTCRayHit& hit) {
  QueryContext context;
  rtcInitIntersectContext(&context);
  rtcIntersect1(scene, &context, &hit);
}

void occlude_in_scene(RTCScene scene, QueryContext& context, RTCRay& ray) {
  rtcInitIntersectContext(&context);
  rtcOccluded1(scene, &context, &ray);
}
#endif

struct Ray {
  Vec3f origin, direction;
  float near = 0;
};

RTCRay to_embree(const Ray& ray) {
  RTCRay r{};
  r.org_x = ray.origin.x(), r.org_y = ray.origin.y(), r.org_z = ray.origin.z();
  r.dir_x = ray.direction.x(), r.dir_y = ray.direction.y(), r.dir_z = ray.direction.z();
  r.tnear = ray.near;
  r.tfar = infinity;
  r.mask = ~0u;
  return r;
}

void check_device(RTCDevice device) {
  const RTCError error = rtcGetDeviceError(device);
  if (error != RTC_ERROR_NONE) throw std::runtime_error(fmt::format("Embree error {}", static_cast<int>(error)));
}

// ---------------------------------------------------------------- the scene as the rays meet it

/// A body of curves as Catmull-Rom segments; segment s has the control points points[first_point[s] + 0..3].
struct CurveBody {
  std::vector<Eigen::Vector4f> points;  // x, y, z, drawn radius; each strand has one extra point at either end
  std::vector<unsigned> first_point;
  std::vector<unsigned> strand_of_segment;
  std::vector<Eigen::Vector4f> caps;  // balls at the open ends of thick strands
  std::vector<unsigned> strand_of_cap;
  std::vector<Color> strand_colors;
  float hairiness = 0;
  Color transmittance;
};

struct MeshBody {
  std::vector<Eigen::Vector3i> triangles;
  std::vector<Vec3f> corner_normals;
  Color color;
};

/// A one-sided ground that fades into the backdrop away from the scene.
struct Plane {
  Vec3f point, normal;
};

enum class GeometryKind { curve, cap, mesh };

struct Geometry {
  GeometryKind kind;
  int body;
};

/// A shadow ray: what is left of the light after the hairs that it has crossed. The context must come first.
struct ShadowQuery {
  QueryContext context;
  Color transmittance;
};

/// Occlusion filter of curves: hair dims and tints the light, and only stops it when little is left.
void pass_through_fibre(const RTCFilterFunctionNArguments* arguments) {
  auto& query = *reinterpret_cast<ShadowQuery*>(arguments->context);
  query.transmittance *= static_cast<const CurveBody*>(arguments->geometryUserPtr)->transmittance;
  if (query.transmittance.maxCoeff() > 0.02f) arguments->valid[0] = 0;
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

void add_strand(CurveBody& body, std::span<const Eigen::Vector4f> nodes, bool capped) {
  const auto strand = static_cast<unsigned>(body.strand_colors.size() - 1);
  const size_t n = nodes.size();
  const auto beyond = [](const Eigen::Vector4f& end, const Eigen::Vector4f& inner) {
    Eigen::Vector4f x = 2.0f * end - inner;
    x[3] = end[3];
    return x;
  };
  const auto first = static_cast<unsigned>(body.points.size());
  body.points.push_back(beyond(nodes[0], nodes[1]));
  body.points.insert(body.points.end(), nodes.begin(), nodes.end());
  body.points.push_back(beyond(nodes[n - 1], nodes[n - 2]));
  for (unsigned s = 0; s + 1 < n; ++s) {
    body.first_point.push_back(first + s);
    body.strand_of_segment.push_back(strand);
  }
  if (!capped) return;
  for (const Eigen::Vector4f& end : {nodes.front(), nodes.back()}) {
    body.caps.push_back(end);
    body.strand_of_cap.push_back(strand);
  }
}

CurveBody make_curve_body(const CurveLayout& layout, std::span<const Vec3> positions, int index, const Camera& camera,
                          const RenderOptions& options) {
  CurveBody body;
  body.hairiness = hairiness(mean(layout.radius));
  const Color color = body_color(options.curve_color.cast<float>().array(), body.hairiness, index);
  body.transmittance = fibre_transmittance(color, body.hairiness);
  const Vec3 forward = camera_axes(camera).forward;
  const double min_radius_slope = min_pixel_radius * pixel_size(camera, 1.0, options.height);
  std::vector<Eigen::Vector4f> nodes;
  for (size_t strand = 0; strand + 1 < layout.offsets.size(); ++strand) {
    body.strand_colors.push_back(strand_color(color, body.hairiness, static_cast<std::uint32_t>(strand)));
    nodes.clear();
    bool thick = true;
    for (int i = layout.offsets[strand]; i < layout.offsets[strand + 1]; ++i) {
      const double min_radius = min_radius_slope * std::max(forward.dot(positions[i] - camera.eye), 0.0);
      thick = thick && layout.radius[i] > min_radius;
      const Vec3 x = positions[i] - camera.scene_center;
      nodes.push_back(Eigen::Vector4d(x[0], x[1], x[2], std::max(layout.radius[i], min_radius)).cast<float>());
    }
    if (nodes.size() >= 2) add_strand(body, nodes, thick);
  }
  return body;
}

/// Owner of the Embree scene and of what is needed to shade its hits.
class TracedScene {
 public:
  TracedScene(RTCDevice device, const FrameLayout& layout, const Frame& frame, const Camera& camera,
              const RenderOptions& options);
  ~TracedScene() { rtcReleaseScene(scene_); }
  TracedScene(const TracedScene&) = delete;
  TracedScene& operator=(const TracedScene&) = delete;

  /// The first surface along a ray; false where there is none. `distance` in m.
  bool intersect(const Ray& ray, Surface& surface, float& distance) const;
  /// Fraction of light that comes in along a ray from infinity.
  Color transmittance(const Ray& ray) const;

 private:
  void add_curves(RTCDevice device, int body);
  void add_mesh(RTCDevice device, int body, std::span<const Vec3> vertices, const Vec3& center);
  void attach(RTCGeometry geometry, GeometryKind kind, int body);
  Surface curve_surface(const RTCRayHit& hit, const Geometry& geometry) const;
  Surface mesh_surface(const RTCHit& hit, const MeshBody& mesh) const;

  RTCScene scene_;
  std::vector<Geometry> geometries_;  // by Embree's geometry id
  std::vector<CurveBody> curves_;
  std::vector<MeshBody> meshes_;
  std::vector<Plane> planes_;
  float mesh_clearance_;
};

TracedScene::TracedScene(RTCDevice device, const FrameLayout& layout, const Frame& frame, const Camera& camera,
                         const RenderOptions& options)
    : scene_(rtcNewScene(device)), mesh_clearance_(static_cast<float>(1e-4 * camera.scene_radius)) {
  curves_.reserve(layout.curves.size());  // Embree keeps pointers to the elements
  for (size_t b = 0; b < layout.curves.size(); ++b) {
    curves_.push_back(make_curve_body(layout.curves[b], frame.curves[b], static_cast<int>(b), camera, options));
    add_curves(device, static_cast<int>(b));
  }
  for (size_t b = 0; b < layout.meshes.size(); ++b) {
    const MeshLayout& mesh = layout.meshes[b];
    if (mesh.triangles.empty()) continue;
    const std::span<const Vec3> vertices = frame.meshes[b];
    const std::vector<Vec3f> normals = corner_normals(vertices, mesh.triangles);
    if (mesh.is_ground) {
      planes_.push_back({(vertices[mesh.triangles[0][0]] - camera.scene_center).cast<float>(), normals[0]});
      continue;
    }
    const int index = static_cast<int>(meshes_.size());
    meshes_.push_back({mesh.triangles, normals, mesh.is_simulated ? cloth_color(index) : mesh_color(index)});
    add_mesh(device, static_cast<int>(meshes_.size()) - 1, vertices, camera.scene_center);
  }
  if (options.ground && planes_.empty()) {
    const auto height = static_cast<float>(camera.ground_height - camera.scene_center.z());
    planes_.push_back({height * Vec3f::UnitZ(), Vec3f::UnitZ()});
  }
  // Built by one thread: the order of the hierarchy, and so of ties between hits, must not depend on timing.
  tbb::task_arena(1).execute([this] { rtcJoinCommitScene(scene_); });
  check_device(device);
}

void TracedScene::attach(RTCGeometry geometry, GeometryKind kind, int body) {
  if (kind != GeometryKind::mesh && curves_[body].hairiness > 0) {
    rtcSetGeometryUserData(geometry, &curves_[body]);
    rtcSetGeometryOccludedFilterFunction(geometry, pass_through_fibre);
  }
  rtcCommitGeometry(geometry);
  rtcAttachGeometry(scene_, geometry);
  rtcReleaseGeometry(geometry);
  geometries_.push_back({kind, body});
}

void TracedScene::add_curves(RTCDevice device, int body) {
  const CurveBody& c = curves_[body];
  if (!c.first_point.empty()) {
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_ROUND_CATMULL_ROM_CURVE);
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT4, c.points.data(), 0,
                               sizeof(Eigen::Vector4f), c.points.size());
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT, c.first_point.data(), 0,
                               sizeof(unsigned), c.first_point.size());
    attach(geometry, GeometryKind::curve, body);
  }
  if (!c.caps.empty()) {
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_SPHERE_POINT);
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT4, c.caps.data(), 0,
                               sizeof(Eigen::Vector4f), c.caps.size());
    attach(geometry, GeometryKind::cap, body);
  }
}

void TracedScene::add_mesh(RTCDevice device, int body, std::span<const Vec3> vertices, const Vec3& center) {
  const std::vector<Eigen::Vector3i>& triangles = meshes_[body].triangles;
  RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
  auto* x = static_cast<float*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                                        3 * sizeof(float), vertices.size()));
  for (size_t i = 0; i < vertices.size(); ++i) {
    Eigen::Map<Vec3f>(x + 3 * i) = (vertices[i] - center).cast<float>();
  }
  auto* index = static_cast<unsigned*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                                               3 * sizeof(unsigned), triangles.size()));
  for (size_t t = 0; t < triangles.size(); ++t) {
    for (int k = 0; k < 3; ++k) index[3 * t + k] = static_cast<unsigned>(triangles[t][k]);
  }
  attach(geometry, GeometryKind::mesh, body);
}

/// Radius and direction of a Catmull-Rom segment at u in [0, 1].
struct CurvePoint {
  float radius;
  Vec3f tangent;
};

CurvePoint curve_point(const Eigen::Vector4f* p, float u) {
  const Eigen::Vector4f derivative = 0.5f * (p[2] - p[0]) + u * (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3]) +
                                     1.5f * u * u * (3 * (p[1] - p[2]) + p[3] - p[0]);
  return {p[1][3] + u * (p[2][3] - p[1][3]), derivative.head<3>().stableNormalized()};
}

Surface TracedScene::curve_surface(const RTCRayHit& hit, const Geometry& geometry) const {
  const CurveBody& body = curves_[geometry.body];
  const unsigned primitive = hit.hit.primID;
  Surface s;
  s.material = Finish::fibre;
  s.normal = Vec3f(hit.hit.Ng_x, hit.hit.Ng_y, hit.hit.Ng_z).normalized();
  s.hairiness = body.hairiness;
  if (geometry.kind == GeometryKind::cap) {
    s.color = body.strand_colors[body.strand_of_cap[primitive]];
    s.clearance = 0.05f * body.caps[primitive][3];
    s.tangent = s.normal.unitOrthogonal();
    return s;
  }
  const CurvePoint point = curve_point(&body.points[body.first_point[primitive]], hit.hit.u);
  s.color = body.strand_colors[body.strand_of_segment[primitive]];
  s.tangent = point.tangent;
  // Rays that leave a hair skip it entirely, since light also comes through it.
  s.clearance = (0.05f + 2.2f * body.hairiness) * point.radius;
  return s;
}

Surface TracedScene::mesh_surface(const RTCHit& hit, const MeshBody& mesh) const {
  const Vec3f* n = &mesh.corner_normals[3 * hit.primID];
  Surface s;
  s.material = Finish::matte;
  s.normal = ((1 - hit.u - hit.v) * n[0] + hit.u * n[1] + hit.v * n[2]).stableNormalized();
  s.color = mesh.color;
  s.clearance = mesh_clearance_;
  return s;
}

bool TracedScene::intersect(const Ray& ray, Surface& surface, float& distance) const {
  RTCRayHit hit{};
  hit.ray = to_embree(ray);
  hit.hit.geomID = RTC_INVALID_GEOMETRY_ID;
  intersect_scene(scene_, hit);
  distance = hit.ray.tfar;
  if (hit.hit.geomID != RTC_INVALID_GEOMETRY_ID) {
    const Geometry& geometry = geometries_[hit.hit.geomID];
    surface = geometry.kind == GeometryKind::mesh ? mesh_surface(hit.hit, meshes_[geometry.body])
                                                  : curve_surface(hit, geometry);
    if (surface.normal.dot(ray.direction) > 0) surface.normal = -surface.normal;
  }
  for (const Plane& plane : planes_) {
    const float approach = -plane.normal.dot(ray.direction);
    const float t = plane.normal.dot(ray.origin - plane.point) / approach;
    if (!(approach > 0 && t > ray.near && t < distance)) continue;
    distance = t;
    surface = Surface{};
    surface.material = Finish::ground;
    surface.normal = plane.normal;
    surface.color = ground_color();
    surface.clearance = mesh_clearance_;
  }
  surface.position = ray.origin + distance * ray.direction;
  return distance < infinity;
}

Color TracedScene::transmittance(const Ray& ray) const {
  ShadowQuery query;
  query.transmittance = Color::Ones();
  RTCRay shadow = to_embree(ray);
  occlude_in_scene(scene_, query.context, shadow);
  return shadow.tfar < 0 ? Color::Zero() : query.transmittance;
}

// ---------------------------------------------------------------- light transport

enum Dimension : std::uint32_t { filter_dimension, key_dimension, rim_dimension, dome_dimension, bounce_dimension };

class Tracer {
 public:
  Tracer(const TracedScene& scene, const Studio& studio, float scene_radius)
      : scene_(scene), studio_(studio), scene_radius_(scene_radius) {}

  /// Radiance that comes back along a camera ray.
  Color radiance(const Ray& ray, const SamplePoint& point) const;

 private:
  Ray leaving(const Surface& s, const Vec3f& direction) const;
  Color direct(const Surface& s, const Vec3f& to_viewer, const DistantLight& light, const Vec2f& point) const;
  Color ambient(const Surface& s, const SamplePoint& point) const;
  Color bounced(const Ray& ray, const SamplePoint& point) const;

  const TracedScene& scene_;
  const Studio& studio_;
  float scene_radius_;
};

Ray Tracer::leaving(const Surface& s, const Vec3f& direction) const {
  if (s.hairiness > 0) return {s.position, direction, s.clearance};
  return {s.position + s.clearance * s.normal, direction, 0.0f};
}

Color Tracer::direct(const Surface& s, const Vec3f& to_viewer, const DistantLight& light, const Vec2f& point) const {
  const Vec3f to_light = sample_light(light, point);
  const Color weight = reflectance(s, to_viewer, to_light);
  if (weight.maxCoeff() < 1e-4f) return Color::Zero();
  return weight * light.color * scene_.transmittance(leaving(s, to_light));
}

/// Light of the dome, dimmed by what stands before it, and one bounce off that where it is opaque.
Color Tracer::ambient(const Surface& s, const SamplePoint& point) const {
  const Ray ray = leaving(s, cosine_direction(s.normal, point(dome_dimension)));
  if (s.hairiness > 0) return 0.75f * s.color * studio_.dome(ray.direction) * scene_.transmittance(ray);
  return s.color * bounced(ray, point);
}

Color Tracer::bounced(const Ray& ray, const SamplePoint& point) const {
  Surface s;
  float distance;
  if (!scene_.intersect(ray, s, distance)) return studio_.dome(ray.direction);
  const float openness = s.material == Finish::fibre ? 0.7f : 0.4f;  // fibres let light of further bounces through
  const Color fill = openness * s.color * studio_.dome(s.normal);
  if (distance > 4 * scene_radius_) return fill + s.color * studio_.key.color * studio_.key.direction.z();
  return fill + direct(s, -ray.direction, studio_.key, point(bounce_dimension));
}

Color Tracer::radiance(const Ray& ray, const SamplePoint& point) const {
  Surface s;
  float distance;
  if (!scene_.intersect(ray, s, distance)) return studio_.backdrop(ray.direction);

  Color light = Color::Zero();
  float fade = 0;
  if (s.material == Finish::ground) {
    fade = std::clamp((s.position.norm() / scene_radius_ - 1.5f) / 9.0f, 0.0f, 1.0f);
    fade = 1.0f - (1.0f - fade) * (1.0f - fade);
    if (fade >= 1) return studio_.backdrop(ray.direction);
  } else {
    light += direct(s, -ray.direction, studio_.rim, point(rim_dimension));
  }
  light += direct(s, -ray.direction, studio_.key, point(key_dimension));
  light += ambient(s, point);
  return (1 - fade) * light + fade * studio_.backdrop(ray.direction);
}

}  // namespace

// ---------------------------------------------------------------- pictures

Renderer::Renderer(const RenderOptions& options) : options_(options), device_(rtcNewDevice(nullptr), rtcReleaseDevice) {
  if (!device_) check_device(nullptr);
  if (options.width < 1 || options.height < 1 || options.samples < 1) {
    throw std::invalid_argument(fmt::format("render: width {}, height {} and samples {} must be at least 1",
                                            options.width, options.height, options.samples));
  }
}

Image Renderer::render(const FrameLayout& layout, const Frame& frame, const Camera& camera) const {
  check_frame(layout, frame);
  constexpr float max_sample = 4.0f;  // brighter ones are clamped: they would stand out as single pixels
  constexpr int tile = 16;
  const int width = options_.width, height = options_.height;
  const CameraAxes axes = camera_axes(camera);
  const TracedScene scene(device_.get(), layout, frame, camera, options_);
  const Studio studio = make_studio(axes.forward.cast<float>());
  const Tracer tracer(scene, studio, static_cast<float>(camera.scene_radius));

  const Vec3f eye = (camera.eye - camera.scene_center).cast<float>();
  const auto pixel_step = static_cast<float>(pixel_size(camera, 1.0, height));
  const Vec3f right = axes.right.cast<float>() * pixel_step, down = -axes.up.cast<float>() * pixel_step;
  const auto trace_pixel = [&](int x, int y) -> Color {
    const std::uint32_t seed = hash(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y));
    const Vec2f center(static_cast<float>(x) + 0.5f - 0.5f * static_cast<float>(width),
                       static_cast<float>(y) + 0.5f - 0.5f * static_cast<float>(height));
    Color sum = Color::Zero();
    for (int sample = 0; sample < options_.samples; ++sample) {
      const SamplePoint point(seed, static_cast<std::uint32_t>(sample));
      const Vec2f q = center + filter_offset(point(filter_dimension));
      const Vec3f direction = (axes.forward.cast<float>() + q.x() * right + q.y() * down).normalized();
      sum += tracer.radiance({eye, direction}, point).min(max_sample);
    }
    return sum / static_cast<float>(options_.samples);
  };

  Image image{width, height, std::vector<float>(3 * static_cast<size_t>(width) * height)};
  tbb::parallel_for(tbb::blocked_range2d<int>(0, height, tile, 0, width, tile), [&](const auto& range) {
    for (int y = range.rows().begin(); y < range.rows().end(); ++y) {
      for (int x = range.cols().begin(); x < range.cols().end(); ++x) {
        const size_t first = 3 * (static_cast<size_t>(y) * width + x);
        Eigen::Map<Color>(&image.rgb[first]) = trace_pixel(x, y);
      }
    }
  });
  return image;
}

Image render(const FrameLayout& layout, const Frame& frame, const RenderOptions& options) {
  return Renderer(options).render(layout, frame, frame_camera(layout, {&frame, 1}, options));
}

}  // namespace stiction
