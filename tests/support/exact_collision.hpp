// Whether moving edges, or a point and a triangle, meet: decided in exact arithmetic.
//
// Vertices lie on an integer grid, so that the grid times a power of two is exact in doubles and the truth can be
// decided in integers. With straight motion the pair intersects at time t if and only if
//   coplanar(t) = 0   and   no group of polynomials has, at t, all its members strictly of one sign,
// where coplanar is the cubic of the four vertices' volume and the groups say, for each coordinate plane, that the
// projections intersect, and for each axis, that the intervals overlap. Where a projection collapses its polynomials
// vanish and the group holds; this makes the one statement true for all degenerate positions, too (a plane projects
// one to one on at least one coordinate plane, a line on one axis).
//
// Two exact deciders: subdivision of [0, 1] in Bernstein form, in 128-bit integers, settles what is not degenerate and
// brackets the first contact; root isolation with Sturm chains in big integers settles the rest.
#pragma once

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <vector>

namespace stiction::test {

enum class Kind { edge_edge, point_triangle };

using GridPoint = std::array<std::int64_t, 3>;

/// Grid coordinates at most kGrid in magnitude, so that the deciders' 128 bits suffice.
struct GridMotion {
  std::array<GridPoint, 4> x_t0, x_t1;
};
inline constexpr std::int64_t kGrid = 1 << 20;

// --- The statement in polynomials of t

__extension__ typedef __int128 Wide;

/// Coefficients of 1, t, t², t³.
using Cubic = std::array<Wide, 4>;

inline Cubic operator+(const Cubic& a, const Cubic& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}; }
inline Cubic operator-(const Cubic& a, const Cubic& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]}; }
inline Cubic operator*(const Cubic& a, const Cubic& b) {
  Cubic product{};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; i + j < 4; ++j) product[i + j] += a[i] * b[j];
  }
  return product;
}

struct Statement {
  Cubic coplanar;
  std::vector<std::vector<Cubic>> planes;  // three coordinate planes, planes.size() / 3 groups each
  std::vector<std::vector<Cubic>> axes;
};

inline Statement state(Kind kind, const GridMotion& motion) {
  std::array<std::array<Cubic, 3>, 4> x;
  for (int v = 0; v < 4; ++v) {
    for (int axis = 0; axis < 3; ++axis) {
      x[v][axis] = {motion.x_t0[v][axis], motion.x_t1[v][axis] - motion.x_t0[v][axis], 0, 0};
    }
  }
  const auto area = [&](int a, int b, int c, int i, int j) {
    return (x[b][i] - x[a][i]) * (x[c][j] - x[a][j]) - (x[b][j] - x[a][j]) * (x[c][i] - x[a][i]);
  };
  Statement s;
  s.coplanar = (x[3][0] - x[0][0]) * area(0, 1, 2, 1, 2) + (x[3][1] - x[0][1]) * area(0, 1, 2, 2, 0) +
               (x[3][2] - x[0][2]) * area(0, 1, 2, 0, 1);
  for (int axis = 0; axis < 3; ++axis) {
    const int i = (axis + 1) % 3, j = (axis + 2) % 3;
    if (kind == Kind::edge_edge) {
      s.planes.push_back({area(0, 1, 2, i, j), area(0, 1, 3, i, j)});
      s.planes.push_back({area(2, 3, 0, i, j), area(2, 3, 1, i, j)});
      s.axes.push_back(
          {x[0][axis] - x[2][axis], x[0][axis] - x[3][axis], x[1][axis] - x[2][axis], x[1][axis] - x[3][axis]});
    } else {
      const Cubic a = area(0, 1, 2, i, j), b = area(0, 2, 3, i, j), c = area(0, 3, 1, i, j);
      for (const auto& [f, g] : {std::pair{a, b}, std::pair{b, c}, std::pair{c, a}})
        s.planes.push_back({f, Cubic{} - g});
      s.axes.push_back({x[1][axis] - x[0][axis], x[2][axis] - x[0][axis], x[3][axis] - x[0][axis]});
    }
  }
  return s;
}

