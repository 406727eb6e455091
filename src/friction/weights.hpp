// Weights W of the contact solver.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contact/contact.hpp"
#include "stiction/scene.hpp"

namespace stiction {

/// w of a node (kg) from the smallest eigenvalue η of its diagonal block of A and its mass m (D20 6.2.6).
double node_weight(const SolverOptions& options, double eta, double m);

/// The weights w (kg), those of nodes that touch a heavier side raised to the geometric mean of both. A light node
/// between heavy ones makes Gauss-Seidel take as many sweeps as the ratio of the weights; weighted like its neighbours,
/// it would take as many ADMM iterations to move freely. The mean costs the root of the ratio in both. Prescribed sides
/// do not count.
void lift_weights(std::span<const Contact> contacts, const Skin& skin, std::span<const std::uint8_t> fixed,
                  std::span<const double> w, std::vector<double>& lifted);

/// Raises the factors on W of nodes that missed the tolerance by 4, to at most 16, and of the three nodes to either
/// side of them, if their component is a strand (below strand_count).
void raise_factors(std::span<const std::uint8_t> missed, std::span<const int> component, int strand_count,
                   std::span<float> factor);

}  // namespace stiction
