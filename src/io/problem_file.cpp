#include "io/problem_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/hdf5.hpp"

namespace stiction {
namespace {

using SparseMatrix = Eigen::SparseMatrix<double>;
using Triplets = std::vector<Eigen::Triplet<double>>;

constexpr int csr = -2;
constexpr int csc = -1;

// ---- contact frames

/// Rows N, T1, T2: a right-handed orthonormal frame with the given normal.
Mat3 contact_frame(const Vec3& normal) {
  const Vec3 tangent = normal.unitOrthogonal();
  Mat3 frame;
  frame << normal.transpose(), tangent.transpose(), normal.cross(tangent).transpose();
  return frame;
}

/// The block diagonal matrix R from world axes to contact frames.
SparseMatrix world_to_contact(const std::vector<Mat3>& frames) {
  Triplets entries;
  for (std::size_t c = 0; c < frames.size(); ++c) {
    const int first = static_cast<int>(3 * c);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) entries.emplace_back(first + i, first + j, frames[c](i, j));
    }
  }
  const auto size = static_cast<Eigen::Index>(3 * frames.size());
  SparseMatrix R(size, size);
  R.setFromTriplets(entries.begin(), entries.end());
  return R;
}

Eigen::VectorXd stacked(const std::vector<Vec3>& vectors) {
  Eigen::VectorXd result(static_cast<Eigen::Index>(3 * vectors.size()));
  for (std::size_t c = 0; c < vectors.size(); ++c) result.segment<3>(static_cast<Eigen::Index>(3 * c)) = vectors[c];
  return result;
}

std::vector<Vec3> unstacked(const std::vector<double>& values) {
  std::vector<Vec3> result;
  for (std::size_t i = 0; i + 2 < values.size(); i += 3) result.emplace_back(values[i], values[i + 1], values[i + 2]);
  return result;
}

// ---- matrices and vectors

void write_vector(hdf5::Group& group, const std::string& name, const Eigen::VectorXd& values) {
  group.write<double>(name, std::span(values.data(), static_cast<std::size_t>(values.size())));
}

void write_matrix(hdf5::Group group, SparseMatrix matrix) {
  matrix.makeCompressed();
  const auto count = static_cast<std::size_t>(matrix.nonZeros());
  group.write_value<int>("m", static_cast<int>(matrix.rows()));
  group.write_value<int>("n", static_cast<int>(matrix.cols()));
  group.write_value<int>("nz", csc);
  group.write_value<int>("nzmax", static_cast<int>(count));
  group.write<int>("p", std::span(matrix.outerIndexPtr(), static_cast<std::size_t>(matrix.cols()) + 1));
  group.write<int>("i", std::span(matrix.innerIndexPtr(), count));
  group.write<double>("x", std::span(matrix.valuePtr(), count));
}

/// Entries of a compressed matrix whose slice s (a row in CSR, a column in CSC) is [p[s], p[s+1]) of i and x.
template <class Emit>
void for_each_compressed(const hdf5::Group& group, int slices, const std::vector<int>& p, std::size_t stored,
                         Emit&& emit) {
  group.expect_size("p", static_cast<std::size_t>(slices) + 1);
  const bool valid = p.front() == 0 && std::ranges::is_sorted(p) && std::cmp_less_equal(p.back(), stored);
  if (!valid) throw IoError(group.path(), "damaged: the slices of a compressed matrix are not in order");
  for (int slice = 0; slice < slices; ++slice) {
    for (int entry = p[static_cast<std::size_t>(slice)]; entry < p[static_cast<std::size_t>(slice) + 1]; ++entry) {
      emit(slice, static_cast<std::size_t>(entry));
    }
  }
}

