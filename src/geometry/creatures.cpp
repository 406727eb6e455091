#include "geometry/creatures.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace stiction {

namespace {

constexpr double pi = std::numbers::pi;
constexpr double adaptivity = 1;  // of the meshes to their curvature

Quat turn(double angle, const Vec3& axis) { return Quat(Eigen::AngleAxisd(angle, axis)); }

Box make_bounds(const Vec3& lo, const Vec3& hi) {
  Box box;
  box.merge(lo);
  box.merge(hi);
  return box;
}

/// Scales a mesh to `height` and sets it on z = 0.
void stand(TriangleMesh& mesh, double height) {
  Box bounds;
  for (const Vec3& x : mesh.vertices) bounds.merge(x);
  const double scale = height / (bounds.hi.z() - bounds.lo.z());
  for (Vec3& x : mesh.vertices) x = scale * (x - Vec3(0, 0, bounds.lo.z()));
}

// ---- Rabbit, of height 1 -------------------------------------------------------------------------------------------

Field rabbit_field() {
  const Field trunk = field_union({field_ellipsoid({-0.13, 0, 0.25}, {0.27, 0.215, 0.25}, turn(-0.25, Vec3::UnitY())),
                                   field_ellipsoid({0.09, 0, 0.29}, {0.17, 0.155, 0.25}, turn(0.15, Vec3::UnitY()))},
                                  0.12);
  const Field thighs = field_mirrored_y(field_ellipsoid({-0.15, 0.17, 0.175}, {0.17, 0.095, 0.165}));
  const Field hind_feet = field_mirrored_y(field_capsule({-0.14, 0.19, 0.05}, {0.08, 0.215, 0.045}, 0.052, 0.05));
  const Field front_legs =
      field_mirrored_y(field_union({field_capsule({0.17, 0.085, 0.28}, {0.225, 0.09, 0.05}, 0.07, 0.045),
                                    field_capsule({0.22, 0.09, 0.045}, {0.30, 0.092, 0.04}, 0.045, 0.042)},
                                   0.03));
  const Field head = field_union({field_ellipsoid({0.23, 0, 0.565}, {0.155, 0.125, 0.13}, turn(0.3, Vec3::UnitY())),
                                  field_ellipsoid({0.345, 0, 0.525}, {0.075, 0.07, 0.062}),
                                  field_mirrored_y(field_sphere({0.275, 0.062, 0.515}, 0.068))},
                                 0.06);
  const Field eyes = field_mirrored_y(field_sphere({0.302, 0.094, 0.585}, 0.027));

  // An ear: long along a line that leans back and out, flat across it, its open side forward and out.
  const Vec3 base(0.155, 0.068, 0.62), tip(0.03, 0.145, 0.985);
  const Vec3 along = (tip - base).normalized();
  const Vec3 face = (Vec3(0.85, 0.5, 0) - along * along.dot(Vec3(0.85, 0.5, 0))).normalized();
  Mat3 axes;
  axes << along, face.cross(along), face;
  const Field ear = field_ellipsoid(0.5 * (base + tip), {0.22, 0.074, 0.043}, Quat(axes));

  Field body = field_union({trunk, thighs}, 0.045);
  body = field_union({body, front_legs}, 0.05);
  body = field_union({body, hind_feet}, 0.03);
  body = field_union({body, field_sphere({-0.405, 0, 0.2}, 0.08)}, 0.02);
  body = field_union({body, head}, 0.09);
  body = field_union({body, field_mirrored_y(ear)}, 0.03);
  body = field_union({body, eyes}, 0.005);
  return field_intersection(body, field_half_space(Vec3::Zero(), -Vec3::UnitZ()), 0.02);
}

// ---- Head, of size 1 about its middle ------------------------------------------------------------------------------

Field head_ears() {
  return field_mirrored_y(
      field_ellipsoid({-0.06, 0.33, -0.02}, {0.1, 0.04, 0.15}, turn(-0.2, Vec3::UnitY()) * turn(0.35, Vec3::UnitZ())));
}

Field head_field() {
  Field head = field_union({field_ellipsoid({-0.06, 0, 0.13}, {0.42, 0.335, 0.37}),  // cranium
                            field_ellipsoid({0.12, 0, -0.17}, {0.25, 0.235, 0.31}),  // jaw
                            field_sphere({0.235, 0, -0.38}, 0.1)},                   // chin
                           0.12);
  head = field_union({head, field_mirrored_y(field_sphere({0.22, 0.15, -0.1}, 0.12))}, 0.1);  // cheeks
  head = field_difference(head, field_mirrored_y(field_sphere({0.435, 0.135, 0.035}, 0.075)), 0.08);
  head = field_union({head, field_mirrored_y(field_sphere({0.305, 0.13, 0.03}, 0.055))}, 0.01);  // eyes
  head = field_union({head, field_capsule({0.345, 0, 0.06}, {0.43, 0, -0.095}, 0.03, 0.05)}, 0.05);
  head = field_union({head, field_ellipsoid({0.35, 0, -0.235}, {0.05, 0.1, 0.022})}, 0.02);  // lips
  head = field_union({head, field_ellipsoid({0.34, 0, -0.275}, {0.05, 0.08, 0.026})}, 0.02);
  return field_union({head, head_ears()}, 0.04);
}

Field placed_head(const HeadPlace& place) {
  return [head = head_field(), place](const Vec3& x) { return place.size * head((x - place.centre) / place.size); };
}

}  // namespace

