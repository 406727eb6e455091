// Singular values of 3×3 matrices for element kernels, and the projection of symmetric ones onto the positive
// semi-definite. Templated on the scalar (double, Pack): no lane takes a branch of its own.
//
//   F = U diag(s) Vᵀ,  U and V rotations,  s0 >= s1 >= |s2| (to rounding),  the sign of det F in s2
//
// (the convention of Irving et al. 2004 for inverted elements). One-sided Jacobi: columns of F V are turned until they
// are orthogonal, so that small singular values keep their relative accuracy, which FᵀF would lose.
#pragma once

#include "kernels/vec.hpp"

namespace stiction {

/// Lane by lane: yes where a > 0, else no.
template <class T>
STICTION_KERNEL V3<T> where_positive(const T& a, const V3<T>& yes, const V3<T>& no) {
  return {where_positive(a, yes.x, no.x), where_positive(a, yes.y, no.y), where_positive(a, yes.z, no.z)};
}

template <class T>
STICTION_KERNEL T absolute(const T& a) {
  return where_positive(a, a, -a);
}

template <class T, int N>
Pack<T, N> log(const Pack<T, N>& a) {
  return map_lanes(a, [](T s) { return std::log(s); });
}
STICTION_KERNEL double log(double a) { return std::log(a); }

template <class T>
struct Svd3 {
  V3<T> u[3], v[3];  // columns of U and V
  T s[3];
};

namespace detail {

inline constexpr double kTiny = 1e-300;               // keeps 0/0 away, below any square that matters
inline constexpr double kJacobiTolerance = 1e-15;     // of the cosine between two columns
inline constexpr double kDirectionTolerance = 1e-14;  // a column shorter than this times s0 has no direction
inline constexpr int kMaxSweeps = 8;

/// Cosine and sine of the Jacobi rotation that diagonalises [[a, c], [c, b]]: the smaller angle.
template <class T>
STICTION_KERNEL void jacobi_rotation(const T& a, const T& b, const T& c, T& cosine, T& sine) {
  const T d = b - a, two_c = c + c;
  const T root = sqrt(d * d + two_c * two_c);
  const T t = where_positive(d, two_c, -two_c) / (absolute(d) + root + T(kTiny));
  cosine = T(1.0) / sqrt(T(1.0) + t * t);
  sine = t * cosine;
}

template <class T>
STICTION_KERNEL void turn(V3<T>& p, V3<T>& q, const T& cosine, const T& sine) {
  const V3<T> turned = cosine * p - sine * q;
  q = sine * p + cosine * q;
  p = turned;
}

// Makes columns p, q of B = F V orthogonal; returns how far they are from that: positive if above the tolerance.
template <class T>
STICTION_KERNEL T orthogonalise(V3<T>& bp, V3<T>& bq, V3<T>& vp, V3<T>& vq) {
  const T a = dot(bp, bp), b = dot(bq, bq), c = dot(bp, bq);
  T cosine, sine;
  jacobi_rotation(a, b, c, cosine, sine);
  turn(bp, bq, cosine, sine);
  turn(vp, vq, cosine, sine);
  return c * c - T(kJacobiTolerance * kJacobiTolerance) * a * b;
}

// Exchanges columns p, q where |bq| > |bp|, by a quarter turn, so that V stays a rotation.
template <class T>
STICTION_KERNEL void sort_columns(V3<T>& bp, V3<T>& bq, V3<T>& vp, V3<T>& vq) {
  const T exchange = dot(bq, bq) - dot(bp, bp);
  const V3<T> b = bp, v = vp;
  bp = where_positive(exchange, bq, bp);
  bq = where_positive(exchange, -b, bq);
  vp = where_positive(exchange, vq, vp);
  vq = where_positive(exchange, -v, vq);
}

}  // namespace detail

/// F by its columns. Where singular values vanish, U follows V as far as it can (F = 0 gives U = V).
template <class T>
STICTION_KERNEL Svd3<T> svd3(const V3<T> (&columns)[3]) {
  using namespace detail;
  Svd3<T> r;
  V3<T> b[3] = {columns[0], columns[1], columns[2]};
  const T zero(0.0), one(1.0);
  r.v[0] = {one, zero, zero};
  r.v[1] = {zero, one, zero};
  r.v[2] = {zero, zero, one};
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    const T e01 = orthogonalise(b[0], b[1], r.v[0], r.v[1]);
    const T e02 = orthogonalise(b[0], b[2], r.v[0], r.v[2]);
    const T e12 = orthogonalise(b[1], b[2], r.v[1], r.v[2]);
    if (!any_positive(max(e01, max(e02, e12)))) break;
  }
  sort_columns(b[0], b[1], r.v[0], r.v[1]);
  sort_columns(b[0], b[2], r.v[0], r.v[2]);
  sort_columns(b[1], b[2], r.v[1], r.v[2]);

