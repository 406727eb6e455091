#include "scene/motion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace stiction {
namespace {

constexpr double pi = std::numbers::pi;

TEST(Motion, WithoutKeysIsTheIdentityToTheBit) {
  const Pose pose = Motion{}.at(1.25);
  EXPECT_EQ(pose.rotation.coeffs(), Quat::Identity().coeffs());
  EXPECT_EQ(pose.position, Vec3(0, 0, 0));
  const Vec3 x(0.1, -2.0 / 3.0, 1e-9);
  EXPECT_EQ(pose.apply(x), x);
}

TEST(Motion, AZeroRotationKeyIsTheIdentityToTheBit) {
  Motion motion;
  motion.rotation = {{0, Vec3::Zero()}, {1, Vec3::Zero()}};
  EXPECT_EQ(motion.at(0.3).rotation.coeffs(), Quat::Identity().coeffs());
}

TEST(Motion, InterpolatesBetweenKeysAndHoldsOutside) {
  const std::vector<VectorKey> keys = {{1, Vec3(1, 0, 0)}, {2, Vec3(3, 2, 0)}, {4, Vec3(3, 2, 8)}};
  EXPECT_EQ(interpolate(keys, -5), Vec3(1, 0, 0));
  EXPECT_EQ(interpolate(keys, 1), Vec3(1, 0, 0));
  EXPECT_EQ(interpolate(keys, 1.5), Vec3(2, 1, 0));
  EXPECT_EQ(interpolate(keys, 2), Vec3(3, 2, 0));
  EXPECT_EQ(interpolate(keys, 2.5), Vec3(3, 2, 2));
  EXPECT_EQ(interpolate(keys, 4), Vec3(3, 2, 8));
  EXPECT_EQ(interpolate(keys, 100), Vec3(3, 2, 8));
}

TEST(Motion, NoKeysAndOneKeyAreConstant) {
  EXPECT_EQ(interpolate({}, 3), Vec3(0, 0, 0));
  const std::vector<VectorKey> keys = {{1, Vec3(1, 2, 3)}};
  for (const double time : {0.0, 1.0, 2.0}) EXPECT_EQ(interpolate(keys, time), Vec3(1, 2, 3));
}

TEST(Motion, TwoKeysAtOneTimeJump) {
  const std::vector<VectorKey> keys = {{0, Vec3(0, 0, 0)}, {1, Vec3(1, 0, 0)}, {1, Vec3(5, 0, 0)}, {2, Vec3(6, 0, 0)}};
  EXPECT_EQ(interpolate(keys, 0.75), Vec3(0.75, 0, 0));
  EXPECT_EQ(interpolate(keys, 1), Vec3(5, 0, 0));
  EXPECT_EQ(interpolate(keys, 1.5), Vec3(5.5, 0, 0));
}

TEST(Motion, KeysMayBeWholeTurnsApart) {
  const int turns = 3;
  Motion motion;
  motion.rotation = {{0, Vec3::Zero()}, {6, Vec3(0, 0, turns * 2 * pi)}};
  for (const double time : {0.0, 0.25, 0.5, 1.0, 2.0, 3.7, 6.0}) {
    const double angle = turns * 2 * pi * time / 6;
    const Vec3 x = motion.at(time).apply(Vec3(1, 0, 2));
    EXPECT_NEAR(x.x(), std::cos(angle), 1e-14);
    EXPECT_NEAR(x.y(), std::sin(angle), 1e-14);
    EXPECT_NEAR(x.z(), 2, 1e-14);
  }
}

TEST(Motion, RotationVectorsTurnAboutTheirAxisByTheirLength) {
  const Vec3 axis = Vec3(1, -2, 0.5).normalized();
  for (const double angle : {1e-300, 1e-9, 0.3, 2.0, pi, 5.0}) {
    Motion motion;
    motion.rotation = {{0, angle * axis}};
    const Quat rotation = motion.at(0).rotation;
    const Mat3 expected = Eigen::AngleAxisd(angle, axis).toRotationMatrix();
    EXPECT_NEAR(rotation.norm(), 1, 1e-15);
    EXPECT_LT((rotation.toRotationMatrix() - expected).norm(), 1e-14) << angle;
  }
}

TEST(Motion, RotatesBeforeItTranslates) {
  Motion motion;
  motion.position = {{0, Vec3(10, 0, 0)}};
  motion.rotation = {{0, Vec3(0, 0, pi / 2)}};
  EXPECT_LT((motion.at(0).apply(Vec3(1, 0, 0)) - Vec3(10, 1, 0)).norm(), 1e-14);
}

TEST(TimeOptions, FramesAreTheNearestWholeNumber) {
  EXPECT_EQ((TimeOptions{.duration = 2, .fps = 24}.frames()), 48);
  EXPECT_EQ((TimeOptions{.duration = 0.1, .fps = 30}.frames()), 3);
  EXPECT_EQ((TimeOptions{.duration = 1.02, .fps = 24}.frames()), 24);
  EXPECT_EQ((TimeOptions{.duration = 1.03, .fps = 24}.frames()), 25);
  EXPECT_EQ((TimeOptions{.duration = 0, .fps = 24}.frames()), 0);
}

}  // namespace
}  // namespace stiction
