// The sparse Cholesky against Eigen's dense one, and its own equation where a dense matrix would be too large.
#include "linear/sparse_cholesky.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>

#include <Eigen/Dense>
#include <cmath>

#include "support/random.hpp"

namespace stiction {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

struct Random : test::Random {
  using test::Random::Random;
  std::vector<Vec3> vectors(int n) {
    std::vector<Vec3> v(n);
    for (Vec3& a : v) a = vector();
    return v;
  }
};

Pairs random_pairs(Random& random, int size, int count) {
  Pairs pairs;
  for (int k = 0; k < count; ++k) pairs.emplace_back(random.below(size), random.below(size));
  return pairs;
}

Pairs grid_pairs(int nx, int ny, int nz) {
  Pairs pairs;
  const auto node = [&](int i, int j, int k) { return (i * ny + j) * nz + k; };
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int k = 0; k < nz; ++k)
        for (int e = 1; e < 8; ++e) {
          const int a = i + (e & 1), b = j + (e >> 1 & 1), c = k + (e >> 2);
          if (a < nx && b < ny && c < nz) pairs.emplace_back(node(i, j, k), node(a, b, c));
        }
  return pairs;
}

/// Couplings K_ij random and not symmetric, diagonal blocks that dominate them: positive definite by Gershgorin, and
/// well conditioned.
BlockMatrix dominant_matrix(Random& random, int size, Pairs pairs) {
  BlockMatrix m = BlockMatrix::with_pattern(size, std::move(pairs));
  std::vector<double> load(size, 1.0);
  for (int j = 0; j < size; ++j)
    for (int k = m.column[j] + 1; k < m.column[j + 1]; ++k) {
      m.block[k] = random.matrix();
      for (const int i : {j, m.row[k]}) load[i] += 3.0;
    }
  for (int j = 0; j < size; ++j) {
    const Mat3 a = random.matrix();
    m.block[m.column[j]] = a * a.transpose() + load[j] * Mat3::Identity();
  }
  return m;
}

/// Springs along the couplings of a lattice and a mass: the matrix of a soft body, with its near-null rigid motions.
BlockMatrix elastic_matrix(int nx, int ny, int nz, double mass) {
  BlockMatrix m = BlockMatrix::with_pattern(nx * ny * nz, grid_pairs(nx, ny, nz));
  const auto place = [&](int i) { return Vec3(i / (ny * nz), i / nz % ny, i % nz); };
  for (int j = 0; j < m.size; ++j) m.block[m.column[j]] += mass * Mat3::Identity();
  for (int j = 0; j < m.size; ++j)
    for (int k = m.column[j] + 1; k < m.column[j + 1]; ++k) {
      const Vec3 d = (place(m.row[k]) - place(j)).normalized();
      const Mat3 stiffness = d * d.transpose() + 0.1 * Mat3::Identity();
      m.block[k] -= stiffness;
      m.block[m.column[j]] += stiffness;
      m.block[m.column[m.row[k]]] += stiffness;
    }
  return m;
}

Eigen::MatrixXd dense(const BlockMatrix& m, const std::vector<double>& w = {}) {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(3 * m.size, 3 * m.size);
  for (int j = 0; j < m.size; ++j)
    for (int k = m.column[j]; k < m.column[j + 1]; ++k) {
      result.block<3, 3>(3 * m.row[k], 3 * j) = m.block[k];
      result.block<3, 3>(3 * j, 3 * m.row[k]) = m.block[k].transpose();
    }
  for (std::size_t j = 0; j < w.size(); ++j)
    for (std::size_t i = 3 * j; i < 3 * j + 3; ++i) result(i, i) += w[j];
  return result;
}

Eigen::Map<const Eigen::VectorXd> flat(const std::vector<Vec3>& v) {
  return {v.data()->data(), static_cast<Eigen::Index>(3 * v.size())};
}

/// ||M x - b|| / ||b||.
double residual(const BlockMatrix& m, const std::vector<Vec3>& x, const std::vector<Vec3>& b) {
  std::vector<Vec3> y(b.size());
  m.multiply(x, y);
  return (flat(y) - flat(b)).norm() / flat(b).norm();
}

std::vector<Vec3> solved(const SparseCholesky& cholesky, std::vector<Vec3> b) {
  cholesky.solve(b);
  return b;
}

