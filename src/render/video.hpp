// Films from rendered frames, through the ffmpeg program.
#pragma once

#include <filesystem>

namespace stiction {

/// Encodes folder/frame_00000.png, … (any first number) at `fps` 1/s as H.264. Throws std::runtime_error where there
/// are no frames, ffmpeg is not on the PATH, or it fails (with what it said).
void encode_mp4(const std::filesystem::path& folder, double fps, const std::filesystem::path& out);

}  // namespace stiction
