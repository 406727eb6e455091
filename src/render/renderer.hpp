// A headless ray tracer for frames of curves and meshes (Embree): soft key and rim lights, a dome with occlusion and
// one bounce, hair and tube materials. The same picture for any number of threads.
#pragma once

#include <memory>

#include "render/camera.hpp"
#include "render/png.hpp"

struct RTCDeviceTy;

namespace stiction {

/// Draws frames; keeps the ray tracing device between them.
class Renderer {
 public:
  explicit Renderer(const RenderOptions& options);

  /// The frame seen by the camera, in parallel on the caller's TBB threads. Strands thinner than 0.4 pixels are
  /// drawn with that radius.
  Image render(const FrameLayout& layout, const Frame& frame, const Camera& camera) const;

 private:
  RenderOptions options_;
  std::unique_ptr<RTCDeviceTy, void (*)(RTCDeviceTy*)> device_;
};

/// One picture, from the camera that frame_camera gives for this frame.
Image render(const FrameLayout& layout, const Frame& frame, const RenderOptions& options);

}  // namespace stiction
