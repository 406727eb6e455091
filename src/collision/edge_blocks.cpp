#include "collision/edge_blocks.hpp"

#include <algorithm>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "collision/rules.hpp"

namespace stiction {

namespace {

template <int N>
Pack<float, N> repeat_lane(const Pack<float, N>& a, int lane) {
  return Pack<float, N>(a[lane]);
}

template <int N>
V3<Pack<float, N>> repeat_lane(const V3<Pack<float, N>>& a, int lane) {
  return {repeat_lane(a.x, lane), repeat_lane(a.y, lane), repeat_lane(a.z, lane)};
}

// Bit k is set where lane k is zero or less.
unsigned lanes_not_positive(const Pack<float, 8>& a) {
#if defined(__AVX__)
  return static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps(static_cast<__m256>(a.part[0]), _mm256_setzero_ps(), _CMP_LE_OQ)));
#else
  unsigned mask = 0;
  for (int i = 0; i < 8; ++i) mask |= static_cast<unsigned>(a[i] <= 0) << i;
  return mask;
#endif
}

template <int N>
void set_lane(V3<Pack<float, N>>& a, int lane, const Vec3& x) {
  for (int k = 0; k < 3; ++k) a[k].set(lane, static_cast<float>(x[k]));
}

}  // namespace

EdgeBlocks::Moves EdgeBlocks::repeat(const Moves& m, int lane) {
  return {{repeat_lane(m.end[0], lane), repeat_lane(m.end[1], lane)}, repeat_lane(m.slack, lane)};
}

void EdgeBlocks::repeat(const Shape& s, const Moves& m, unsigned lanes, Repeated& out) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    out.shape[lane] = {repeat_lane(s.middle, lane), repeat_lane(s.half, lane), repeat_lane(s.per_half2, lane),
                       repeat_lane(s.reach, lane)};
    out.moves[lane] = repeat(m, lane);
  }
}

// By how much the edges stay apart, seen across e towards the middle of f: boxes of fibres are mostly empty, and of the
// pairs whose boxes meet less than a third do in this sense. The direction of the closest points would tell a little
// more and costs far more. Lengths along `across` are so many times longer as it is.
// One copy of the code, so that a pair gets the same answer wherever and in whichever order it is asked for.
[[gnu::noinline]] EdgeBlocks::Floats EdgeBlocks::apart_across(const Shape& e, const Moves& e_moves, const Shape& f,
                                                              const Moves& f_moves) {
  const V3<Floats> between = f.middle - e.middle;
  const V3<Floats> across = between - (dot(between, e.half) * e.per_half2) * e.half;
  const Floats apart = dot(across, between) - abs(dot(across, f.half)) - abs(dot(across, e.half));
  const Floats parting = min(dot(across, f_moves.end[0]), dot(across, f_moves.end[1])) -
                         max(dot(across, e_moves.end[0]), dot(across, e_moves.end[1]));
  const Floats scale = norm(across), slack = e_moves.slack + f_moves.slack;
  return apart + min(Floats(0), parting - scale * slack) - scale * (e.reach + f.reach);
}

unsigned EdgeBlocks::may_meet(const Shape& e, const Moves& e_moves, const Shape& f, const Moves& f_moves) {
  const Floats reach = e.reach + f.reach, slack = e_moves.slack + f_moves.slack;
  Floats apart = -1;
  for (int k = 0; k < 3; ++k) {  // along the axes, either way
    const Floats between = f.middle[k] - e.middle[k], length = abs(e.half[k]) + abs(f.half[k]) + reach;
    const auto &e0 = e_moves.end[0][k], &e1 = e_moves.end[1][k], &f0 = f_moves.end[0][k], &f1 = f_moves.end[1][k];
    const Floats above = between + min(Floats(0), min(f0, f1) - max(e0, e1) - slack);
    const Floats below = -between + min(Floats(0), min(e0, e1) - max(f0, f1) - slack);
    apart = max(apart, max(above, below) - length);
  }
  const unsigned mask = lanes_not_positive(apart);
  if (mask == 0) return 0;
  return mask & lanes_not_positive(max(apart_across(e, e_moves, f, f_moves), apart_across(f, f_moves, e, e_moves)));
}

