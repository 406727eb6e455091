// The local Signorini-Coulomb law with an isotropic Delassus block (D20 5.2.2 and Algorithm 3), and the projection
// onto the friction cone that the residual uses. Vectors are in world axes, n is the unit normal.
#pragma once

#include "kernels/vec.hpp"

namespace stiction {

/// Given u* (the relative velocity that the contact would have without its own force), the u that satisfies
/// Signorini-Coulomb together with the scaled force u - u*.
template <class T>
STICTION_KERNEL V3<T> coulomb_velocity(const V3<T>& u_star, const V3<T>& n, T mu) {
  const T u_N = dot(u_star, n);
  if (u_N >= T(0)) return u_star;  // (i) takes off
  const V3<T> u_T = u_star - u_N * n;
  const T tau = norm(u_T);
  const T alpha = -mu * u_N;
  if (tau <= alpha) return {T(0), T(0), T(0)};  // (ii) sticks
  return (T(1) - alpha / tau) * u_T;            // (iii) slides
}

/// Orthogonal projection onto K_mu = {|z_T| <= mu z_N}.
template <class T>
STICTION_KERNEL V3<T> project_cone(const V3<T>& z, const V3<T>& n, T mu) {
  const T z_N = dot(z, n);
  const V3<T> z_T = z - z_N * n;
  const T tau = norm(z_T);
  if (mu * tau <= -z_N) return {T(0), T(0), T(0)};  // first: without friction a z along -n has tau = mu z_N = 0
  if (tau <= mu * z_N) return z;
  const T a = (z_N + mu * tau) / (T(1) + mu * mu);
  return a * n + (mu * a / tau) * z_T;
}

}  // namespace stiction
