#include "collision/collider_contacts.hpp"

#include <algorithm>
#include <cmath>

#include "collision/rules.hpp"
#include "geometry/shapes.hpp"
#include "parallel/loops.hpp"

namespace stiction {

namespace {

bool is_analytic(const Collider& c) {
  return c.collides && c.shape != ColliderShape::locator && c.shape != ColliderShape::mesh;
}

Pose inverse(const Pose& pose) {
  const Quat r = pose.rotation.conjugate();
  return {r, -(r * pose.position)};
}

}  // namespace

ColliderContacts::ColliderContacts(const Surface& surface, const StepVertices& vertices,
                                   std::span<const Collider> colliders, int first_body, const FrictionTable& friction,
                                   const ContactOptions& options)
    : surface_(surface),
      vertices_(vertices),
      colliders_(colliders),
      first_body_(first_body),
      friction_(friction),
      options_(options),
      start_(colliders.size()),
      point_known_(colliders.size()),
      edge_known_(colliders.size()) {}

void ColliderContacts::begin_step(std::span<const Pose> pose_start, std::span<const Pose> pose_end) {
  pose_start_ = pose_start;
  pose_end_ = pose_end;
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    point_known_[c].assign(surface_.points.size(), 0);
    edge_known_[c].assign(surface_.edges.size(), 0);
  }
  measure();
}

void ColliderContacts::measure() {
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    const Pose to_local = inverse(pose_start_[c]);
    const Mat3 turn = to_local.rotation.toRotationMatrix(), turn_back = pose_end_[c].rotation.toRotationMatrix();
    start_[c].resize(vertices_.x.size());
    for_each_index(vertices_.x.size(), [&](std::size_t j) {
      const Vec3 local = turn * vertices_.x[j] + to_local.position;
      const Vec3 carried = turn_back * local + pose_end_[c].position - vertices_.x[j];
      const double distance = sample_surface(colliders_[c], local).distance;
      start_[c][j] = {carried.cast<float>(), static_cast<float>(distance - 1e-6 * std::abs(distance))};
    });
  }
}

// Distance that is left at any time of the step, at least, when vertices move with v: the signed distance of a convex
// shape changes by no more than a point moves relative to it. Margins are for the rounding to floats.
double ColliderContacts::room_of_point(int collider, int vertex, std::span<const Vec3> v) const {
  const Start& start = start_[collider][vertex];
  const Vec3 moved = vertices_.dt * v[vertex];
  return start.distance - (1 + 1e-6) * (moved - start.carried.cast<double>()).norm() - 1e-6 * moved.norm();
}
double ColliderContacts::room_of_edge(int collider, const SurfaceEdge& e, std::span<const Vec3> v) const {
  const double a = room_of_point(collider, e.a, v), b = room_of_point(collider, e.b, v);
  const double at_a = start_[collider][e.a].distance, at_b = start_[collider][e.b].distance;
  const double moved = std::max(at_a - a, at_b - b);
  return 0.5 * (at_a + at_b - (vertices_.x[e.b] - vertices_.x[e.a]).norm()) - moved;
}

// A node (a == b) or the point at s of an edge, against the surface point below x_local, at time `when` of the step.
Contact ColliderContacts::contact(ContactKey key, int collider, int a, int b, double s, const Vec3& x_local,
                                  double when, double radius, double mu) const {
  const SurfaceSample sample = sample_surface(colliders_[collider], x_local);
  const Vec3 below = x_local - sample.distance * sample.normal;
  const Pose &start = pose_start_[collider], &end = pose_end_[collider];
  Contact c;
  c.key = key;
  c.node[0] = a;
  c.b[0] = a == b ? 1.0 : 1.0 - s;
  if (a != b) {
    c.node[1] = b;
    c.b[1] = s;
  }
  c.n = start.rotation.slerp(when, end.rotation) * sample.normal;
  c.surface_velocity = (end.apply(below) - start.apply(below)) / vertices_.dt;
  Vec3 x = c.b[0] * vertices_.x[a];
  if (a != b) x += c.b[1] * vertices_.x[b];
  c.gap = (x - start.apply(below)).dot(c.n) - radius;
  c.mu = mu;
  c.rest_distance = radius;
  finish_contact(c, *vertices_.nodes, options_, vertices_.dt);
  return c;
}