/// Distance to the dense solution, relative.
double error_to_dense(const BlockMatrix& m, const std::vector<Vec3>& b, const std::vector<double>& w = {}) {
  SparseCholesky cholesky;
  cholesky.analyse(m);
  EXPECT_TRUE(cholesky.factor(m, w));
  const Eigen::VectorXd reference = Eigen::LLT<Eigen::MatrixXd>(dense(m, w)).solve(flat(b));
  return (flat(solved(cholesky, b)) - reference).norm() / reference.norm();
}

// The dominant matrices have condition numbers below 100: both solutions are exact to some 1e-15 times that.
constexpr double kWellConditioned = 1e-12;

TEST(BlockMatrix, PatternHoldsEveryPairOnceSortedWithDiagonals) {
  const BlockMatrix m = BlockMatrix::with_pattern(5, {{0, 3}, {3, 0}, {2, 2}, {4, 3}, {1, 0}, {0, 3}});
  EXPECT_EQ(m.column, (std::vector<int>{0, 3, 4, 5, 7, 8}));
  EXPECT_EQ(m.row, (std::vector<int>{0, 1, 3, 1, 2, 3, 4, 4}));
  EXPECT_EQ(m.find(3, 0), 2);
  EXPECT_EQ(m.find(4, 3), 6);
  EXPECT_EQ(m.find(4, 0), -1);
  for (const Mat3& block : m.block) EXPECT_EQ(block, Mat3::Zero());
}

TEST(BlockMatrix, ProductIsTheDenseProduct) {
  Random random(1);
  const BlockMatrix m = dominant_matrix(random, 30, random_pairs(random, 30, 80));
  const std::vector<Vec3> x = random.vectors(30);
  std::vector<Vec3> y(30, Vec3::Constant(7));  // what was there is overwritten
  m.multiply(x, y);
  EXPECT_LT((flat(y) - dense(m) * flat(x)).norm(), 1e-13 * flat(y).norm());
}

TEST(SparseCholesky, SolvesRandomGraphsAsTheDenseFactorDoes) {
  Random random(2);
  for (int trial = 0; trial < 60; ++trial) {
    const int size = 1 + random.below(80);
    const BlockMatrix m = dominant_matrix(random, size, random_pairs(random, size, random.below(4 * size)));
    EXPECT_LT(error_to_dense(m, random.vectors(size)), kWellConditioned) << "size " << size << ", trial " << trial;
  }
}

TEST(SparseCholesky, SolvesFullMatricesOfEverySmallSize) {
  // One supernode of every width: every way in which tiles and packs can end.
  Random random(3);
  for (int size = 1; size <= 40; ++size) {
    Pairs pairs;
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < i; ++j) pairs.emplace_back(i, j);
    const BlockMatrix m = dominant_matrix(random, size, pairs);
    EXPECT_LT(error_to_dense(m, random.vectors(size)), kWellConditioned) << "size " << size;
  }
}

TEST(SparseCholesky, SolvesAFullMatrixWiderThanABlockOfColumns) {
  Random random(4);
  Pairs pairs;
  for (int i = 0; i < 150; ++i)
    for (int j = 0; j < i; ++j) pairs.emplace_back(i, j);
  const BlockMatrix m = dominant_matrix(random, 150, pairs);
  EXPECT_LT(error_to_dense(m, random.vectors(150)), kWellConditioned);
}

TEST(SparseCholesky, SolvesWideSupernodesWithRowsBelow) {
  // Two full groups of 60 nodes and a separator of 45 coupled to all: panels wider than a block of columns, with rows
  // below them.
  Random random(5);
  Pairs pairs;
  for (int i = 0; i < 165; ++i)
    for (int j = 0; j < i; ++j)
      if (i >= 120 || i / 60 == j / 60) pairs.emplace_back(i, j);
  const BlockMatrix m = dominant_matrix(random, 165, pairs);
  EXPECT_LT(error_to_dense(m, random.vectors(165)), kWellConditioned);
}

TEST(SparseCholesky, SolvesLatticesAsTheDenseFactorDoes) {
  Random random(6);
  const BlockMatrix m = dominant_matrix(random, 6 * 7 * 5, grid_pairs(6, 7, 5));
  EXPECT_LT(error_to_dense(m, random.vectors(m.size)), kWellConditioned);
}

