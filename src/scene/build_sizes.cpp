#include <fmt/format.h>

#include <cmath>

#include "scene/build.hpp"

namespace stiction::scene {
namespace {

constexpr double meshed_share = 0.05;  // faces of a surface made from an implicit one, over nodes of a scene

/// Adds up the nodes of bodies and the vertices of made meshes; fails at the table that brings them over the limit.
class SizeCheck {
 public:
  explicit SizeCheck(const Build& build) : build_(build) {}

  /// Fails where a count that takes much work each asks for more than `share` of the nodes.
  void bound(const char* kind, std::size_t index, const char* key, int count, double share) const {
    const auto most = static_cast<std::int64_t>(share * static_cast<double>(build_.limits.nodes));
    if (count > most)
      build_.at.fail(fmt::format("{}.{}.{}", kind, index, key), fmt::format("is {}, must be <= {}", count, most));
  }

  void add(const char* kind, std::size_t index, const char* key, double more) {
    nodes_ += more;
    if (nodes_ > static_cast<double>(build_.limits.nodes))
      build_.at.fail(fmt::format("{}.{}.{}", kind, index, key),
                     fmt::format("brings the scene to {:.0f} nodes, must be <= {}", nodes_, build_.limits.nodes));
  }

 private:
  const Build& build_;
  double nodes_ = 0;
};

void add_rod(SizeCheck& check, const char* kind, std::size_t index, const RodEntry& entry) {
  const bool by_nodes = !entry.nodes.empty();
  check.add(kind, index, by_nodes ? "nodes" : "elements",
            by_nodes ? static_cast<double>(entry.nodes.size()) : entry.elements + 1.0);
}

void add_shell(SizeCheck& check, std::size_t index, const ShellEntry& entry) {
  const bool by_cells = entry.nx > 0 && entry.ny > 0;
  if (entry.shape == ShellShape::file) return;
  if (entry.shape == ShellShape::shirt) check.bound("shell", index, "vertices", entry.vertices, 0.5 * meshed_share);
  const double corners = (entry.nx + 1.0) * (entry.ny + 1.0);
  check.add("shell", index, by_cells ? "nx" : "vertices",
            !by_cells                             ? entry.vertices
            : entry.diagonals == Diagonals::cross ? 2 * corners
                                                  : corners);
}

/// A tetrahedral mesh has about a quarter as many vertices as tets, a closed surface half as many as faces.
void add_solid(SizeCheck& check, std::size_t index, const SolidEntry& entry) {
  if (entry.shape == SolidShape::file) return;
  const double copies = entry.copies.cast<double>().prod();
  const bool by_cells = (entry.cells.array() > 0).all();
  const double tets = by_cells ? 5 * entry.cells.cast<double>().prod() : entry.tets;
  const bool has_faces = entry.shape == SolidShape::sphere || entry.shape == SolidShape::rabbit;
  check.add("solid", index,
            copies > 1 ? "copies"
            : by_cells ? "cells"
                       : "tets",
            copies * (tets / 4 + (has_faces ? entry.faces / 2.0 : 0)));
}

void add_frames(SizeCheck& check, std::size_t index, const FramesEntry& entry) {
  const PalmOptions& tree = entry.palm.tree;
  switch (entry.shape) {
    case FramesShape::rigid:
      check.add("frames", index, "segments", 0.5 * entry.segments * entry.segments);
      break;
    case FramesShape::beam:
      check.add("frames", index, "count", 36.0 * entry.count);
      break;
    case FramesShape::sheet:
      check.add("frames", index, "nx", 52.0 * entry.nx * entry.ny);
      break;
    case FramesShape::palm:
      check.add("frames", index, "leaves",
                4.0 * (tree.trunk_frames + tree.leaves * (tree.leaf_frames - 1)) + 400.0 * tree.leaves);
      break;
  }
}

void add_collider(SizeCheck& check, const Build& build, std::size_t index, const ColliderEntry& entry) {
  if (entry.collider.shape != ColliderShape::mesh) return;
  const bool is_creature = entry.procedural >= Procedural::rabbit;
  const TimeOptions& time = build.document.time;
  const bool fps_given = build.at.has(fmt::format("collider.{}.sequence_fps", index));
  const double samples = !entry.run ? 1 : 1 + time.duration * (fps_given ? entry.collider.sequence_fps : 1 / time.dt());
  if (is_creature) check.bound("collider", index, "faces", entry.faces, meshed_share);
  if (is_creature) check.add("collider", index, entry.run ? "run" : "faces", samples * entry.faces / 2);
}

}  // namespace

void check_sizes(const Build& build) {
  const Document& d = build.document;
  SizeCheck check(build);
  for (std::size_t i = 0; i < d.grooms.size(); ++i) {
    const GroomOptions& groom = d.grooms[i].groom;
    check.add("groom", i, "strands", static_cast<double>(groom.strands) * (groom.elements + groom.elements_jitter + 1));
  }
  for (std::size_t i = 0; i < d.rods.size(); ++i) add_rod(check, "rod", i, d.rods[i]);
  for (std::size_t i = 0; i < d.bundles.size(); ++i)
    check.add("bundle", i, "count", static_cast<double>(d.bundles[i].bundle.count) * d.bundles[i].bundle.nodes);
  for (std::size_t i = 0; i < d.chains.size(); ++i) add_rod(check, "chain", i, d.chains[i]);
  for (std::size_t i = 0; i < d.shells.size(); ++i) add_shell(check, i, d.shells[i]);
  for (std::size_t i = 0; i < d.solids.size(); ++i) add_solid(check, i, d.solids[i]);
  for (std::size_t i = 0; i < d.frames.size(); ++i) add_frames(check, i, d.frames[i]);
  for (std::size_t i = 0; i < d.colliders.size(); ++i) add_collider(check, build, i, d.colliders[i]);
}

}  // namespace stiction::scene
