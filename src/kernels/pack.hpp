// A pack of N scalars that behaves like one: the element kernels are templated on it and so run on N elements at a
// time. Built on the compilers' vector extensions (GCC, Clang), which split a pack over what registers there are.
#pragma once

#include <cmath>
#include <cstddef>

#if defined(__CUDACC__)
#define STICTION_KERNEL __host__ __device__ inline
#else
#define STICTION_KERNEL inline
#endif

namespace stiction {

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  typedef T Native __attribute__((vector_size(N * sizeof(T))));
  Native v;

  Pack() = default;
  Pack(T s) : v(Native{} + s) {}  // NOLINT(google-explicit-constructor): scalars broadcast
  static Pack from(const Native& n) {
    Pack p;
    p.v = n;
    return p;
  }

  T operator[](int lane) const { return v[lane]; }
  void set(int lane, T s) { v[lane] = s; }

  Pack& operator+=(const Pack& b) { return v += b.v, *this; }
  Pack& operator-=(const Pack& b) { return v -= b.v, *this; }
  Pack& operator*=(const Pack& b) { return v *= b.v, *this; }

  friend Pack operator+(const Pack& a, const Pack& b) { return from(a.v + b.v); }
  friend Pack operator-(const Pack& a, const Pack& b) { return from(a.v - b.v); }
  friend Pack operator*(const Pack& a, const Pack& b) { return from(a.v * b.v); }
  friend Pack operator/(const Pack& a, const Pack& b) { return from(a.v / b.v); }
  friend Pack operator-(const Pack& a) { return from(-a.v); }
};

/// Applies a scalar function lane by lane.
template <class T, int N, class F>
Pack<T, N> map_lanes(const Pack<T, N>& a, F&& f) {
  Pack<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = f(a.v[i]);
  return r;
}

template <class T, int N>
Pack<T, N> sqrt(const Pack<T, N>& a) {
  return map_lanes(a, [](T s) { return std::sqrt(s); });
}
template <class T, int N>
Pack<T, N> sin(const Pack<T, N>& a) {
  return map_lanes(a, [](T s) { return std::sin(s); });
}
template <class T, int N>
Pack<T, N> cos(const Pack<T, N>& a) {
  return map_lanes(a, [](T s) { return std::cos(s); });
}
template <class T, int N>
Pack<T, N> atan2(const Pack<T, N>& y, const Pack<T, N>& x) {
  Pack<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = std::atan2(y.v[i], x.v[i]);
  return r;
}
template <class T, int N>
Pack<T, N> max(const Pack<T, N>& a, const Pack<T, N>& b) {
  return Pack<T, N>::from(a.v > b.v ? a.v : b.v);
}

template <class T, int N>
Pack<T, N> min(const Pack<T, N>& a, const Pack<T, N>& b) {
  return Pack<T, N>::from(a.v < b.v ? a.v : b.v);
}
template <class T, int N>
Pack<T, N> abs(const Pack<T, N>& a) {
  return max(a, -a);
}

/// c - a b, lane by lane, rounded once where the machine has an instruction for that. What the compiler may not do by
/// itself, as bits must not depend on it (CMakeLists.txt), dense kernels ask for.
template <class Native>
Native minus_product(const Native& c, const Native& a, const Native& b) {
#ifdef __FMA__
  Native r;
  for (std::size_t i = 0; i < sizeof(Native) / sizeof(a[0]); ++i) r[i] = __builtin_fma(-a[i], b[i], c[i]);
  return r;
#else
  return c - a * b;
#endif
}
template <class T, int N>
Pack<T, N> minus_product(const Pack<T, N>& c, const Pack<T, N>& a, const Pack<T, N>& b) {
  return Pack<T, N>::from(minus_product(c.v, a.v, b.v));
}

// The same names for plain scalars, so that a kernel reads alike for both.
STICTION_KERNEL double sqrt(double a) { return std::sqrt(a); }
STICTION_KERNEL double sin(double a) { return std::sin(a); }
STICTION_KERNEL double cos(double a) { return std::cos(a); }
STICTION_KERNEL double atan2(double y, double x) { return std::atan2(y, x); }
STICTION_KERNEL double max(double a, double b) { return a > b ? a : b; }
STICTION_KERNEL float sqrt(float a) { return std::sqrt(a); }

/// Strands that the batched solver and the assembly treat together.
inline constexpr int kLanes = 8;
using PackD = Pack<double, kLanes>;

}  // namespace stiction
