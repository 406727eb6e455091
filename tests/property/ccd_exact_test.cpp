// Continuous detection against exact arithmetic.
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
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "geometry/ccd.hpp"
#include "geometry/distance.hpp"

namespace stiction {
namespace {

enum class Kind { edge_edge, point_triangle };

using GridPoint = std::array<std::int64_t, 3>;

/// Grid coordinates at most kGrid in magnitude, so that the deciders' 128 bits suffice.
struct GridMotion {
  std::array<GridPoint, 4> x_t0, x_t1;
};
constexpr std::int64_t kGrid = 1 << 20;

// --- The statement in polynomials of t -------------------------------------------------------------------------------

__extension__ typedef __int128 Wide;

/// Coefficients of 1, t, t², t³.
using Cubic = std::array<Wide, 4>;

Cubic operator+(const Cubic& a, const Cubic& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}; }
Cubic operator-(const Cubic& a, const Cubic& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]}; }
Cubic operator*(const Cubic& a, const Cubic& b) {
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

Statement state(Kind kind, const GridMotion& motion) {
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
// ------------------------------------------------------------------------------------------------------

enum class Verdict { miss, hit, open };

/// A verdict and, for a hit, times that bracket the first contact unless an earlier interval stayed open.
struct Subdivided {
  Verdict verdict;
  double lo = 0.0, hi = 1.0;
  bool first = true;
};

/// Three times the Bernstein coefficients over an interval, up to a power of two.
using Bernstein = std::array<Wide, 4>;

Bernstein to_bernstein(const Cubic& c) {
  return {3 * c[0], 3 * c[0] + c[1], 3 * c[0] + 2 * c[1] + c[2], 3 * (c[0] + c[1] + c[2] + c[3])};
}

/// The left or right half of the interval (de Casteljau, times 8).
Bernstein half(const Bernstein& b, bool right) {
  const Wide b01 = b[0] + b[1], b12 = b[1] + b[2], b23 = b[2] + b[3];
  const Wide b012 = b01 + b12, b123 = b12 + b23, middle = b012 + b123;
  return right ? Bernstein{middle, 2 * b123, 4 * b23, 8 * b[3]} : Bernstein{8 * b[0], 4 * b01, 2 * b012, middle};
}

/// The sign on the whole closed interval, or 0 where the coefficients do not tell.
int certain_sign(const Bernstein& b) {
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
// ---------------------------------------------------------------------------------------------------

using Int = boost::multiprecision::cpp_int;

/// Coefficients of 1, t, t², …, the last one not zero; empty for the zero polynomial.
using Poly = std::vector<Int>;

Poly trimmed(Poly p) {
  while (!p.empty() && p.back() == 0) p.pop_back();
  Int content = 0;
  for (const Int& c : p) content = gcd(content, c);
  for (Int& c : p) c /= content;
  return p;
}

Poly to_poly(const Cubic& c) { return trimmed(Poly(c.begin(), c.end())); }

Poly derivative(const Poly& p) {
  Poly d;
  for (std::size_t i = 1; i < p.size(); ++i) d.push_back(p[i] * i);
  return trimmed(d);
}

struct Division {
  Poly quotient, remainder;
};

/// A positive multiple of a, divided by b.
Division divide(Poly a, const Poly& b) {
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

Poly greatest_common_divisor(Poly a, Poly b) {
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
int sign_at(const Poly& p, const Int& k, unsigned bits) {
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

void isolate(const Sturm& sturm, const Interval& in, std::vector<Root>& roots) {
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
int sign_at(const Poly& p, Root root) {
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

bool collides_exactly(Kind kind, const GridMotion& motion) {
  const Statement s = state(kind, motion);
  const Verdict verdict = Subdivision(s, 0).decide().verdict;
  return verdict == Verdict::open ? Algebraic(s).decide() : verdict == Verdict::hit;
}

// --- Motions
// ----------------------------------------------------------------------------------------------------------

using Rng = std::mt19937_64;
using Vertices = std::array<Vec3, 4>;

struct Motion {
  Vertices x_t0, x_t1;

  Vertices at(double t) const {
    Vertices x;
    for (int v = 0; v < 4; ++v) x[v] = (1.0 - t) * x_t0[v] + t * x_t1[v];
    return x;
  }
};

std::int64_t uniform(Rng& rng, std::int64_t lo, std::int64_t hi) {
  return std::uniform_int_distribution<std::int64_t>(lo, hi)(rng);
}

GridPoint random_point(Rng& rng, std::int64_t bound) {
  return {uniform(rng, -bound, bound), uniform(rng, -bound, bound), uniform(rng, -bound, bound)};
}

GridPoint operator+(const GridPoint& a, const GridPoint& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
GridPoint operator*(std::int64_t s, const GridPoint& a) { return {s * a[0], s * a[1], s * a[2]}; }

Motion to_metres(const GridMotion& grid, double metres_a_cell, const GridPoint& offset = {}) {
  Motion motion;
  const auto convert = [&](const GridPoint& x) {
    const GridPoint shifted = x + offset;
    return Vec3(metres_a_cell * Vec3(shifted[0], shifted[1], shifted[2]));
  };
  for (int v = 0; v < 4; ++v) {
    motion.x_t0[v] = convert(grid.x_t0[v]);
    motion.x_t1[v] = convert(grid.x_t1[v]);
  }
  return motion;
}

/// Powers of two that put the grid's extent between 1e-5 and 1e2 m.
double random_scale(Rng& rng) { return std::ldexp(1.0, static_cast<int>(uniform(rng, -37, -14))); }

std::optional<double> impact(Kind kind, const Motion& m, double separation) {
  return kind == Kind::edge_edge ? edge_edge_impact(m.x_t0, m.x_t1, separation)
                                 : point_triangle_impact(m.x_t0, m.x_t1, separation);
}

double distance(Kind kind, const Vertices& x) {
  return std::sqrt(kind == Kind::edge_edge ? closest_edge_edge(x[0], x[1], x[2], x[3]).distance2
                                           : closest_point_triangle(x[0], x[1], x[2], x[3]).distance2);
}

double extent(const Motion& m) {
  double largest = 0.0;
  for (const Vertices& x : {m.x_t0, m.x_t1}) {
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < a; ++b) largest = std::max(largest, (x[a] - x[b]).cwiseAbs().maxCoeff());
    }
  }
  return largest;
}

/// All eight positions at random; half of the motions are an eighth as long.
GridMotion random_motion(Rng& rng) {
  GridMotion motion;
  const bool is_short = uniform(rng, 0, 1) == 1;
  for (int v = 0; v < 4; ++v) {
    motion.x_t0[v] = random_point(rng, is_short ? kGrid * 7 / 8 : kGrid);
    motion.x_t1[v] = is_short ? motion.x_t0[v] + random_point(rng, kGrid / 8) : random_point(rng, kGrid);
  }
  return motion;
}

constexpr int kDegenerateFamilies = 7;

/// Small integers: nearly every sign that can vanish often does.
GridMotion degenerate_motion(Kind kind, int family, Rng& rng) {
  GridMotion m;
  for (int v = 0; v < 4; ++v) {
    m.x_t0[v] = random_point(rng, family == 0 ? 1 : 3);
    m.x_t1[v] = random_point(rng, family == 0 ? 1 : 3);
  }
  switch (family) {
    case 1:  // the second edge, or two sides of the triangle, stay parallel to the first
      for (auto* x : {&m.x_t0, &m.x_t1}) {
        const GridPoint& a = (*x)[kind == Kind::edge_edge ? 0 : 2];
        const GridPoint along = (*x)[1] + -1 * a;
        (*x)[3] = (*x)[2] + uniform(rng, -2, 2) * along;
      }
      break;
    case 2:  // one plane
      for (int v = 0; v < 4; ++v) m.x_t0[v][2] = m.x_t1[v][2] = 0;
      break;
    case 3:  // at rest
      m.x_t1 = m.x_t0;
      break;
    case 4: {  // rigid translation
      const GridPoint by = random_point(rng, 4);
      for (int v = 0; v < 4; ++v) m.x_t1[v] = m.x_t0[v] + by;
      break;
    }
    case 5: {  // two vertices of the pair meet at half time and part again
      const int a = kind == Kind::edge_edge ? static_cast<int>(uniform(rng, 0, 1)) : 0;
      const int b = static_cast<int>(uniform(rng, kind == Kind::edge_edge ? 2 : 1, 3));
      m.x_t1[b] = m.x_t0[a] + m.x_t1[a] + -1 * m.x_t0[b];
      break;
    }
    case 6: {  // a vertex slides along the line of an edge
      const GridPoint along = m.x_t0[3] + -1 * m.x_t0[2];
      m.x_t1[2] = m.x_t0[2];
      m.x_t1[3] = m.x_t0[3];
      m.x_t0[0] = m.x_t0[2] + uniform(rng, -2, 2) * along;
      m.x_t1[0] = m.x_t0[2] + uniform(rng, -2, 2) * along;
      break;
    }
    default:
      break;
  }
  return m;
}

/// The motion under a random invertible integer matrix: whether it collides stays, its alignment with the axes goes.
GridMotion sheared(const GridMotion& motion, Rng& rng) {
  std::array<GridPoint, 3> rows;
  double determinant = 0.0;
  while (determinant == 0.0) {
    Mat3 matrix;
    for (int i = 0; i < 3; ++i) {
      rows[i] = random_point(rng, 4096);
      matrix.row(i) << rows[i][0], rows[i][1], rows[i][2];
    }
    determinant = std::abs(matrix.determinant()) > 1e9 ? matrix.determinant() : 0.0;
  }
  GridMotion result;
  for (int v = 0; v < 4; ++v) {
    for (int i = 0; i < 3; ++i) {
      const auto dot = [&](const GridPoint& x) { return rows[i][0] * x[0] + rows[i][1] * x[1] + rows[i][2] * x[2]; };
      result.x_t0[v][i] = dot(motion.x_t0[v]);
      result.x_t1[v][i] = dot(motion.x_t1[v]);
    }
  }
  return result;
}

// --- Tests
// ------------------------------------------------------------------------------------------------------------

struct Tally {
  int pairs = 0, collisions = 0, missed = 0, false_positives = 0;

  void count(bool exact, bool found) {
    ++pairs;
    collisions += exact;
    missed += exact && !found;
    false_positives += !exact && found;
  }
};

class ExactCcd : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Pairs, ExactCcd, testing::Values(Kind::edge_edge, Kind::point_triangle), [](const auto& test) {
  return test.param == Kind::edge_edge ? "edge_edge" : "point_triangle";
});

TEST(ExactReference, KnownCases) {
  const GridMotion crossing{{{{-1, 0, 0}, {1, 0, 0}, {0, -1, 1}, {0, 1, 1}}},
                            {{{-1, 0, 0}, {1, 0, 0}, {0, -1, -1}, {0, 1, -1}}}};
  GridMotion touching = crossing, passing = crossing, irrational = crossing;
  touching.x_t1[2][2] = touching.x_t1[3][2] = 0;  // arrives at t = 1
  for (auto* x : {&passing.x_t0, &passing.x_t1}) (*x)[2][0] = (*x)[3][0] = 2;
  irrational.x_t0 = {{{-1, 0, 0}, {1, 0, 0}, {0, -1, 1}, {0, 1, 2}}};
  irrational.x_t1 = {{{-1, 0, 0}, {1, 0, 0}, {0, -2, -1}, {0, 1, 0}}};
  EXPECT_TRUE(collides_exactly(Kind::edge_edge, crossing));
  EXPECT_TRUE(collides_exactly(Kind::edge_edge, touching));
  EXPECT_FALSE(collides_exactly(Kind::edge_edge, passing));
  EXPECT_TRUE(collides_exactly(Kind::edge_edge, irrational));

  const GridMotion falling{{{{1, 1, 1}, {0, 0, 0}, {3, 0, 0}, {0, 3, 0}}},
                           {{{1, 1, -1}, {0, 0, 0}, {3, 0, 0}, {0, 3, 0}}}};
  GridMotion beside = falling, on_edge = falling, collapsed = falling;
  beside.x_t0[0][0] = beside.x_t1[0][0] = 3;
  on_edge.x_t0[0][0] = on_edge.x_t1[0][0] = 2;
  for (auto* x : {&collapsed.x_t0, &collapsed.x_t1}) (*x)[1] = (*x)[2] = (*x)[3] = {1, 1, 0};
  EXPECT_TRUE(collides_exactly(Kind::point_triangle, falling));
  EXPECT_FALSE(collides_exactly(Kind::point_triangle, beside));
  EXPECT_TRUE(collides_exactly(Kind::point_triangle, on_edge));
  EXPECT_TRUE(collides_exactly(Kind::point_triangle, collapsed));
}

TEST_P(ExactCcd, DecidersAgree) {
  Rng rng(11);
  int settled = 0, collisions = 0;
  for (int k = 0; k < 2000; ++k) {
    const GridMotion motion =
        k % 2 == 0 ? random_motion(rng) : degenerate_motion(GetParam(), k / 2 % kDegenerateFamilies, rng);
    const Statement s = state(GetParam(), motion);
    const Verdict verdict = Subdivision(s, 0).decide().verdict;
    if (verdict == Verdict::open) continue;
    ++settled;
    collisions += verdict == Verdict::hit;
    ASSERT_EQ(Algebraic(s).decide(), verdict == Verdict::hit) << "pair " << k;
  }
  EXPECT_GT(settled, 1000);
  EXPECT_GT(collisions, 50);
}

TEST_P(ExactCcd, RandomPairsMissNothing) {
  Rng rng(1);
  Tally tally;
  for (int k = 0; k < 500'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const Motion motion = to_metres(grid, random_scale(rng));
    tally.count(collides_exactly(GetParam(), grid), impact(GetParam(), motion, 0.0).has_value());
  }
  RecordProperty("collisions", tally.collisions);
  RecordProperty("false_positives", tally.false_positives);
  EXPECT_EQ(tally.missed, 0);
  EXPECT_GT(tally.collisions, tally.pairs / 50);
  EXPECT_LT(tally.false_positives, tally.pairs / 100);
}

TEST_P(ExactCcd, DegeneratePairsMissNothing) {
  Rng rng(2);
  Tally tally;
  for (int k = 0; k < 10'000; ++k) {
    GridMotion grid = degenerate_motion(GetParam(), k % kDegenerateFamilies, rng);
    const bool exact = collides_exactly(GetParam(), grid);
    if (k % 3 != 0) grid = sheared(grid, rng);
    const GridPoint offset = k % 2 == 0 ? GridPoint{} : random_point(rng, std::int64_t{1} << 30);
    const Motion motion = to_metres(grid, random_scale(rng), offset);
    tally.count(exact, impact(GetParam(), motion, 0.0).has_value());
    ASSERT_EQ(tally.missed, 0) << "pair " << k << " of family " << k % kDegenerateFamilies;
  }
  RecordProperty("collisions", tally.collisions);
  RecordProperty("false_positives", tally.false_positives);
  EXPECT_GT(tally.collisions, tally.pairs / 10);
  EXPECT_GT(tally.pairs - tally.collisions, tally.pairs / 10);
  EXPECT_LT(tally.false_positives, tally.pairs / 100);
}

// The subdivision brackets the first contact to 2^-14: the reported time is not after the bracket, and at it the pair
// is about to touch (1e-6 of the extent: near-parallel features stop the advance early).
TEST_P(ExactCcd, TimeIsNotLateAndClose) {
  Rng rng(3);
  int bracketed = 0;
  for (int k = 0; k < 20'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const Subdivided truth = Subdivision(state(GetParam(), grid), 14).decide();
    if (truth.verdict != Verdict::hit || !truth.first) continue;
    ++bracketed;
    const Motion motion = to_metres(grid, random_scale(rng));
    const std::optional<double> t = impact(GetParam(), motion, 0.0);
    ASSERT_TRUE(t.has_value());
    EXPECT_LE(*t, truth.hi);
    EXPECT_LE(distance(GetParam(), motion.at(*t)), 1e-6 * extent(motion));
  }
  EXPECT_GT(bracketed, 500);
}

// 2,000 samples in time; what lies under the separation by more than 1e-9 of it must be found, and not later.
TEST_P(ExactCcd, SeparationAgainstSampling) {
  constexpr int samples = 2000;
  Rng rng(4);
  int hits = 0, misses = 0;
  for (int k = 0; k < 1000; ++k) {
    const Motion motion = to_metres(random_motion(rng), random_scale(rng));
    const double size = extent(motion);
    const double separation =
        size * std::exp(std::uniform_real_distribution<double>(std::log(1e-6), std::log(0.3))(rng));
    const std::optional<double> t = impact(GetParam(), motion, separation);
    (t ? hits : misses) += 1;
    if (t && *t > 0.0) {
      EXPECT_NEAR(distance(GetParam(), motion.at(*t)), separation, 1e-6 * size);
    }
    for (int i = 0; i <= samples; ++i) {
      const double time = static_cast<double>(i) / samples;
      if (t && time >= *t) break;
      ASSERT_GE(distance(GetParam(), motion.at(time)), separation * (1.0 - 1e-9)) << "pair " << k;
    }
  }
  EXPECT_GT(hits, 50);
  EXPECT_GT(misses, 50);
}

TEST_P(ExactCcd, StartWithinTheSeparationIsTimeZero) {
  Rng rng(5);
  for (int k = 0; k < 1000; ++k) {
    const Motion motion = to_metres(random_motion(rng), random_scale(rng));
    const double start = distance(GetParam(), motion.x_t0);
    EXPECT_EQ(impact(GetParam(), motion, start), 0.0);
    EXPECT_EQ(impact(GetParam(), motion, 1.5 * start), 0.0);
    EXPECT_EQ(impact(GetParam(), {motion.x_t0, motion.x_t0}, start), 0.0);
    EXPECT_FALSE(impact(GetParam(), {motion.x_t0, motion.x_t0}, 0.99 * start).has_value());
  }
}

// Grid offsets and scales by powers of two are exact in doubles, so the result must be the same to the bit.
TEST_P(ExactCcd, TranslationAndScaleInvariant) {
  Rng rng(6);
  for (int k = 0; k < 20'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const std::optional<double> t = impact(GetParam(), to_metres(grid, 1.0), 0.0);
    const GridPoint offset = random_point(rng, std::int64_t{1} << 30);
    EXPECT_EQ(impact(GetParam(), to_metres(grid, 1.0, offset), 0.0), t);
    EXPECT_EQ(impact(GetParam(), to_metres(grid, random_scale(rng)), 0.0), t);
  }
}

// A common motion, however fast, changes nothing: steps are bounded by relative motion.
TEST_P(ExactCcd, CommonMotionIsIgnored) {
  Rng rng(7);
  for (int k = 0; k < 20'000; ++k) {
    const GridMotion grid = random_motion(rng);
    const std::optional<double> t = impact(GetParam(), to_metres(grid, 1.0), 0.0);
    GridMotion moved = grid;
    const GridPoint by = random_point(rng, std::int64_t{1} << 30);
    for (GridPoint& x : moved.x_t1) x = x + by;
    EXPECT_EQ(impact(GetParam(), to_metres(moved, 1.0), 0.0), t);
  }
}

}  // namespace
}  // namespace stiction
