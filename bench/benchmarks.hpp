// The benchmarks behind `stiction bench`. Each returns its figures.
#pragma once

#include <nlohmann/json.hpp>

namespace stiction {

/// Bytes a second that the batched banded solve of `strands` strands (30 elements) moves, and a plain copy of the
/// same size in the same run.
nlohmann::json bench_rods_solve(int strands);

}  // namespace stiction
