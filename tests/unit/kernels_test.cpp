// Derivatives of every strain and energy against central differences, and the local Coulomb law.
#include <gtest/gtest.h>

#include <array>

#include "contact/general_solver.hpp"
#include "kernels/coulomb.hpp"
#include "kernels/rod.hpp"
#include "kernels/spring.hpp"
#include "support/random.hpp"

namespace stiction {
namespace {

using V = V3<double>;

using test::Random;

V unit(const V& a) { return (1.0 / norm(a)) * a; }

// A rod stencil with its time-parallel reference frames: strains are functions of the 11 degrees of freedom.
struct Stencil {
  std::array<double, 11> q{};
  V te0, tf0, d1e0, d1f0;
  double m_ref0 = 0;

  static V node(const std::array<double, 11>& q, int i) { return {q[4 * i], q[4 * i + 1], q[4 * i + 2]}; }

  explicit Stencil(Random& random, double bend) {
    const V x0 = random.vector<V>(-1, 1), e = unit(random.vector<V>(-1, 1));
    const V f = unit(e + bend * random.vector<V>(-1, 1));
    const V x1 = x0 + random(0.5, 1.5) * e, x2 = x1 + random(0.5, 1.5) * f;
    for (int a = 0; a < 3; ++a) {
      q[a] = x0[a];
      q[4 + a] = x1[a];
      q[8 + a] = x2[a];
    }
    q[3] = random(-2, 2);
    q[7] = random(-2, 2);
    te0 = e;
    tf0 = f;
    d1e0 = unit(cross(e, random.vector<V>(-1, 1)));
    d1f0 = unit(cross(f, random.vector<V>(-1, 1)));
    m_ref0 = reference_twist(te0, d1e0, tf0, d1f0, 0.0);
  }

  // kappa1, kappa2, m at the degrees of freedom r, frames carried over from q.
  std::array<double, 3> strains(const std::array<double, 11>& r, RodStrains<double>* full = nullptr) const {
    const V e = node(r, 1) - node(r, 0), f = node(r, 2) - node(r, 1);
    const V te = unit(e), tf = unit(f);
    const V d1e = parallel_transport(d1e0, te0, te), d1f = parallel_transport(d1f0, tf0, tf);
    const auto s = rod_strains(material_frame(te, d1e, r[3]), norm(e), material_frame(tf, d1f, r[7]), norm(f));
    if (full) *full = s;
    return {s.kappa1, s.kappa2, r[7] - r[3] + reference_twist(te, d1e, tf, d1f, m_ref0)};
  }
};

TEST(RodKernel, GradientsMatchFiniteDifferences) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const Stencil stencil(random, trial % 3 == 0 ? 0.05 : 1.0);
    RodStrains<double> s;
    stencil.strains(stencil.q, &s);
    const double* gradients[3] = {s.grad_kappa1, s.grad_kappa2, s.grad_twist};
    const double h = 1e-5;
    for (int a = 0; a < 11; ++a) {
      auto plus = stencil.q, minus = stencil.q;
      plus[a] += h;
      minus[a] -= h;
      const auto sp = stencil.strains(plus), sm = stencil.strains(minus);
      for (int k = 0; k < 3; ++k) {
        const double difference = (sp[k] - sm[k]) / (2 * h);
        // Central differences of strongly bent stencils carry h² times a large third derivative.
        EXPECT_NEAR(gradients[k][a], difference, 1e-7 * (1 + std::pow(std::abs(s.kappa1) + std::abs(s.kappa2), 3)))
            << "strain " << k << " dof " << a;
      }
    }
  }
}

TEST(RodKernel, BentAntiparallelEdgesStayFinite) {
  const V t{1, 0, 0}, back{-1, 0, 0}, d{0, 1, 0};
  const auto s = rod_strains(material_frame(t, d, 0.3), 1.0, material_frame(back, d, 0.1), 1.0);
  EXPECT_LT(s.one_plus_cos, kMinOnePlusCos);
  for (const double g : s.grad_kappa1) EXPECT_TRUE(std::isfinite(g));
}

