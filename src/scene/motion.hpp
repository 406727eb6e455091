// Keyframed vectors: positions, rotation vectors and forces that a scene scripts over time.
#pragma once

#include <span>

#include "stiction/scene.hpp"

namespace stiction {

/// The value at `time` (s) of keys sorted by time: linear between keys, held outside them, zero where there are none.
/// Of two keys at the same time the later one holds from that time on, which scripts a jump.
Vec3 interpolate(std::span<const VectorKey> keys, double time);

}  // namespace stiction
