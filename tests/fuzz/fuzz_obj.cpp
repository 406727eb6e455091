// libFuzzer target: any bytes are either refused with a place in the text, or give a sound mesh that survives being
// written and read again.
#include <cmath>
#include <cstdlib>

#include "geometry/mesh_io.hpp"

namespace {

using namespace stiction;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_sound(const TriangleMesh& mesh) {
  const int count = static_cast<int>(mesh.vertices.size());
  require(!mesh.triangles.empty());
  for (const Vec3& x : mesh.vertices) require(x.allFinite());
  for (const Eigen::Vector3i& t : mesh.triangles) {
    require(t.minCoeff() >= 0 && t.maxCoeff() < count);
    require(t[0] != t[1] && t[1] != t[2] && t[2] != t[0]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const TriangleMesh mesh = parse_obj({reinterpret_cast<const char*>(data), size}, "fuzz");
    require_sound(mesh);
    const TriangleMesh copy = parse_obj(format_obj(mesh), "copy");
    require(copy.vertices == mesh.vertices && copy.triangles == mesh.triangles);
  } catch (const MeshError& error) {
    require(std::string_view(error.what()).starts_with("fuzz:"));
  }
  return 0;
}