TEST(RodKernel, TransportKeepsLengthAndOrthogonality) {
  Random random(2);
  for (int trial = 0; trial < 1000; ++trial) {
    const V from = unit(random.vector<V>(-1, 1)), to = unit(random.vector<V>(-1, 1));
    const V d = unit(cross(from, random.vector<V>(-1, 1)));
    const V moved = parallel_transport(d, from, to);
    EXPECT_NEAR(norm(moved), 1.0, 1e-14);
    EXPECT_NEAR(dot(moved, to), 0.0, 1e-14);
  }
}

TEST(StretchKernel, GradientAndHessianMatchFiniteDifferences) {
  Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const double rest = random(0.5, 1.0), k = random(1, 10), strain_0 = random(-0.1, 0.1);
    const V e = random(1.2, 2.0) * unit(random.vector<V>(-1, 1));  // in tension: the Hessian is exact
    const auto energy = [&](const V& x) {
      const double s = norm(x) / rest - 1 - strain_0;
      return 0.5 * k * rest * s * s;
    };
    const auto s = stretch(e, rest, k, strain_0);
    const double h = 1e-5;
    for (int a = 0; a < 3; ++a) {
      V plus = e, minus = e;
      plus[a] += h;
      minus[a] -= h;
      EXPECT_NEAR(s.tension * s.t[a], (energy(plus) - energy(minus)) / (2 * h), 1e-7);
      const auto sp = stretch(plus, rest, k, strain_0), sm = stretch(minus, rest, k, strain_0);
      for (int b = 0; b < 3; ++b) {
        const double hessian = (s.along - s.across) * s.t[a] * s.t[b] + (a == b ? s.across : 0.0);
        EXPECT_NEAR(hessian, (sp.tension * sp.t[b] - sm.tension * sm.t[b]) / (2 * h), 1e-7);
      }
    }
  }
}

TEST(StretchKernel, CompressionHasNoNegativeCurvature) {
  const auto s = stretch(V{0.5, 0, 0}, 1.0, 10.0, 0.0);
  EXPECT_LT(s.tension, 0);
  EXPECT_EQ(s.across, 0);
}

TEST(ChainKernel, BinormalDerivativeMatchesFiniteDifferences) {
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    std::array<double, 6> q;
    const V e = random.vector<V>(-1, 1), f = unit(e) + 0.8 * random.vector<V>(-1, 1);
    for (int a = 0; a < 3; ++a) {
      q[a] = e[a];
      q[3 + a] = f[a];
    }
    const auto bend = [](const std::array<double, 6>& r) {
      const V x{r[0], r[1], r[2]}, y{r[3], r[4], r[5]};
      return chain_bend(unit(x), norm(x), unit(y), norm(y), kMinOnePlusCos);
    };
    const auto at = bend(q);
    const double h = 1e-6;
    for (int a = 0; a < 6; ++a) {
      auto plus = q, minus = q;
      plus[a] += h;
      minus[a] -= h;
      const V difference = (1 / (2 * h)) * (bend(plus).kb - bend(minus).kb);
      EXPECT_NEAR(norm(at.J[a] - difference), 0, 1e-7 * (1 + std::pow(at.psi, 3)) / norm(e));
    }
  }
}

// Signorini-Coulomb of (u, r): how far the pair is from each condition, relative to its size.
double coulomb_violation(const V& u, const V& r, const V& n, double mu) {
  const double u_N = dot(u, n), r_N = dot(r, n);
  const V u_T = u - u_N * n, r_T = r - r_N * n;
  const double size = std::max({norm(u), norm(r), 1e-300});
  double worst = std::max({-u_N, -r_N, std::min(std::abs(u_N), std::abs(r_N)), norm(r_T) - mu * r_N});
  if (norm(u_T) > 1e-12 * size && r_N > 1e-12 * size)  // slides: on the cone, against the motion
    worst = std::max(worst, norm(norm(u_T) * r_T + mu * r_N * u_T) / norm(u_T));
  return worst / size;
}

