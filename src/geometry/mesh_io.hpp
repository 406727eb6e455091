// Wavefront OBJ triangle meshes.
//
// Read: `v` (further numbers after x y z, a weight or a colour, are checked and dropped) and `f` in all its index forms
// (v, v/vt, v//vn, v/vt/vn; negative indices count back from the last definition), comments, CRLF, lines continued
// with a backslash. Polygons are cut into fans from their first vertex, which suits convex ones. Other statements are
// skipped; texture coordinates and normals only count for the range of the indices to them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "stiction/types.hpp"

namespace stiction {

/// A mesh file that cannot be read or written. what() reads "file:line:column: what is wrong".
class MeshError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Counts beyond which a file is taken to be broken.
struct MeshLimits {
  size_t vertices = 1 << 26;
  size_t triangles = 1 << 27;
  size_t polygon = 1 << 16;  ///< vertices of one face
};

/// Reads an OBJ file. Throws MeshError.
TriangleMesh read_obj(const std::string& path);

/// The same from text; `name` stands for the file in messages.
TriangleMesh parse_obj(std::string_view text, const std::string& name, const MeshLimits& limits = {});

/// OBJ text of a mesh with finite vertices; parse_obj returns the same mesh to the bit.
std::string format_obj(const TriangleMesh& mesh);

/// Writes format_obj(mesh) to a file. Throws MeshError.
void write_obj(const std::string& path, const TriangleMesh& mesh);

}  // namespace stiction
