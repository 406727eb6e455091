// Shell elements: a constant-strain triangle of St. Venant-Kirchhoff material, the hinge of Discrete Shells
// (Grinspun et al. 2003), and what air does to a triangle. Energies, gradients and positive semi-definite Hessians.
//
// Membrane. F = Σ_j x_j ⊗ b_j (3×2) has the columns fu, fv; b_j are the gradients of the shape functions in the rest
// triangle's plane, u along the warp. With E = 1/2 (FᵀF - I), S = C : E and V = h A the rest volume,
//   energy = V/2 E : C : E,    gradient_j = V F S b_j,
//   Hessian_jl = V (dE/dx_j)ᵀ C (dE/dx_l) + V (b_j · S b_l) I.
// The first part is positive semi-definite as C is. The second is (Gram matrix of b in S) ⊗ I, so it is
// positive semi-definite as soon as S is replaced by its positive part S₊: compression adds no stiffness.
//
// Hinge. theta is the angle between the normals of two triangles (x0, x1, x2), (x1, x0, x3), positive where the edge
// is a ridge seen from outside. energy = 1/2 k (theta - theta_rest)², k = D |e|² / (A1 + A2): the edges of a regular
// triangulation, bent to a cylinder of curvature kappa, then hold D/2 kappa² per area (equilateral triangles: in any
// direction; a square grid: along its sides). The Hessian k ∇theta ∇thetaᵀ is Gauss-Newton.
//
// Damping (xi) acts on strain rates: with r = xi/dt, strains enter gradients as E + r (E - E_t), E_t that of the start
// of the step, and Hessians gain the factor 1 + r. Rigid motion changes no strain and so is not damped.
#pragma once

#include "kernels/vec.hpp"

namespace stiction {

/// Plane-stress moduli of a membrane, Pa: S_uu = uu E_uu + uv E_vv, S_vv = uv E_uu + vv E_vv, S_uv = 2 shear E_uv.
template <class T>
struct MembraneModuli {
  T uu, vv, uv, shear;
};

/// Young's moduli along u and v, shear modulus, and nu = sqrt(nu_uv nu_vu), which keeps C symmetric and positive
/// definite for |nu| < 1.
template <class T>
STICTION_KERNEL MembraneModuli<T> orthotropic_moduli(const T& young_u, const T& young_v, const T& shear, const T& nu) {
  const T scale = T(1.0) / (T(1.0) - nu * nu);
  return {scale * young_u, scale * young_v, scale * nu * sqrt(young_u * young_v), shear};
}

/// A triangle at rest: gradients of its shape functions (1/m) and its volume (thickness times area, m³).
template <class T>
struct RestTriangle {
  T bu[3], bv[3];
  T volume;
};

/// From the rest positions in the plane (u_j, v_j), counter-clockwise.
template <class T>
STICTION_KERNEL RestTriangle<T> rest_triangle(const T* u, const T* v, const T& thickness) {
  RestTriangle<T> r;
  const T twice_area = (u[1] - u[0]) * (v[2] - v[0]) - (u[2] - u[0]) * (v[1] - v[0]);
  const T inv = T(1.0) / twice_area;
  for (int j = 0; j < 3; ++j) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    r.bu[j] = inv * (v[k] - v[l]);
    r.bv[j] = inv * (u[l] - u[k]);
  }
  r.volume = T(0.5) * thickness * twice_area;
  return r;
}

/// Symmetric 2×2: a strain or a stress (Pa).
template <class T>
struct Sym2 {
  T uu, vv, uv;

  friend Sym2 operator+(const Sym2& a, const Sym2& b) { return {a.uu + b.uu, a.vv + b.vv, a.uv + b.uv}; }
  friend Sym2 operator-(const Sym2& a, const Sym2& b) { return {a.uu - b.uu, a.vv - b.vv, a.uv - b.uv}; }
  friend Sym2 operator*(const T& s, const Sym2& a) { return {s * a.uu, s * a.vv, s * a.uv}; }
};

/// Columns of the deformation gradient.
template <class T>
struct TriangleGradient {
  V3<T> fu, fv;
};

