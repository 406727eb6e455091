#include "friction/weights.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stiction {

double node_weight(const SolverOptions& options, double eta, double m) {
  return std::max(options.weight_sigma * eta, std::min(options.weight_beta * m, eta));
}

void lift_weights(std::span<const Contact> contacts, const Skin& skin, std::span<const std::uint8_t> fixed,
                  std::span<double> w) {
  const std::vector<double> before(w.begin(), w.end());
  for (const Contact& c : contacts) {
    double mobility[2] = {0, 0};  // of the sides with b > 0 and b < 0
    c.for_each_node(skin, [&](int j, double b) {
      if (!fixed[j]) mobility[b < 0] += b * b / before[j];
    });
    if (mobility[0] == 0 || mobility[1] == 0) continue;
    c.for_each_node(skin, [&](int j, double b) {
      if (!fixed[j]) w[j] = std::max(w[j], std::sqrt(before[j] / mobility[b > 0]));
    });
  }
}

}  // namespace stiction