ColliderContacts::Way ColliderContacts::way(int collider, int a, int b, std::span<const Vec3> v) const {
  const Pose to_start = inverse(pose_start_[collider]), to_end = inverse(pose_end_[collider]);
  return {.a = a,
          .b = b,
          .a_t0 = to_start.apply(vertices_.x[a]),
          .b_t0 = to_start.apply(vertices_.x[b]),
          .a_t1 = to_end.apply(vertices_.end_of(a, v)),
          .b_t1 = to_end.apply(vertices_.end_of(b, v))};
}

// Known primitives are caught again where their centreline is about to enter.
std::optional<double> ColliderContacts::impact(int collider, const Way& way, double radius, int known) const {
  double separation = radius;
  if (known > 0) {
    const double s = way.a == way.b ? 0.0 : nearest_on_segment(colliders_[collider], way.a_t0, way.b_t0);
    const Vec3 nearest = (1 - s) * way.a_t0 + s * way.b_t0;
    separation = caught_again(radius, sample_surface(colliders_[collider], nearest).distance);
  }
  return segment_impact(colliders_[collider], way.a_t0, way.b_t0, way.a_t1, way.b_t1, separation);
}

// None where the nearest point of an edge is one of its nodes, whose affair it is then.
std::optional<Contact> ColliderContacts::contact_at(ContactKey key, int collider, const Way& way, double when,
                                                    double radius, double mu) const {
  const Vec3 a = (1 - when) * way.a_t0 + when * way.a_t1, b = (1 - when) * way.b_t0 + when * way.b_t1;
  const bool node = way.a == way.b;
  const double s = node ? 0.0 : nearest_on_segment(colliders_[collider], a, b);
  if (!node && (s < kInterior || s > 1 - kInterior)) return std::nullopt;
  return contact(key, collider, way.a, way.b, s, (1 - s) * a + s * b, when, radius, mu);
}

// The contact where they meet or, if the surface turns so far after it that its plane would let the point in, the one
// below where the point ends. That faces the same way, unless the point went right through.
std::optional<Contact> ColliderContacts::contact_that_holds(ContactKey key, int collider, const Way& way, double when,
                                                            double radius, double mu, std::span<const Vec3> v) const {
  auto met = contact_at(key, collider, way, when, radius, mu);
  if (!met || holds_out(*met, v)) return met;
  if (const auto at_end = contact_at(key, collider, way, 1.0, radius, mu); at_end && at_end->n.dot(met->n) > 0)
    met = at_end;
  return met;
}

// Whether the contact's point, moving with v but for what the contact forbids of it, ends where it is not caught again.
bool ColliderContacts::holds_out(const Contact& c, std::span<const Vec3> v) const {
  const int collider = static_cast<int>(c.key.b());
  Vec3 v_point = c.b[0] * v[c.node[0]];
  if (c.node[1] != kNoNode) v_point += c.b[1] * v[c.node[1]];
  const double excess = c.gap + vertices_.dt * c.n.dot(v_point - c.surface_velocity);
  const Vec3 end = inverse(pose_end_[collider]).apply(end_of(c, v) - std::min(0.0, excess) * c.n);
  return sample_surface(colliders_[collider], end).distance >= caught_again(c.rest_distance, c.rest_distance);
}

void ColliderContacts::proximity(ContactCollector& out) {
  for (int c = 0; c < static_cast<int>(colliders_.size()); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    const Pose to_local = inverse(pose_start_[c]);
    const int body = first_body_ + c;
    out.collect(surface_.points.size(), [&](std::size_t i, std::vector<Contact>& found) {
      const SurfacePoint& p = surface_.points[i];
      if (!vertices_.point_free[i] || start_[c][p.node].distance > contact_reach(options_, p.radius)) return;
      if (tied_to(p, body, p.radius)) return;
      const Vec3 x = to_local.apply(vertices_.x[p.node]);
      if (sample_surface(colliders_[c], x).distance > contact_reach(options_, p.radius)) return;
      point_known_[c][i] = 1;
      found.push_back(contact(
          ContactKey::make(ContactKey::node_collider, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(c), 0),
          c, p.node, p.node, 0, x, 0.0, p.radius, friction_(p.body, body)));
    });
    if (colliders_[c].shape == ColliderShape::plane) continue;
    out.collect(surface_.edges.size(), [&](std::size_t i, std::vector<Contact>& found) {
      const SurfaceEdge& e = surface_.edges[i];
      if (!vertices_.edge_free[i]) return;
      if (tied_to(e, body, e.radius)) return;
      const double at_least = start_[c][e.a].distance - (vertices_.x[e.b] - vertices_.x[e.a]).norm();
      if (at_least > contact_reach(options_, e.radius)) return;
      const Vec3 a = to_local.apply(vertices_.x[e.a]), b = to_local.apply(vertices_.x[e.b]);
      const double s = nearest_on_segment(colliders_[c], a, b);
      if (s < kInterior || s > 1 - kInterior) return;
      const Vec3 x = (1 - s) * a + s * b;
      const double distance = sample_surface(colliders_[c], x).distance;
      if (distance > contact_reach(options_, e.radius)) return;
      edge_known_[c][i] = 1;
      found.push_back(contact(
          ContactKey::make(ContactKey::edge_collider, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(c), 0),
          c, e.a, e.b, s, x, 0.0, e.radius, friction_(e.body, body)));
    });
  }
}

