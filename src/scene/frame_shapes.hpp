// Bodies of affine frames over a volume, a curve, a sheet or a tree: origins, samples of the material, skinned
// surfaces.
//
// Along a beam or sheet, frames stand in the middles of equal pieces and weights are linear between neighbours,
// constant in the outer half pieces. (Frames at the very ends would be dependent: where Σ w_i X_i = X throughout, the
// same change of the columns along the body in all frames moves nothing.) Across the body, samples are the two Gauss
// points of each thin direction, which give the bending stiffness and the second moment of the section exactly.
#pragma once

#include "geometry/creatures.hpp"
#include "stiction/scene.hpp"

namespace stiction::scene {

struct PalmShape {
  PalmOptions tree;
  double leaf_thickness = 0.01;  ///< m
};

/// One frame at the centroid of a closed surface that carries it; samples have its volume, centroid and second moments
/// (thin bodies excepted, see FramesBody's mass). Needs a positive volume.
void set_rigid(Frames& body, TriangleMesh closed);

/// `count` frames along x, centred at the origin; `section` along y and z, m.
void set_beam(Frames& body, double length, const Eigen::Vector2d& section, int count);

/// nx × ny frames in z = 0, centred at the origin. The surface is the middle of the sheet.
void set_sheet(Frames& body, double width, double height, double thickness, int nx, int ny);

/// A palm tree: frames of the trunk from its foot, then those of leaf after leaf; a leaf's base is blended with the
/// trunk's last frame.
void set_palm(Frames& body, const PalmShape& shape);

/// Moves everything that has a place.
void place(Frames& body, const Pose& pose);

}  // namespace stiction::scene
