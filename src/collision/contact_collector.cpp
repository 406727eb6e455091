#include "collision/contact_collector.hpp"

#include <oneapi/tbb/parallel_sort.h>

namespace stiction {

std::vector<Contact> ContactCollector::sorted() {
  first_.assign(used_ + 1, 0);
  for (std::size_t chunk = 0; chunk < used_; ++chunk) first_[chunk + 1] = first_[chunk] + chunks_[chunk].size();
  const std::size_t count = first_[used_];
  grow_to(places_, count);
  tbb::parallel_for(std::size_t{0}, used_, [&](std::size_t chunk) {
    std::size_t place = first_[chunk];
    for (const Contact& c : chunks_[chunk]) places_[place++] = {c.key.value, &c};
  });
  tbb::parallel_sort(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Place& a, const Place& b) { return a.key < b.key; });
  std::vector<Contact> out(count);
  for_each_index(count, [&](std::size_t i) { out[i] = *places_[i].contact; });
  used_ = 0;
  return out;
}

}  // namespace stiction
