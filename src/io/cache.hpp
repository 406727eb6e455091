// The frame cache: OUT/cache.h5 with OUT/cache.xdmf beside it, which ParaView opens.
//
// The HDF5 structure is written once, with contiguous datasets for `capacity` frames (what is not written yet is a hole
// in the file and takes no disk space). A frame is then added by plain writes inside those datasets: first the data,
// then, after a sync, the one number `frame_count` that makes the frame exist. So whatever stops the program, every
// frame that was counted is readable, and the file may be read while it grows. A cache that is full is copied into one
// of twice the capacity, which replaces it in one step.
//
//   /frame_count          int64 (1)
//   /index, /time         int32, float64 (capacity): Frame::index, Frame::time in s
//   /curves/<i>           name, offsets, radius (m), topology (XDMF's mixed cells)
//   /meshes/<i>           name, is_ground, is_simulated, vertex_count, triangles (triangles, 3)
//   .../positions/<frame> float32 (nodes, 3), m; a dataset a frame, since not all XDMF readers take slabs
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/output_folder.hpp"
#include "stiction/frame.hpp"

namespace stiction {

/// An open cache.h5: the layout of its frames and where their data lie.
struct CacheFile {
  File file;
  FrameLayout layout = {};
  std::int64_t capacity = 0;         ///< frames there is room for
  std::uint64_t frame_count_at = 0;  ///< file offset, bytes; the same for those below
  std::uint64_t index_at = 0;
  std::uint64_t time_at = 0;
  std::vector<std::vector<std::uint64_t>> curve_positions_at = {};  ///< [body][frame]
  std::vector<std::vector<std::uint64_t>> mesh_positions_at = {};   ///< [body][frame]

  std::int64_t frame_count() const;
  Frame read(std::int64_t slot) const;
  void write(std::int64_t slot, const Frame& frame);
  /// Makes the first `count` frames, and no others, exist.
  void commit(std::int64_t count);
};

class CacheWriter {
 public:
  /// Starts an empty cache in an existing folder. `expected_frames` only saves copying later. Throws IoError.
  CacheWriter(const std::filesystem::path& folder, const FrameLayout& layout, std::int64_t expected_frames = 256);

  /// Continues a cache after its first `frames_to_keep` frames and drops the rest. Throws IoError if it has fewer, or
  /// was written for another layout.
  static CacheWriter resume(const std::filesystem::path& folder, const FrameLayout& layout,
                            std::int64_t frames_to_keep);

  /// Adds a frame, positions rounded to float32. After an IoError the frames before are all there.
  void append(const Frame& frame);

  std::int64_t frame_count() const { return static_cast<std::int64_t>(times_.size()); }

 private:
  CacheWriter(const std::filesystem::path& folder, CacheFile cache, std::vector<double> times);

  void write_xdmf() const;

  std::filesystem::path folder_;
  CacheFile cache_;
  std::vector<double> times_;  // of the frames that exist, s
};

class CacheReader {
 public:
  /// Opens OUT/cache.h5, given the folder OUT or the file itself. Throws IoError.
  explicit CacheReader(const std::filesystem::path& path);

  const FrameLayout& layout() const { return cache_.layout; }
  /// Frames written so far; it rises while a simulation runs.
  std::int64_t frame_count() const { return cache_.frame_count(); }
  /// Frame number `index` of the file, 0 <= index < frame_count(). Throws IoError.
  Frame read(std::int64_t index) const;

 private:
  CacheFile cache_;
};

/// XDMF's list of mixed cells for a body of curves: for each curve "polyline, node count, node indices".
std::vector<int> xdmf_polylines(const CurveLayout& curves);

/// The XDMF 3 text that describes the frames at `times` (s) of a cache.h5 in the same folder.
std::string xdmf_text(const FrameLayout& layout, std::span<const double> times);

}  // namespace stiction
