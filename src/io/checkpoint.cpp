#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "io/hdf5.hpp"

namespace stiction {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t user_block_size = 512;  // the smallest that HDF5 looks behind

/// FNV-1a on 64-bit words. Each step is a bijection of the state, so a change within one word never goes unnoticed.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    hash = (hash ^ word) * 1099511628211u;
  }
  return hash ^ bytes.size();
}

std::string user_block(std::string_view content) {
  std::string block = fmt::format("stiction checkpoint\nchecksum {:016x}\n", checksum(content));
  block.resize(user_block_size, '\n');
  return block;
}

void check_undamaged(const fs::path& path) {
  const std::string bytes = read_file(path);
  const std::string_view content = std::string_view(bytes).substr(std::min(user_block_size, bytes.size()));
  if (bytes.compare(0, user_block_size, user_block(content)) != 0) {
    throw IoError(path, "damaged, or not a checkpoint: the checksum does not match");
  }
}

}  // namespace

void save_checkpoint(const fs::path& path, const Snapshot& snapshot, const std::string& scene_fingerprint) {
  const std::string content = hdf5::file_image(path, [&](hdf5::Group& root) {
    root.write_string("fingerprint", scene_fingerprint);
    root.write_value<std::int64_t>("step", snapshot.step);
    root.write_value<double>("time", snapshot.time);
    hdf5::Group arrays = root.create_group("arrays");
    for (const Snapshot::Array& array : snapshot.arrays) {
      hdf5::Group group = arrays.create_group(std::to_string(arrays.size()));
      group.write_string("name", array.name);
      group.write<double>("values", array.values);
    }
  });
  write_file_atomically(path, user_block(content) + content);
}

Snapshot load_checkpoint(const fs::path& path, const std::string& expected_fingerprint) {
  if (!fs::exists(path)) throw IoError(path, "there is no checkpoint");
  check_undamaged(path);
  const hdf5::Group root = hdf5::open_file(path);
  const std::string fingerprint = root.read_string("fingerprint");
  if (fingerprint != expected_fingerprint) {
    throw IoError(path, fmt::format("belongs to another scene (fingerprint '{}', this scene has '{}')", fingerprint,
                                    expected_fingerprint));
  }
  Snapshot snapshot{root.read_value<std::int64_t>("step"), root.read_value<double>("time"), {}};
  const hdf5::Group arrays = root.group("arrays");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const hdf5::Group group = arrays.group(std::to_string(i));
    snapshot.arrays.push_back({group.read_string("name"), group.read<double>("values")});
  }
  return snapshot;
}

}  // namespace stiction