TriangleMesh make_rabbit(int faces, double height) {
  TriangleMesh rabbit =
      polygonise_with(rabbit_field(), make_bounds({-0.55, -0.35, -0.05}, {0.5, 0.35, 1.1}), faces, adaptivity);
  stand(rabbit, height);
  return rabbit;
}

bool on_scalp(const Vec3& x, const HeadPlace& head) {
  const Vec3 local = (x - head.centre) / head.size;
  const Eigen::Vector2d forehead(0.31, 0.31), nape(-0.42, -0.2);  // the hairline seen from the side, (x, z)
  const Eigen::Vector2d line = nape - forehead, above(line.y(), -line.x());
  if (above.dot(Eigen::Vector2d(local.x(), local.z()) - forehead) < 0) return false;
  static const Field ears = head_ears();
  return ears(local) > 0.03;
}

std::vector<int> scalp_triangles(const TriangleMesh& mesh, const HeadPlace& head) {
  std::vector<char> on(mesh.vertices.size());
  for (size_t v = 0; v < on.size(); ++v) on[v] = on_scalp(mesh.vertices[v], head) ? 1 : 0;
  std::vector<int> scalp;
  for (size_t i = 0; i < mesh.triangles.size(); ++i) {
    const Eigen::Vector3i& t = mesh.triangles[i];
    if (on[t[0]] != 0 && on[t[1]] != 0 && on[t[2]] != 0) scalp.push_back(static_cast<int>(i));
  }
  return scalp;
}

Bust make_head(double size, int faces) {
  if (!(size > 0)) throw std::invalid_argument("a head needs a positive size");
  constexpr double below = 1.2;  // of the middle of the head over the cut, in sizes
  const Field shoulders =
      field_union({field_capsule({-0.08, 0, -0.2}, {-0.14, 0, -0.75}, 0.2, 0.23),
                   field_mirrored_y(field_capsule({-0.15, 0.05, -0.84}, {-0.16, 0.7, -0.93}, 0.2, 0.2)),
                   field_ellipsoid({-0.12, 0, -1.16}, {0.36, 0.7, 0.5})},
                  0.22);
  const Field bust = field_intersection(field_union({head_field(), shoulders}, 0.08),
                                        field_half_space({0, 0, -below}, -Vec3::UnitZ()), 0.03);
  Bust result;
  result.mesh = polygonise_with(bust, make_bounds({-0.75, -1.1, -below - 0.1}, {0.6, 1.1, 0.6}), faces, adaptivity);
  for (Vec3& x : result.mesh.vertices) x = size * (x + Vec3(0, 0, below));
  result.head = {Vec3(0, 0, size * below), size};
  result.scalp = scalp_triangles(result.mesh, result.head);
  return result;
}

// ---- Character -----------------------------------------------------------------------------------------------------

