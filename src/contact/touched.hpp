// Which components take part in contacts.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "contact/contact.hpp"
#include "parallel/loops.hpp"

namespace stiction {

/// A set byte for each component with a free node that a contact acts on.
inline std::vector<std::uint8_t> touched_components(std::span<const Contact> contacts, const Skin& skin,
                                                    std::span<const std::uint8_t> fixed, std::span<const int> component,
                                                    std::size_t component_count) {
  std::vector<std::uint8_t> touched(component_count, 0);
  for_each_index(contacts.size(), [&](std::size_t i) {
    contacts[i].for_each_node(skin, [&](int node, double) {
      if (!fixed[node]) std::atomic_ref(touched[component[node]]).store(1, std::memory_order_relaxed);
    });
  });
  return touched;
}

}  // namespace stiction
