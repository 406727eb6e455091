// Friction problems in FCLib files: ours come back bit for bit, the layout says the same problem in contact frames, and
// files from elsewhere are read in each storage format. Real files are tried where STICTION_FCLIB_DIR names a folder.
#include "io/problem_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <Eigen/SparseCholesky>
#include <cstdlib>
#include <fstream>
#include <random>

namespace stiction {
namespace {

namespace fs = std::filesystem;

class ProblemFile : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }

  /// Changes the file through h5py; `code` sees it as `h5` and numpy as `np`.
  void edit(const std::string& code) const {
    const std::string command = "/usr/bin/python3 -c \"import h5py, numpy as np; h5 = h5py.File('" + path_.string() +
                                "', 'r+'); " + code + "\"";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  const fs::path path_ = fs::temp_directory_path() / ("stiction_problem_" + std::to_string(::getpid()) +
                                                      ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

/// Five nodes with two auxiliary DoFs and three contacts with oblique normals, all values random.
FrictionProblem sample_problem() {
  constexpr int nodes = 5, dofs = 3 * nodes + 2, contacts = 3;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto vector = [&] { return Vec3(uniform(random), uniform(random), uniform(random)); };

  FrictionProblem problem;
  const Eigen::MatrixXd S = Eigen::MatrixXd::NullaryExpr(dofs, dofs, [&] { return uniform(random); });
  problem.A = (S + S.transpose() + 2 * dofs * Eigen::MatrixXd::Identity(dofs, dofs)).sparseView();
  problem.f = Eigen::VectorXd::NullaryExpr(dofs, [&] { return uniform(random); });
  std::vector<Eigen::Triplet<double>> entries;
  for (int c = 0; c < contacts; ++c) {
    for (int axis = 0; axis < 3; ++axis) {
      entries.emplace_back(3 * c + axis, 3 * c + axis, 0.3);
      entries.emplace_back(3 * c + axis, 3 * c + 3 + axis, 0.7);
      entries.emplace_back(3 * c + axis, 3 * ((c + 3) % nodes) + axis, -1.0);
    }
    problem.k.push_back(vector());
    problem.normal.push_back(vector().normalized());
    problem.mu.push_back(0.2 * (c + 1));
    problem.cohesion.push_back(0.01 * c);
    problem.compliance.push_back(0.001 * c);
  }
  problem.B.resize(3 * contacts, dofs);
  problem.B.setFromTriplets(entries.begin(), entries.end());
  problem.node_count = nodes;
  for (int node = 0; node < nodes; ++node) problem.mass.push_back(0.1 + node);
  return problem;
}

double max_difference(const Eigen::SparseMatrix<double>& a, const Eigen::SparseMatrix<double>& b) {
  return (Eigen::MatrixXd(a) - Eigen::MatrixXd(b)).cwiseAbs().maxCoeff();
}

Vec3 contact_velocity(const FrictionProblem& problem, const Eigen::VectorXd& v, std::size_t c) {
  return (problem.B * v).segment<3>(static_cast<Eigen::Index>(3 * c)) + problem.k[c];
}

TEST_F(ProblemFile, ComesBackBitForBit) {
  const FrictionProblem saved = sample_problem();
  save_problem(path_, saved);
  const FrictionProblem loaded = load_problem(path_);
  EXPECT_EQ(max_difference(loaded.A, saved.A), 0);
  EXPECT_EQ(max_difference(loaded.B, saved.B), 0);
  EXPECT_EQ(loaded.B.nonZeros(), saved.B.nonZeros());
  EXPECT_EQ(loaded.f, saved.f);
  EXPECT_EQ(loaded.k, saved.k);
  EXPECT_EQ(loaded.normal, saved.normal);
  EXPECT_EQ(loaded.mu, saved.mu);
  EXPECT_EQ(loaded.cohesion, saved.cohesion);
  EXPECT_EQ(loaded.compliance, saved.compliance);
  EXPECT_EQ(loaded.mass, saved.mass);
  EXPECT_EQ(loaded.node_count, saved.node_count);
}

// What a reader that knows only FCLib sees: the same normal and tangential velocities, in its own axes.
TEST_F(ProblemFile, LayoutSaysTheSameInContactFrames) {
  const FrictionProblem saved = sample_problem();
  save_problem(path_, saved);
  edit("del h5['stiction']");
  const FrictionProblem local = load_problem(path_);
  ASSERT_EQ(local.contact_count(), saved.contact_count());
  EXPECT_EQ(max_difference(local.A, saved.A), 0);
  EXPECT_EQ(local.f, saved.f);
  for (std::size_t c = 0; c < saved.contact_count(); ++c) {
    EXPECT_EQ(local.normal[c], Vec3::UnitX());
    const Vec3 u_world = contact_velocity(saved, saved.f, c);
    const Vec3 u_local = contact_velocity(local, saved.f, c);
    constexpr double rounding = 1e-15;  // a few ulps of velocities of order one
    EXPECT_NEAR(u_local.x(), u_world.dot(saved.normal[c]), 4 * rounding);
    EXPECT_NEAR(u_local.norm(), u_world.norm(), 4 * rounding);
  }
  // The velocity that the Delassus operator gives for an impulse along each normal does not depend on the axes either.
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver(saved.A);
  const auto normal_impulses = [](const FrictionProblem& problem) {
    Eigen::VectorXd r(3 * problem.contact_count());
    for (std::size_t c = 0; c < problem.contact_count(); ++c) r.segment<3>(3 * c) = problem.normal[c];
    return r;
  };
  const Eigen::VectorXd v_world = solver.solve(saved.B.transpose() * normal_impulses(saved));
  const Eigen::VectorXd v_local = solver.solve(local.B.transpose() * normal_impulses(local));
  EXPECT_LE((v_world - v_local).norm(), 1e-14 * v_world.norm());
}

TEST_F(ProblemFile, ReadsEveryStorageFormat) {
  const FrictionProblem saved = sample_problem();
  save_problem(path_, saved);
  edit("del h5['stiction']");
  const FrictionProblem reference = load_problem(path_);
  const std::string rewrite =
      "g = h5['fclib_global/H']; n = g['n'][0]; p = g['p'][()]; i = g['i'][()]; x = g['x'][()]; "
      "j = np.repeat(np.arange(n), np.diff(p)); o = np.lexsort((j, i)); ";

  edit(rewrite +
       "del g['p'], g['i'], g['x']; g['p'] = np.append(j[o], [0]).astype('i4'); "
       "g['i'] = np.append(i[o], [0]).astype('i4'); g['x'] = np.append(x[o], [7.0]); g['nz'][0] = len(x)");
  EXPECT_EQ(max_difference(load_problem(path_).B, reference.B), 0) << "triplets, with unused room behind them";

  save_problem(path_, saved);
  edit(rewrite +
       "del h5['stiction'], g['p'], g['i'], g['x']; g['i'] = j[o].astype('i4'); g['x'] = x[o]; "
       "g['p'] = np.searchsorted(i[o], np.arange(g['m'][0] + 1)).astype('i4'); g['nz'][0] = -2");
  EXPECT_EQ(max_difference(load_problem(path_).B, reference.B), 0) << "CSR";
}

TEST_F(ProblemFile, CompletesATriangleOfM) {
  const FrictionProblem saved = sample_problem();
  for (const char* triangle : {"i <= j", "i >= j"}) {
    save_problem(path_, saved);
    edit(std::string("g = h5['fclib_global/M']; i = g['i'][()]; x = g['x'][()]; j = np.repeat(np.arange(g['n'][0]), "
                     "np.diff(g['p'][()])); keep = ") +
         triangle +
         "; del g['p'], g['i'], g['x']; g['i'] = i[keep]; g['x'] = x[keep]; g['p'] = j[keep].astype('i4'); "
         "g['nz'][0] = keep.sum()");
    EXPECT_EQ(max_difference(load_problem(path_).A, saved.A), 0) << triangle;
  }
}

TEST_F(ProblemFile, RefusesWhatIsNotAConsistentGlobalProblem) {
  EXPECT_THROW(load_problem(path_), IoError);
  std::ofstream(path_) << "not an HDF5 file";
  EXPECT_THROW(load_problem(path_), IoError);
  const std::vector<std::string> damages = {
      "h5.move('fclib_global', 'fclib_local')",
      "h5['fclib_global/spacedim'][0] = 2",
      "h5['fclib_global/H/i'][0] = 1000",
      "h5['fclib_global/H/p'][1] = 1000",
      "h5['fclib_global/H/nz'][0] = -3",
      "h5['fclib_global/M/m'][0] = 18",
      "h5['fclib_global/H/x'][0] += 1e-3",
      "h5['fclib_global/vectors/w'][0] += 1e-3",
      "del h5['fclib_global/vectors/mu']; h5['fclib_global/vectors/mu'] = np.zeros(2)",
      "h5.create_group('fclib_global/G')",
  };
  for (const std::string& damage : damages) {
    save_problem(path_, sample_problem());
    EXPECT_NO_THROW(load_problem(path_));
    edit(damage);
    EXPECT_THROW(load_problem(path_), IoError) << damage;
  }
}

TEST_F(ProblemFile, RefusesToSaveContradictingSizes) {
  FrictionProblem problem = sample_problem();
  problem.cohesion.pop_back();
  EXPECT_THROW(save_problem(path_, problem), IoError);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(ProblemFile, KeepsAProblemWithoutContacts) {
  FrictionProblem free = sample_problem();
  free.B.resize(0, free.A.rows());
  for (auto* values : {&free.mu, &free.cohesion, &free.compliance}) values->clear();
  free.k.clear();
  free.normal.clear();
  save_problem(path_, free);
  EXPECT_EQ(load_problem(path_).contact_count(), 0u);
}

TEST_F(ProblemFile, ReadsFclibSamples) {
  const char* folder = std::getenv("STICTION_FCLIB_DIR");
  if (!folder) GTEST_SKIP() << "STICTION_FCLIB_DIR is not set";
  struct Sample {
    const char* name;
    int dofs;
    std::size_t contacts;
  };
  for (const auto& [name, dofs, contacts] :
       {Sample{"GFC3D_TwoRods1.hdf5", 54, 3}, Sample{"Box_Stacks-i0035-31-0.hdf5", 450, 31},
        Sample{"LMGC_GlobalFrictionContactProblem00046.hdf5", 162, 9}}) {
    const FrictionProblem problem = load_problem(fs::path(folder) / name);
    EXPECT_EQ(problem.A.rows(), dofs) << name;
    EXPECT_EQ(problem.contact_count(), contacts) << name;
    const Eigen::SparseMatrix<double> transposed = problem.A.transpose();
    EXPECT_LE(max_difference(problem.A, transposed), 1e-12 * problem.A.norm()) << name;
    const Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> factor(problem.A);
    EXPECT_EQ(factor.info(), Eigen::Success) << name << ": A is positive definite";
    save_problem(path_, problem);
    EXPECT_EQ(max_difference(load_problem(path_).B, problem.B), 0) << name;
  }
}

}  // namespace
}  // namespace stiction
