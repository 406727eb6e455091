// Animals, people and plants made by code: what the scenes need in place of asset files.
//
// Lengths in metres; z is up, all stand on z = 0 (a bust on its cut) and face +x, symmetric in y.
#pragma once

#include <array>

#include "geometry/implicit.hpp"
#include "stiction/types.hpp"

namespace stiction {

/// A sitting rabbit of an even number of faces; `height` from the ground to the tips of its ears. Closed.
TriangleMesh make_rabbit(int faces, double height);

/// A head in space: its middle and its height from chin to crown.
struct HeadPlace {
  Vec3 centre;
  double size;
};

/// Whether a point near a head's surface is where hair grows: above a hairline from forehead to nape, ears excepted.
bool on_scalp(const Vec3& x, const HeadPlace& head);

/// The triangles of a mesh with all corners on the scalp.
std::vector<int> scalp_triangles(const TriangleMesh& mesh, const HeadPlace& head);

/// A head with neck and shoulders, closed, cut flat below the shoulders, where it stands on z = 0.
struct Bust {
  TriangleMesh mesh;
  HeadPlace head;
  std::vector<int> scalp;  ///< triangles
};
Bust make_head(double size, int faces = 12000);

/// A stylised person, 1.72 m tall, standing with the arms 40 degrees off the body. Closed.
TriangleMesh make_character(int faces);
HeadPlace character_head();

/// The parts of the character that a shirt covers, and where one ends.
struct ShirtForm {
  Field body;                   ///< torso with the beginning of the neck, and arms with hands
  Vec3 neck;                    ///< middle of the neck, about which a collar lies
  double collar;                ///< its radius
  double waist;                 ///< height of the hem of a shirt
  Vec3 shoulder, elbow, wrist;  ///< of the left arm (+y)
};
ShirtForm character_shirt_form();

/// The character running in place.
struct RunCycle {
  double fps;
  std::vector<std::vector<Vec3>> vertices;  ///< per sample, in the order of the mesh; the first is its rest shape
  std::vector<Pose> head;                   ///< per sample, from the rest shape: where points fixed to the skull go
};

/// Skins a mesh in the character's rest pose (the character itself or what it wears) to a run that starts from rest
/// over half a second. Samples at 0, 1 / fps, ... up to `seconds`.
RunCycle make_run_cycle(const TriangleMesh& rest, double fps, double seconds);

/// A trunk or a leaf: a mesh over a curve of frames. Vertex v follows the frames frame[v] with the weights weight[v],
/// which fall linearly from one to zero between neighbouring frames and sum to one.
struct PalmPart {
  TriangleMesh mesh;
  std::vector<Vec3> frames;  ///< rest positions, base first
  std::vector<std::array<int, 2>> frame;
  std::vector<std::array<double, 2>> weight;
};

struct PalmOptions {
  double height = 3.0;        ///< of the trunk, m
  double bend = 0.5;          ///< of its top to the side, m
  double base_radius = 0.13;  ///< m
  double top_radius = 0.08;   ///< m
  int trunk_frames = 6;
  int trunk_sectors = 16;
  int trunk_rings = 40;
  int leaves = 16;
  double leaf_length = 1.6;  ///< m
  int leaf_frames = 5;
  int leaf_rows = 32;  ///< of triangles along a leaf
};

/// A palm tree. The trunk is closed; leaves are open ribbons, folded along the midrib with a toothed edge, each in a
/// sector of its own so that none touch at rest. The base frame of a leaf belongs to the trunk's last frame.
struct PalmTree {
  PalmPart trunk;
  std::vector<PalmPart> leaves;
};
PalmTree make_palm(const PalmOptions& options = {});

}  // namespace stiction
