// Lists that grow in parallel, one a chunk of the work: joined chunk after chunk they do not depend on the threads.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "parallel/loops.hpp"

namespace stiction {

template <class T>
class ChunkLists {
 public:
  /// Calls f(i, list) for i in [0, count); it appends to the list. May be called several times before clear().
  template <class F>
  void collect(std::size_t count, F&& f, std::size_t per_chunk = kIndicesPerChunk) {
    const std::size_t first = used_;
    used_ += chunk_count(count, per_chunk);
    grow_to(lists_, used_);
    for_each_chunk(
        count,
        [&](std::size_t chunk, std::size_t begin, std::size_t end) {
          std::vector<T> list = std::move(lists_[first + chunk]);  // off the line that neighbours write to
          list.clear();
          for (std::size_t i = begin; i < end; ++i) f(i, list);
          lists_[first + chunk] = std::move(list);
        },
        per_chunk);
  }

  /// How many elements the lists have together; finds the place of each list's first.
  std::size_t count() {
    place_.assign(used_ + 1, 0);
    for (std::size_t k = 0; k < used_; ++k) place_[k + 1] = place_[k] + lists_[k].size();
    return place_[used_];
  }

  /// Calls f(place, element) for each element, in parallel over the lists. count() must have been called before.
  template <class F>
  void for_each(F&& f) const {
    tbb::parallel_for(std::size_t{0}, used_, [&](std::size_t k) {
      std::size_t place = place_[k];
      for (const T& element : lists_[k]) f(place++, element);
    });
  }

  /// Puts all elements, list after list, into `out` and forgets them.
  void move_into(std::vector<T>& out) {
    out.resize(count());
    for_each([&](std::size_t place, const T& element) { out[place] = element; });
    clear();
  }

  /// Forgets the elements and keeps the memory.
  void clear() { used_ = 0; }

 private:
  std::vector<std::vector<T>> lists_;
  std::size_t used_ = 0;
  std::vector<std::size_t> place_;
};

}  // namespace stiction
