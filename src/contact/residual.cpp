#include "contact/residual.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/coulomb.hpp"

namespace stiction {

double coulomb_error(std::span<const Contact> contacts, std::span<const Vec3> r, std::span<const double> k_N,
                     double compliance, std::span<const Vec3> v_hat, std::span<const double> inverse_mass,
                     const Skin& skin) {
  double error2 = 0, u2 = 0, r2 = 0;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const Contact& c = contacts[i];
    double s = compliance;
    Vec3 u = k_N[i] * c.n - c.surface_velocity + compliance * r[i];
    c.for_each_node(skin, [&](int node, double b) {
      u += b * v_hat[node];
      s += b * b * inverse_mass[node];
    });
    const Vec3 u_T = u - u.dot(c.n) * c.n;
    const Vec3 z = s * r[i] - u - c.mu * u_T.norm() * c.n;
    const V3<double> projected = project_cone(V3<double>{z[0], z[1], z[2]}, V3<double>{c.n[0], c.n[1], c.n[2]}, c.mu);
    error2 += (s * r[i] - Vec3(projected.x, projected.y, projected.z)).squaredNorm();
    u2 += u.squaredNorm();
    r2 += (s * r[i]).squaredNorm();
  }
  const double reference2 = std::max(u2, r2);
  return reference2 > 0 ? std::sqrt(error2 / reference2) : 0.0;
}

}  // namespace stiction