namespace {

enum Bone {
  pelvis,
  chest,
  skull,
  arm_l,
  forearm_l,
  arm_r,
  forearm_r,
  thigh_l,
  shin_l,
  foot_l,
  thigh_r,
  shin_r,
  foot_r
};
constexpr int bone_count = 13;
constexpr std::array<int, bone_count> parent_of = {-1,     pelvis,  pelvis + 1, chest,  arm_l,   chest, arm_r,
                                                   pelvis, thigh_l, shin_l,     pelvis, thigh_r, shin_r};

constexpr double head_size = 0.25;

Vec3 mirrored(const Vec3& x) { return {x.x(), -x.y(), x.z()}; }

/// Joints of the left side, and those in the middle.
const Vec3 joint_pelvis(0, 0, 0.93), joint_spine(-0.01, 0, 1.05), joint_neck(-0.015, 0, 1.43);
const Vec3 joint_shoulder(-0.01, 0.175, 1.365), joint_elbow(-0.01, 0.355, 1.15), joint_wrist(0.02, 0.515, 0.955);
const Vec3 joint_hip(0, 0.095, 0.9), joint_knee(0.01, 0.105, 0.5), joint_ankle(-0.015, 0.11, 0.085);
const Vec3 head_centre(0.015, 0, 1.72 - 0.5 * head_size);

/// A shape for each bone, of which only the left ones are given for pairs.
Field bone_shape(int bone) {
  switch (bone) {
    case pelvis:
      return field_union({field_ellipsoid({-0.005, 0, 0.93}, {0.11, 0.16, 0.105}),
                          field_ellipsoid({0, 0, 1.04}, {0.098, 0.135, 0.13})},
                         0.08);
    case chest:
      return field_union({field_ellipsoid({0, 0, 1.22}, {0.115, 0.155, 0.19}),
                          field_capsule({-0.015, -0.12, 1.36}, {-0.015, 0.12, 1.36}, 0.062, 0.062),
                          field_capsule({-0.02, 0, 1.38}, {-0.012, 0, 1.45}, 0.062, 0.054)},
                         0.08);
    case skull:
      return field_union(
          {placed_head({head_centre, head_size}), field_capsule({-0.012, 0, 1.47}, {0, 0, 1.56}, 0.052, 0.055)}, 0.02);
    case arm_l:
      return field_capsule(joint_shoulder, joint_elbow, 0.055, 0.042);
    case forearm_l:
      return field_union({field_capsule(joint_elbow, joint_wrist, 0.042, 0.03),
                          field_ellipsoid(joint_wrist + Vec3(0.012, 0.045, -0.06), {0.035, 0.028, 0.085},
                                          turn(-0.12, Vec3::UnitY()) * turn(0.62, Vec3::UnitX()))},
                         0.03);
    case thigh_l:
      return field_capsule(joint_hip, joint_knee, 0.088, 0.058);
    case shin_l:
      return field_union({field_capsule(joint_knee, joint_ankle, 0.056, 0.038),
                          field_ellipsoid({-0.02, 0.105, 0.37}, {0.052, 0.05, 0.11})},
                         0.05);
    default:
      return field_union(
          {field_capsule({-0.03, 0.11, 0.036}, {0.13, 0.125, 0.029}, 0.042, 0.035), field_sphere(joint_ankle, 0.04)},
          0.04);
  }
}

struct Part {
  Bone left, right;  // the same for bones in the middle
  Field shape;       // of the left
};

std::vector<Part> character_parts() {
  std::vector<Part> parts;
  for (const auto& [left, right] : {std::pair(pelvis, pelvis),
                                    {chest, chest},
                                    {skull, skull},
                                    {arm_l, arm_r},
                                    {forearm_l, forearm_r},
                                    {thigh_l, thigh_r},
                                    {shin_l, shin_r},
                                    {foot_l, foot_r}}) {
    parts.push_back({left, right, bone_shape(left)});
  }
  return parts;
}

/// The union of the shapes of some bones, each mirrored.
Field united(std::initializer_list<Bone> bones, double blend) {
  std::vector<Field> shapes;
  for (const Bone bone : bones) {
    shapes.push_back(bone == pelvis || bone == chest || bone == skull ? bone_shape(bone)
                                                                      : field_mirrored_y(bone_shape(bone)));
  }
  return field_union(shapes, blend);
}

}  // namespace

HeadPlace character_head() { return {head_centre, head_size}; }

ShirtForm character_shirt_form() {
  const Field torso =
      field_union({united({pelvis, chest}, 0.08), field_mirrored_y(field_sphere(joint_hip, 0.088))}, 0.06);
  const Field arms = field_mirrored_y(field_union({bone_shape(arm_l), bone_shape(forearm_l)}, 0.03));
  return {field_union({torso, arms}, 0.06), {0.0, 0, 1.465}, 0.104, 0.885, joint_shoulder, joint_elbow, joint_wrist};
}