  const T s0 = norm(b[0]);
  r.u[0] = where_positive(s0, (one / max(s0, T(kTiny))) * b[0], r.v[0]);
  b[1] = b[1] - dot(b[1], r.u[0]) * r.u[0];
  const T s1 = norm(b[1]);
  const T directed = s1 - T(kDirectionTolerance) * s0;  // not positive: rank one or none
  r.u[1] = (one / max(s1, T(kTiny))) * b[1];
  if (any_positive(where_positive(directed, zero, one))) {
    // Any direction normal to u0: that of v1 or, where this is too close to u0, of v2.
    const V3<T> near1 = r.v[1] - dot(r.v[1], r.u[0]) * r.u[0], near2 = r.v[2] - dot(r.v[2], r.u[0]) * r.u[0];
    const V3<T> normal = where_positive(dot(near1, near1) - T(0.25), near1, near2);
    r.u[1] = where_positive(directed, r.u[1], (one / norm(normal)) * normal);
  }
  r.u[2] = cross(r.u[0], r.u[1]);
  r.s[0] = s0;
  r.s[1] = dot(b[1], r.u[1]);
  r.s[2] = dot(b[2], r.u[2]);
  return r;
}

/// A symmetric 3×3 matrix: 00, 11, 22, then 12, 02, 01 (the off-diagonal entry opposite to axis k at 3 + k).
template <class T>
struct Sym3 {
  T m[6];
};

/// Entry (r, c) of a Sym3.
constexpr int sym_index(int r, int c) { return r == c ? r : 6 - r - c; }

/// x^T S y.
template <class T>
STICTION_KERNEL T form(const Sym3<T>& s, const V3<T>& x, const V3<T>& y) {
  return s.m[0] * x.x * y.x + s.m[1] * x.y * y.y + s.m[2] * x.z * y.z + s.m[3] * (x.y * y.z + x.z * y.y) +
         s.m[4] * (x.x * y.z + x.z * y.x) + s.m[5] * (x.x * y.y + x.y * y.x);
}

/// Replaces negative eigenvalues by zero; positive definite lanes stay as they are, to the last bit.
template <class T>
STICTION_KERNEL void project_positive(Sym3<T>& s) {
  using namespace detail;
  const T zero(0.0), one(1.0);
  const T minor = s.m[0] * s.m[1] - s.m[5] * s.m[5];
  const T determinant =
      s.m[2] * minor - s.m[0] * s.m[3] * s.m[3] - s.m[1] * s.m[4] * s.m[4] + T(2.0) * s.m[3] * s.m[4] * s.m[5];
  const auto fails = [&](const T& value) { return where_positive(value, zero, one); };
  const T indefinite = fails(s.m[0]) + fails(minor) + fails(determinant);
  if (!any_positive(indefinite)) return;

  T a[3] = {s.m[0], s.m[1], s.m[2]}, o[3] = {s.m[3], s.m[4], s.m[5]};
  V3<T> q[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
  const auto rotate = [&](int i, int j, int k) {  // annihilates (i, j); k is the third axis
    T c, n;
    jacobi_rotation(a[i], a[j], o[k], c, n);
    const T aii = a[i], ajj = a[j], off = o[k], oi = o[j], oj = o[i];  // oi = (i, k), oj = (j, k)
    a[i] = c * c * aii - (c * n + c * n) * off + n * n * ajj;
    a[j] = n * n * aii + (c * n + c * n) * off + c * c * ajj;
    o[k] = zero;
    o[j] = c * oi - n * oj;
    o[i] = n * oi + c * oj;
    turn(q[i], q[j], c, n);
  };
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    rotate(0, 1, 2);
    rotate(0, 2, 1);
    rotate(1, 2, 0);
    const T size = max(absolute(a[0]), max(absolute(a[1]), absolute(a[2])));
    const T off = max(absolute(o[0]), max(absolute(o[1]), absolute(o[2])));
    if (!any_positive(off - T(kJacobiTolerance) * size)) break;
  }
  for (T& value : a) value = max(value, zero);
  const T projected[6] = {a[0] * q[0].x * q[0].x + a[1] * q[1].x * q[1].x + a[2] * q[2].x * q[2].x,
                          a[0] * q[0].y * q[0].y + a[1] * q[1].y * q[1].y + a[2] * q[2].y * q[2].y,
                          a[0] * q[0].z * q[0].z + a[1] * q[1].z * q[1].z + a[2] * q[2].z * q[2].z,
                          a[0] * q[0].y * q[0].z + a[1] * q[1].y * q[1].z + a[2] * q[2].y * q[2].z,
                          a[0] * q[0].x * q[0].z + a[1] * q[1].x * q[1].z + a[2] * q[2].x * q[2].z,
                          a[0] * q[0].x * q[0].y + a[1] * q[1].x * q[1].y + a[2] * q[2].x * q[2].y};
  for (int i = 0; i < 6; ++i) s.m[i] = where_positive(indefinite, projected[i], s.m[i]);
}

}  // namespace stiction
