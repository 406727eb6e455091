// The friction problem as a value (D20, eq. 5, with 6.3.1 and 6.3.2): find v, u, r with
//
//   A v = f + Bᵀ r,   u = B v + k + compliance r,   (u_c, r_c + cohesion_c n_c) in C_mu for every contact c,
//
// where C_mu is the Signorini-Coulomb law of normal n_c and coefficient mu_c (D20, eq. 1 and 2). There are m degrees of
// freedom and n contacts. A normal points from body (B) to body (A), u_c is the velocity of (A) relative to (B), r_c
// the impulse of (B) on (A); their rows are in world axes.
#pragma once

#include <Eigen/SparseCore>
#include <cstddef>
#include <vector>

#include "stiction/types.hpp"

namespace stiction {

struct FrictionProblem {
  Eigen::SparseMatrix<double> A;   ///< m x m, symmetric positive definite, kg
  Eigen::VectorXd f;               ///< m, kg m/s
  Eigen::SparseMatrix<double> B;   ///< 3n x m: from DoF velocities to relative contact velocities
  std::vector<Vec3> k;             ///< n: kinematic part of the relative velocity, m/s
  std::vector<Vec3> normal;        ///< n: unit vectors
  std::vector<double> mu;          ///< n: Coulomb coefficients
  std::vector<double> cohesion;    ///< n: attractive impulse ξ (D20 6.3.1), kg m/s
  std::vector<double> compliance;  ///< n: velocity per impulse (D20 6.3.2), 1/kg; 0: hard
  std::vector<double> mass;        ///< node_count: lumped mass of a 3D node, kg
  int node_count = 0;              ///< DoFs 3i, 3i+1, 3i+2 are node i; the DoFs from 3 node_count on are auxiliary

  std::size_t contact_count() const { return normal.size(); }
};

}  // namespace stiction
