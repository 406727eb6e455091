// The linear solver of shells and solids on the matrices it meets: a sheet's membrane and bending stencils, a lattice
// of tetrahedra. Beside it Eigen's simplicial factor and, where the build has it, CHOLMOD's supernodal one.
#include <fmt/core.h>
#include <oneapi/tbb/info.h>

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "bench/benchmarks.hpp"
#include "bench/timing.hpp"
#include "linear/sparse_cholesky.hpp"
#include "parallel/threads.hpp"
#ifdef STICTION_CHOLMOD
#include <cholmod.h>
#endif

namespace stiction {

namespace {

constexpr int kRepeats = 9;

/// Springs along coupled pairs and a mass: positive definite, with the stiffness ratio of a thin sheet.
BlockMatrix springs(const std::vector<Vec3>& x, const std::vector<std::pair<int, int>>& pairs) {
  BlockMatrix m = BlockMatrix::with_pattern(static_cast<int>(x.size()), pairs);
  for (int j = 0; j < m.size; ++j) m.block[m.column[j]] += 0.01 * Mat3::Identity();
  for (int j = 0; j < m.size; ++j)
    for (int k = m.column[j] + 1; k < m.column[j + 1]; ++k) {
      const Vec3 d = (x[m.row[k]] - x[j]).normalized();
      const Mat3 stiffness = d * d.transpose() + 0.05 * Mat3::Identity();
      m.block[k] -= stiffness;
      m.block[m.column[j]] += stiffness;
      m.block[m.column[m.row[k]]] += stiffness;
    }
  return m;
}

/// n x n nodes, two triangles a cell; nodes couple along edges and across them.
BlockMatrix sheet(int n) {
  std::vector<Vec3> x;
  std::vector<std::pair<int, int>> pairs;
  const auto couple = [&](int i, int j, int a, int b) {
    if (i + a >= 0 && i + a < n && j + b >= 0 && j + b < n) pairs.emplace_back(i * n + j, (i + a) * n + j + b);
  };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      x.emplace_back(i, j, 0.3 * std::sin(0.7 * i + 0.2 * j));
      couple(i, j, 0, 1), couple(i, j, 1, 0), couple(i, j, 1, 1);   // edges
      couple(i, j, 1, -1), couple(i, j, 1, 2), couple(i, j, 2, 1);  // across an edge
    }
  return springs(x, pairs);
}

/// n x n x n nodes, six tetrahedra a cell.
BlockMatrix lattice(int n) {
  std::vector<Vec3> x;
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) {
        x.emplace_back(i, j, k);
        for (int e = 1; e < 8; ++e) {  // edges, diagonals of faces and of the cell
          const int a = i + (e & 1), b = j + (e >> 1 & 1), c = k + (e >> 2);
          if (a < n && b < n && c < n) pairs.emplace_back((i * n + j) * n + k, (a * n + b) * n + c);
        }
      }
  return springs(x, pairs);
}

Eigen::SparseMatrix<double> scalar_lower(const BlockMatrix& m) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int j = 0; j < m.size; ++j)
    for (int k = m.column[j]; k < m.column[j + 1]; ++k)
      for (int b = 0; b < 3; ++b)
        for (int a = m.row[k] == j ? b : 0; a < 3; ++a)
          entries.emplace_back(3 * m.row[k] + a, 3 * j + b, m.block[k](a, b));
  Eigen::SparseMatrix<double> result(3 * m.size, 3 * m.size);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

nlohmann::json eigen_figures(const Eigen::SparseMatrix<double>& A, const Eigen::VectorXd& b) {
  Eigen::SimplicialLLT<Eigen::SparseMatrix<double>, Eigen::Lower> llt;
  llt.analyzePattern(A);
  // One factorisation of a large matrix takes seconds.
  const auto start = std::chrono::steady_clock::now();
  llt.factorize(A);
  const double factor = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Eigen::VectorXd x;
  const double solve = median_seconds(kRepeats, [&] { x = llt.solve(b); });
  return {{"factor_ms", factor * 1e3}, {"solve_ms", solve * 1e3}};
}

