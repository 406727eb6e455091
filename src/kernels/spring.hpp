// Stretch of an edge, and the bending of a mass-spring chain. Both give a gradient and a positive semi-definite
// Hessian in closed form.
#pragma once

#include "kernels/vec.hpp"

namespace stiction {

/// E = 1/2 k l_rest (|e|/l_rest - 1 - strain_0)², k in N: with respect to e, gradient = tension * t and
/// Hessian = along * t tᵀ + across * (I - t tᵀ). The compressive geometric part is clamped at zero.
template <class T>
struct Stretch {
  V3<T> t;
  T length, tension, along, across;
};

template <class T>
STICTION_KERNEL Stretch<T> stretch(const V3<T>& e, const T& rest_length, const T& k, const T& strain_0) {
  Stretch<T> r;
  r.length = norm(e);
  const T inv = T(1.0) / r.length;
  r.t = inv * e;
  r.tension = k * (r.length / rest_length - T(1.0) - strain_0);
  r.along = k / rest_length;
  r.across = max(r.tension, T(0.0)) * inv;
  return r;
}

/// Angular spring between edges e and f: E = 1/2 b (psi - psi_0)², psi = |kb| = 2 tan(angle/2).
/// J is the derivative of kb with respect to (e, f), column by column; with alpha = 1 - psi_0/psi,
/// gradient = b alpha Jᵀkb and the Hessian b (max(alpha, 0) JᵀJ + (1 - max(alpha, 0)) ∇psi ∇psiᵀ) is Gauss-Newton.
template <class T>
struct ChainBend {
  V3<T> kb;
  T psi;
  V3<T> J[6];  // d kb / d e_x, e_y, e_z, f_x, f_y, f_z
};

template <class T>
STICTION_KERNEL ChainBend<T> chain_bend(const V3<T>& te, const T& length_e, const V3<T>& tf, const T& length_f,
                                        double min_one_plus_cos) {
  ChainBend<T> r;
  const T chi_inv = T(1.0) / max(T(1.0) + dot(te, tf), T(min_one_plus_cos));
  r.kb = (T(2.0) * chi_inv) * cross(te, tf);
  r.psi = norm(r.kb);
  const T inv_e = T(1.0) / length_e, inv_f = T(1.0) / length_f;
  for (int a = 0; a < 3; ++a) {
    V3<T> axis{T(0.0), T(0.0), T(0.0)};
    axis[a] = T(1.0);
    const V3<T> de = inv_e * (axis - te[a] * te);  // variation of te
    const V3<T> df = inv_f * (axis - tf[a] * tf);
    r.J[a] = chi_inv * (T(2.0) * cross(de, tf) - dot(de, tf) * r.kb);
    r.J[3 + a] = chi_inv * (T(2.0) * cross(te, df) - dot(te, df) * r.kb);
  }
  return r;
}

}  // namespace stiction
