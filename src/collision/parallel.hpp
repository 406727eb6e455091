// Loops over vertices, primitives and candidates: as parallel/loops.hpp, in tasks small enough to keep many threads
// busy on a few ten thousand items.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel/loops.hpp"

namespace stiction {

inline constexpr std::size_t kItemsPerTask = 512;
inline constexpr std::size_t kItemsPerChunk = 1024;

inline std::size_t chunk_count(std::size_t items) { return (items + kItemsPerChunk - 1) / kItemsPerChunk; }

/// Calls f(i) for every i from begin to end.
template <class F>
void for_each_item(std::size_t begin, std::size_t end, F&& f) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(begin, end, kItemsPerTask), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) f(i);
  });
}
template <class F>
void for_each_item(std::size_t count, F&& f) {
  for_each_item(0, count, f);
}

/// Calls f(chunk, begin, end) for every chunk of kItemsPerChunk.
template <class F>
void for_each_item_chunk(std::size_t count, F&& f) {
  for_each_chunk(count, f, kItemsPerChunk);
}

/// Σ f(i), added in the same order for any number of threads.
template <class T, class F>
T sum_over(std::size_t count, F&& f) {
  std::vector<T> sums(chunk_count(count));
  for_each_item_chunk(count, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    T sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += f(i);
    sums[chunk] = sum;
  });
  T total = 0;
  for (const T& sum : sums) total += sum;
  return total;
}

/// The largest f(i), or zero.
template <class F>
double max_over(std::size_t count, F&& f) {
  std::vector<double> largest(chunk_count(count));
  for_each_item_chunk(count, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    double of_chunk = 0;
    for (std::size_t i = begin; i < end; ++i) of_chunk = std::max(of_chunk, f(i));
    largest[chunk] = of_chunk;
  });
  double result = 0;
  for (const double of_chunk : largest) result = std::max(result, of_chunk);
  return result;
}

/// Makes room for `count` elements and never shrinks: elements are initialised on one thread.
template <class T>
void grow_to(std::vector<T>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer.resize(count);
}

}  // namespace stiction