TEST(SparseCholesky, SolvesElasticBodiesToRoundOff) {
  Random random(7);
  for (const auto& [nx, ny, nz] : {std::array{9, 9, 9}, std::array{40, 40, 1}, std::array{300, 2, 2}}) {
    const BlockMatrix m = elastic_matrix(nx, ny, nz, 1.0);
    const std::vector<Vec3> b = random.vectors(m.size);
    SparseCholesky cholesky;
    cholesky.analyse(m);
    ASSERT_TRUE(cholesky.factor(m));
    EXPECT_LT(residual(m, solved(cholesky, b), b), kWellConditioned);
  }
}

TEST(SparseCholesky, StaysBackwardStableOnNearlySingularBodies) {
  // A body of mass 1e-9 of its stiffness: condition number 1e10. The residual scales with ||M|| ||x||, not with the
  // condition number.
  Random random(8);
  const BlockMatrix m = elastic_matrix(8, 8, 8, 1e-9);
  const std::vector<Vec3> b = random.vectors(m.size);
  SparseCholesky cholesky;
  cholesky.analyse(m);
  ASSERT_TRUE(cholesky.factor(m));
  const std::vector<Vec3> x = solved(cholesky, b);
  std::vector<Vec3> y(b.size());
  m.multiply(x, y);
  EXPECT_LT((flat(y) - flat(b)).norm(), 1e-14 * 30 * flat(x).norm());  // ||M|| is below 30
}

TEST(SparseCholesky, SolvesDisconnectedBodies) {
  Random random(9);
  Pairs pairs;
  for (const int start : {0, 70, 130})
    for (const auto& [i, j] : grid_pairs(4, 4, 3)) pairs.emplace_back(start + i, start + j);
  const BlockMatrix m = dominant_matrix(random, 200, pairs);  // and lone nodes between them
  EXPECT_LT(error_to_dense(m, random.vectors(200)), kWellConditioned);
}

TEST(SparseCholesky, SolvesADiagonalMatrix) {
  Random random(10);
  const BlockMatrix m = dominant_matrix(random, 100, {});
  EXPECT_LT(error_to_dense(m, random.vectors(100)), kWellConditioned);
}

TEST(SparseCholesky, SolvesArrowsWithoutFill) {
  // Node 0 couples to all: eliminated first it would fill the matrix, last it fills nothing.
  Random random(11);
  constexpr int kSize = 300;
  Pairs pairs;
  for (int i = 1; i < kSize; ++i) pairs.emplace_back(i, 0);
  const BlockMatrix m = dominant_matrix(random, kSize, pairs);
  EXPECT_LT(error_to_dense(m, random.vectors(kSize)), kWellConditioned);
  SparseCholesky cholesky;
  cholesky.analyse(m);
  EXPECT_LT(cholesky.factor_bytes(), 10 * m.block.size() * sizeof(Mat3));
}

TEST(SparseCholesky, KeepsTheFactorOfASheetSmall) {
  // Nested dissection of n nodes in the plane: some 8 n log2 n blocks (George 1973: 31/4 for the 9-point grid). A band
  // would hold 80 n.
  const BlockMatrix m = elastic_matrix(80, 80, 1, 1.0);
  SparseCholesky cholesky;
  cholesky.analyse(m);
  EXPECT_LT(cholesky.factor_bytes(), std::size_t{72} * 6400 * 40);
}

TEST(SparseCholesky, AddsWeightsToTheDiagonal) {
  Random random(12);
  const BlockMatrix m = dominant_matrix(random, 60, random_pairs(random, 60, 150));
  std::vector<double> w(60);
  for (double& a : w) a = random(0, 10);
  const std::vector<Vec3> b = random.vectors(60);
  EXPECT_LT(error_to_dense(m, b, w), kWellConditioned);
}

TEST(SparseCholesky, WeightsCanMakeASingularMatrixDefinite) {
  BlockMatrix m = elastic_matrix(5, 5, 5, 0.0);  // free to move: singular
  SparseCholesky cholesky;
  cholesky.analyse(m);
  const std::vector<double> w(m.size, 0.5);
  ASSERT_TRUE(cholesky.factor(m, w));
  Random random(13);
  const std::vector<Vec3> b = random.vectors(m.size);
  const std::vector<Vec3> x = solved(cholesky, b);
  for (int j = 0; j < m.size; ++j) m.block[m.column[j]] += 0.5 * Mat3::Identity();
  EXPECT_LT(residual(m, x, b), kWellConditioned);
}

