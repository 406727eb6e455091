// Hyperelastic kernels: the singular value decomposition, energies against closed forms and finite differences, and
// the projected derivative of the stress.
//
// Where an energy is not differentiable. The corotated models take R from F = U diag(s) Vᵀ, s0 >= s1 >= |s2|: at
// s1 + s2 = 0 (an element flattened to a line or inverted by as much as it is stretched) R is not unique and the energy
// has a kink. St. Venant-Kirchhoff and both neo-Hookean energies are smooth everywhere, but for
// neo-Hookean's second derivative, which jumps at J = kMinVolumeRatio.
#include "kernels/hyperelastic.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "support/random.hpp"

namespace stiction {
namespace {

using Vec9 = Eigen::Matrix<double, 9, 1>;
using Mat9 = Eigen::MatrixXd;

constexpr Material kMaterials[] = {Material::corotated, Material::fixed_corotated, Material::st_venant_kirchhoff,
                                   Material::neo_hookean, Material::stable_neo_hookean};
constexpr double kYoung = 1e5, kPoisson = 0.3;

const char* name_of(Material m) {
  static const char* names[] = {"corotated", "fixed corotated", "St. Venant-Kirchhoff", "neo-Hookean",
                                "stable neo-Hookean"};
  return names[static_cast<int>(m)];
}

struct Random : test::Random {
  Random() : test::Random(11) {}
  Mat3 rotation() {
    Eigen::HouseholderQR<Mat3> qr(matrix(1));
    Mat3 q = qr.householderQ();
    if (q.determinant() < 0) q.col(0) *= -1;
    return q;
  }
};

V3<double> v3(const Vec3& a) { return {a[0], a[1], a[2]}; }
Vec3 vec(const V3<double>& a) { return {a.x, a.y, a.z}; }
Mat3 mat(const V3<double> (&c)[3]) {
  Mat3 m;
  for (int j = 0; j < 3; ++j) m.col(j) = vec(c[j]);
  return m;
}
void columns(const Mat3& m, V3<double> (&c)[3]) {
  for (int j = 0; j < 3; ++j) c[j] = v3(m.col(j));
}
Svd3<double> svd(const Mat3& F) {
  V3<double> c[3];
  columns(F, c);
  return svd3(c);
}

struct Response {
  double psi;
  Mat3 P;
  Mat9 H = Mat9(9, 9);  // of the entries of F, column by column
};

Response response(Material material, const Mat3& F, bool project) {
  const MaterialConstants constants = material_constants(material, kYoung, kPoisson);
  const Svd3<double> f = svd(F);
  return with_material(material, [&](auto m) {
    Principal<double> p = principal<decltype(m)::value>(f.s, constants);
    if (project) project_positive(p);
    Response r;
    r.psi = p.psi;
    for (int a = 0; a < 3; ++a) {
      const V3<double> ga = to_frame(f.v, v3(Vec3::Unit(a)));
      r.P.col(a) = vec(stress_times(f, p, ga));
      for (int b = 0; b < 3; ++b) {
        const Block<double> k = stiffness_block(f, p, ga, to_frame(f.v, v3(Vec3::Unit(b))));
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) r.H(3 * a + i, 3 * b + j) = k.m[3 * i + j];
      }
    }
    return r;
  });
}

// Psi from its definition, by way of invariants that need no singular values.
double psi_by_definition(Material material, const Mat3& F) {
  const MaterialConstants k = material_constants(material, kYoung, kPoisson);
  const double J = F.determinant(), I = F.squaredNorm();
  const Mat3 E = 0.5 * (F.transpose() * F - Mat3::Identity());
  switch (material) {
    case Material::st_venant_kirchhoff:
      return k.mu * E.squaredNorm() + 0.5 * k.lambda * E.trace() * E.trace();
    case Material::neo_hookean:
      return 0.5 * k.mu * (I - 3) - k.mu * std::log(J) + 0.5 * k.lambda * std::log(J) * std::log(J);
    case Material::stable_neo_hookean: {
      const double a = 1 + k.mu / k.lambda - k.mu / (4 * k.lambda);
      const auto value = [&](double i, double j) {
        return 0.5 * k.mu * (i - 3) + 0.5 * k.lambda * (j - a) * (j - a) - 0.5 * k.mu * std::log(i + 1);
      };
      return value(I, J) - value(3, 1);
    }
    default: {  // det F > 0: R is the polar rotation
      const Eigen::JacobiSVD<Mat3> s(F, Eigen::ComputeFullU | Eigen::ComputeFullV);
      const Mat3 R = s.matrixU() * s.matrixV().transpose();
      const double trace = (R.transpose() * F - Mat3::Identity()).trace();
      const double volume = material == Material::corotated ? trace * trace : (J - 1) * (J - 1);
      return k.mu * (F - R).squaredNorm() + 0.5 * k.lambda * volume;
    }
  }
}

struct State {
  std::string name;
  Mat3 F;
};

std::vector<State> states() {
  Random random;
  const Mat3 R = random.rotation(), Q = random.rotation();
  Mat3 shear = Mat3::Identity();
  shear(0, 1) = 0.7;
  shear(2, 1) = -0.3;
  const auto diagonal = [](double a, double b, double c) -> Mat3 { return Vec3(a, b, c).asDiagonal(); };
  return {{"rest", Mat3::Identity()},
          {"rotated", R},
          {"stretched", diagonal(1.8, 1.3, 1.1)},
          {"uniformly stretched", 1.4 * R},
          {"compressed", Q * diagonal(0.4, 0.7, 0.55) * R},
          {"sheared", shear},
          {"sheared and rotated", R * shear * Q},
          {"flattened", R * diagonal(1.2, 0.8, 0.02) * Q},
          {"inverted", R * diagonal(1.3, 0.9, -0.4) * Q},
          {"inverted and large", R * diagonal(2.5, 1.7, -0.9) * Q},
          {"turned inside out", -1.0 * diagonal(1.2, 0.9, 0.5)},
          {"random", random.matrix(1.5)}};
}

TEST(Svd3, RecomposesAnyMatrixFromRotations) {
  Random random;
  std::vector<Mat3> cases;
  for (int i = 0; i < 2000; ++i) cases.push_back(random.matrix(std::pow(10.0, random(-6, 3))));
  for (int i = 0; i < 500; ++i) cases.push_back(random.rotation() + random.matrix(std::pow(10.0, random(-16, -1))));
  for (const double tiny : {0.0, 1e-200, 1e-20, 1e-15, 1e-9, 1e-5}) {
    const Mat3 R = random.rotation(), Q = random.rotation();
    for (const double sign : {1.0, -1.0}) {
      cases.push_back(R * Vec3(1, tiny, sign * tiny).asDiagonal() * Q.transpose());
      cases.push_back(R * Vec3(1, 1, sign * tiny).asDiagonal() * Q.transpose());
      cases.push_back(R * Vec3(2, 0.3, sign * tiny).asDiagonal() * Q.transpose());
      cases.push_back(sign * tiny * R);
      cases.push_back(Vec3(tiny, 0, sign).asDiagonal());
    }
  }
  for (const Mat3& F : cases) {
    const Svd3<double> r = svd(F);
    const Mat3 U = mat(r.u), V = mat(r.v);
    const Vec3 s(r.s[0], r.s[1], r.s[2]);
    // Rounding of some 20 rotations.
    EXPECT_LT((U.transpose() * U - Mat3::Identity()).norm(), 1e-14) << F;
    EXPECT_LT((V.transpose() * V - Mat3::Identity()).norm(), 1e-14) << F;
    EXPECT_GT(U.determinant(), 0);
    EXPECT_GT(V.determinant(), 0);
    EXPECT_LE((U * s.asDiagonal() * V.transpose() - F).norm(), 1e-14 * F.norm()) << F;
    const double rounding = 1e-14 * s[0] + 1e-150;  // squares of less than the latter underflow
    EXPECT_GE(s[0], s[1] - rounding);
    EXPECT_GE(s[1], std::abs(s[2]) - rounding);
  }
}

TEST(Svd3, SmallSingularValuesKeepTheirDigits) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    // Graded columns: sigma_3 is 1e-12 of sigma_1 and well determined; FᵀF would lose it altogether.
    const Mat3 A = Mat3::Identity() + random.matrix(0.3);
    const Mat3 F = A * Vec3(1, 1e-6, 1e-12).asDiagonal();
    const Svd3<double> r = svd(F);
    EXPECT_NEAR(r.s[0] * r.s[1] * r.s[2] / (A.determinant() * 1e-18), 1, 1e-12);
  }
}

