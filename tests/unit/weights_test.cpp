#include "friction/weights.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stiction {
namespace {

// Node a against the middle of the edge (b, c).
Contact point_on_edge(int a, int b, int c) {
  Contact contact;
  contact.node = {a, b, c, kNoNode};
  contact.b = {1.0, -0.5, -0.5, 0.0};
  return contact;
}

TEST(NodeWeight, LiesBetweenMassAndStiffness) {
  SolverOptions options;                                   // sigma 0.001, beta 25
  EXPECT_DOUBLE_EQ(node_weight(options, 10, 1), 10);       // softer than 25 masses
  EXPECT_DOUBLE_EQ(node_weight(options, 100, 1), 25);      // stiffer
  EXPECT_DOUBLE_EQ(node_weight(options, 100000, 1), 100);  // much stiffer
}

TEST(RaiseFactors, NodesThatMissedAndTheirNeighboursOnTheStrandWeighMore) {
  // Strands of 10 and 2 nodes, then a body of 4.
  const std::vector<int> component = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2};
  std::vector<float> factor(component.size(), 1);
  std::vector<std::uint8_t> missed(component.size(), 0);
  missed[8] = missed[13] = 1;
  raise_factors(missed, component, 2, factor);
  EXPECT_EQ(factor, (std::vector<float>{1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 1, 1, 1, 4, 1, 1}));
  missed[8] = 0;
  missed[0] = 1;
  for (int i = 0; i < 3; ++i) raise_factors(missed, component, 2, factor);
  EXPECT_EQ(factor, (std::vector<float>{16, 16, 16, 16, 1, 4, 4, 4, 4, 4, 1, 1, 1, 16, 1, 1}));
}

TEST(LiftWeights, TheLighterSideGetsTheGeometricMean) {
  const std::vector<std::uint8_t> fixed(3, 0);
  const std::vector<Contact> contacts = {point_on_edge(0, 1, 2)};
  std::vector<double> w;
  lift_weights(contacts, {}, fixed, std::vector{1e-6, 2e-2, 2e-2}, w);  // the edge's middle weighs 4e-2
  EXPECT_NEAR(w[0], 2e-4, 1e-18);
  EXPECT_EQ(w[1], 2e-2);
  EXPECT_EQ(w[2], 2e-2);

  lift_weights(contacts, {}, fixed, std::vector{1.0, 2e-2, 3e-2}, w);
  EXPECT_EQ(w[0], 1.0);
  EXPECT_NEAR(w[1], std::sqrt(2e-2), 1e-15);
  EXPECT_NEAR(w[2], std::sqrt(3e-2), 1e-15);
}

TEST(LiftWeights, PrescribedSidesDoNotCount) {
  const std::vector<Contact> contacts = {point_on_edge(0, 1, 2)};
  std::vector<double> w;
  lift_weights(contacts, {}, std::vector<std::uint8_t>{0, 1, 1}, std::vector{1e-6, 0.0, 0.0}, w);
  EXPECT_EQ(w[0], 1e-6);
}

TEST(LiftWeights, DoesNotDependOnTheOrderOfContacts) {
  const std::vector<std::uint8_t> fixed(4, 0);
  const std::vector<double> start = {1e-6, 1e-4, 1e-2, 1.0};
  std::vector<Contact> contacts = {point_on_edge(0, 1, 2), point_on_edge(1, 2, 3), point_on_edge(0, 2, 3)};
  std::vector<double> w, reversed;
  lift_weights(contacts, {}, fixed, start, w);
  std::reverse(contacts.begin(), contacts.end());
  lift_weights(contacts, {}, fixed, start, reversed);
  EXPECT_EQ(w, reversed);
  EXPECT_GT(w[0], 1e-6);
  EXPECT_LT(w[0], 1.0);
}

}  // namespace
}  // namespace stiction