void ColliderContacts::continuous(std::span<const Vec3> v, ContactCollector& out) {
  for (int c = 0; c < static_cast<int>(colliders_.size()); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    const int body = first_body_ + c;
    const auto test = [&](ContactKey::Kind kind, std::size_t i, const auto& primitive, int a, int b,
                          std::uint8_t& known, std::vector<Contact>& found) {
      const Way w = way(c, a, b, v);
      const auto when = impact(c, w, primitive.radius, known);
      if (!when) return;
      const auto key = ContactKey::make(kind, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(c), known);
      const double mu = friction_(primitive.body, body);
      const auto met = contact_that_holds(key, c, w, *when, primitive.radius, mu, v);
      if (!met) return;
      found.push_back(*met);
      ++known;
    };
    out.collect(surface_.points.size(), [&](std::size_t i, std::vector<Contact>& found) {
      const SurfacePoint& p = surface_.points[i];
      std::uint8_t& known = point_known_[c][i];
      if (!vertices_.point_free[i] || known == kMaxContacts || room_of_point(c, p.node, v) > p.radius) return;
      if (tied_to(p, body, p.radius)) return;
      test(ContactKey::node_collider, i, p, p.node, p.node, known, found);
    });
    if (colliders_[c].shape == ColliderShape::plane) continue;
    out.collect(surface_.edges.size(), [&](std::size_t i, std::vector<Contact>& found) {
      const SurfaceEdge& e = surface_.edges[i];
      std::uint8_t& known = edge_known_[c][i];
      if (!vertices_.edge_free[i] || known == kMaxContacts || room_of_edge(c, e, v) > e.radius) return;
      if (tied_to(e, body, e.radius)) return;
      test(ContactKey::edge_collider, i, e, e.a, e.b, known, found);
    });
  }
}

std::int64_t ColliderContacts::crossings(std::span<const Vec3> v) const {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < colliders_.size(); ++c) {
    if (!is_analytic(colliders_[c])) continue;
    sum += sum_in_chunks(surface_.edges.size(), std::int64_t{0}, [&](std::size_t i) {
      const SurfaceEdge& e = surface_.edges[i];
      if (!vertices_.edge_free[i] || room_of_edge(static_cast<int>(c), e, v) > 0) return 0;
      if (tied_to(e, first_body_ + static_cast<int>(c), e.radius)) return 0;
      const Way w = way(static_cast<int>(c), e.a, e.b, v);
      const double s_t0 = nearest_on_segment(colliders_[c], w.a_t0, w.b_t0);
      if (sample_surface(colliders_[c], (1 - s_t0) * w.a_t0 + s_t0 * w.b_t0).distance <= 0) return 0;  // was in already
      return segment_impact(colliders_[c], w.a_t0, w.b_t0, w.a_t1, w.b_t1, 0.0) ? 1 : 0;
    });
  }
  return sum;
}

double ColliderContacts::distance_at_end(const Contact& contact, std::span<const Vec3> v) const {
  const int collider = static_cast<int>(contact.key.b());
  return sample_surface(colliders_[collider], inverse(pose_end_[collider]).apply(end_of(contact, v))).distance;
}

Vec3 ColliderContacts::end_of(const Contact& contact, std::span<const Vec3> v) const {
  Vec3 x = contact.b[0] * vertices_.end_of(contact.node[0], v);
  if (contact.node[1] != kNoNode) x += contact.b[1] * vertices_.end_of(contact.node[1], v);
  return x;
}

}  // namespace stiction
