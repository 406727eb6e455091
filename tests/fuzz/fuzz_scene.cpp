// Arbitrary bytes as a scene: accepted, or refused with a SceneError. No file is read, and few nodes are made.
#include <cstddef>
#include <cstdint>

#include "scene/parse.hpp"
#include "stiction/scene_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const stiction::scene::Limits limits{.nodes = 20000, .read_files = false, .folder = ""};
  try {
    stiction::scene::parse_limited({reinterpret_cast<const char*>(data), size}, "fuzz", {}, limits);
  } catch (const stiction::SceneError&) {
  }
  return 0;
}