template <class T>
STICTION_KERNEL TriangleGradient<T> deformation_gradient(const V3<T>* x, const RestTriangle<T>& rest) {
  return {rest.bu[0] * x[0] + rest.bu[1] * x[1] + rest.bu[2] * x[2],
          rest.bv[0] * x[0] + rest.bv[1] * x[1] + rest.bv[2] * x[2]};
}

template <class T>
STICTION_KERNEL Sym2<T> green_strain(const TriangleGradient<T>& F) {
  return {T(0.5) * (dot(F.fu, F.fu) - T(1.0)), T(0.5) * (dot(F.fv, F.fv) - T(1.0)), T(0.5) * dot(F.fu, F.fv)};
}

template <class T>
STICTION_KERNEL Sym2<T> membrane_stress(const MembraneModuli<T>& C, const Sym2<T>& E) {
  return {C.uu * E.uu + C.uv * E.vv, C.uv * E.uu + C.vv * E.vv, T(2.0) * C.shear * E.uv};
}

/// Energy, J.
template <class T>
STICTION_KERNEL T membrane_energy(const MembraneModuli<T>& C, const RestTriangle<T>& rest, const Sym2<T>& E) {
  const Sym2<T> S = membrane_stress(C, E);
  return T(0.5) * rest.volume * (S.uu * E.uu + S.vv * E.vv + T(2.0) * S.uv * E.uv);
}

/// Gradient over the three positions (N) at stress S.
template <class T>
STICTION_KERNEL void membrane_gradient(const RestTriangle<T>& rest, const TriangleGradient<T>& F, const Sym2<T>& S,
                                       V3<T>* gradient) {
  for (int j = 0; j < 3; ++j)
    gradient[j] = (rest.volume * (S.uu * rest.bu[j] + S.uv * rest.bv[j])) * F.fu +
                  (rest.volume * (S.uv * rest.bu[j] + S.vv * rest.bv[j])) * F.fv;
}

/// S with its negative eigenvalues set to zero.
template <class T>
STICTION_KERNEL Sym2<T> positive_part(const Sym2<T>& S) {
  const T mean = T(0.5) * (S.uu + S.vv), half = T(0.5) * (S.uu - S.vv);
  const T radius = sqrt(half * half + S.uv * S.uv);
  const T high = max(mean + radius, T(0.0)), low = max(mean - radius, T(0.0));
  // S₊ = high P + low (I - P), P = 1/2 (I + (S - mean I) / radius); a round S has radius 0 and high = low.
  const T centre = T(0.5) * (high + low), slope = T(0.5) * (high - low) / max(radius, T(1e-300));
  return {centre + slope * half, centre - slope * half, slope * S.uv};
}

/// Block (j, l) of the Hessian as out[3 row + column] (N/m), for the moduli C (times 1 + r where damped) and the
/// positive part of the stress.
template <class T>
STICTION_KERNEL void membrane_hessian(const MembraneModuli<T>& C, const RestTriangle<T>& rest,
                                      const TriangleGradient<T>& F, const Sym2<T>& S_plus, int j, int l, T* out) {
  // dE_uu = bu fu, dE_vv = bv fv, d(2 E_uv) = bu fv + bv fu: collected by the dyads of fu and fv.
  const T ju = rest.bu[j], jv = rest.bv[j], lu = rest.bu[l], lv = rest.bv[l], V = rest.volume;
  const T uu = V * (C.uu * ju * lu + C.shear * jv * lv);  // fu fuᵀ
  const T vv = V * (C.vv * jv * lv + C.shear * ju * lu);  // fv fvᵀ
  const T uv = V * (C.uv * ju * lv + C.shear * jv * lu);  // fu fvᵀ
  const T vu = V * (C.uv * jv * lu + C.shear * ju * lv);  // fv fuᵀ
  const T geometric = V * (S_plus.uu * ju * lu + S_plus.vv * jv * lv + S_plus.uv * (ju * lv + jv * lu));
  for (int a = 0; a < 3; ++a) {
    const T left_u = uu * F.fu[a] + vu * F.fv[a], left_v = uv * F.fu[a] + vv * F.fv[a];
    for (int b = 0; b < 3; ++b) out[3 * a + b] = left_u * F.fu[b] + left_v * F.fv[b] + (a == b ? geometric : T(0.0));
  }
}

