// Friction problems as values: the ADMM solver on one, and the residual that judges any solver's answer.
#pragma once

#include "friction/admm.hpp"
#include "friction/problem.hpp"

namespace stiction {

struct ProblemSolution {
  Eigen::VectorXd v;    ///< m
  std::vector<Vec3> u;  ///< B v + k, m/s
  std::vector<Vec3> r;  ///< without cohesion, kg m/s
  AdmmReport report;
};

/// Solves by D20 Algorithm 2. Every contact must have isotropic blocks on at most four nodes whose weights sum to zero
/// where there are four; otherwise throws std::invalid_argument. `dt` scales the tolerance to metres.
ProblemSolution solve_admm(const FrictionProblem& problem, const SolverOptions& options, double dt);

/// The one residual (contact/residual.hpp) of contact impulses r (without cohesion).
double coulomb_error(const FrictionProblem& problem, std::span<const Vec3> r);

}  // namespace stiction
