#include "collision/contact_collector.hpp"

#include <oneapi/tbb/parallel_sort.h>

namespace stiction {

std::vector<Contact> ContactCollector::sorted() {
  const std::size_t count = found_.count();
  grow_to(places_, count);
  found_.for_each([&](std::size_t place, const Contact& c) { places_[place] = {c.key.value, &c}; });
  tbb::parallel_sort(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Place& a, const Place& b) { return a.key < b.key; });
  std::vector<Contact> out(count);
  for_each_index(count, [&](std::size_t i) { out[i] = *places_[i].contact; });
  found_.clear();
  return out;
}

}  // namespace stiction
