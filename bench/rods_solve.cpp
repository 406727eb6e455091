// The hot loop of every hair scene, against the machine's memory: what fraction of a copy's bandwidth does a banded
// solve reach? A solve must read the factor once and read and write the right-hand side; both sweeps of a batch run
// while its factor is in cache.
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

#include "bench/benchmarks.hpp"
#include "bench/timing.hpp"
#include "linear/banded_cholesky.hpp"

namespace stiction {

namespace {

constexpr int kHalfBand = 10, kRows = 31 * 4, kRepeats = 15;

}  // namespace

nlohmann::json bench_rods_solve(int strands) {
  const std::size_t batches = (static_cast<std::size_t>(strands) + kLanes - 1) / kLanes;
  const std::size_t per_batch = static_cast<std::size_t>(kRows) * (kHalfBand + 1);
  AlignedVector<PackD> A(batches * per_batch), factor(A.size()), b(batches * kRows);
  const AlignedVector<PackD> no_shift(kRows, PackD(0.0));
  tbb::parallel_for(std::size_t{0}, batches, [&](std::size_t i) {
    BandView<kHalfBand> band{A.data() + i * per_batch, kRows};
    for (int r = 0; r < kRows; ++r)
      for (int d = 0; d <= kHalfBand; ++d) band.entry(r, d) = PackD(d == 0 ? 4.0 : (d <= r ? -0.1 : 0.0));
    banded_factor<kHalfBand>(band, no_shift.data(), {factor.data() + i * per_batch, kRows});
    std::fill_n(b.data() + i * kRows, kRows, PackD(1.0));
  });

  const double t_solve = median_seconds(kRepeats, [&] {
    tbb::parallel_for(std::size_t{0}, batches, [&](std::size_t i) {
      banded_solve<kHalfBand>({factor.data() + i * per_batch, kRows}, b.data() + i * kRows);
    });
  });
  const double t_copy = median_seconds(kRepeats, [&] {
    tbb::parallel_for(std::size_t{0}, batches, [&](std::size_t i) {
      std::copy_n(factor.data() + i * per_batch, per_batch, A.data() + i * per_batch);
    });
  });
  const auto size = static_cast<double>(sizeof(PackD));
  const double solve_bytes = (static_cast<double>(factor.size()) + 2.0 * static_cast<double>(b.size())) * size;
  const double copy_bytes = 2.0 * static_cast<double>(factor.size()) * size;
  return {{"strands", strands},
          {"solve_ms", t_solve * 1e3},
          {"solve_gb_per_s", solve_bytes / t_solve * 1e-9},
          {"copy_gb_per_s", copy_bytes / t_copy * 1e-9},
          {"fraction_of_copy", (solve_bytes / t_solve) / (copy_bytes / t_copy)}};
}

}  // namespace stiction