TEST(Svd3, LanesOfAPackAreThoseOfScalars) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    V3<PackD> f[3];
    Mat3 F[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      F[lane] = lane == 3 ? Mat3::Zero().eval() : random.matrix(1);
      if (lane == 5) F[lane].col(1) = 2 * F[lane].col(0);
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) f[b][a].set(lane, F[lane](a, b));
    }
    const Svd3<PackD> r = svd3(f);
    for (int lane = 0; lane < kLanes; ++lane) {
      Mat3 U, V;
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
          U(a, b) = r.u[b][a][lane];
          V(a, b) = r.v[b][a][lane];
        }
      const Vec3 s(r.s[0][lane], r.s[1][lane], r.s[2][lane]);
      EXPECT_LE((U * s.asDiagonal() * V.transpose() - F[lane]).norm(), 2e-14);
      EXPECT_LT((U.transpose() * U - Mat3::Identity()).norm(), 1e-14);
      const Svd3<double> scalar = svd(F[lane]);
      for (int k = 0; k < 3; ++k) EXPECT_NEAR(s[k], scalar.s[k], 2e-14);
    }
  }
}

TEST(ProjectPositive, IsTheNearestPositiveSemidefiniteMatrix) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    Mat3 S = random.matrix(std::pow(10.0, random(-5, 5)));
    S = (S + S.transpose()).eval();
    if (i % 5 == 0) S = S * S;  // positive definite: must stay, to the last bit
    Sym3<double> s{{S(0, 0), S(1, 1), S(2, 2), S(1, 2), S(0, 2), S(0, 1)}};
    const Sym3<double> before = s;
    project_positive(s);
    if (i % 5 == 0) {
      for (int k = 0; k < 6; ++k) EXPECT_EQ(s.m[k], before.m[k]);
    }
    Mat3 projected;
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) projected(a, b) = s.m[sym_index(a, b)];
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(S);
    const Mat3 expected =
        eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).asDiagonal() * eigen.eigenvectors().transpose();
    EXPECT_LT((projected - expected).norm(), 1e-13 * S.norm());
  }
}

