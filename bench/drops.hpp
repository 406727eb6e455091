// Bodies dropped on a sphere and a floor: what the benchmarks of the contact phase have in common.
#pragma once

#include <nlohmann/json.hpp>

#include "stiction/scene.hpp"

namespace stiction {

/// A sphere of radius 0.25 m that stands on a floor at z = 0, both with friction `mu`.
void add_sphere_and_floor(Scene& scene, double mu);

/// Runs `duration` s and prints a row: time of a step from the first contact on (median and largest, ms), and over
/// all steps the contacts, stretch, penetration and crossings. Returns the same figures.
nlohmann::json run_drop(const Scene& scene, double duration);

/// The header of the rows of run_drop.
void print_drop_header();

}  // namespace stiction
