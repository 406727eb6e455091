// A pack of N scalars that behaves like one: the element kernels are templated on it and so run on N elements at a
// time. It is made of as many vector registers as it takes. (Longer vectors of the compilers' own extension GCC 12
// takes apart and puts together again in memory at every operation.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#ifdef __FMA__
#include <immintrin.h>
#endif

#if defined(__CUDACC__)
#define STICTION_KERNEL __host__ __device__ inline
#else
#define STICTION_KERNEL inline
#endif

namespace stiction {

/// Bytes of a vector register.
#if defined(__AVX512F__)
inline constexpr int kRegisterBytes = 64;
#elif defined(__AVX__)
inline constexpr int kRegisterBytes = 32;
#else
inline constexpr int kRegisterBytes = 16;
#endif

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  static constexpr int kWidth = std::min(N, kRegisterBytes / static_cast<int>(sizeof(T)));  // lanes of a register
  static constexpr int kParts = N / kWidth;
  typedef T Register __attribute__((vector_size(kWidth * sizeof(T))));
  Register part[kParts];

  Pack() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): scalars broadcast
  Pack(T s) {
    for (Register& r : part) r = s - Register{};  // less zero and not plus: −0 stays
  }

  T operator[](int lane) const { return part[lane / kWidth][lane % kWidth]; }
  void set(int lane, T s) { part[lane / kWidth][lane % kWidth] = s; }
  void add(int lane, T s) { part[lane / kWidth][lane % kWidth] += s; }

  Pack& operator+=(const Pack& b) {
    for (int i = 0; i < kParts; ++i) part[i] += b.part[i];
    return *this;
  }
  Pack& operator-=(const Pack& b) {
    for (int i = 0; i < kParts; ++i) part[i] -= b.part[i];
    return *this;
  }
  Pack& operator*=(const Pack& b) {
    for (int i = 0; i < kParts; ++i) part[i] *= b.part[i];
    return *this;
  }
  Pack& operator/=(const Pack& b) {
    for (int i = 0; i < kParts; ++i) part[i] /= b.part[i];
    return *this;
  }

  friend Pack operator+(Pack a, const Pack& b) { return a += b; }
  friend Pack operator-(Pack a, const Pack& b) { return a -= b; }
  friend Pack operator*(Pack a, const Pack& b) { return a *= b; }
  friend Pack operator/(Pack a, const Pack& b) { return a /= b; }
  friend Pack operator-(Pack a) {
    for (Register& r : a.part) r = -r;
    return a;
  }
};

/// Applies a scalar function lane by lane.
template <class T, int N, class F>
Pack<T, N> map_lanes(Pack<T, N> a, F&& f) {
  for (auto& r : a.part)
    for (int i = 0; i < Pack<T, N>::kWidth; ++i) r[i] = f(r[i]);
  return a;
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
  for (int i = 0; i < N; ++i) r.set(i, std::atan2(y[i], x[i]));
  return r;
}
template <class T, int N>
Pack<T, N> max(Pack<T, N> a, const Pack<T, N>& b) {
  for (int i = 0; i < a.kParts; ++i) a.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
  return a;
}
template <class T, int N>
Pack<T, N> min(Pack<T, N> a, const Pack<T, N>& b) {
  for (int i = 0; i < a.kParts; ++i) a.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
  return a;
}
template <class T, int N>
Pack<T, N> abs(const Pack<T, N>& a) {
  return max(a, -a);
}

/// Lane by lane: yes where a > 0, else no.
template <class T, int N>
Pack<T, N> where_positive(const Pack<T, N>& a, Pack<T, N> yes, const Pack<T, N>& no) {
  for (int i = 0; i < a.kParts; ++i)
    yes.part[i] = a.part[i] > typename Pack<T, N>::Register{} ? yes.part[i] : no.part[i];
  return yes;
}
template <class T, int N>
bool any_positive(const Pack<T, N>& a) {
  bool any = false;
  for (int i = 0; i < N; ++i) any |= a[i] > 0;
  return any;
}

/// c - a b of doubles, lane by lane, rounded once where the machine has an instruction for that. What the compiler may
/// not do by itself, as bits must not depend on it (CMakeLists.txt), dense kernels ask for.
template <class Register>
Register minus_product(const Register& c, const Register& a, const Register& b) {
#ifdef __FMA__
  if constexpr (sizeof(Register) == 16) return _mm_fnmadd_pd(a, b, c);
  if constexpr (sizeof(Register) == 32) return _mm256_fnmadd_pd(a, b, c);
#ifdef __AVX512F__
  if constexpr (sizeof(Register) == 64) return _mm512_fnmadd_pd(a, b, c);
#endif
#else
  return c - a * b;
#endif
}
template <class T, int N>
Pack<T, N> minus_product(Pack<T, N> c, const Pack<T, N>& a, const Pack<T, N>& b) {
  for (int i = 0; i < c.kParts; ++i) c.part[i] = minus_product(c.part[i], a.part[i], b.part[i]);
  return c;
}

// The same names for plain scalars, so that a kernel reads alike for both.
STICTION_KERNEL double sqrt(double a) { return std::sqrt(a); }
STICTION_KERNEL double sin(double a) { return std::sin(a); }
STICTION_KERNEL double cos(double a) { return std::cos(a); }
STICTION_KERNEL double atan2(double y, double x) { return std::atan2(y, x); }
STICTION_KERNEL double max(double a, double b) { return a > b ? a : b; }
STICTION_KERNEL double where_positive(double a, double yes, double no) { return a > 0 ? yes : no; }
STICTION_KERNEL bool any_positive(double a) { return a > 0; }
STICTION_KERNEL float sqrt(float a) { return std::sqrt(a); }

/// Strands that the batched solver and the assembly treat together.
inline constexpr int kLanes = 8;
using PackD = Pack<double, kLanes>;

}  // namespace stiction
