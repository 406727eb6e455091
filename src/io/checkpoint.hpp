// Checkpoints: the full state of a simulation in an HDF5 file, bit for bit.
//
// The file begins with a 512-byte HDF5 user block that holds a checksum of everything after it, so damage anywhere is
// found before the content is looked at. HDF5 tools open the file as it is.
//
//   /fingerprint          string: the scene that the state belongs to
//   /step, /time          int64, float64 (s)
//   /arrays/<i>           name, values float64
#pragma once

#include <filesystem>
#include <string>

#include "io/output_folder.hpp"
#include "stiction/frame.hpp"

namespace stiction {

/// Replaces the checkpoint at `path` in one step; after an IoError the one before stands.
void save_checkpoint(const std::filesystem::path& path, const Snapshot& snapshot, const std::string& scene_fingerprint);

/// Reads a checkpoint. Throws IoError if it is missing, damaged, or belongs to a scene with another fingerprint.
Snapshot load_checkpoint(const std::filesystem::path& path, const std::string& expected_fingerprint);

}  // namespace stiction
