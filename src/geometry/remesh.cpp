#include "geometry/remesh.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numbers>
#include <utility>

namespace stiction {

Vec3 SurfaceTarget::normal(const Vec3& x) const { return field_gradient(field, x, step).normalized(); }

Vec3 SurfaceTarget::project(Vec3 x, bool boundary) const {
  for (int i = 0; i < 6; ++i) {
    const Vec3 g = field_gradient(field, x, step);
    const double f = field(x), gg = g.squaredNorm();
    if (gg < 1e-12) return x;
    Vec3 move = -f / gg * g;
    if (boundary && keep != nullptr) {  // the least move with g·move = -f and k·move = -keep
      const Vec3 k = field_gradient(*keep, x, step);
      const double gk = g.dot(k), kk = k.squaredNorm(), det = gg * kk - gk * gk, value = (*keep)(x);
      if (det > 1e-4 * gg * kk) move = (-(f * kk - value * gk) * g - (value * gg - f * gk) * k) / det;
    }
    x += move;
    if (move.norm() < 1e-4 * step) break;  // and the next would be of the square of that
  }
  return x;
}

Remesher::Remesher(const TriangleMesh& mesh, const SurfaceTarget& target, double adaptivity)
    : target_(target), adaptivity_(adaptivity), x_(mesh.vertices), faces_of_(x_.size()), boundary_(x_.size(), 0) {
  for (const Eigen::Vector3i& t : mesh.triangles) add_face(t);
  for (int v = 0; v < static_cast<int>(x_.size()); ++v) {
    for (const int f : faces_of_[v]) {
      const int next = next_vertex(f, v);
      if (edge_faces(v, next).size() == 1) boundary_[v] = boundary_[next] = 1;
    }
  }
  normal_.resize(x_.size());
  for (int v = 0; v < static_cast<int>(x_.size()); ++v) place(v, x_[v]);
  live_vertices_ = static_cast<int>(x_.size());
}

void Remesher::remesh(double edge, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (const Edge& e : edges([&](double length) { return length > 4.0 / 3 * edge; }, true)) split(e.a, e.b);
    for (const Edge& e : edges([&](double length) { return length < 4.0 / 5 * edge; }, false)) {
      collapse(e.a, e.b, 4.0 / 3 * edge);
    }
    improve();
  }
}

void Remesher::reach(int count) {
  constexpr double any_length = 1e300;
  const auto all = [](double) { return true; };
  while (live_vertices_ != count) {
    const int before = live_vertices_;
    int batch = std::max(1, std::abs(live_vertices_ - count) / 4);
    if (live_vertices_ > count) {
      for (const Edge& e : edges(all, false)) {
        if (batch > 0 && collapse(e.a, e.b, any_length)) --batch;
      }
    } else {
      for (const Edge& e : edges(all, true)) {
        if (batch-- <= 0) break;
        split(e.a, e.b);
      }
    }
    if (live_vertices_ == before) return;
    improve();
  }
}

void Remesher::finish() {
  for (int round = 0; round < 6; ++round) improve();
  for (int round = 0; round < 4; ++round) {
    flip_all([this](const Diamond& d) { return widens_angles(d); });
    smooth();
  }
  flip_all([this](const Diamond& d) { return widens_angles(d); });
}

TriangleMesh Remesher::result() const {
  TriangleMesh mesh;
  std::vector<int> number(x_.size(), -1);
  for (size_t v = 0; v < x_.size(); ++v) {
    if (faces_of_[v].empty()) continue;
    number[v] = static_cast<int>(mesh.vertices.size());
    mesh.vertices.push_back(x_[v]);
  }
  for (const Eigen::Vector3i& t : faces_) {
    if (t[0] >= 0) mesh.triangles.emplace_back(number[t[0]], number[t[1]], number[t[2]]);
  }
  return mesh;
}

template <typename Wanted>
std::vector<Remesher::Edge> Remesher::edges(const Wanted& wanted, bool longest_first) const {
  std::vector<Edge> found;
  for (const Eigen::Vector3i& t : faces_) {
    if (t[0] < 0) continue;
    for (int i = 0; i < 3; ++i) {
      const int a = t[i], b = t[(i + 1) % 3];
      if (a > b && edge_faces(a, b).size() > 1) continue;  // seen from the other side
      const double length = measure(x_[a], normal_[a], x_[b], normal_[b]);
      if (wanted(length)) found.push_back({a, b, length});
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](const Edge& p, const Edge& q) {
    return longest_first ? p.length > q.length : p.length < q.length;
  });
  return found;
}

