// Pictures in linear light, and their way into 8-bit PNG files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace stiction {

/// A picture in linear RGB, row by row from the upper left; 1 is display white.
struct Image {
  int width = 0, height = 0;
  std::vector<float> rgb;  ///< 3 * width * height
};

/// Tone curve (linear with a soft shoulder), sRGB encoding and dithering to 8 bits.
std::vector<std::uint8_t> to_srgb8(const Image& image);

/// Writes to_srgb8(image). Throws std::runtime_error with the path where that fails.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace stiction
