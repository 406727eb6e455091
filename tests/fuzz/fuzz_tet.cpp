// libFuzzer target: any bytes are either refused with a place in the text, or give a sound tetrahedral mesh. A form
// feed separates TetGen's two files; without one, the text is Gmsh's.
#include <cmath>
#include <cstdlib>

#include "geometry/tet_io.hpp"

namespace {

using namespace stiction;

constexpr TetMeshLimits kLimits{.vertices = 10000, .tets = 10000};

void require(bool condition) {
  if (!condition) std::abort();
}

TetMesh parse(std::string_view text) {
  const size_t cut = text.find('\f');
  if (cut == std::string_view::npos) return parse_msh(text, "fuzz", kLimits);
  return parse_tetgen(text.substr(0, cut), "fuzz", text.substr(cut + 1), "fuzz", kLimits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const TetMesh mesh = parse({reinterpret_cast<const char*>(data), size});
    require(!mesh.tets.empty());
    for (const Vec3& x : mesh.vertices) require(x.allFinite());
    for (const auto& t : mesh.tets)
      for (int i = 0; i < 4; ++i) require(t[i] >= 0 && t[i] < static_cast<int>(mesh.vertices.size()));
  } catch (const MeshError& error) {
    require(std::string_view(error.what()).starts_with("fuzz:"));
  }
  return 0;
}