// --- Subdivision

enum class Verdict { miss, hit, open };

/// A verdict and, for a hit, times that bracket the first contact unless an earlier interval stayed open.
struct Subdivided {
  Verdict verdict;
  double lo = 0.0, hi = 1.0;
  bool first = true;
};

/// Three times the Bernstein coefficients over an interval, up to a power of two.
using Bernstein = std::array<Wide, 4>;

inline Bernstein to_bernstein(const Cubic& c) {
  return {3 * c[0], 3 * c[0] + c[1], 3 * c[0] + 2 * c[1] + c[2], 3 * (c[0] + c[1] + c[2] + c[3])};
}

/// The left or right half of the interval (de Casteljau, times 8).
inline Bernstein half(const Bernstein& b, bool right) {
  const Wide b01 = b[0] + b[1], b12 = b[1] + b[2], b23 = b[2] + b[3];
  const Wide b012 = b01 + b12, b123 = b12 + b23, middle = b012 + b123;
  return right ? Bernstein{middle, 2 * b123, 4 * b23, 8 * b[3]} : Bernstein{8 * b[0], 4 * b01, 2 * b012, middle};
}

/// The sign on the whole closed interval, or 0 where the coefficients do not tell.
inline int certain_sign(const Bernstein& b) {
  if (b[0] > 0 && b[1] > 0 && b[2] > 0 && b[3] > 0) return 1;
  if (b[0] < 0 && b[1] < 0 && b[2] < 0 && b[3] < 0) return -1;
  return 0;
}

class Subdivision {
 public:
  Subdivision(const Statement& s, int min_depth) : min_depth_(min_depth), groups_a_plane_(s.planes.size() / 3) {
    nodes_.resize(kMaxDepth + 1);
    nodes_[0].coplanar = to_bernstein(s.coplanar);
    for (const auto* groups : {&s.planes, &s.axes}) {
      for (const auto& group : *groups) {
        for (const Cubic& c : group) nodes_[0].members.push_back(to_bernstein(c));
        group_end_.push_back(static_cast<int>(nodes_[0].members.size()));
      }
    }
    for (Node& node : nodes_) node.members.resize(nodes_[0].members.size());
  }

  Subdivided decide() { return visit(0, 0.0); }

 private:
  // Root coefficients are under 2^74 and each level adds three bits.
  static constexpr int kMaxDepth = 16;
  static constexpr int kMaxVisits = 400;
  struct Node {
    Bernstein coplanar;
    std::vector<Bernstein> members;
  };

  Subdivided visit(int depth, double lo) {
    const double width = std::ldexp(1.0, -depth);
    const Node& node = nodes_[depth];
    const auto [excluded, crosses] = examine(node);
    if (excluded) return {Verdict::miss};
    const Bernstein& f = node.coplanar;
    const bool changes_sign = (f[0] <= 0 && f[3] >= 0) || (f[0] >= 0 && f[3] <= 0);
    if (crosses && changes_sign && depth >= min_depth_) return {Verdict::hit, lo, lo + width};
    if (depth == kMaxDepth || ++visits_ > kMaxVisits) return {Verdict::open};

    Subdivided left{Verdict::miss};
    for (const bool right : {false, true}) {
      Node& child = nodes_[depth + 1];
      child.coplanar = half(node.coplanar, right);
      if (certain_sign(child.coplanar) != 0) continue;
      for (std::size_t k = 0; k < node.members.size(); ++k) child.members[k] = half(node.members[k], right);
      Subdivided found = visit(depth + 1, right ? lo + 0.5 * width : lo);
      if (found.verdict == Verdict::hit) {
        found.first = found.first && left.verdict == Verdict::miss;
        return found;
      }
      if (found.verdict == Verdict::open) left = found;
    }
    return left;
  }