TEST(Hyperelastic, EnergyIsThatOfItsDefinition) {
  for (const Material material : kMaterials)
    for (const State& state : states()) {
      const double J = state.F.determinant();
      if (material == Material::neo_hookean && J < kMinVolumeRatio) continue;  // continued there
      const bool corotated = material == Material::corotated || material == Material::fixed_corotated;
      if (corotated && J < 0) continue;  // the definition below takes the polar rotation
      const double expected = psi_by_definition(material, state.F);
      EXPECT_NEAR(response(material, state.F, false).psi, expected, 1e-13 * kYoung * (1 + std::abs(expected / kYoung)))
          << name_of(material) << ", " << state.name;
    }
}

TEST(Hyperelastic, AllMaterialsHaveTheSameModuliAtSmallStrain) {
  // Hooke's law: the derivative of the stress at rest is 2 mu sym + lambda tr I.
  const double mu = kYoung / (2 * (1 + kPoisson)), lambda = kYoung * kPoisson / ((1 + kPoisson) * (1 - 2 * kPoisson));
  for (const Material material : kMaterials) {
    const Response r = response(material, Mat3::Identity(), true);
    EXPECT_LT(r.P.norm(), 1e-12 * kYoung) << name_of(material);
    for (int c = 0; c < 9; ++c) {
      Mat3 dF = Mat3::Zero();
      dF(c % 3, c / 3) = 1;
      const Mat3 expected = mu * (dF + dF.transpose()) + lambda * dF.trace() * Mat3::Identity();
      EXPECT_LT((r.H.col(c) - Eigen::Map<const Vec9>(expected.data())).norm(), 1e-12 * kYoung) << name_of(material);
    }
  }
}

TEST(Hyperelastic, StressIsTheGradientOfTheEnergy) {
  const double step = 1e-5;
  for (const Material material : kMaterials)
    for (const State& state : states()) {
      const Response r = response(material, state.F, false);
      for (int c = 0; c < 9; ++c) {
        Mat3 dF = Mat3::Zero();
        dF(c % 3, c / 3) = step;
        const double difference =
            (response(material, state.F + dF, false).psi - response(material, state.F - dF, false).psi) / (2 * step);
        // Truncation step² Psi''' and rounding 1e-16 Psi / step.
        const double scale = kYoung + r.P.norm() + r.H.norm();
        EXPECT_NEAR(r.P(c % 3, c / 3), difference, 1e-6 * scale) << name_of(material) << ", " << state.name;
      }
    }
}

