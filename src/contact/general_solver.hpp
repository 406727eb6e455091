// The local Signorini-Coulomb problem with any symmetric positive definite Delassus block, as solvers need it whose
// blocks are not multiples of the identity. D20's Table 3 weighs it against the isotropic one (kernels/coulomb.hpp).
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <limits>

namespace stiction {

/// The impulse r of a contact whose relative velocity is u = S r + u*, with (u, r) in C_mu. n is the unit normal.
///
/// Where it slides, u_N = 0 and u_T = −λ r_T for some λ > 0. With r_N eliminated that is (M + λ) r_T = −c in two
/// dimensions; λ is where |r_T| has come down to μ r_N.
template <class T>
Eigen::Matrix<T, 3, 1> coulomb_impulse(const Eigen::Matrix<T, 3, 3>& S, const Eigen::Matrix<T, 3, 1>& u_star,
                                       const Eigen::Matrix<T, 3, 1>& n, T mu) {
  using Vector2 = Eigen::Matrix<T, 2, 1>;
  using Vector3 = Eigen::Matrix<T, 3, 1>;
  const T u_N = u_star.dot(n);
  if (u_N >= T(0)) return Vector3::Zero();  // takes off
  Vector3 sticking = -S.inverse() * u_star;
  const T sticking_N = sticking.dot(n);
  if ((sticking - sticking_N * n).norm() <= mu * sticking_N) return sticking;

  Eigen::Matrix<T, 3, 3> axes;
  axes.col(0) = n;
  axes.col(1) = n.unitOrthogonal();
  axes.col(2) = n.cross(axes.col(1));
  const Eigen::Matrix<T, 3, 3> A = axes.transpose() * S * axes;
  Vector3 b = axes.transpose() * u_star;
  b[0] = u_N;  // negative, whatever rounding does: a λ exists
  const Vector2 coupling = A.template block<2, 1>(1, 0);
  const Vector2 c = b.template tail<2>() - coupling * (b[0] / A(0, 0));
  const Eigen::Matrix<T, 2, 2> M = A.template bottomRightCorner<2, 2>() - coupling * coupling.transpose() / A(0, 0);

  Vector2 r_T = Vector2::Zero();
  T r_N = -b[0] / A(0, 0);
  const auto beyond_cone = [&](T lambda) {
    r_T = -(M + lambda * Eigen::Matrix<T, 2, 2>::Identity()).inverse() * c;
    r_N = -(b[0] + coupling.dot(r_T)) / A(0, 0);
    return r_T.norm() - mu * r_N;
  };
  if (mu > T(0)) {
    T low = 0, high = M.trace();
    while (beyond_cone(high) > T(0)) high *= T(4);
    // False position with halved weights (Illinois) on a bracket that keeps the root.
    T below = beyond_cone(low), above = beyond_cone(high);
    for (int i = 0; i < 60 && high - low > 4 * std::numeric_limits<T>::epsilon() * high; ++i) {
      const T lambda = low + (high - low) * below / (below - above);
      const T value = beyond_cone(lambda);
      if (std::abs(value) <= 4 * std::numeric_limits<T>::epsilon() * mu * std::abs(r_N)) break;
      if (value > T(0)) {
        low = lambda;
        below = value;
        above *= T(0.5);
      } else {
        high = lambda;
        above = value;
        below *= T(0.5);
      }
    }
  }
  return axes * Vector3(r_N, r_T[0], r_T[1]);
}

}  // namespace stiction
