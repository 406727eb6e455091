// The camera of the renderer: a pinhole looking along `target - eye` with z up, and the rule that places it.
#pragma once

#include <span>

#include "stiction/frame.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// Where the picture is taken from, and the stage it shows; constant over an animation. Lengths in m.
struct Camera {
  Vec3 eye = {0.5, -0.8, 0.4};
  Vec3 target = Vec3::Zero();
  double field_of_view = 30;         ///< vertical, degrees
  Vec3 scene_center = Vec3::Zero();  ///< of the box around the objects of interest
  double scene_radius = 0.5;         ///< of the sphere around that box
  double ground_height = 0;          ///< z under the lowest point
};

/// Orthonormal axes of a camera, and half the height of the picture at unit depth.
struct CameraAxes {
  Vec3 right, up, forward;
  double half_height;
};

CameraAxes camera_axes(const Camera& camera);

/// Width of a pixel of a picture `height` pixels high, for objects at `depth` m along the camera's axis. m.
double pixel_size(const Camera& camera, double depth, int height);

/// Pixel coordinates of a point: (0, 0) is the upper left corner of a width x height picture.
Eigen::Vector2d project(const Camera& camera, int width, int height, const Vec3& x);

/// Camera for all of `frames`. With options.frame_scene it keeps the direction from options.target to options.eye
/// and moves so that the curves, and the meshes that are not much larger than them, fill the picture.
Camera frame_camera(const FrameLayout& layout, std::span<const Frame> frames, const RenderOptions& options);

/// Throws std::invalid_argument where the frame's arrays do not have the sizes of the layout.
void check_frame(const FrameLayout& layout, const Frame& frame);

}  // namespace stiction