TEST(Hyperelastic, StiffnessIsTheGradientOfTheStress) {
  const double step = 1e-6;
  for (const Material material : kMaterials)
    for (const State& state : states()) {
      const Response r = response(material, state.F, false);
      EXPECT_LT((r.H - r.H.transpose()).norm(), 1e-13 * r.H.norm());
      for (int c = 0; c < 9; ++c) {
        Mat3 dF = Mat3::Zero();
        dF(c % 3, c / 3) = step;
        const Mat3 difference =
            (response(material, state.F + dF, false).P - response(material, state.F - dF, false).P) / (2 * step);
        EXPECT_LT((r.H.col(c) - Eigen::Map<const Vec9>(difference.data())).norm(), 3e-7 * (kYoung + r.H.norm()))
            << name_of(material) << ", " << state.name;
      }
    }
}

TEST(Hyperelastic, ProjectedStiffnessIsTheNearestPositiveSemidefiniteMatrix) {
  Random random;
  std::vector<State> all = states();
  for (int i = 0; i < 100; ++i) all.push_back({"random", random.matrix(std::pow(10.0, random(-2, 1)))});
  int indefinite = 0;
  for (const Material material : kMaterials)
    for (const State& state : all) {
      const Mat9 exact = response(material, state.F, false).H, projected = response(material, state.F, true).H;
      const Eigen::SelfAdjointEigenSolver<Mat9> eigen(exact);
      Mat9 expected = Mat9::Zero(9, 9);
      for (int c = 0; c < 9; ++c) {
        const Vec9 mode = eigen.eigenvectors().col(c);
        expected += std::max(eigen.eigenvalues()[c], 0.0) * mode * mode.transpose();
      }
      EXPECT_LT((projected - expected).norm(), 1e-12 * exact.norm()) << name_of(material) << ", " << state.name;
      const bool positive = eigen.eigenvalues()[0] > 1e-12 * exact.norm();
      if (positive) {
        EXPECT_EQ((projected - exact).norm(), 0) << name_of(material) << ", " << state.name;
      }
      indefinite += !positive;
    }
  EXPECT_GT(indefinite, 100);  // the case is there
}

TEST(Hyperelastic, RigidMotionsGiveNoStress) {
  Random random;
  for (const Material material : kMaterials)
    for (int i = 0; i < 50; ++i) {
      const Response r = response(material, random.rotation(), true);
      EXPECT_LT(r.P.norm(), 1e-13 * 10 * kYoung) << name_of(material);
      EXPECT_NEAR(r.psi, 0, 1e-14 * kYoung);
    }
}

TEST(Hyperelastic, StressTurnsWithTheBodyAndIgnoresTurnsOfTheMaterial) {
  Random random;
  for (const Material material : kMaterials)
    for (int i = 0; i < 50; ++i) {
      const Mat3 F = Mat3::Identity() + random.matrix(0.4), R = random.rotation(), Q = random.rotation();
      const Response a = response(material, F, false), b = response(material, R * F * Q, false);
      EXPECT_NEAR(a.psi, b.psi, 1e-12 * (kYoung + a.psi));
      EXPECT_LT((R * a.P * Q - b.P).norm(), 1e-11 * (kYoung + a.P.norm())) << name_of(material);
    }
}

TEST(Hyperelastic, CollapsedAndInvertedElementsHaveFiniteStressAndPositiveStiffness) {
  Random random;
  std::vector<Mat3> cases = {Mat3::Zero(), -Mat3::Identity(), Mat3::Ones(), 1e-300 * Mat3::Ones(), 1e6 * Mat3::Ones()};
  for (int i = 0; i < 20; ++i) {
    const Mat3 A = random.matrix(2);
    Mat3 rank1 = A.col(0) * A.row(1), rank2 = A;
    rank2.col(2) = rank2.col(0) - 3 * rank2.col(1);
    cases.insert(cases.end(), {rank1, rank2, -A, 1e-9 * A, 1e3 * A});
    // Where the corotated energies have their kink: s1 + s2 = 0.
    cases.push_back(random.rotation() * Vec3(1.5, 0.6, -0.6).asDiagonal() * random.rotation());
    cases.push_back(random.rotation() * Vec3(9, 0.6, -0.6).asDiagonal() * random.rotation());
  }
  for (const Material material : kMaterials)
    for (const Mat3& F : cases) {
      const Response r = response(material, F, true);
      EXPECT_TRUE(std::isfinite(r.psi) && r.P.allFinite() && r.H.allFinite()) << name_of(material) << "\n" << F;
      const Eigen::SelfAdjointEigenSolver<Mat9> eigen(r.H, Eigen::EigenvaluesOnly);
      EXPECT_GE(eigen.eigenvalues()[0], -1e-12 * (kYoung + r.H.norm())) << name_of(material) << "\n" << F;
    }
}