TriangleMesh make_character(int faces) {
  const Field torso = united({pelvis, chest, skull}, 0.06);
  const Field arms = field_mirrored_y(field_union({bone_shape(arm_l), bone_shape(forearm_l)}, 0.03));
  const Field legs = field_mirrored_y(field_union({bone_shape(thigh_l), bone_shape(shin_l), bone_shape(foot_l)}, 0.03));
  Field body = field_union({torso, arms}, 0.05);
  body = field_union({body, legs}, 0.05);
  constexpr double rounding = 0.02;  // which lifts the edge of the soles by a quarter of it
  body = field_intersection(body, field_half_space({0, 0, -0.25 * rounding}, -Vec3::UnitZ()), rounding);
  return polygonise_with(body, make_bounds({-0.3, -0.75, -0.05}, {0.3, 0.75, 1.8}), faces, adaptivity);
}

namespace {

/// Weights of each vertex over the bones: the nearest bone and its neighbours in the skeleton, by distance.
std::vector<std::array<double, bone_count>> skin(const TriangleMesh& mesh) {
  constexpr double reach = 0.07;  // how far a bone's influence goes beyond the nearest, m
  const std::vector<Part> parts = character_parts();
  std::vector<std::array<double, bone_count>> weights(mesh.vertices.size());
  for (size_t v = 0; v < mesh.vertices.size(); ++v) {
    std::array<double, bone_count> distance;
    for (const Part& part : parts) {
      distance[part.left] = part.shape(mesh.vertices[v]);
      if (part.right != part.left) distance[part.right] = part.shape(mirrored(mesh.vertices[v]));
    }
    const auto nearest = static_cast<int>(std::min_element(distance.begin(), distance.end()) - distance.begin());
    double sum = 0;
    for (int b = 0; b < bone_count; ++b) {
      const bool related = b == nearest || parent_of[b] == nearest || parent_of[nearest] == b;
      const double near = related ? std::max(0.0, 1 - (distance[b] - distance[nearest]) / reach) : 0;
      sum += weights[v][b] = near * near;
    }
    for (double& w : weights[v]) w /= sum;
  }
  return weights;
}

Pose compose(const Pose& outer, const Pose& inner) {
  return {outer.rotation * inner.rotation, outer.apply(inner.position)};
}

/// A turn about a point.
Pose about(const Vec3& centre, const Quat& rotation) { return {rotation, centre - rotation * centre}; }

/// The bones of the runner, from rest, at a phase of the stride (rad); `amount` leads from standing (0) to running (1).
std::array<Pose, bone_count> run_pose(double phase, double amount) {
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ();
  const auto rotate = [&](double angle, const Vec3& axis) { return turn(amount * angle, axis); };
  const double s = std::sin(phase);

  // Turns about y lean what is above forwards and swing what hangs backwards. The left leg is forward at s = 1.
  std::array<Pose, bone_count> pose;
  pose[pelvis] = about(joint_pelvis, rotate(-0.12 * s, z) * rotate(0.08, y) * rotate(0.04 * std::cos(phase), x));
  pose[pelvis].position.z() += amount * 0.03 * std::cos(2 * phase + 0.6);
  pose[chest] = compose(pose[pelvis], about(joint_spine, rotate(0.3 * s, z) * rotate(0.14, y)));
  const Quat look = rotate(-0.18 * s, z) * rotate(-0.16 + 0.03 * std::cos(2 * phase), y);
  pose[skull] = compose(pose[chest], about(joint_neck, look));

  for (const double side : {1.0, -1.0}) {
    const auto at = [&](const Vec3& left) { return side > 0 ? left : mirrored(left); };
    const double leg = side * s, leg_cos = side * std::cos(phase);
    const int arm = side > 0 ? arm_l : arm_r, thigh = side > 0 ? thigh_l : thigh_r;

    const Vec3 upper = at(joint_elbow - joint_shoulder).normalized();
    const Quat swing = rotate(0.15 + 0.55 * leg, y) * rotate(-0.28 * side, x);
    pose[arm] = compose(pose[chest], about(at(joint_shoulder), swing));
    const Quat bend = rotate(1.25 - 0.25 * leg, upper.cross(x).normalized());
    pose[arm + 1] = compose(pose[arm], about(at(joint_elbow), bend));

    pose[thigh] = compose(pose[pelvis], about(at(joint_hip), rotate(-0.3 - 0.6 * leg, y)));
    const double knee = 0.8 + 0.65 * (leg_cos * std::cos(0.4) - leg * std::sin(0.4));
    pose[thigh + 1] = compose(pose[thigh], about(at(joint_knee), rotate(knee, y)));
    pose[thigh + 2] = compose(pose[thigh + 1], about(at(joint_ankle), rotate(-0.1 + 0.35 * leg_cos, y)));
  }
  return pose;
}

/// Height of the lower sole.
double lowest_sole(const std::array<Pose, bone_count>& pose) {
  double lowest = 1;
  for (const Vec3& point : {Vec3(-0.06, 0.11, 0.0), Vec3(0.15, 0.12, 0.0)}) {
    lowest = std::min({lowest, pose[foot_l].apply(point).z(), pose[foot_r].apply(mirrored(point)).z()});
  }
  return lowest;
}

}  // namespace

