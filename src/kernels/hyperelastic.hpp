// Isotropic hyperelastic materials: energy density, first Piola stress and its derivative, projected onto the positive
// semi-definite, all from the singular values s of the deformation gradient F = U diag(s) Vᵀ (svd3.hpp).
//
// With p_i = ∂Psi/∂s_i, P = U diag(p) Vᵀ, and in the frames U, V the 9×9 ∂P/∂F falls apart (Smith, de Goes, Kim 2019):
//   scaling  the 3×3 block ∂²Psi/∂s_i∂s_j                 on the diagonal of Uᵀ dF V,
//   flip     (p_i - p_j) / (s_i - s_j)                   on its symmetric off-diagonal part,
//   twist    (p_i + p_j) / (s_i + s_j)                   on its skew part.
// The quotients are written out per material, so that equal singular values do no harm. Each of the parts is projected
// by itself; only the 3×3 block needs eigenvectors, and only where it is indefinite.
//
//   corotated            mu |F - R|² + lambda/2 tr(RᵀF - I)²                    R = U Vᵀ
//   fixed corotated      mu |F - R|² + lambda/2 (J - 1)²                        Stomakhin et al. 2012
//   St. Venant-Kirchhoff mu E:E + lambda/2 tr(E)²                               E = (FᵀF - I)/2
//   neo-Hookean          mu/2 (|F|² - 3) - mu log J + lambda/2 log² J           Overby et al. 2017 (O17)
//   stable neo-Hookean   mu/2 (|F|² - 3) - mu/2 log(|F|² + 1) + lambda/2 (J - alpha)² + constant
//                        mu = 4/3 mu_L, lambda = lambda_L + 5/6 mu_L, alpha = 1 + 3 mu / (4 lambda)   Smith et al. 2018
//
// Departures: neo-Hookean's functions of J go on below J = kMinVolumeRatio as their tangent, so that inverted elements
// have a finite energy and are pushed out. (The second-order polynomial, too, is finite, but its force grows as s⁵:
// from random positions, Newton's method without a line search then leaves for infinity.) Twist divides by s_i + s_j
// only in the corotated models, where R is not unique at s_i + s_j = 0; the divisor is kept above kMinSum.
#pragma once

#include <stdexcept>
#include <type_traits>

#include "kernels/svd3.hpp"
#include "stiction/scene.hpp"

