#include "render/camera.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace stiction {
namespace {

constexpr double frame_margin = 1.12;      // picture size over the size of the framed objects
constexpr double large_mesh_factor = 3.0;  // a mesh larger than this times the curves is scenery, not subject
constexpr double min_scene_radius = 1e-3;  // m

struct Ball {
  Vec3 center;
  double radius;
};

using Box = Eigen::AlignedBox3d;

void add_ball(Box& box, const Ball& ball) {
  box.extend(ball.center - Vec3::Constant(ball.radius));
  box.extend(ball.center + Vec3::Constant(ball.radius));
}

Box box_of(const std::vector<Ball>& balls) {
  Box box;
  for (const Ball& ball : balls) add_ball(box, ball);
  return box;
}

std::vector<Ball> curve_balls(const FrameLayout& layout, std::span<const Frame> frames) {
  std::vector<Ball> balls;
  for (const Frame& frame : frames) {
    for (size_t b = 0; b < layout.curves.size(); ++b) {
      for (size_t i = 0; i < frame.curves[b].size(); ++i) {
        if (frame.curves[b][i].allFinite()) balls.push_back({frame.curves[b][i], layout.curves[b].radius[i]});
      }
    }
  }
  return balls;
}

/// Vertices, over all frames, of the meshes whose box in any one frame has a diagonal of at most `max_diagonal`.
std::vector<Ball> mesh_balls(const FrameLayout& layout, std::span<const Frame> frames, double max_diagonal) {
  std::vector<Ball> balls;
  for (size_t b = 0; b < layout.meshes.size(); ++b) {
    if (layout.meshes[b].is_ground) continue;
    for (const Frame& frame : frames) {
      Box box;
      for (const Vec3& x : frame.meshes[b]) box.extend(x);
      if (box.isEmpty() || !(box.diagonal().norm() <= max_diagonal)) continue;
      for (const Vec3& x : frame.meshes[b]) {
        if (x.allFinite()) balls.push_back({x, 0.0});
      }
    }
  }
  return balls;
}

/// The eye for which all four sides of the view pyramid, narrowed by the margin, touch or clear the balls. In the
/// camera's axes a side demands  s·x + e r <= slope (z - z_eye) + s·x_eye, so the tightest eye is a max and a mean.
Vec3 fitting_eye(const std::vector<Ball>& balls, const CameraAxes& axes, double aspect) {
  const double slope[2] = {axes.half_height * aspect / frame_margin, axes.half_height / frame_margin};
  const Vec3 sideways[2] = {axes.right, axes.up};
  const double infinity = std::numeric_limits<double>::infinity();
  double z_eye = infinity;
  double offset[2];
  for (int axis = 0; axis < 2; ++axis) {
    double low = -infinity, high = -infinity;
    const double slant = std::hypot(1.0, slope[axis]);
    for (const Ball& ball : balls) {
      const double x = sideways[axis].dot(ball.center);
      const double reach = slant * ball.radius - slope[axis] * axes.forward.dot(ball.center);
      high = std::max(high, x + reach);
      low = std::max(low, -x + reach);
    }
    offset[axis] = 0.5 * (high - low);
    z_eye = std::min(z_eye, -0.5 * (high + low) / slope[axis]);
  }
  return offset[0] * axes.right + offset[1] * axes.up + z_eye * axes.forward;
}

}  // namespace

CameraAxes camera_axes(const Camera& camera) {
  CameraAxes axes;
  axes.forward = (camera.target - camera.eye).normalized();
  const Vec3 vertical = std::abs(axes.forward.z()) > 0.9999 ? Vec3::UnitY() : Vec3::UnitZ();
  axes.right = axes.forward.cross(vertical).normalized();
  axes.up = axes.right.cross(axes.forward);
  axes.half_height = std::tan(0.5 * camera.field_of_view * std::numbers::pi / 180.0);
  return axes;
}

double pixel_size(const Camera& camera, double depth, int height) {
  return 2.0 * camera_axes(camera).half_height * depth / height;
}

Eigen::Vector2d project(const Camera& camera, int width, int height, const Vec3& x) {
  const CameraAxes axes = camera_axes(camera);
  const Vec3 d = x - camera.eye;
  const double scale = 0.5 * height / (axes.half_height * axes.forward.dot(d));
  return {0.5 * width + scale * axes.right.dot(d), 0.5 * height - scale * axes.up.dot(d)};
}

void check_frame(const FrameLayout& layout, const Frame& frame) {
  const auto require = [&](bool ok, const std::string& name) {
    if (!ok) throw std::invalid_argument(fmt::format("frame {}: '{}' does not match the layout", frame.index, name));
  };
  require(frame.curves.size() == layout.curves.size(), "curves");
  require(frame.meshes.size() == layout.meshes.size(), "meshes");
  for (size_t b = 0; b < layout.curves.size(); ++b) {
    const CurveLayout& curves = layout.curves[b];
    const size_t nodes = curves.offsets.empty() ? 0 : curves.offsets.back();
    require(frame.curves[b].size() == nodes && curves.radius.size() == nodes, curves.name);
  }
  for (size_t b = 0; b < layout.meshes.size(); ++b) {
    const MeshLayout& mesh = layout.meshes[b];
    require(static_cast<int>(frame.meshes[b].size()) == mesh.vertex_count, mesh.name);
  }
}

Camera frame_camera(const FrameLayout& layout, std::span<const Frame> frames, const RenderOptions& options) {
  for (const Frame& frame : frames) check_frame(layout, frame);

  Camera camera;
  camera.eye = options.eye;
  camera.target = options.target;
  camera.field_of_view = options.field_of_view;

  // The objects of interest, and what stands on the ground.
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Ball> balls = curve_balls(layout, frames);
  const double max_diagonal = balls.empty() ? infinity : large_mesh_factor * box_of(balls).diagonal().norm();
  const std::vector<Ball> mesh_points = mesh_balls(layout, frames, max_diagonal);
  balls.insert(balls.end(), mesh_points.begin(), mesh_points.end());
  if (balls.empty()) return camera;

  const Box box = box_of(balls);
  camera.scene_center = box.center();
  camera.scene_radius = std::max(0.5 * box.diagonal().norm(), min_scene_radius);
  camera.ground_height = box.min().z();
  for (const Ball& ball : mesh_balls(layout, frames, infinity)) {
    camera.ground_height = std::min(camera.ground_height, ball.center.z());
  }
  if (!options.frame_scene) return camera;

  // A scene without extent still gets a finite distance.
  balls.push_back({camera.scene_center, min_scene_radius});
  const CameraAxes axes = camera_axes(camera);
  camera.eye = fitting_eye(balls, axes, static_cast<double>(options.width) / options.height);
  camera.target = camera.eye + axes.forward * axes.forward.dot(camera.scene_center - camera.eye);
  return camera;
}

}  // namespace stiction
