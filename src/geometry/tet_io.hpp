// Tetrahedral meshes from files: Gmsh .msh (ASCII, versions 2 to 2.2 and 4.1) and TetGen .node with .ele.
//
// Read are nodes and tets, of those of second order the corners; all other elements and sections are skipped. Nodes
// that no tet uses are dropped (Gmsh keeps centres of arcs), the others keep their order. Tets of negative volume are
// turned round, since conventions differ; flat ones are refused. Errors are MeshErrors, "file:line:column: what".
#pragma once

#include "geometry/mesh_io.hpp"

namespace stiction {

/// Counts beyond which a file is taken to be broken.
struct TetMeshLimits {
  size_t vertices = 1 << 26;
  size_t tets = 1 << 27;  ///< all elements of a .msh file count
};

/// Reads a .msh file, or a .node or .ele file with its sibling, by the name's ending. Throws MeshError.
TetMesh read_tet_mesh(const std::string& path);

/// Gmsh from text; `name` stands for the file in messages.
TetMesh parse_msh(std::string_view text, const std::string& name, const TetMeshLimits& limits = {});

/// TetGen from the texts of both files. Point numbers may start anywhere.
TetMesh parse_tetgen(std::string_view nodes, const std::string& node_name, std::string_view elements,
                     const std::string& element_name, const TetMeshLimits& limits = {});

}  // namespace stiction
