// How long something takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace stiction {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return 0.5 * (values[(values.size() - 1) / 2] + values[values.size() / 2]);
}

/// Median time of `repeats` calls of f, after one that is not timed, s.
template <class F>
double median_seconds(int repeats, F&& f) {
  f();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(std::move(times));
}

}  // namespace stiction
