// Loops over all threads whose results do not depend on how many there are: work is cut into chunks of a fixed size,
// and sums add up chunk by chunk.
#pragma once

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stiction {

/// Small enough that a few ten thousand nodes keep many threads busy.
inline constexpr std::size_t kIndicesPerChunk = 1024;

constexpr std::size_t chunk_count(std::size_t count, std::size_t per_chunk = kIndicesPerChunk) {
  return (count + per_chunk - 1) / per_chunk;
}

/// Calls f(chunk, first, last) for the chunks of [0, count).
template <class F>
void for_each_chunk(std::size_t count, F&& f, std::size_t per_chunk = kIndicesPerChunk) {
  const std::size_t chunks = chunk_count(count, per_chunk);
  if (chunks == 1) return f(std::size_t{0}, std::size_t{0}, count);
  tbb::parallel_for(std::size_t{0}, chunks,
                    [&](std::size_t chunk) { f(chunk, chunk * per_chunk, std::min(count, (chunk + 1) * per_chunk)); });
}

/// Calls f(i) for i in [0, count).
template <class F>
void for_each_index(std::size_t count, F&& f) {
  for_each_chunk(count, [&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) f(i);
  });
}

/// The value that combine(a, b) makes of all f(i), from `start` on: in order within a chunk, then chunk after chunk.
template <class T, class F, class Combine>
T reduce_in_chunks(std::size_t count, const T& start, F&& f, Combine&& combine) {
  std::vector<T> part(chunk_count(count), start);
  for_each_chunk(count, [&](std::size_t chunk, std::size_t first, std::size_t last) {
    T value = start;
    for (std::size_t i = first; i < last; ++i) value = combine(value, f(i));
    part[chunk] = value;
  });
  T value = start;
  for (const T& p : part) value = combine(value, p);
  return value;
}

/// Sum of f(i).
template <class T, class F>
T sum_in_chunks(std::size_t count, const T& zero, F&& f) {
  return reduce_in_chunks(count, zero, f, [](const T& a, const T& b) -> T { return a + b; });
}

/// Largest of f(i), at least zero.
template <class F>
double max_in_chunks(std::size_t count, F&& f) {
  return reduce_in_chunks(count, 0.0, f, [](double a, double b) { return std::max(a, b); });
}

/// Makes room for `count` elements and never shrinks: elements are initialised on one thread.
template <class T>
void grow_to(std::vector<T>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer.resize(count);
}

/// Makes room for `count` elements and a quarter more: less than a vector takes by itself, which matters where it is
/// large.
template <class Vector>
void reserve_for(Vector& buffer, std::size_t count) {
  if (buffer.capacity() < count) buffer.reserve(count + count / 4);
}

/// Work arrays of more bytes than this are not kept: what needs much comes once a step.
inline constexpr std::size_t kKeptBytes = std::size_t{1} << 24;

/// Forgets the elements, and gives the memory back if there is much of it.
template <class Vector>
void clear_large(Vector& buffer) {
  buffer.clear();
  if (buffer.capacity() * sizeof(buffer[0]) > kKeptBytes) buffer = Vector();
}

/// Copies a whole array into another, which takes its size.
template <class From, class To>
void copy_in_chunks(const From& from, To& to) {
  to.resize(from.size());
  for_each_chunk(from.size(), [&](std::size_t, std::size_t first, std::size_t last) {
    std::copy(from.begin() + first, from.begin() + last, to.begin() + first);
  });
}

}  // namespace stiction
