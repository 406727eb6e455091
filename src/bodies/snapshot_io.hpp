// Arrays of doubles, packs or vectors to and from a snapshot, bit for bit.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

#include "stiction/frame.hpp"

namespace stiction {

template <class Array>
void put(Snapshot& snapshot, const std::string& name, const Array& values) {
  Snapshot::Array a{name, {}};
  a.values.resize(values.size() * sizeof(values[0]) / sizeof(double));
  std::memcpy(a.values.data(), static_cast<const void*>(values.data()), a.values.size() * sizeof(double));
  snapshot.arrays.push_back(std::move(a));
}

template <class Array>
void get(const Snapshot& snapshot, const std::string& name, Array& values) {
  for (const Snapshot::Array& a : snapshot.arrays) {
    if (a.name != name) continue;
    if (a.values.size() * sizeof(double) != values.size() * sizeof(values[0]))
      throw std::runtime_error("snapshot array '" + name + "' has the wrong size");
    std::memcpy(static_cast<void*>(values.data()), a.values.data(), a.values.size() * sizeof(double));
    return;
  }
  throw std::runtime_error("snapshot has no array '" + name + "'");
}

}  // namespace stiction
