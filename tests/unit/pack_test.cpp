#include "kernels/pack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

namespace stiction {
namespace {

// Packs of less than a register, of one and of several.
template <class P>
class PackOf : public testing::Test {
 protected:
  using T = decltype(std::declval<P>()[0]);
  static constexpr int kCount = sizeof(P) / sizeof(T);

  static P random(unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> value(-2, 2);
    P p(T(0));
    for (int i = 0; i < kCount; ++i) p.set(i, static_cast<T>(value(engine)));
    return p;
  }
  // f(lane) of the scalars, to the last bit.
  template <class F>
  static void expect_lanes(const P& p, F&& f) {
    for (int i = 0; i < kCount; ++i) EXPECT_EQ(p[i], static_cast<T>(f(i))) << "lane " << i << " of " << kCount;
  }
};

using Packs = testing::Types<Pack<double, 2>, Pack<double, 4>, Pack<double, 8>, Pack<double, 16>, Pack<float, 4>,
                             Pack<float, 8>, Pack<float, 32>>;
TYPED_TEST_SUITE(PackOf, Packs);

TYPED_TEST(PackOf, EveryLaneIsWhatTheScalarIs) {
  const TypeParam a = this->random(1), b = this->random(2), c = this->random(3);
  this->expect_lanes(a + b, [&](int i) { return a[i] + b[i]; });
  this->expect_lanes(a - b, [&](int i) { return a[i] - b[i]; });
  this->expect_lanes(a * b, [&](int i) { return a[i] * b[i]; });
  this->expect_lanes(a / b, [&](int i) { return a[i] / b[i]; });
  this->expect_lanes(-a, [&](int i) { return -a[i]; });
  this->expect_lanes(max(a, b), [&](int i) { return std::max(a[i], b[i]); });
  this->expect_lanes(min(a, b), [&](int i) { return std::min(a[i], b[i]); });
  this->expect_lanes(abs(a), [&](int i) { return std::abs(a[i]); });
  this->expect_lanes(sqrt(abs(a)), [&](int i) { return std::sqrt(std::abs(a[i])); });
  this->expect_lanes(sin(a), [&](int i) { return std::sin(a[i]); });
  this->expect_lanes(atan2(a, b), [&](int i) { return std::atan2(a[i], b[i]); });
  this->expect_lanes(where_positive(a, b, c), [&](int i) { return a[i] > 0 ? b[i] : c[i]; });
}

TYPED_TEST(PackOf, OneLaneIsSetAndAddedToAlone) {
  for (int lane = 0; lane < this->kCount; ++lane) {
    TypeParam p = this->random(4);
    const TypeParam before = p;
    p.set(lane, 3);
    p.add(lane, 4);
    this->expect_lanes(p, [&](int i) { return i == lane ? 7 : before[i]; });
    TypeParam negative(-1);
    EXPECT_FALSE(any_positive(negative));
    negative.set(lane, 1);
    EXPECT_TRUE(any_positive(negative));
  }
}

TYPED_TEST(PackOf, AScalarKeepsTheSignOfItsZero) {
  const TypeParam zero(-0.0);
  for (int i = 0; i < this->kCount; ++i) EXPECT_TRUE(std::signbit(zero[i]));
}

// c - a b is 1 - (1 - e²) = e², which a product that is rounded before loses.
TEST(PackOfDoubles, ProductsAreSubtractedWithOneRounding) {
#ifndef __FMA__
  GTEST_SKIP() << "this machine has no such instruction";
#endif
  const double e = std::ldexp(1.0, -30);
  const auto expect_square = [&](auto one) {
    const auto r = minus_product(one, one + e, one - e);
    for (int i = 0; i < static_cast<int>(sizeof(r) / sizeof(double)); ++i) EXPECT_EQ(r[i], e * e) << "lane " << i;
  };
  expect_square(Pack<double, 2>(1));
  expect_square(Pack<double, 4>(1));
  expect_square(Pack<double, 8>(1));
  expect_square(Pack<double, 16>(1));
}

}  // namespace
}  // namespace stiction