  /// Whether some group fails on the whole interval, and whether all groups of one plane hold strictly on it.
  std::pair<bool, bool> examine(const Node& node) const {
    if (certain_sign(node.coplanar) != 0) return {true, false};
    bool crosses = false, plane_strict = true;
    int member = 0;
    for (std::size_t group = 0; group < group_end_.size(); ++group) {
      bool all_plus = true, all_minus = true, any_plus = false, any_minus = false;
      for (; member < group_end_[group]; ++member) {
        const int sign = certain_sign(node.members[member]);
        all_plus &= sign > 0;
        all_minus &= sign < 0;
        any_plus |= sign > 0;
        any_minus |= sign < 0;
      }
      if (all_plus || all_minus) return {true, false};
      plane_strict &= any_plus && any_minus;
      if (group < 3 * groups_a_plane_ && (group + 1) % groups_a_plane_ == 0) {
        crosses |= plane_strict;
        plane_strict = true;
      }
    }
    return {false, crosses};
  }

  int min_depth_;
  std::size_t groups_a_plane_;
  std::vector<int> group_end_;
  std::vector<Node> nodes_;  // one a depth
  int visits_ = 0;
};

// --- Root isolation

using Int = boost::multiprecision::cpp_int;

/// Coefficients of 1, t, t², …, the last one not zero; empty for the zero polynomial.
using Poly = std::vector<Int>;

inline Poly trimmed(Poly p) {
  while (!p.empty() && p.back() == 0) p.pop_back();
  Int content = 0;
  for (const Int& c : p) content = gcd(content, c);
  for (Int& c : p) c /= content;
  return p;
}

inline Poly to_poly(const Cubic& c) { return trimmed(Poly(c.begin(), c.end())); }

inline Poly derivative(const Poly& p) {
  Poly d;
  for (std::size_t i = 1; i < p.size(); ++i) d.push_back(p[i] * i);
  return trimmed(d);
}

struct Division {
  Poly quotient, remainder;
};

/// A positive multiple of a, divided by b.
inline Division divide(Poly a, const Poly& b) {
  const Int lead = abs(b.back());
  Poly quotient(a.size() >= b.size() ? a.size() - b.size() + 1 : 0);
  while (a.size() >= b.size()) {
    const std::size_t shift = a.size() - b.size();
    const Int factor = b.back() > 0 ? a.back() : Int(-a.back());
    for (Int& c : a) c *= lead;
    for (Int& c : quotient) c *= lead;
    for (std::size_t i = 0; i < b.size(); ++i) a[i + shift] -= factor * b[i];
    quotient[shift] += factor;
    while (!a.empty() && a.back() == 0) a.pop_back();
  }
  return {trimmed(quotient), trimmed(a)};
}

inline Poly greatest_common_divisor(Poly a, Poly b) {
  while (!b.empty()) {
    Poly r = divide(a, b).remainder;
    a = std::move(b);
    b = std::move(r);
  }
  return a;
}

/// The times (k / 2^bits, (k + 1) / 2^bits].
struct Interval {
  Int k = 0;
  unsigned bits = 0;

  Interval half(bool right) const { return {2 * k + (right ? 1 : 0), bits + 1}; }
};

/// Sign at the time k / 2^bits.
inline int sign_at(const Poly& p, const Int& k, unsigned bits) {
  Int sum = 0;
  for (std::size_t i = p.size(); i-- > 0;) sum = sum * k + (p[i] << (bits * (p.size() - 1 - i)));
  return sum.sign();
}

/// Counts the distinct roots of a polynomial.
class Sturm {
 public:
  explicit Sturm(const Poly& p) {
    chain_.push_back(divide(p, greatest_common_divisor(p, derivative(p))).quotient);
    chain_.push_back(derivative(chain_[0]));
    while (!chain_.back().empty()) {
      Poly r = divide(chain_[chain_.size() - 2], chain_.back()).remainder;
      for (Int& c : r) c = -c;
      chain_.push_back(std::move(r));
    }
  }

