// Arrays of doubles, packs or vectors to and from a snapshot, bit for bit.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "parallel/loops.hpp"
#include "stiction/frame.hpp"

namespace stiction {

/// Adds an array, or overwrites the one of that name.
template <class Array>
void put(Snapshot& snapshot, const std::string& name, const Array& values) {
  auto& arrays = snapshot.arrays;
  auto a = std::find_if(arrays.begin(), arrays.end(), [&](const Snapshot::Array& known) { return known.name == name; });
  if (a == arrays.end()) a = arrays.insert(arrays.end(), Snapshot::Array{name, {}});
  const std::span from(reinterpret_cast<const double*>(values.data()),
                       values.size() * sizeof(values[0]) / sizeof(double));
  copy_in_chunks(from, a->values);
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
  throw std::runtime_error("snapshot has no array '" + name + "': it is from another version");
}

}  // namespace stiction
