#include "render/png.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace stiction {
namespace {

/// Identity up to the knee, then an exponential that approaches 1 with the same slope at the knee. Applied to the
/// largest channel, so that hues stay.
float tone(float x) {
  constexpr float knee = 0.6f;
  return x < knee ? x : 1.0f - (1.0f - knee) * std::exp(-(x - knee) / (1.0f - knee));
}

float srgb(float x) { return x <= 0.0031308f ? 12.92f * x : 1.055f * std::pow(x, 1.0f / 2.4f) - 0.055f; }

/// Interleaved gradient noise in [0, 1): neighbouring pixels round differently, so gradients show no bands.
float dither(int x, int y) {
  const float inner = 0.06711056f * static_cast<float>(x) + 0.00583715f * static_cast<float>(y);
  const float outer = 52.9829189f * (inner - std::floor(inner));
  return outer - std::floor(outer);
}

}  // namespace

std::vector<std::uint8_t> to_srgb8(const Image& image) {
  std::vector<std::uint8_t> bytes(image.rgb.size());
  for (size_t pixel = 0; pixel < bytes.size() / 3; ++pixel) {
    const float* linear = &image.rgb[3 * pixel];
    const float peak = std::max({linear[0], linear[1], linear[2], 1e-6f});
    const float scale = tone(peak) / peak;
    const float noise = dither(static_cast<int>(pixel % image.width), static_cast<int>(pixel / image.width));
    for (int channel = 0; channel < 3; ++channel) {
      const float level = 255.0f * srgb(scale * linear[channel]) + noise;
      bytes[3 * pixel + channel] = static_cast<std::uint8_t>(std::clamp(level, 0.0f, 255.0f));
    }
  }
  return bytes;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  const std::vector<std::uint8_t> bytes = to_srgb8(image);
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&png, path.c_str(), 0, bytes.data(), 0, nullptr)) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", path.string(), png.message));
  }
}

}  // namespace stiction