namespace stiction {

inline constexpr double kMinVolumeRatio = 0.1;
inline constexpr double kMinSum = 1e-4;

/// Lame's constants, Pa, and the rest volume ratio of stable neo-Hookean.
struct MaterialConstants {
  double mu = 0, lambda = 0;            ///< as the energy has them
  double lame_mu = 0, lame_lambda = 0;  ///< of small strains, the same for all materials
  double alpha = 1;
};

/// From Young's modulus (Pa) and Poisson's ratio. Throws std::invalid_argument unless E > 0 and -1 < nu < 0.5.
inline MaterialConstants material_constants(Material material, double young, double poisson) {
  if (!(young > 0)) throw std::invalid_argument("Young's modulus must be positive");
  if (!(poisson > -1 && poisson < 0.5)) throw std::invalid_argument("Poisson's ratio must lie in (-1, 0.5)");
  MaterialConstants k;
  k.mu = k.lame_mu = young / (2 * (1 + poisson));
  k.lambda = k.lame_lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
  if (material == Material::stable_neo_hookean) {
    k.mu = 4.0 / 3.0 * k.lame_mu;
    k.lambda = k.lame_lambda + 5.0 / 6.0 * k.lame_mu;  // positive wherever nu > -2.5
    k.alpha = 1 + 0.75 * k.mu / k.lambda;
  }
  return k;
}

/// Calls f with the material as a type: f(std::integral_constant<Material, ...>).
template <class F>
decltype(auto) with_material(Material material, F&& f) {
  using enum Material;
  switch (material) {
    case corotated:
      return f(std::integral_constant<Material, corotated>());
    case fixed_corotated:
      return f(std::integral_constant<Material, fixed_corotated>());
    case st_venant_kirchhoff:
      return f(std::integral_constant<Material, st_venant_kirchhoff>());
    case neo_hookean:
      return f(std::integral_constant<Material, neo_hookean>());
    case stable_neo_hookean:
      break;
  }
  return f(std::integral_constant<Material, stable_neo_hookean>());
}

/// Energy density and its derivatives over the singular values. flip[k], twist[k] belong to the pair of axes without k.
template <class T>
struct Principal {
  T psi;
  T p[3];
  Sym3<T> h;
  T flip[3], twist[3];
};

namespace detail {

// Value and two derivatives of -mu log J + lambda/2 log² J; below kMinVolumeRatio its tangent.
template <class T>
STICTION_KERNEL void log_volume_energy(const T& J, const T& mu, const T& lambda, T& f, T& df, T& ddf) {
  const T j = max(J, T(kMinVolumeRatio)), l = log(j), inv = T(1.0) / j;
  df = (lambda * l - mu) * inv;
  f = l * (T(0.5) * lambda * l - mu) + df * (J - j);
  ddf = where_positive(J - T(kMinVolumeRatio), (lambda * (T(1.0) - l) + mu) * inv * inv, T(0.0));
}

}  // namespace detail

template <Material M, class T>
STICTION_KERNEL Principal<T> principal(const T (&s)[3], const MaterialConstants& constants) {
  using enum Material;
  const T mu(constants.mu), lambda(constants.lambda), one(1.0), two(2.0), half(0.5);
  Principal<T> r;
  if constexpr (M == corotated) {
    const T d[3] = {s[0] - one, s[1] - one, s[2] - one};
    const T t = d[0] + d[1] + d[2];
    r.psi = mu * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) + half * lambda * t * t;
    for (int i = 0; i < 3; ++i) {
      r.p[i] = two * mu * d[i] + lambda * t;
      r.h.m[i] = two * mu + lambda;
      r.h.m[3 + i] = lambda;
      r.flip[i] = two * mu;
      r.twist[i] = two * mu + two * (lambda * t - two * mu) / max(s[(i + 1) % 3] + s[(i + 2) % 3], T(kMinSum));
    }
  } else if constexpr (M == st_venant_kirchhoff) {
    const T e[3] = {half * (s[0] * s[0] - one), half * (s[1] * s[1] - one), half * (s[2] * s[2] - one)};
    const T trace = e[0] + e[1] + e[2];
    r.psi = mu * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) + half * lambda * trace * trace;
    for (int i = 0; i < 3; ++i) {
      const T a = s[(i + 1) % 3], b = s[(i + 2) % 3];
      r.p[i] = s[i] * (two * mu * e[i] + lambda * trace);
      r.h.m[i] = mu * (T(3.0) * s[i] * s[i] - one) + lambda * (trace + s[i] * s[i]);
      r.h.m[3 + i] = lambda * a * b;
      r.flip[i] = mu * (a * a + a * b + b * b - one) + lambda * trace;
      r.twist[i] = mu * (a * a - a * b + b * b - one) + lambda * trace;
    }
  } else {
    // c |F|²-like part with slope c and curvature q, and a function f of J.
    const T minor[3] = {s[1] * s[2], s[0] * s[2], s[0] * s[1]};
    const T J = s[0] * minor[0], sum2 = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    T c, q(0.0), f, df, ddf;
    if constexpr (M == neo_hookean) {
      detail::log_volume_energy(J, mu, lambda, f, df, ddf);
      c = mu;
      r.psi = half * mu * (sum2 - T(3.0)) + f;
    } else if constexpr (M == stable_neo_hookean) {
      const T off = J - T(constants.alpha), inv = one / (sum2 + one), rest = one - T(constants.alpha);
      df = lambda * off;
      ddf = lambda;
      c = mu * (one - inv);
      q = two * mu * inv * inv;
      r.psi = half * (mu * (sum2 - T(3.0) + log(T(4.0) * inv)) + lambda * (off * off - rest * rest));
    } else {
      df = lambda * (J - one);
      ddf = lambda;
      c = two * mu;
      r.psi = mu * (sum2 - two * (s[0] + s[1] + s[2]) + T(3.0)) + half * df * (J - one);
    }
    for (int i = 0; i < 3; ++i) {
      const int a = (i + 1) % 3, b = (i + 2) % 3;
      r.p[i] = c * s[i] + df * minor[i];
      r.h.m[i] = c + q * s[i] * s[i] + ddf * minor[i] * minor[i];
      r.h.m[3 + i] = q * minor[i] + ddf * minor[a] * minor[b] + df * s[i];
      r.flip[i] = c - df * s[i];
      r.twist[i] = c + df * s[i];
      if constexpr (M == fixed_corotated) {
        r.p[i] -= c;
        r.twist[i] -= two * c / max(s[a] + s[b], T(kMinSum));
      }
    }
  }
  return r;
}

