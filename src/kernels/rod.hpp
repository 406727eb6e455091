// Discrete Elastic Rods: strains of one stencil and their first derivatives.
// Bergou et al. 2008 and 2010 (time-parallel reference frames; the curvature of 2010, Eq. 2-3 and Appendix).
//
//   e = x1 - x0, f = x2 - x1    the edges at an interior vertex; t their unit tangents
//   kb = 2 te x tf / (1 + te.tf)                              the curvature binormal
//   kappa1 =  1/2 kb.(m2e + m2f),  kappa2 = -1/2 kb.(m1e + m1f)   in the material frames m1, m2 of both edges
//   m = theta_f - theta_e + m_ref                             the twist
//
// The order of a stencil's degrees of freedom is that of the banded matrix: x0 theta_e x1 theta_f x2 (11 scalars).
#pragma once

#include "kernels/vec.hpp"

namespace stiction {

inline constexpr int kRodStencil = 11;

/// Anti-parallel edges have no curvature binormal: 1 + cos(angle) is kept above this, and the case is counted.
inline constexpr double kMinOnePlusCos = 1e-3;

template <class T>
struct MaterialFrame {
  V3<T> t, m1, m2;
};

/// The material frame at angle theta from the reference director d1 (unit, normal to t).
template <class T>
STICTION_KERNEL MaterialFrame<T> material_frame(const V3<T>& t, const V3<T>& d1, const T& theta) {
  const V3<T> d2 = cross(t, d1);
  const T c = cos(theta), s = sin(theta);
  return {t, c * d1 + s * d2, c * d2 - s * d1};
}

/// Moves d (normal to the unit vector t_from) to t_to without turning it about the tangent; renormalised.
template <class T>
STICTION_KERNEL V3<T> parallel_transport(const V3<T>& d, const V3<T>& t_from, const V3<T>& t_to) {
  const T one_plus_cos = max(T(1.0) + dot(t_from, t_to), T(1e-12));
  V3<T> r = d - (dot(d, t_to) / one_plus_cos) * (t_from + t_to);
  r = r - dot(r, t_to) * t_to;
  return (T(1.0) / norm(r)) * r;
}

/// Angle from u to w about the unit axis, in (-pi, pi].
template <class T>
STICTION_KERNEL T signed_angle(const V3<T>& u, const V3<T>& w, const V3<T>& axis) {
  return atan2(dot(axis, cross(u, w)), dot(u, w));
}

/// The twist of the reference frames between two edges, continued from `m_ref_previous` (so it may exceed pi).
template <class T>
STICTION_KERNEL T reference_twist(const V3<T>& te, const V3<T>& d1e, const V3<T>& tf, const V3<T>& d1f,
                                  const T& m_ref_previous) {
  const V3<T> u = parallel_transport(d1e, te, tf);
  const T c = cos(m_ref_previous), s = sin(m_ref_previous);
  return m_ref_previous + signed_angle(c * u + s * cross(tf, u), d1f, tf);
}

/// kappa1, kappa2 and their derivatives; the twist's derivative (its value needs m_ref).
template <class T>
struct RodStrains {
  T kappa1, kappa2;
  T grad_kappa1[kRodStencil], grad_kappa2[kRodStencil], grad_twist[kRodStencil];
  T one_plus_cos;  // before the guard
};

namespace detail {
// Writes a derivative given by edges (de, df) and angles as one over x0 theta_e x1 theta_f x2.
template <class T>
STICTION_KERNEL void scatter_gradient(const V3<T>& de, const V3<T>& df, const T& d_theta_e, const T& d_theta_f,
                                      T* grad) {
  for (int a = 0; a < 3; ++a) {
    grad[a] = -de[a];
    grad[4 + a] = de[a] - df[a];
    grad[8 + a] = df[a];
  }
  grad[3] = d_theta_e;
  grad[7] = d_theta_f;
}
}  // namespace detail

/// Strains of the stencil from the frames of its two edges and the edges' lengths.
template <class T>
STICTION_KERNEL RodStrains<T> rod_strains(const MaterialFrame<T>& e, const T& length_e, const MaterialFrame<T>& f,
                                          const T& length_f) {
  RodStrains<T> r;
  r.one_plus_cos = T(1.0) + dot(e.t, f.t);
  const T chi_inv = T(1.0) / max(r.one_plus_cos, T(kMinOnePlusCos));
  const V3<T> kb = (T(2.0) * chi_inv) * cross(e.t, f.t);
  const V3<T> t_tilde = chi_inv * (e.t + f.t);
  const V3<T> m1_sum = e.m1 + f.m1, m2_sum = e.m2 + f.m2;
  const V3<T> d1_tilde = chi_inv * m1_sum, d2_tilde = chi_inv * m2_sum;
  r.kappa1 = T(0.5) * dot(kb, m2_sum);
  r.kappa2 = T(-0.5) * dot(kb, m1_sum);

  const T inv_e = T(1.0) / length_e, inv_f = T(1.0) / length_f;
  detail::scatter_gradient(inv_e * (cross(f.t, d2_tilde) - r.kappa1 * t_tilde),
                           inv_f * (-cross(e.t, d2_tilde) - r.kappa1 * t_tilde), T(-0.5) * dot(kb, e.m1),
                           T(-0.5) * dot(kb, f.m1), r.grad_kappa1);
  detail::scatter_gradient(inv_e * (-cross(f.t, d1_tilde) - r.kappa2 * t_tilde),
                           inv_f * (cross(e.t, d1_tilde) - r.kappa2 * t_tilde), T(-0.5) * dot(kb, e.m2),
                           T(-0.5) * dot(kb, f.m2), r.grad_kappa2);
  detail::scatter_gradient((T(0.5) * inv_e) * kb, (T(0.5) * inv_f) * kb, T(-1.0), T(1.0), r.grad_twist);
  return r;
}

}  // namespace stiction