/// Triangles flatter than this share of their rest size no longer steepen the hinge's gradient.
inline constexpr double kMinHingeRatio = 1e-3;

/// A hinge at rest: its edge x0 x1, then the opposite vertices.
template <class T>
struct RestHinge {
  T theta;         ///< rad
  T stiffness;     ///< k, J
  T min_normal_1;  ///< lower bounds of |n1|², |n2|² (m⁴) and |e|² (m²) as divisors
  T min_normal_2;
  T min_edge;
};

template <class T>
struct HingeAngle {
  T theta;  ///< in (-pi, pi], rad
  V3<T> gradient[4];
};

/// The angle of a hinge and its derivative. The bounds on divisors are those of RestHinge.
template <class T>
STICTION_KERNEL HingeAngle<T> hinge_angle(const V3<T>* x, const RestHinge<T>& rest) {
  HingeAngle<T> r;
  const V3<T> e = x[1] - x[0], e2 = x[2] - x[0], e3 = x[3] - x[0];
  const V3<T> n1 = cross(e, e2), n2 = cross(e3, e);
  const T ee = max(dot(e, e), rest.min_edge), length = sqrt(ee);
  r.theta = atan2(dot(cross(n1, n2), e) / length, dot(n1, n2));
  // Moving x2 along its normal turns its triangle by one over its height; the edge's ends take the reverse, split as
  // the foot of the height splits the edge.
  r.gradient[2] = (-length / max(dot(n1, n1), rest.min_normal_1)) * n1;
  r.gradient[3] = (-length / max(dot(n2, n2), rest.min_normal_2)) * n2;
  const T s2 = dot(e2, e) / ee, s3 = dot(e3, e) / ee;
  r.gradient[0] = (s2 - T(1.0)) * r.gradient[2] + (s3 - T(1.0)) * r.gradient[3];
  r.gradient[1] = (-s2) * r.gradient[2] + (-s3) * r.gradient[3];
  return r;
}

/// k of a hinge (J): flexural rigidity D (N m), length of its edge, and the sum of its triangles' areas, at rest.
template <class T>
STICTION_KERNEL T hinge_stiffness(const T& D, const T& edge_length, const T& area) {
  return D * edge_length * edge_length / area;
}

/// The hinge at the rest positions x.
template <class T>
STICTION_KERNEL RestHinge<T> rest_hinge(const V3<T>* x, const T& D) {
  RestHinge<T> r;
  const V3<T> e = x[1] - x[0], n1 = cross(e, x[2] - x[0]), n2 = cross(x[3] - x[0], e);
  r.min_normal_1 = T(kMinHingeRatio * kMinHingeRatio) * dot(n1, n1);
  r.min_normal_2 = T(kMinHingeRatio * kMinHingeRatio) * dot(n2, n2);
  r.min_edge = T(kMinHingeRatio * kMinHingeRatio) * dot(e, e);
  r.stiffness = hinge_stiffness(D, norm(e), T(0.5) * (norm(n1) + norm(n2)));
  r.theta = hinge_angle(x, r).theta;
  return r;
}

/// Area times unit normal of a triangle, m².
template <class T>
STICTION_KERNEL V3<T> area_vector(const V3<T>* x) {
  return T(0.5) * cross(x[1] - x[0], x[2] - x[0]);
}

/// Drag of a third of a triangle, kg/s: force = (normal n nᵀ + tangential (I - n nᵀ)) (wind - v), as one matrix
/// out[3 row + column]. Positive semi-definite.
template <class T>
STICTION_KERNEL void vertex_drag(const V3<T>& area_times_normal, const T& normal, const T& tangential, T* out) {
  const T area = norm(area_times_normal), third = T(1.0 / 3.0);
  const T across = third * (normal - tangential) / max(area, T(1e-300)), along = third * tangential * area;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      out[3 * a + b] = across * area_times_normal[a] * area_times_normal[b] + (a == b ? along : T(0.0));
}

}  // namespace stiction
