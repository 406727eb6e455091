// Fixed-size vectors for element kernels, templated on the scalar (double, float, Pack).
#pragma once

#include "kernels/pack.hpp"

namespace stiction {

template <class T>
struct V3 {
  T x, y, z;

  T& operator[](int i) { return i == 0 ? x : (i == 1 ? y : z); }
  const T& operator[](int i) const { return i == 0 ? x : (i == 1 ? y : z); }

  friend V3 operator+(const V3& a, const V3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend V3 operator-(const V3& a, const V3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend V3 operator-(const V3& a) { return {-a.x, -a.y, -a.z}; }
  friend V3 operator*(const T& s, const V3& a) { return {s * a.x, s * a.y, s * a.z}; }
};

template <class T>
STICTION_KERNEL T dot(const V3<T>& a, const V3<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
STICTION_KERNEL V3<T> cross(const V3<T>& a, const V3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T>
STICTION_KERNEL T norm(const V3<T>& a) {
  return sqrt(dot(a, a));
}

}  // namespace stiction