TEST(SparseCholesky, RefusesIndefiniteMatrices) {
  Random random(14);
  SparseCholesky cholesky;
  const BlockMatrix good = dominant_matrix(random, 90, random_pairs(random, 90, 200));
  cholesky.analyse(good);
  for (const int node : {0, 17, 44, 89}) {
    BlockMatrix bad = good;
    bad.block[bad.column[node]](1, 1) = -0.1;
    EXPECT_FALSE(cholesky.factor(bad)) << "node " << node;
    bad.block[bad.column[node]](1, 1) = std::nan("");
    EXPECT_FALSE(cholesky.factor(bad)) << "node " << node;
  }
  // A refusal leaves nothing behind.
  const std::vector<Vec3> b = random.vectors(90);
  ASSERT_TRUE(cholesky.factor(good));
  EXPECT_LT(residual(good, solved(cholesky, b), b), kWellConditioned);
}

TEST(SparseCholesky, FactorsNewValuesAsAFreshObjectDoes) {
  Random random(15);
  const Pairs pairs = grid_pairs(6, 6, 6);
  SparseCholesky kept;
  kept.analyse(BlockMatrix::with_pattern(216, pairs));
  for (int trial = 0; trial < 3; ++trial) {
    const BlockMatrix m = dominant_matrix(random, 216, pairs);
    const std::vector<Vec3> b = random.vectors(216);
    SparseCholesky fresh;
    fresh.analyse(m);
    ASSERT_TRUE(kept.factor(m) && fresh.factor(m));
    EXPECT_EQ(solved(kept, b), solved(fresh, b));
    EXPECT_EQ(solved(kept, b), solved(kept, b));
  }
}

TEST(SparseCholesky, AnalysesAnotherPatternInTheSameObject) {
  Random random(16);
  SparseCholesky cholesky;
  for (const int size : {120, 3, 64}) {
    const BlockMatrix m = dominant_matrix(random, size, random_pairs(random, size, 3 * size));
    cholesky.analyse(m);
    ASSERT_TRUE(cholesky.factor(m));
    const std::vector<Vec3> b = random.vectors(size);
    EXPECT_LT(residual(m, solved(cholesky, b), b), kWellConditioned);
  }
}

TEST(SparseCholesky, HasTheSameBitsForAnyNumberOfThreads) {
  // Large enough that the elimination tree is split among threads.
  Random random(17);
  const BlockMatrix m = elastic_matrix(14, 14, 14, 1.0);
  const std::vector<Vec3> b = random.vectors(m.size);
  std::vector<Vec3> reference;
  for (const std::size_t threads : {1, 2, 4}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    SparseCholesky cholesky;
    cholesky.analyse(m);
    ASSERT_GT(cholesky.factor_flops(), 1e9);
    ASSERT_TRUE(cholesky.factor(m));
    const std::vector<Vec3> x = solved(cholesky, b);
    EXPECT_LT(residual(m, x, b), kWellConditioned);
    if (reference.empty()) reference = x;
    EXPECT_EQ(x, reference) << threads << " threads";
  }
}

TEST(SparseCholesky, RefusesLargeIndefiniteMatrices) {
  // In a subtree and above all subtrees.
  BlockMatrix m = elastic_matrix(14, 14, 14, 1.0);
  SparseCholesky cholesky;
  cholesky.analyse(m);
  const auto centre = static_cast<std::size_t>(m.column[(7 * 14 + 7) * 14 + 7]);
  for (const std::size_t block : {std::size_t{0}, centre}) {
    const Mat3 kept = m.block[block];
    m.block[block] = -kept;
    EXPECT_FALSE(cholesky.factor(m));
    m.block[block] = kept;
  }
  EXPECT_TRUE(cholesky.factor(m));
}

TEST(SparseCholesky, ManyObjectsWorkInParallel) {
  Random random(18);
  const BlockMatrix m = elastic_matrix(6, 6, 6, 1.0);
  const std::vector<Vec3> b = random.vectors(m.size);
  SparseCholesky one;
  one.analyse(m);
  ASSERT_TRUE(one.factor(m));
  const std::vector<Vec3> expected = solved(one, b);
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 4);
  std::vector<std::vector<Vec3>> results(24);
  tbb::parallel_for(0, 24, [&](int i) {
    SparseCholesky cholesky;
    cholesky.analyse(m);
    if (cholesky.factor(m)) results[i] = solved(cholesky, b);
  });
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace stiction
