#include "friction/weights.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "parallel/loops.hpp"

namespace stiction {

namespace {
constexpr float kRaise = 4, kMostRaised = 16;
constexpr std::ptrdiff_t kBeside = 3;  // nodes
}  // namespace

double node_weight(const SolverOptions& options, double eta, double m) {
  return std::max(options.weight_sigma * eta, std::min(options.weight_beta * m, eta));
}

void lift_weights(std::span<const Contact> contacts, const Skin& skin, std::span<const std::uint8_t> fixed,
                  std::span<const double> w, std::vector<double>& lifted) {
  copy_in_chunks(w, lifted);
  const auto raise = [&](int j, double to) {
    std::atomic_ref<double> value(lifted[j]);
    double now = value.load(std::memory_order_relaxed);
    while (now < to && !value.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
    }
  };
  for_each_index(contacts.size(), [&](std::size_t i) {
    const Contact& c = contacts[i];
    double mobility[2] = {0, 0};  // of the sides with b > 0 and b < 0
    c.for_each_node(skin, [&](int j, double b) {
      if (!fixed[j]) mobility[b < 0] += b * b / w[j];
    });
    if (mobility[0] == 0 || mobility[1] == 0) return;
    c.for_each_node(skin, [&](int j, double b) {
      if (!fixed[j]) raise(j, std::sqrt(w[j] / mobility[b > 0]));
    });
  });
}

void raise_factors(std::span<const std::uint8_t> missed, std::span<const int> component, int strand_count,
                   std::span<float> factor) {
  const auto count = static_cast<std::ptrdiff_t>(factor.size());
  for_each_index(factor.size(), [&](std::size_t at) {
    const auto j = static_cast<std::ptrdiff_t>(at);
    const std::ptrdiff_t beside = component[j] < strand_count ? kBeside : 0;
    for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, j - beside); i <= std::min(count - 1, j + beside); ++i) {
      if (!missed[i] || component[i] != component[j]) continue;
      factor[j] = std::min(kMostRaised, kRaise * factor[j]);
      return;
    }
  });
}

}  // namespace stiction
