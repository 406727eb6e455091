// The benchmarks behind `stiction bench`. Each returns its figures.
#pragma once

#include <nlohmann/json.hpp>

namespace stiction {

/// Bytes a second that the batched banded solve of `strands` strands (30 elements) moves, and a plain copy of the
/// same size in the same run.
nlohmann::json bench_rods_solve(int strands);

/// Times of the sparse Cholesky on sheets and lattices of tetrahedra, printed as a table; `large` adds 40,000 and
/// 20,000 nodes, `compare` Eigen's factor and CHOLMOD's where the build has it.
nlohmann::json bench_sparse_solve(bool large, bool compare);

}  // namespace stiction
