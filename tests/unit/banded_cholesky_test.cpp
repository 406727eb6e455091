#include "linear/banded_cholesky.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

namespace stiction {
namespace {

constexpr int kHalfBand = 10;

// kLanes random symmetric matrices with a band, each row dominated by its diagonal.
struct Batch {
  int rows;
  AlignedVector<PackD> band, factor, shift;
  std::vector<Eigen::MatrixXd> dense;  // of each lane, shifted

  Batch(int row_count, unsigned seed)
      : rows(row_count),
        band(static_cast<std::size_t>(rows) * (kHalfBand + 1), PackD(0.0)),
        factor(band.size(), PackD(0.0)),
        shift(rows, PackD(0.0)),
        dense(kLanes, Eigen::MatrixXd::Zero(rows, rows)) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> random(-1, 1);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int r = 0; r < rows; ++r) {
        shift[r].set(lane, 1 + random(engine));
        for (int d = 0; d <= std::min(r, kHalfBand); ++d) {
          const double value = d == 0 ? 2 * kHalfBand + random(engine) : random(engine);
          view(band).entry(r, d).set(lane, value);
          dense[lane](r, r - d) = dense[lane](r - d, r) = value;
        }
        dense[lane](r, r) += shift[r][lane];
      }
  }
  BandView<kHalfBand> view(AlignedVector<PackD>& of) const { return {of.data(), rows}; }
  bool take_factor() { return banded_factor<kHalfBand>(view(band), shift.data(), view(factor)); }
};

TEST(BandedCholesky, SolvesEachLaneAsADenseFactorDoes) {
  for (const int rows : {1, 2, 9, 10, 11, 12, 21, 124}) {  // shorter than the band, as long, and longer
    Batch batch(rows, rows);
    ASSERT_TRUE(batch.take_factor());
    AlignedVector<PackD> x(rows);
    std::mt19937 engine(17);
    std::uniform_real_distribution<double> random(-1, 1);
    for (PackD& row : x)
      for (int lane = 0; lane < kLanes; ++lane) row.set(lane, random(engine));
    const AlignedVector<PackD> b = x;
    banded_solve<kHalfBand>(batch.view(batch.factor), x.data());
    for (int lane = 0; lane < kLanes; ++lane) {
      Eigen::VectorXd b_lane(rows), x_lane(rows);
      for (int r = 0; r < rows; ++r) {
        b_lane[r] = b[r][lane];
        x_lane[r] = x[r][lane];
      }
      // Condition below 5: rounding and nothing else.
      EXPECT_LT((x_lane - batch.dense[lane].llt().solve(b_lane)).norm(), 1e-14) << rows << " rows, lane " << lane;
    }
  }
}

TEST(BandedCholesky, HoldsTheInverseOfTheDiagonal) {
  Batch batch(40, 3);
  ASSERT_TRUE(batch.take_factor());
  for (int lane = 0; lane < kLanes; ++lane) {
    const Eigen::MatrixXd L = batch.dense[lane].llt().matrixL();
    for (int r = 0; r < 40; ++r)
      for (int d = 0; d <= std::min(r, kHalfBand); ++d) {
        const double expected = d == 0 ? 1 / L(r, r) : L(r, r - d);
        EXPECT_NEAR(batch.view(batch.factor).entry(r, d)[lane], expected, 1e-14) << r << ", " << r - d;
      }
  }
}

TEST(BandedCholesky, RefusesAnIndefiniteMatrixInAnyLaneAndRow) {
  for (const int row : {0, 5, 10, 30})
    for (int lane = 0; lane < kLanes; ++lane) {
      Batch batch(40, 5);
      batch.view(batch.band).entry(row, 0).set(lane, -4.0);
      EXPECT_FALSE(batch.take_factor()) << "row " << row << ", lane " << lane;
    }
}

}  // namespace
}  // namespace stiction