SparseMatrix read_matrix(const hdf5::Group& group) {
  const int rows = group.read_value<int>("m");
  const int columns = group.read_value<int>("n");
  const int nz = group.read_value<int>("nz");
  const auto p = group.read<int>("p");
  const auto i = group.read<int>("i");
  const auto x = group.read<double>("x");
  const std::size_t stored = std::min(i.size(), x.size());
  if (rows < 0 || columns < 0) throw IoError(group.path(), "damaged: a matrix of negative size");

  Triplets entries;
  const auto add = [&](int row, int column, double value) {
    if (row < 0 || row >= rows || column < 0 || column >= columns) {
      throw IoError(group.path(),
                    fmt::format("damaged: entry ({}, {}) of a {} x {} matrix", row, column, rows, columns));
    }
    entries.emplace_back(row, column, value);
  };
  if (nz == csr) {
    for_each_compressed(group, rows, p, stored, [&](int row, std::size_t entry) { add(row, i[entry], x[entry]); });
  } else if (nz == csc) {
    for_each_compressed(group, columns, p, stored,
                        [&](int column, std::size_t entry) { add(i[entry], column, x[entry]); });
  } else if (nz >= 0 && std::cmp_less_equal(nz, std::min(stored, p.size()))) {
    for (std::size_t entry = 0; std::cmp_less(entry, nz); ++entry) add(i[entry], p[entry], x[entry]);
  } else {
    throw IoError(group.path(), fmt::format("a matrix has nz = {}, which is no storage format", nz));
  }
  SparseMatrix matrix(rows, columns);
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

/// Completes a symmetric matrix of which only the lower or upper triangle is stored.
SparseMatrix with_both_triangles(const SparseMatrix& matrix) {
  bool has_lower = false;
  bool has_upper = false;
  for (int column = 0; column < matrix.outerSize(); ++column) {
    for (SparseMatrix::InnerIterator entry(matrix, column); entry; ++entry) {
      has_lower |= entry.row() > entry.col();
      has_upper |= entry.row() < entry.col();
    }
  }
  if (has_lower && has_upper) return matrix;
  if (has_lower) return matrix.selfadjointView<Eigen::Lower>();
  return matrix.selfadjointView<Eigen::Upper>();
}

// ---- loading

void expect(bool holds, const hdf5::Group& file, const std::string& otherwise) {
  if (!holds) throw IoError(file.path(), otherwise);
}

hdf5::Group open_global(const hdf5::Group& file) {
  expect(!file.has("fclib_local"), file, "holds a local problem (W, q), not a global one (M, H, f, w)");
  expect(file.has("fclib_global"), file, "is not a friction problem: there is no group fclib_global");
  hdf5::Group global = file.group("fclib_global");
  expect(global.read_value<int>("spacedim") == 3, file, "is not a problem in three dimensions");
  expect(!global.has("G"), file, "has equality constraints (G), which are not supported");
  return global;
}

/// What the file does not say: see load_problem.
void fill_from_layout(FrictionProblem& problem, const SparseMatrix& H, const std::vector<double>& w) {
  const std::size_t contacts = problem.mu.size();
  problem.B = H.transpose();
  problem.k = unstacked(w);
  problem.normal.assign(contacts, Vec3::UnitX());
  problem.cohesion.assign(contacts, 0.0);
  problem.compliance.assign(contacts, 0.0);
  problem.node_count = static_cast<int>(problem.A.rows() / 3);
  const Eigen::VectorXd diagonal = problem.A.diagonal();
  for (int node = 0; node < problem.node_count; ++node) problem.mass.push_back(diagonal.segment<3>(3 * node).mean());
}

std::vector<Mat3> read_frames(const hdf5::Group& group, std::size_t contacts) {
  group.expect_size("frame", 9 * contacts);
  const std::vector<double> values = group.read<double>("frame");
  std::vector<Mat3> frames;
  for (std::size_t c = 0; c < contacts; ++c) {
    frames.emplace_back(Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(values.data() + 9 * c));
  }
  return frames;
}

/// Refuses a file in which the layout and our group describe two different problems.
void expect_agreement(const FrictionProblem& problem, const std::vector<Mat3>& frames, const SparseMatrix& H,
                      const std::vector<double>& w, const hdf5::Group& file) {
  expect(problem.B.rows() == H.cols() && problem.B.cols() == H.rows(), file, "stiction/B and H differ in size");
  if (frames.empty()) return;
  constexpr double rounding = 1e-12;  // of a product with a 3 x 3 block, with room to spare
  const SparseMatrix R = world_to_contact(frames);
  const SparseMatrix B_difference = R * problem.B - SparseMatrix(H.transpose());
  expect(B_difference.norm() <= rounding * H.norm(), file, "stiction/B and H contradict each other");
  const Eigen::VectorXd k = stacked(problem.k);
  const Eigen::VectorXd k_difference = R * k - Eigen::Map<const Eigen::VectorXd>(w.data(), k.size());
  expect(k_difference.norm() <= rounding * k.norm(), file, "stiction/k and w contradict each other");
}

void fill_from_group(FrictionProblem& problem, const hdf5::Group& group, const SparseMatrix& H,
                     const std::vector<double>& w) {
  const std::size_t contacts = problem.mu.size();
  for (const char* name : {"cohesion", "compliance"}) group.expect_size(name, contacts);
  group.expect_size("k", 3 * contacts);
  problem.B = read_matrix(group.group("B"));
  problem.k = unstacked(group.read<double>("k"));
  problem.cohesion = group.read<double>("cohesion");
  problem.compliance = group.read<double>("compliance");
  problem.mass = group.read<double>("mass");
  problem.node_count = static_cast<int>(problem.mass.size());
  expect(3 * problem.node_count <= problem.A.rows(), group, "there are more nodes than degrees of freedom");

  const std::vector<Mat3> frames = read_frames(group, contacts);
  for (const Mat3& frame : frames) problem.normal.emplace_back(frame.row(0));
  expect_agreement(problem, frames, H, w, group);
}

void check_sizes(const FrictionProblem& problem, const std::filesystem::path& path) {
  const auto n = problem.contact_count();
  const auto m = problem.A.rows();
  const bool consistent = problem.A.cols() == m && problem.f.size() == m && problem.B.cols() == m &&
                          std::cmp_equal(problem.B.rows(), 3 * n) && problem.k.size() == n && problem.mu.size() == n &&
                          problem.cohesion.size() == n && problem.compliance.size() == n &&
                          std::cmp_equal(problem.mass.size(), problem.node_count) && 3 * problem.node_count <= m;
  if (!consistent) throw IoError(path, "the sizes of the friction problem contradict each other");
}

}  // namespace