double Remesher::measure(const Vec3& a, const Vec3& normal_a, const Vec3& b, const Vec3& normal_b) const {
  const double bend = 2 * std::asin(std::min(0.5 * (normal_a - normal_b).norm(), 1.0));
  return (a - b).norm() * (1 + adaptivity_ * std::min(bend, 1.0));  // creases have no end
}

void Remesher::add_face(const Eigen::Vector3i& t) {
  for (const int v : t) faces_of_[v].push_back(static_cast<int>(faces_.size()));
  faces_.push_back(t);
}

int Remesher::next_vertex(int f, int v) const {
  const Eigen::Vector3i& t = faces_[f];
  return t[0] == v ? t[1] : t[1] == v ? t[2] : t[0];
}

std::vector<int> Remesher::edge_faces(int a, int b) const {
  std::vector<int> found;
  for (const int f : faces_of_[a]) {
    if (has(f, b)) found.push_back(f);
  }
  return found;
}

std::vector<int> Remesher::neighbours(int v) const {
  std::vector<int> found;
  for (const int f : faces_of_[v]) {
    for (const int w : faces_[f]) {
      if (w != v) found.push_back(w);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void Remesher::place(int v, const Vec3& x) {
  x_[v] = target_.project(x, boundary_[v] != 0);
  normal_[v] = target_.normal(x_[v]);
}

Vec3 Remesher::middle(int a, int b, bool boundary) const {
  const Vec3 x = 0.5 * (x_[a] + x_[b]), projected = target_.project(x, boundary);
  return (projected - x).norm() < 0.5 * (x_[a] - x_[b]).norm() ? projected : x;
}

double Remesher::uprightness(const std::array<int, 3>& v, const std::array<Vec3, 3>& x) const {
  const Vec3 n = (x[1] - x[0]).cross(x[2] - x[0]);
  const Vec3 outward = (normal_[v[0]] + normal_[v[1]] + normal_[v[2]]).normalized();
  return n.dot(outward) / std::max(n.norm(), 1e-300);
}

double Remesher::least_uprightness(int v, const Vec3& x, int without) const {
  double least = 1;
  for (const int f : faces_of_[v]) {
    if (without >= 0 && has(f, without)) continue;
    const Eigen::Vector3i& t = faces_[f];
    std::array<Vec3, 3> corners;
    for (int i = 0; i < 3; ++i) corners[i] = t[i] == v ? x : x_[t[i]];
    least = std::min(least, uprightness({t[0], t[1], t[2]}, corners));
  }
  return least;
}

bool Remesher::can_move(int v, const Vec3& x, int without) const {
  const double then = least_uprightness(v, x, without);
  return then > 0.5 || then >= least_uprightness(v, x_[v]);
}

void Remesher::split(int a, int b) {
  const std::vector<int> sides = edge_faces(a, b);
  if (sides.empty()) return;
  const int m = static_cast<int>(x_.size());
  x_.emplace_back();
  normal_.emplace_back();
  faces_of_.emplace_back();
  boundary_.push_back(sides.size() == 1 ? 1 : 0);
  x_[m] = middle(a, b, boundary_[m] != 0);
  normal_[m] = target_.normal(x_[m]);
  ++live_vertices_;
  for (const int f : sides) {
    Eigen::Vector3i other = faces_[f];
    for (int i = 0; i < 3; ++i) {
      if (faces_[f][i] == b) faces_[f][i] = m;
      if (other[i] == a) other[i] = m;
    }
    detach(b, f);
    faces_of_[m].push_back(f);
    add_face(other);
  }
}

bool Remesher::collapse(int a, int b, double longest) {
  if (boundary_[b] != 0 && boundary_[a] == 0) std::swap(a, b);
  const std::vector<int> sides = edge_faces(a, b);
  if (sides.empty()) return false;
  const bool boundary_edge = sides.size() == 1;
  if (boundary_[a] != 0 && boundary_[b] != 0 && !boundary_edge) return false;
  const std::vector<int> near_a = neighbours(a), near_b = neighbours(b);
  std::vector<int> common;
  std::set_intersection(near_a.begin(), near_a.end(), near_b.begin(), near_b.end(), std::back_inserter(common));
  if (common.size() != sides.size()) return false;  // the link condition
  for (const int c : common) {
    if (faces_of_[c].size() <= (boundary_[c] != 0 ? 1u : 3u)) return false;
  }

  const bool keep_a = boundary_[a] != 0 && !boundary_edge;
  const Vec3 x = keep_a ? x_[a] : middle(a, b, boundary_edge);
  const Vec3 normal = keep_a ? normal_[a] : target_.normal(x);
  for (const std::vector<int>& ring : {near_a, near_b}) {
    for (const int w : ring) {
      if (w != a && w != b && measure(x_[w], normal_[w], x, normal) > longest) return false;
    }
  }
  if (!can_move(a, x, b) || !can_move(b, x, a)) return false;

  for (const int f : sides) {
    for (const int v : faces_[f]) {
      if (v != b) detach(v, f);
    }
  }
  for (const int f : faces_of_[b]) {
    if (std::find(sides.begin(), sides.end(), f) != sides.end()) {
      faces_[f][0] = -1;
      continue;
    }
    for (int& v : faces_[f]) {
      if (v == b) v = a;
    }
    faces_of_[a].push_back(f);
  }
  faces_of_[b].clear();
  x_[a] = x;
  normal_[a] = normal;
  --live_vertices_;
  return true;
}

bool Remesher::evens_valence(const Diamond& e) const {
  const auto square = [](int i) { return i * i; };
  const int now = square(excess(e.a)) + square(excess(e.b)) + square(excess(e.c)) + square(excess(e.d));
  const int then =
      square(excess(e.a) - 1) + square(excess(e.b) - 1) + square(excess(e.c) + 1) + square(excess(e.d) + 1);
  return then < now && (x_[e.c] - x_[e.d]).norm() < 1.6 * (x_[e.a] - x_[e.b]).norm();
}

bool Remesher::widens_angles(const Diamond& e) const {  // as in a Delaunay triangulation
  const auto angle = [&](int apex) {
    const Vec3 u = x_[e.a] - x_[apex], v = x_[e.b] - x_[apex];
    return std::atan2(u.cross(v).norm(), u.dot(v));
  };
  return angle(e.c) + angle(e.d) > std::numbers::pi + 0.05;
}

template <typename Wanted>
void Remesher::flip_all(const Wanted& wanted) {
  for (const Edge& e : edges([](double) { return true; }, true)) flip(e.a, e.b, wanted);
}

template <typename Wanted>
void Remesher::flip(int a, int b, const Wanted& wanted) {
  const std::vector<int> sides = edge_faces(a, b);
  if (sides.size() != 2 || faces_of_[a].size() <= 3 || faces_of_[b].size() <= 3) return;
  int f = sides[0], g = sides[1];
  if (next_vertex(f, a) != b) std::swap(f, g);
  const int c = third_vertex(f, a, b), d = third_vertex(g, a, b);
  if (!wanted(Diamond{a, b, c, d}) || !edge_faces(c, d).empty()) return;
  const double least =
      std::min(uprightness({a, d, c}, {x_[a], x_[d], x_[c]}), uprightness({d, b, c}, {x_[d], x_[b], x_[c]}));
  if (least < 0.5) return;
  faces_[f] = {a, d, c};
  faces_[g] = {d, b, c};
  detach(b, f);
  detach(a, g);
  faces_of_[d].push_back(f);
  faces_of_[c].push_back(g);
}

void Remesher::improve() {
  flip_all([this](const Diamond& d) { return evens_valence(d); });
  smooth();
}

void Remesher::smooth() {
  for (int v = 0; v < static_cast<int>(x_.size()); ++v) {
    if (faces_of_[v].empty()) continue;
    Vec3 mean = Vec3::Zero();
    double count = 0;
    for (const int w : neighbours(v)) {
      if (boundary_[v] != 0 && edge_faces(v, w).size() != 1) continue;  // along the boundary only
      mean += x_[w];
      ++count;
    }
    const Vec3 move = mean / count - x_[v];
    const Vec3 x = target_.project(x_[v] + 0.7 * (move - move.dot(normal_[v]) * normal_[v]), boundary_[v] != 0);
    if (!can_move(v, x)) continue;
    x_[v] = x;
    normal_[v] = target_.normal(x);
  }
}

}  // namespace stiction