TEST(Hyperelastic, CorotatedElementsPushOutOfCollapse) {
  // At F = 0, R = I: the stress of all others vanishes there, and that of these two opens the element.
  const MaterialConstants k = material_constants(Material::corotated, kYoung, kPoisson);
  EXPECT_LT((response(Material::corotated, Mat3::Zero(), true).P + (2 * k.mu + 3 * k.lambda) * Mat3::Identity()).norm(),
            1e-9);
  EXPECT_LT((response(Material::fixed_corotated, Mat3::Zero(), true).P + 2 * k.mu * Mat3::Identity()).norm(), 1e-9);
}

TEST(Viscous, StressIsTheGradientOfItsPotentialAndItsStiffnessDropsTheNegativePartOnly) {
  Random random;
  const double mu = 3, lambda = 5, step = 1e-6;
  for (int i = 0; i < 30; ++i) {
    const Mat3 F = Mat3::Identity() + random.matrix(0.6), F_t = Mat3::Identity() + random.matrix(0.3);
    V3<double> f[3], f_t[3];
    columns(F_t, f_t);
    const Sym3<double> strain_t = green_strain(f_t);
    const auto at = [&](const Mat3& G) {
      columns(G, f);
      return viscous(f, strain_t, mu, lambda);
    };
    const auto potential = [&](const Mat3& G) {
      const Mat3 D = 0.5 * (G.transpose() * G - F_t.transpose() * F_t);
      return mu * D.squaredNorm() + 0.5 * lambda * D.trace() * D.trace();
    };
    const auto stress = [&](const Mat3& G) {
      const Viscous<double> r = at(G);
      Mat3 P;
      for (int a = 0; a < 3; ++a) P.col(a) = vec(times(f, times(r.S, v3(Vec3::Unit(a)))));
      return P;
    };
    Viscous<double> r = at(F);
    const Mat3 P = stress(F);
    const auto matrix = [&] {
      columns(F, f);
      Mat9 H = Mat9::Zero(9, 9);
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
          Block<double> k{};
          const V3<double> ga = v3(Vec3::Unit(a)), gb = v3(Vec3::Unit(b));
          add_viscous_block(r, ga, gb, times(f, ga), times(f, gb), k);
          for (int p = 0; p < 3; ++p)
            for (int q = 0; q < 3; ++q) H(3 * a + p, 3 * b + q) = k.m[3 * p + q];
        }
      return H;
    };
    const Mat9 exact = matrix();
    for (int c = 0; c < 9; ++c) {
      Mat3 dF = Mat3::Zero();
      dF(c % 3, c / 3) = step;
      EXPECT_NEAR(P(c % 3, c / 3), (potential(F + dF) - potential(F - dF)) / (2 * step), 1e-7);
      const Mat3 difference = (stress(F + dF) - stress(F - dF)) / (2 * step);
      EXPECT_LT((exact.col(c) - Eigen::Map<const Vec9>(difference.data())).norm(), 1e-7 * exact.norm());
    }
    project_positive(r.S);
    const Mat9 kept = matrix();
    EXPECT_GE(Eigen::SelfAdjointEigenSolver<Mat9>(kept).eigenvalues()[0], -1e-12 * kept.norm());
    EXPECT_GE(Eigen::SelfAdjointEigenSolver<Mat9>(Mat9(kept - exact)).eigenvalues()[0], -1e-12 * kept.norm());
  }
}

TEST(MaterialConstants, RefusesWhatNoMaterialHas) {
  EXPECT_THROW(material_constants(Material::corotated, 0, 0.3), std::invalid_argument);
  EXPECT_THROW(material_constants(Material::corotated, 1e5, 0.5), std::invalid_argument);
  EXPECT_THROW(material_constants(Material::corotated, 1e5, -1), std::invalid_argument);
}

}  // namespace
}  // namespace stiction