unsigned EdgeBlocks::may_meet(const MovingBox& box, const Shape& e, const Moves& e_moves, unsigned lanes) {
  Floats apart = -1;
  for (int k = 0; k < 3; ++k) {
    const Floats length = abs(e.half[k]) + e.reach;
    const Floats least = min(e_moves.end[0][k], e_moves.end[1][k]) - e_moves.slack;
    const Floats most = max(e_moves.end[0][k], e_moves.end[1][k]) + e_moves.slack;
    const Floats above = Floats(box.start[k]) - e.middle[k] + min(Floats(0), Floats(box.sweep[k]) - most);
    const Floats below = e.middle[k] + Floats(box.start[k + 3]) + min(Floats(0), least + Floats(box.sweep[k + 3]));
    apart = max(apart, max(above, below) - length);
  }
  return lanes & lanes_not_positive(apart);
}

unsigned EdgeBlocks::used_lanes(int block) const {
  const std::size_t left = size() - static_cast<std::size_t>(block) * kWidth;
  return left >= kWidth ? (1u << kWidth) - 1 : (1u << left) - 1;
}

void EdgeBlocks::set_moves(int place, std::span<const Expected> expected) {
  const Expected &a = expected[ends_[place][0]], &b = expected[ends_[place][1]];
  const int lane = place % kWidth;
  Moves& moves = now_[place / kWidth];
  set_lane(moves.end[0], lane, a.displacement);
  set_lane(moves.end[1], lane, b.displacement);
  moves.slack.set(lane, static_cast<float>(std::max(a.slack, b.slack)));
}

void EdgeBlocks::begin_step(std::span<const Vec3> x, std::span<const Expected> expected, double largest) {
  rounding_ = 1e-6 * largest;
  const auto middle_of = [&](const SurfaceEdge& e) -> Vec3 { return 0.5 * (x[e.a] + x[e.b]); };
  morton_sort_(
      edges_.size(), [&](std::size_t i) { return middle_of(edges_[i]); }, order_);
  ends_.resize(size());
  const std::size_t blocks = (size() + kWidth - 1) / kWidth;
  shape_.resize(blocks);
  now_.resize(blocks);
  box_.resize(blocks);
  changed_.resize(blocks);
  for_each_index(size(), [&](std::size_t place) {
    const SurfaceEdge& e = edges_[order_[place]];
    ends_[place] = {e.a, e.b};
    const int lane = static_cast<int>(place % kWidth);
    Shape& shape = shape_[place / kWidth];
    const Vec3 half = 0.5 * (x[e.b] - x[e.a]);
    set_lane(shape.middle, lane, middle_of(e));
    set_lane(shape.half, lane, half);
    shape.per_half2.set(lane, static_cast<float>(1 / std::max(half.squaredNorm(), 1e-30)));
    shape.reach.set(lane, static_cast<float>(0.5 * contact_reach(options_, 2 * e.radius) * (1 + 1e-6) + rounding_));
    set_moves(static_cast<int>(place), expected);
  });
  for_each_index(blocks, [&](std::size_t b) {
    changed_[b] = 0;
    box_[b] = box_of(static_cast<int>(b), used_lanes(static_cast<int>(b)));
  });
  copy_in_chunks(now_, first_);
  tree_.build_in_order(box_);
}

void EdgeBlocks::follow(std::span<const Expected> expected, std::span<const std::uint8_t> vertex_changed) {
  for_each_index(shape_.size(), [&](std::size_t block) {
    const int b = static_cast<int>(block);
    changed_[b] = 0;
    for (unsigned lanes = used_lanes(b); lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes), place = b * kWidth + lane;
      if (vertex_changed[ends_[place][0]] == 0 && vertex_changed[ends_[place][1]] == 0) continue;
      changed_[b] |= static_cast<std::uint8_t>(1u << lane);
      set_moves(place, expected);
    }
    if (changed_[b] != 0) box_[b] = box_of(b, used_lanes(b));
  });
  tree_.refit(box_, changed_);
}

// A little more than may_meet() allows for: what it lets pass must have been visited.
MovingBox EdgeBlocks::box_of(int block, unsigned lanes) const {
  const Shape& shape = shape_[block];
  const Moves& moves = now_[block];
  Box start, sweep;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const double slack = moves.slack[lane];
    for (int k = 0; k < 3; ++k) {
      const double middle = shape.middle[k][lane], length = std::abs(shape.half[k][lane]) + shape.reach[lane];
      start.lo[k] = std::min(start.lo[k], middle - length);
      start.hi[k] = std::max(start.hi[k], middle + length);
      const auto [least, most] = std::minmax({moves.end[0][k][lane], moves.end[1][k][lane]});
      sweep.lo[k] = std::min(sweep.lo[k], least - slack);
      sweep.hi[k] = std::max(sweep.hi[k], most + slack);
    }
  }
  start.inflate(rounding_);
  return {start, sweep};
}

}  // namespace stiction