#ifdef STICTION_CHOLMOD
/// CHOLMOD asks OpenMP for four threads whatever OMP_NUM_THREADS says; on fewer cores, or against one thread of ours,
/// its times would mean nothing. Only the limits bind it and its BLAS, and only from the environment.
bool cholmod_has_one_thread() {
  const auto is_one = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && std::string_view(value) == "1";
  };
  return is_one("OMP_THREAD_LIMIT") && is_one("OPENBLAS_NUM_THREADS");
}

nlohmann::json cholmod_figures(Eigen::SparseMatrix<double>& A, const Eigen::VectorXd& b) {
  cholmod_common common;
  cholmod_start(&common);
  common.supernodal = CHOLMOD_SUPERNODAL;
  cholmod_sparse view;
  std::memset(&view, 0, sizeof view);
  view.nrow = view.ncol = A.rows();
  view.nzmax = A.nonZeros();
  view.p = A.outerIndexPtr();
  view.i = A.innerIndexPtr();
  view.x = A.valuePtr();
  view.stype = -1;
  view.itype = CHOLMOD_INT;
  view.xtype = CHOLMOD_REAL;
  view.dtype = CHOLMOD_DOUBLE;
  view.sorted = view.packed = 1;
  cholmod_factor* L = cholmod_analyze(&view, &common);
  const double factor = median_seconds(kRepeats, [&] { cholmod_factorize(&view, L, &common); });
  Eigen::VectorXd right = b;
  cholmod_dense rhs;
  std::memset(&rhs, 0, sizeof rhs);
  rhs.nrow = rhs.nzmax = rhs.d = A.rows();
  rhs.ncol = 1;
  rhs.x = right.data();
  rhs.xtype = CHOLMOD_REAL;
  rhs.dtype = CHOLMOD_DOUBLE;
  cholmod_dense *x = nullptr, *y = nullptr, *e = nullptr;
  const double solve =
      median_seconds(kRepeats, [&] { cholmod_solve2(CHOLMOD_A, L, &rhs, nullptr, &x, nullptr, &y, &e, &common); });
  nlohmann::json figures = {
      {"factor_ms", factor * 1e3}, {"solve_ms", solve * 1e3}, {"factor_mb", 8e-6 * static_cast<double>(L->xsize)}};
  cholmod_free_dense(&x, &common), cholmod_free_dense(&y, &common), cholmod_free_dense(&e, &common);
  cholmod_free_factor(&L, &common);
  cholmod_finish(&common);
  return figures;
}
#endif

nlohmann::json measure(const BlockMatrix& m, bool compare) {
  SparseCholesky cholesky;
  const auto start = std::chrono::steady_clock::now();
  cholesky.analyse(m);
  const double t_analyse = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::mt19937 random(1);
  std::vector<Vec3> b(m.size), x, residual(m.size);
  for (Vec3& v : b)
    for (double& a : v) a = std::uniform_real_distribution<double>(-1, 1)(random);

  const auto measure_ours = [&] {
    const double t_factor = median_seconds(kRepeats, [&] { cholesky.factor(m); });
    const double t_solve = median_seconds(kRepeats, [&] {
      x = b;
      cholesky.solve(x);
    });
    const double bytes = 2 * static_cast<double>(cholesky.factor_bytes());
    return nlohmann::json{{"factor_ms", t_factor * 1e3},
                          {"factor_gflop_per_s", cholesky.factor_flops() / t_factor * 1e-9},
                          {"solve_ms", t_solve * 1e3},
                          {"solve_gb_per_s", bytes / t_solve * 1e-9}};
  };
  nlohmann::json figures = {{"nodes", m.size},
                            {"analyse_ms", t_analyse * 1e3},
                            {"factor_mb", 1e-6 * static_cast<double>(cholesky.factor_bytes())},
                            {"factor_gflop", 1e-9 * cholesky.factor_flops()}};
  figures["one_thread"] = on_threads(1, measure_ours);
  figures["all_threads"] = measure_ours();

  m.multiply(x, residual);
  double squared = 0, norm = 0;
  for (int i = 0; i < m.size; ++i) squared += (residual[i] - b[i]).squaredNorm(), norm += b[i].squaredNorm();
  figures["residual"] = std::sqrt(squared / norm);

  // A copy that reads and writes as many bytes as a solve reads.
  std::vector<double> from(cholesky.factor_bytes() / sizeof(double), 1.0), to(from.size());
  const double t_copy = median_seconds(kRepeats, [&] { std::copy(from.begin(), from.end(), to.begin()); });
  figures["copy_gb_per_s"] = 2 * static_cast<double>(cholesky.factor_bytes()) / t_copy * 1e-9;

  if (compare) {
    Eigen::SparseMatrix<double> A = scalar_lower(m);
    const Eigen::VectorXd right = Eigen::Map<const Eigen::VectorXd>(b.data()->data(), 3 * m.size);
    figures["eigen"] = eigen_figures(A, right);
#ifdef STICTION_CHOLMOD
    if (cholmod_has_one_thread()) figures["cholmod"] = cholmod_figures(A, right);
#endif
  }
  return figures;
}

}  // namespace

