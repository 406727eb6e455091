// What the process has used of the machine.
#pragma once

#include <cstdint>

namespace stiction {

/// Largest resident memory of this process so far, bytes.
std::int64_t peak_rss_bytes();

}  // namespace stiction
