// How many threads take part in what is parallel.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <thread>

namespace stiction {

/// Threads that an option of 0 stands for: as many as the machine has.
inline int thread_count(int option) {
  return option > 0 ? option : static_cast<int>(std::thread::hardware_concurrency());
}

/// f(), with that many threads.
template <class F>
auto on_threads(int threads, F&& f) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  return f();
}

}  // namespace stiction
