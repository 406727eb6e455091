#include "collision/surface.hpp"

#include <cmath>

namespace stiction {

FrictionTable::FrictionTable(std::vector<double> mu) : count_(mu.size()), table_(mu.size() * mu.size()) {
  for (std::size_t i = 0; i < count_; ++i)
    for (std::size_t j = 0; j < count_; ++j) table_[i * count_ + j] = std::sqrt(mu[i] * mu[j]);
}

}  // namespace stiction
