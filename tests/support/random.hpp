// Random numbers that are the same in every run.
#pragma once

#include <random>

#include "stiction/types.hpp"

namespace stiction::test {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  double operator()(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(engine_); }
  /// 0 to n − 1.
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }
  /// Each coordinate by itself.
  template <class Vector = Vec3>
  Vector vector(double lo, double hi) {
    return {(*this)(lo, hi), (*this)(lo, hi), (*this)(lo, hi)};
  }
  Vec3 vector(double size = 1) { return vector(-size, size); }
  Mat3 matrix(double size = 1) {
    return Mat3::NullaryExpr([&] { return (*this)(-size, size); });
  }
  /// Of length one.
  Vec3 direction() {
    std::normal_distribution<double> normal;
    Vec3 d(normal(engine_), normal(engine_), normal(engine_));
    return d.normalized();
  }
  Quat rotation() { return Quat((*this)(-1, 1), (*this)(-1, 1), (*this)(-1, 1), (*this)(-1, 1)).normalized(); }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

}  // namespace stiction::test