/// Makes each part of ∂P/∂F positive semi-definite.
template <class T>
STICTION_KERNEL void project_positive(Principal<T>& r) {
  project_positive(r.h);
  for (int i = 0; i < 3; ++i) {
    r.flip[i] = max(r.flip[i], T(0.0));
    r.twist[i] = max(r.twist[i], T(0.0));
  }
}

/// 3×3 block of an element matrix, entry (r, c) at 3 r + c.
template <class T>
struct Block {
  T m[9];
};

/// Gradient g of a shape function in the frame V.
template <class T>
STICTION_KERNEL V3<T> to_frame(const V3<T> (&v)[3], const V3<T>& g) {
  return {dot(v[0], g), dot(v[1], g), dot(v[2], g)};
}

/// P g, with g in the frame V: the force density on a node whose shape function has this gradient, negated.
template <class T>
STICTION_KERNEL V3<T> stress_times(const Svd3<T>& f, const Principal<T>& r, const V3<T>& g_frame) {
  return (r.p[0] * g_frame.x) * f.u[0] + (r.p[1] * g_frame.y) * f.u[1] + (r.p[2] * g_frame.z) * f.u[2];
}

/// Σ_ab g_a (∂P_·a/∂F_·b) h_b for gradients g and h in the frame V: what the element gives to the block (g's, h's
/// node).
template <class T>
STICTION_KERNEL Block<T> stiffness_block(const Svd3<T>& f, const Principal<T>& r, const V3<T>& g, const V3<T>& h) {
  const T half(0.5);
  const T even[3] = {half * (r.flip[0] + r.twist[0]), half * (r.flip[1] + r.twist[1]), half * (r.flip[2] + r.twist[2])};
  const T odd[3] = {half * (r.flip[0] - r.twist[0]), half * (r.flip[1] - r.twist[1]), half * (r.flip[2] - r.twist[2])};
  const T xx = g.x * h.x, yy = g.y * h.y, zz = g.z * h.z;
  // k_rc in the frame U.
  const T k00 = r.h.m[0] * xx + even[2] * yy + even[1] * zz;
  const T k11 = r.h.m[1] * yy + even[2] * xx + even[0] * zz;
  const T k22 = r.h.m[2] * zz + even[1] * xx + even[0] * yy;
  const T xy = g.x * h.y, yx = g.y * h.x, xz = g.x * h.z, zx = g.z * h.x, yz = g.y * h.z, zy = g.z * h.y;
  const T k01 = r.h.m[5] * xy + odd[2] * yx, k10 = r.h.m[5] * yx + odd[2] * xy;
  const T k02 = r.h.m[4] * xz + odd[1] * zx, k20 = r.h.m[4] * zx + odd[1] * xz;
  const T k12 = r.h.m[3] * yz + odd[0] * zy, k21 = r.h.m[3] * zy + odd[0] * yz;
  // U k Uᵀ.
  const V3<T> w0 = k00 * f.u[0] + k10 * f.u[1] + k20 * f.u[2];
  const V3<T> w1 = k01 * f.u[0] + k11 * f.u[1] + k21 * f.u[2];
  const V3<T> w2 = k02 * f.u[0] + k12 * f.u[1] + k22 * f.u[2];
  const auto row = [&](const T& a, const T& b, const T& c, int axis) {
    return a * f.u[0][axis] + b * f.u[1][axis] + c * f.u[2][axis];
  };
  return {{row(w0.x, w1.x, w2.x, 0), row(w0.x, w1.x, w2.x, 1), row(w0.x, w1.x, w2.x, 2), row(w0.y, w1.y, w2.y, 0),
           row(w0.y, w1.y, w2.y, 1), row(w0.y, w1.y, w2.y, 2), row(w0.z, w1.z, w2.z, 0), row(w0.z, w1.z, w2.z, 1),
           row(w0.z, w1.z, w2.z, 2)}};
}

