// Friction problems in HDF5 files of the FCLib layout, as Siconos writes and reads them.
//
// FCLib's global problem is M v = H r + f, u = Hᵀ v + w, with u and r in the frame (N, T1, T2) of each contact:
//
//   /fclib_global         spacedim = 3, info/{title, description, math_info}
//   /fclib_global/M, H    sparse: m, n, nz, nzmax, p, i, x; nz is -2 for CSR, -1 for CSC, otherwise the count of
//   triplets
//                         with row i and column p
//   /fclib_global/vectors f, w, mu
//
// So M = A, Hᵀ = R B and w = R k, where R is made of 3 x 3 blocks with rows N, T1, T2. What FCLib has no place for
// stands in a group that its readers ignore; B and k are there in world axes, so that a problem comes back bit for bit:
//
//   /stiction             frame (n, 3, 3), B, k (n, 3), cohesion, compliance, mass
#pragma once

#include <filesystem>

#include "friction/problem.hpp"
#include "io/output_folder.hpp"

namespace stiction {

/// Writes a problem, replacing the file in one step. Throws IoError.
void save_problem(const std::filesystem::path& path, const FrictionProblem& problem);

/// Reads a problem; throws IoError if the file is not a consistent global problem in three dimensions.
///
/// A file from elsewhere, without the group `stiction`, is taken in its own contact frames: normal = e_x, k = w, no
/// cohesion or compliance. Its DoFs are grouped by three into nodes, whose mass is the mean of A's diagonal there. An
/// M of which only one triangle is stored is completed by symmetry.
FrictionProblem load_problem(const std::filesystem::path& path);

}  // namespace stiction
