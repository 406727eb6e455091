// A list that grows in parallel: each thread appends to its own part, and the parts are read chunk of work after chunk
// of work, so that the order does not depend on the threads. Memory is kept by the thread and not by the chunk: chunks
// that find much take turns from step to step, and room for the most that each ever found would grow for ever. Much is
// found once a step, where it starts: such lists give their memory back to what follows.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <atomic>
#include <limits>
#include <span>
#include <vector>

#include "parallel/loops.hpp"

namespace stiction {

template <class T>
class ChunkLists {
 public:
  /// Calls f(i, list) for i in [0, count); it appends to the list. May be called several times before clear().
  template <class F>
  void collect(std::size_t count, F&& f, std::size_t per_chunk = kIndicesPerChunk) {
    collect_chunks(
        count,
        [&](std::size_t first, std::size_t last, std::vector<T>& list) {
          for (std::size_t i = first; i < last; ++i) f(i, list);
        },
        per_chunk);
  }

  /// Calls f(first, last, list) for the chunks of [0, count); it appends to the list.
  template <class F>
  void collect_chunks(std::size_t count, F&& f, std::size_t per_chunk) {
    const std::size_t before = chunks_.size();
    chunks_.resize(before + chunk_count(count, per_chunk));
    for_each_chunk(
        count,
        [&](std::size_t chunk, std::size_t first, std::size_t last) {
          std::vector<T>& list = lists_.local();
          const std::size_t begin = list.size();
          if (!full()) f(first, last, list);
          chunks_[before + chunk] = {&list, begin, list.size() - begin};
          found_ += list.size() - begin;
        },
        per_chunk);
  }

  /// More elements than this are of no use: when there are more, what is still to be collected is left out.
  void set_limit(std::size_t most) { most_ = most; }
  /// Whether there are more than that, which does not depend on the threads; some elements are missing then.
  bool full() const { return found_.load(std::memory_order_relaxed) > most_; }

  /// What was found in a chunk, counted over all calls since clear().
  std::span<const T> chunk(std::size_t k) const {
    return std::span(*chunks_[k].list).subspan(chunks_[k].begin, chunks_[k].count);
  }

  std::size_t chunks() const { return chunks_.size(); }

  /// Calls f(element) for each element, one after the other.
  template <class F>
  void for_each_in_order(F&& f) const {
    for (std::size_t k = 0; k < chunks_.size(); ++k)
      for (const T& element : chunk(k)) f(element);
  }

  /// How many elements there are; finds the place of each chunk's first.
  std::size_t count() {
    place_.assign(chunks_.size() + 1, 0);
    for (std::size_t k = 0; k < chunks_.size(); ++k) place_[k + 1] = place_[k] + chunks_[k].count;
    return place_.back();
  }

  /// Calls f(place, element) for each element, in parallel over the chunks. count() must have been called before.
  template <class F>
  void for_each(F&& f) const {
    tbb::parallel_for(std::size_t{0}, chunks_.size(), [&](std::size_t k) {
      std::size_t place = place_[k];
      for (const T& element : chunk(k)) f(place++, element);
    });
  }

  /// Puts all elements, chunk after chunk, into `out`, with room for half as many to come, and forgets them.
  template <class Vector>
  void move_into(Vector& out) {
    const std::size_t n = count();
    if (out.capacity() < n) {  // its elements are not worth a copy
      out = Vector();
      out.reserve(n + n / 2);
    }
    out.resize(n);
    for_each([&](std::size_t place, const T& element) { out[place] = element; });
    clear();
  }

  /// How many elements there is room for.
  std::size_t capacity() const {
    std::size_t room = 0;
    for (const std::vector<T>& list : lists_) room += list.capacity();
    return room;
  }

  /// Forgets the elements and keeps the memory, but for lists of more than kKeptBytes.
  void clear() {
    chunks_.clear();
    found_ = 0;
    for (std::vector<T>& list : lists_) clear_large(list);
  }

 private:
  struct Chunk {
    const std::vector<T>* list;
    std::size_t begin, count;
  };

  tbb::enumerable_thread_specific<std::vector<T>> lists_;
  std::vector<Chunk> chunks_;
  std::vector<std::size_t> place_;
  std::atomic<std::size_t> found_ = 0;
  std::size_t most_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace stiction
