#include "contact/residual.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/coulomb.hpp"
#include "parallel/loops.hpp"

namespace stiction {

double coulomb_error(std::span<const Contact> contacts, std::span<const Vec3> r, std::span<const double> k_N,
                     double compliance, std::span<const Vec3> v_hat, std::span<const double> inverse_mass,
                     const Skin& skin) {
  using Squares = Eigen::Array3d;  // of the error, of u, of s r
  const Squares sum = sum_in_chunks(contacts.size(), Squares(Squares::Zero()), [&](std::size_t i) -> Squares {
    const Contact& c = contacts[i];
    double s = compliance, weights = 0;
    Vec3 u = k_N[i] * c.n + compliance * r[i];
    c.for_each_node(skin, [&](int node, double b) {
      u += b * v_hat[node];
      s += b * b * inverse_mass[node];
      weights += b;
    });
    u -= weights * c.surface_velocity;  // the surface completes the weights to a sum of zero
    const Vec3 u_T = u - u.dot(c.n) * c.n;
    const Vec3 z = s * r[i] - u - c.mu * u_T.norm() * c.n;
    const V3<double> projected = project_cone(V3<double>{z[0], z[1], z[2]}, V3<double>{c.n[0], c.n[1], c.n[2]}, c.mu);
    return {(s * r[i] - Vec3(projected.x, projected.y, projected.z)).squaredNorm(), u.squaredNorm(),
            (s * r[i]).squaredNorm()};
  });
  const double reference2 = std::max(sum[1], sum[2]);
  return reference2 > 0 ? std::sqrt(sum[0] / reference2) : 0.0;
}

}  // namespace stiction
