// Solves with ties: what hangs on the rest by few of them is eliminated.
//
// With bodies' own blocks P of A + W and ties' blocks C between them, A + W = P + C. Components of which each hangs on
// others by few ties, quills on a body, are eliminated. E being these, K the others that ties connect,
//   (P_K + N) y_K = b_K − C_KE P_E⁻¹ b_E,   N = C_KK − C_KE P_E⁻¹ C_EK.
// A tie pulls at its point of E by C_EK y_K = Rᵀ u, u = Σ w_j y_j at its point of K. So each component of E is in N by
// what it does between its ties, M = R P_E⁻¹ Rᵀ, found once a factor; N itself has 3×3 blocks between nodes of K.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "step/ties.hpp"

namespace stiction {

class TieElimination {
 public:
  TieElimination(const Ties& ties, const Nodes& nodes, int component_count);

  /// Components that ties connect and that are not eliminated, and those that are.
  std::span<const std::uint8_t> kept() const { return kept_; }
  std::span<const std::uint8_t> eliminated() const { return eliminated_; }

  /// Finds M of eliminated components with a set bit in `stale`: the bodies have factored them anew.
  void factor(std::span<Body* const> bodies, std::span<const std::uint8_t> stale);

  /// y += N x at the nodes of kept components with a set bit in `active`, but for prescribed ones.
  void multiply(std::span<const Vec3> x, std::span<Vec3> y, std::span<const std::uint8_t> active) const;

 private:
  static constexpr int kMostTies = 4;  // of a component that is eliminated: three solves each after every factor

  // A component that is eliminated: its ties, which side of each is on it, and M between them, 3×3 blocks row by row.
  struct Hanging {
    int component = 0, count = 0;
    std::array<int, kMostTies> tie{}, side{};
    std::size_t block = 0;  // the first of M
  };
  // What a row of N has of a tie's point there: by M of the component that hangs on it, or by the tie itself.
  struct Share {
    int hanging;  // index of the component; −1: none, the tie is between kept ones
    int tie;      // of the component's ties; or the tie
    int side;     // of the row's point
    double weight;
  };

  void list_hanging(int component_count);
  void list_rows(const Nodes& nodes);
  void find_answers(std::span<Body* const> bodies, std::span<const std::uint8_t> stale);
  void sum_rows();
  template <class F>
  void for_each_point_coupled_to(const Share& share, F&& f) const;

  const Ties& ties_;
  std::vector<std::uint8_t> kept_, eliminated_;
  std::vector<Hanging> hanging_;
  std::vector<Mat3> answer_;        // blocks of all M
  int most_ties_ = 0;               // of a component that is eliminated
  std::vector<Vec3> unit_, moved_;  // of find_answers

  // N by rows, one a node of K with ties: what it is made of, columns in order, blocks.
  std::vector<int> row_node_, row_component_, row_share_, row_first_, column_;
  std::vector<Share> share_;
  std::vector<Mat3> block_;
};

}  // namespace stiction