nlohmann::json bench_sparse_solve(bool large, bool compare) {
  struct Case {
    std::string name;
    BlockMatrix (*make)(int);
    int side;
  };
  std::vector<Case> cases = {
      {"sheet", sheet, 45}, {"sheet", sheet, 95}, {"lattice", lattice, 9}, {"lattice", lattice, 17}};
  if (large) {
    cases.insert(cases.begin() + 2, {"sheet", sheet, 200});
    cases.push_back({"lattice", lattice, 27});
  }
  nlohmann::json figures = {{"threads", tbb::info::default_concurrency()}, {"cases", nlohmann::json::array()}};
#ifdef STICTION_CHOLMOD
  if (compare && !cholmod_has_one_thread())
    fmt::print("CHOLMOD left out: set OMP_THREAD_LIMIT=1 OPENBLAS_NUM_THREADS=1 to measure it with one thread\n");
#endif
  fmt::print("{:>8} {:>6} {:>7} {:>7} | {:>9} {:>8} {:>8} {:>6} | {:>9} {:>8} | {:>6} | {:>9} {:>8} | {:>9} {:>8}\n",
             "matrix", "nodes", "MB", "GFLOP", "factor ms", "GFLOP/s", "solve ms", "GB/s", "all: f", "solve", "copy",
             "Eigen: f", "solve", "CHOLMOD:f", "solve");
  for (const Case& c : cases) {
    nlohmann::json row = measure(c.make(c.side), compare);
    row["matrix"] = c.name;
    const nlohmann::json& one = row["one_thread"];
    fmt::print("{:>8} {:>6} {:>7.1f} {:>7.2f} | {:>9.2f} {:>8.1f} {:>8.3f} {:>6.1f} | {:>9.2f} {:>8.3f} | {:>6.1f}",
               c.name, row["nodes"].get<int>(), row["factor_mb"].get<double>(), row["factor_gflop"].get<double>(),
               one["factor_ms"].get<double>(), one["factor_gflop_per_s"].get<double>(), one["solve_ms"].get<double>(),
               one["solve_gb_per_s"].get<double>(), row["all_threads"]["factor_ms"].get<double>(),
               row["all_threads"]["solve_ms"].get<double>(), row["copy_gb_per_s"].get<double>());
    for (const char* other : {"eigen", "cholmod"})
      if (row.contains(other))
        fmt::print(" | {:>9.2f} {:>8.3f}", row[other]["factor_ms"].get<double>(), row[other]["solve_ms"].get<double>());
    fmt::print("\n");
    std::fflush(stdout);
    figures["cases"].push_back(std::move(row));
  }
  return figures;
}

}  // namespace stiction