  const Poly& square_free() const { return chain_[0]; }
  int roots_in(const Interval& interval) const {
    return variations(interval.k, interval.bits) - variations(interval.k + 1, interval.bits);
  }

 private:
  int variations(const Int& k, unsigned bits) const {
    int count = 0, last = 0;
    for (const Poly& p : chain_) {
      const int sign = sign_at(p, k, bits);
      if (sign == 0) continue;
      if (sign == -last) ++count;
      last = sign;
    }
    return count;
  }

  std::vector<Poly> chain_;
};

/// A root, the only one of its polynomial in the interval.
struct Root {
  const Sturm* of;
  Interval in;

  void refine() {
    const Interval left = in.half(false);
    in = of->roots_in(left) > 0 ? left : in.half(true);
  }
};

inline void isolate(const Sturm& sturm, const Interval& in, std::vector<Root>& roots) {
  const int count = sturm.roots_in(in);
  if (count == 0) return;
  if (count == 1) {
    roots.push_back({&sturm, in});
    return;
  }
  isolate(sturm, in.half(false), roots);
  isolate(sturm, in.half(true), roots);
}

/// Sign of p at the root: zero if a common divisor has it, else that of an interval free of p's roots.
inline int sign_at(const Poly& p, Root root) {
  if (p.size() < 2) return p.empty() ? 0 : p[0].sign();
  const Poly common = greatest_common_divisor(root.of->square_free(), p);
  if (common.size() > 1 && Sturm(common).roots_in(root.in) > 0) return 0;
  const Sturm sturm(p);
  while (sturm.roots_in(root.in) > 0) root.refine();
  return sign_at(p, root.in.k + 1, root.in.bits);
}

class Algebraic {
 public:
  explicit Algebraic(const Statement& s) : coplanar_(to_poly(s.coplanar)) {
    for (const auto* groups : {&s.planes, &s.axes}) {
      for (const auto& group : *groups) {
        std::vector<Poly>& polys = groups_.emplace_back();
        for (const Cubic& c : group) polys.push_back(to_poly(c));
      }
    }
  }

  /// The set of contact times is closed and changes only at roots: at those of coplanar, or of any member where
  /// coplanar vanishes throughout.
  bool decide() const {
    std::vector<Poly> candidates;
    if (!coplanar_.empty()) {
      candidates.push_back(coplanar_);
    } else {
      for (const auto& group : groups_) candidates.insert(candidates.end(), group.begin(), group.end());
      std::sort(candidates.begin(), candidates.end());
      candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    }
    const Sturm start(Poly{0, 1}), end(Poly{-1, 1});
    if (holds_at({&start, {-1, 0}}) || holds_at({&end, {0, 0}})) return true;
    for (const Poly& p : candidates) {
      if (p.size() < 2) continue;
      const Sturm sturm(p);
      std::vector<Root> roots;
      isolate(sturm, {0, 0}, roots);
      if (std::any_of(roots.begin(), roots.end(), [&](const Root& root) { return holds_at(root); })) return true;
    }
    return false;
  }

 private:
  bool holds_at(const Root& root) const {
    return sign_at(coplanar_, root) == 0 && std::all_of(groups_.begin(), groups_.end(), [&](const auto& group) {
             const int sign = sign_at(group[0], root);
             return sign == 0 || std::any_of(group.begin() + 1, group.end(),
                                             [&](const Poly& p) { return sign_at(p, root) != sign; });
           });
  }

  Poly coplanar_;
  std::vector<std::vector<Poly>> groups_;
};

inline bool collides_exactly(Kind kind, const GridMotion& motion) {
  const Statement s = state(kind, motion);
  const Verdict verdict = Subdivision(s, 0).decide().verdict;
  return verdict == Verdict::open ? Algebraic(s).decide() : verdict == Verdict::hit;
}

}  // namespace stiction::test
