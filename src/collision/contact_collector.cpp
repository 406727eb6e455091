#include "collision/contact_collector.hpp"

#include <oneapi/tbb/parallel_sort.h>

namespace stiction {

void ContactCollector::append_sorted(ContactList& out) {
  const std::size_t count = found_.count();
  grow_to(places_, count);
  found_.for_each([&](std::size_t place, const Contact& c) { places_[place] = {c.key.value, &c}; });
  tbb::parallel_sort(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Place& a, const Place& b) { return a.key < b.key; });
  const std::size_t before = out.size();
  reserve_for(out, before + count);
  out.resize(before + count);
  for_each_index(count, [&](std::size_t i) { out[before + i] = *places_[i].contact; });
  found_.clear();
}

}  // namespace stiction