RunCycle make_run_cycle(const TriangleMesh& rest, double fps, double seconds) {
  if (!(fps > 0) || !(seconds >= 0)) throw std::invalid_argument("a run needs a positive rate and time");
  constexpr double strides_a_second = 1.4, start = 0.5;
  constexpr int stride_samples = 64;
  double reach_down = 1;  // of the lower sole over a stride: to be set on the ground
  for (int i = 0; i < stride_samples; ++i) {
    reach_down = std::min(reach_down, lowest_sole(run_pose(2 * pi * i / stride_samples, 1)));
  }

  const std::vector<std::array<double, bone_count>> weights = skin(rest);
  RunCycle run;
  run.fps = fps;
  const int samples = static_cast<int>(std::floor(seconds * fps + 1e-9)) + 1;
  for (int i = 0; i < samples; ++i) {
    const double t = i / fps, u = std::min(t / start, 1.0);
    const double amount = u * u * u * (10 + u * (6 * u - 15));
    std::array<Pose, bone_count> pose = run_pose(2 * pi * strides_a_second * t, amount);
    for (Pose& bone : pose) bone.position.z() -= amount * reach_down;

    std::vector<Vec3>& x = run.vertices.emplace_back(rest.vertices.size());
    for (size_t v = 0; v < x.size(); ++v) {
      x[v].setZero();
      for (int b = 0; b < bone_count; ++b) {
        if (weights[v][b] > 0) x[v] += weights[v][b] * pose[b].apply(rest.vertices[v]);
      }
    }
    run.head.push_back(pose[skull]);
  }
  return run;
}

// ---- Palm tree -----------------------------------------------------------------------------------------------------

namespace {

/// Binds a vertex at the fraction `u` of a curve to its frames, which are evenly spaced.
void bind(PalmPart& part, double u) {
  const double at = std::clamp(u, 0.0, 1.0) * static_cast<double>(part.frames.size() - 1);
  const int first = std::min(static_cast<int>(at), static_cast<int>(part.frames.size()) - 2);
  part.frame.push_back({first, first + 1});
  part.weight.push_back({1 - (at - first), at - first});
}

/// A midrib in a vertical plane that bends down: position and tangent at the fraction u of its length.
struct Curve {
  Vec3 start, outward;
  double length, elevation, droop;  // elevation falls by `droop` (rad), faster towards the tip

