// Scripted time: key interpolation, the pose of a kinematic body, and the frame count.
#include "scene/motion.hpp"

#include <algorithm>
#include <cmath>

namespace stiction {

namespace {

/// exp of a rotation vector (axis times angle, rad); exactly the identity at zero.
Quat exponential(const Vec3& rotation_vector) {
  const double angle = rotation_vector.norm();
  if (angle == 0) return Quat::Identity();
  const Vec3 imaginary = (std::sin(0.5 * angle) / angle) * rotation_vector;
  return Quat(std::cos(0.5 * angle), imaginary.x(), imaginary.y(), imaginary.z());
}

}  // namespace

Vec3 interpolate(std::span<const VectorKey> keys, double time) {
  if (keys.empty()) return Vec3::Zero();
  const auto is_later = [](double t, const VectorKey& key) { return t < key.time; };
  const auto next = std::upper_bound(keys.begin(), keys.end(), time, is_later);
  if (next == keys.begin()) return keys.front().value;
  if (next == keys.end()) return keys.back().value;
  const VectorKey& last = *std::prev(next);
  const double weight = (time - last.time) / (next->time - last.time);
  return last.value + weight * (next->value - last.value);
}

Pose Motion::at(double time) const { return {exponential(interpolate(rotation, time)), interpolate(position, time)}; }

int TimeOptions::frames() const { return static_cast<int>(std::lround(duration * fps)); }

}  // namespace stiction