void save_problem(const std::filesystem::path& path, const FrictionProblem& problem) {
  check_sizes(problem, path);
  std::vector<Mat3> frames;
  for (const Vec3& normal : problem.normal) frames.push_back(contact_frame(normal));
  const SparseMatrix R = world_to_contact(frames);
  const Eigen::VectorXd k = stacked(problem.k);

  const std::string image = hdf5::file_image(path, [&](hdf5::Group& file) {
    hdf5::Group global = file.create_group("fclib_global");
    global.write_value<int>("spacedim", 3);
    write_matrix(global.create_group("M"), problem.A);
    write_matrix(global.create_group("H"), SparseMatrix((R * problem.B).transpose()));
    hdf5::Group vectors = global.create_group("vectors");
    write_vector(vectors, "f", problem.f);
    write_vector(vectors, "w", R * k);
    vectors.write<double>("mu", problem.mu);
    hdf5::Group info = global.create_group("info");
    info.write_string("title", path.stem().string());
    info.write_string("description", "one time step of stiction; SI units, r are impulses");
    info.write_string("math_info", "M symmetric positive definite");

    hdf5::Group ours = file.create_group("stiction");
    std::vector<double> frame_values;
    for (const Mat3& frame : frames) {
      for (const auto row : frame.rowwise()) frame_values.insert(frame_values.end(), row.begin(), row.end());
    }
    ours.write<double>("frame", frame_values, {frames.size(), 3, 3});
    write_matrix(ours.create_group("B"), problem.B);
    ours.write<double>("k", std::span(k.data(), static_cast<std::size_t>(k.size())), {problem.k.size(), 3});
    ours.write<double>("cohesion", problem.cohesion);
    ours.write<double>("compliance", problem.compliance);
    ours.write<double>("mass", problem.mass);
  });
  write_file_atomically(path, image);
}

FrictionProblem load_problem(const std::filesystem::path& path) {
  const hdf5::Group file = hdf5::open_file(path);
  const hdf5::Group global = open_global(file);
  const SparseMatrix H = read_matrix(global.group("H"));
  const auto f = global.read<double>("vectors/f");
  const auto w = global.read<double>("vectors/w");

  FrictionProblem problem;
  problem.A = read_matrix(global.group("M"));
  expect(problem.A.rows() == problem.A.cols(), file, "M is not square");
  problem.A = with_both_triangles(problem.A);
  problem.f = Eigen::Map<const Eigen::VectorXd>(f.data(), static_cast<Eigen::Index>(f.size()));
  problem.mu = global.read<double>("vectors/mu");
  global.expect_size("vectors/w", 3 * problem.mu.size());
  if (file.has("stiction")) {
    fill_from_group(problem, file.group("stiction"), H, w);
  } else {
    fill_from_layout(problem, H, w);
  }
  check_sizes(problem, path);
  return problem;
}

}  // namespace stiction