  double angle(double u) const { return elevation - droop * u * (0.35 + 0.65 * u); }
  Vec3 tangent(double u) const { return std::cos(angle(u)) * outward + std::sin(angle(u)) * Vec3::UnitZ(); }
  Vec3 position(double u) const {
    constexpr int steps = 64;
    Vec3 x = start;
    for (int i = 0; i < steps; ++i) x += length * u / steps * tangent(u * (i + 0.5) / steps);
    return x;
  }
};

PalmPart make_trunk(const PalmOptions& o) {
  PalmPart trunk;
  const auto centre = [&](double u) { return Vec3(o.bend * u * u, 0, o.height * u); };
  for (int i = 0; i < o.trunk_frames; ++i) trunk.frames.push_back(centre(i / (o.trunk_frames - 1.0)));

  const auto add = [&](const Vec3& x, double u) {
    trunk.mesh.vertices.push_back(x);
    bind(trunk, u);
  };
  for (int j = 0; j <= o.trunk_rings; ++j) {
    const double u = 1.0 * j / o.trunk_rings;
    const Vec3 along = Vec3(2 * o.bend * u, 0, o.height).normalized(), side = along.cross(Vec3::UnitY()).normalized();
    const double flare = 1 + 0.35 * std::exp(-12 * u), scar = j % 2 == 0 ? 1.0 : 0.93;
    const double radius = (o.base_radius + (o.top_radius - o.base_radius) * u) * flare * scar;
    for (int i = 0; i < o.trunk_sectors; ++i) {
      const double angle = 2 * pi * i / o.trunk_sectors;
      add(centre(u) + radius * (-std::cos(angle) * side + std::sin(angle) * Vec3::UnitY()), u);
    }
  }
  for (int j = 0; j < o.trunk_rings; ++j) {
    for (int i = 0; i < o.trunk_sectors; ++i) {
      const int next = (i + 1) % o.trunk_sectors, low = o.trunk_sectors * j, high = low + o.trunk_sectors;
      trunk.mesh.triangles.emplace_back(low + i, low + next, high + next);
      trunk.mesh.triangles.emplace_back(low + i, high + next, high + i);
    }
  }
  const int bottom = static_cast<int>(trunk.mesh.vertices.size()), last = o.trunk_sectors * o.trunk_rings;
  add(centre(0), 0);
  add(centre(1) + Vec3(0, 0, 0.6 * o.top_radius), 1);
  for (int i = 0; i < o.trunk_sectors; ++i) {
    const int next = (i + 1) % o.trunk_sectors;
    trunk.mesh.triangles.emplace_back(next, i, bottom);
    trunk.mesh.triangles.emplace_back(last + i, last + next, bottom + 1);
  }
  return trunk;
}

PalmPart make_leaf(const PalmOptions& o, int index, const Vec3& crown) {
  constexpr std::array<double, 3> tiers = {1.15, 0.35, 0.8};  // elevations at the base, rad
  const double azimuth = 2 * pi * (index + 0.5) / o.leaves, elevation = tiers[index % 3];
  const Vec3 outward(std::cos(azimuth), std::sin(azimuth), 0), across(-outward.y(), outward.x(), 0);
  const Curve midrib{crown + 1.15 * o.top_radius * outward, outward, o.leaf_length, elevation, 0.9 + elevation};

  PalmPart leaf;
  for (int i = 0; i < o.leaf_frames; ++i) leaf.frames.push_back(midrib.position(i / (o.leaf_frames - 1.0)));
  const auto add = [&](const Vec3& x, double u) {
    leaf.mesh.vertices.push_back(x);
    bind(leaf, u);
    return static_cast<int>(leaf.mesh.vertices.size()) - 1;
  };

  // Rows of left, middle, right; half the width is bounded by the leaf's own sector, and every other row is a tooth.
  std::array<int, 3> previous{};
  for (int j = 0; j <= o.leaf_rows; ++j) {
    const double u = 1.0 * j / o.leaf_rows;
    const Vec3 middle = midrib.position(u), along = midrib.tangent(u);
    const double out = outward.dot(middle - crown), sector = 0.85 * out * std::tan(pi / o.leaves);
    const double shape = 0.13 * o.leaf_length * std::sqrt(std::sin(pi * std::min(0.06 + 0.94 * u, 0.99))) + 0.01;
    const double half = std::min(shape, sector) * (j % 2 == 0 || u < 0.1 ? 1.0 : 0.55);
    const Vec3 up = along.cross(-across).normalized();
    const Vec3 wing = half * 0.35 * -up;  // the halves hang a little
    const double back = j % 2 == 0 && j > 0 ? 0.5 : 0.0;
    const Vec3 tooth = back * o.leaf_length / o.leaf_rows * along;
    const std::array<int, 3> row = {add(middle + half * across + wing + tooth, u), add(middle, u),
                                    add(middle - half * across + wing + tooth, u)};
    if (j > 0) {
      for (int k = 0; k < 2; ++k) {
        const int a = previous[k], b = row[k], c = row[k + 1], d = previous[k + 1];
        if (k == 0) {
          leaf.mesh.triangles.emplace_back(a, d, b);
          leaf.mesh.triangles.emplace_back(d, c, b);
        } else {
          leaf.mesh.triangles.emplace_back(a, c, b);
          leaf.mesh.triangles.emplace_back(a, d, c);
        }
      }
    }
    previous = row;
  }
  return leaf;
}

}  // namespace

PalmTree make_palm(const PalmOptions& o) {
  if (o.trunk_frames < 2 || o.leaf_frames < 2) throw std::invalid_argument("a palm's parts need at least two frames");
  if (o.trunk_sectors < 3 || o.trunk_rings < 1 || o.leaf_rows < 2 || o.leaves < 3) {
    throw std::invalid_argument("a palm needs 3 sectors, 1 ring, 3 leaves and 2 rows a leaf");
  }
  PalmTree palm;
  palm.trunk = make_trunk(o);
  for (int i = 0; i < o.leaves; ++i) palm.leaves.push_back(make_leaf(o, i, palm.trunk.frames.back()));
  return palm;
}

}  // namespace stiction