/// Green strain (FᵀF - I)/2 from the columns of F.
template <class T>
STICTION_KERNEL Sym3<T> green_strain(const V3<T> (&f)[3]) {
  const T half(0.5), one(1.0);
  return {{half * (dot(f[0], f[0]) - one), half * (dot(f[1], f[1]) - one), half * (dot(f[2], f[2]) - one),
           half * dot(f[1], f[2]), half * dot(f[0], f[2]), half * dot(f[0], f[1])}};
}

/// Viscous potential of a step, xi/dt (mu D:D + lambda/2 tr(D)²) with D = E - E_t: a material St. Venant-Kirchhoff in
/// the strain of the step, so a finite rigid motion is not damped. Stress F S, S = xi/dt (2 mu D + lambda tr(D) I). Its
/// derivative is kept as the Gauss-Newton part plus the projected part of dF S.
template <class T>
struct Viscous {
  T mu, lambda;  // times xi/dt
  Sym3<T> S;     // projected once `project` was called
  Sym3<T> b;     // F Fᵀ
};

template <class T>
STICTION_KERNEL Viscous<T> viscous(const V3<T> (&f)[3], const Sym3<T>& strain_t, const T& mu, const T& lambda) {
  Viscous<T> r{mu, lambda, green_strain(f), {}};
  for (int i = 0; i < 6; ++i) r.S.m[i] -= strain_t.m[i];
  const T trace = lambda * (r.S.m[0] + r.S.m[1] + r.S.m[2]), two_mu = mu + mu;
  for (int i = 0; i < 6; ++i) r.S.m[i] = two_mu * r.S.m[i];
  for (int i = 0; i < 3; ++i) r.S.m[i] += trace;
  const auto product = [&](int a, int c) { return f[0][a] * f[0][c] + f[1][a] * f[1][c] + f[2][a] * f[2][c]; };
  r.b = {{product(0, 0), product(1, 1), product(2, 2), product(1, 2), product(0, 2), product(0, 1)}};
  return r;
}

/// F g.
template <class T>
STICTION_KERNEL V3<T> times(const V3<T> (&f)[3], const V3<T>& g) {
  return g.x * f[0] + g.y * f[1] + g.z * f[2];
}

/// S g.
template <class T>
STICTION_KERNEL V3<T> times(const Sym3<T>& s, const V3<T>& g) {
  return {s.m[0] * g.x + s.m[5] * g.y + s.m[4] * g.z, s.m[5] * g.x + s.m[1] * g.y + s.m[3] * g.z,
          s.m[4] * g.x + s.m[3] * g.y + s.m[2] * g.z};
}

/// Adds the viscous part to the block of nodes with gradients g and h; fg = F g, fh = F h.
template <class T>
STICTION_KERNEL void add_viscous_block(const Viscous<T>& r, const V3<T>& g, const V3<T>& h, const V3<T>& fg,
                                       const V3<T>& fh, Block<T>& k) {
  const T gh = r.mu * dot(g, h), geometric = form(r.S, g, h);
  for (int a = 0; a < 3; ++a)
    for (int c = 0; c < 3; ++c) {
      k.m[3 * a + c] += r.b.m[sym_index(a, c)] * gh + r.mu * fh[a] * fg[c] + r.lambda * fg[a] * fh[c];
      if (a == c) k.m[3 * a + c] += geometric;
    }
}

}  // namespace stiction