TEST(CoulombLaw, MillionRandomInputsSatisfySignoriniCoulomb) {
  Random random(5);
  double worst = 0;
  for (int trial = 0; trial < 1'000'000; ++trial) {
    const double scale = std::pow(10.0, random(-6, 3)), mu = trial % 10 == 0 ? 0.0 : random(0, 2);
    const V n = unit(random.vector<V>(-1, 1));
    V u_star = scale * random.vector<V>(-1, 1);
    if (trial % 7 == 0) u_star = dot(u_star, n) * n;            // purely normal
    if (trial % 11 == 0) u_star = u_star - dot(u_star, n) * n;  // purely tangential, up to rounding
    const V u = coulomb_velocity(u_star, n, mu);
    worst = std::max(worst, coulomb_violation(u, u - u_star, n, mu));
  }
  EXPECT_LT(worst, 1e-12);
}

TEST(CoulombLaw, GeneralBlocksSatisfySignoriniCoulomb) {
  Random random(7);
  double worst = 0;
  int sliding = 0;
  for (int trial = 0; trial < 100'000; ++trial) {
    Eigen::Matrix3d root;
    for (int k = 0; k < 9; ++k) root(k) = random(-1, 1);
    const Eigen::Matrix3d S = root * root.transpose() + 0.1 * Eigen::Matrix3d::Identity();
    const double mu = trial % 10 == 0 ? 0.0 : random(0, 1);
    const V n = unit(random.vector<V>(-1, 1));
    V u_star = std::pow(10.0, random(-6, 3)) * random.vector<V>(-1, 1);
    if (trial % 7 == 0) u_star = dot(u_star, n) * n;            // purely normal
    if (trial % 11 == 0) u_star = u_star - dot(u_star, n) * n;  // purely tangential, up to rounding
    const Eigen::Vector3d free(u_star.x, u_star.y, u_star.z);
    const Eigen::Vector3d r = coulomb_impulse<double>(S, free, Eigen::Vector3d(n.x, n.y, n.z), mu), u = S * r + free;
    worst = std::max(worst, coulomb_violation({u[0], u[1], u[2]}, {r[0], r[1], r[2]}, n, mu));
    sliding += r.norm() > 0 && u.norm() > 1e-9 * free.norm() ? 1 : 0;
  }
  EXPECT_GT(sliding, 10'000);
  EXPECT_LT(worst, 1e-9);
}

TEST(CoulombLaw, ConeProjectionIsOrthogonal) {
  Random random(6);
  for (int trial = 0; trial < 20000; ++trial) {
    const double mu = random(0, 2);
    const V n = unit(random.vector<V>(-1, 1)), z = random.vector<V>(-1, 1), y = project_cone(z, n, mu);
    const double y_N = dot(y, n);
    EXPECT_LE(norm(y - y_N * n), mu * y_N + 1e-14);
    EXPECT_NEAR(dot(y, z - y), 0, 1e-14);  // Moreau: z = y + (polar part), orthogonal
    const V other = random(0, 1) * n;      // in the cone for every mu
    EXPECT_LE(dot(z - y, other - y), 1e-14);
  }
}

TEST(CoulombLaw, ConeProjectionOnAnAxisIsTheCone) {
  const V n{0, 0, 1};
  for (const double mu : {0.0, 0.5}) {
    EXPECT_EQ(norm(project_cone(V{0, 0, -1}, n, mu)), 0) << mu;
    EXPECT_EQ(norm(project_cone(V{0, 0, 1}, n, mu) - n), 0) << mu;
  }
  EXPECT_EQ(norm(project_cone(V{1, 0, -1}, n, 0.0)), 0);
  EXPECT_EQ(norm(project_cone(V{1, 0, 1}, n, 0.0) - n), 0);
}

}  // namespace
}  // namespace stiction
