// Springs between bodies: their forces, their part of the matrix, the conjugate gradients that it takes, and what an
// attachment refuses.
#include "step/ties.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numeric>
#include <random>

#include "geometry/sheets.hpp"
#include "geometry/tet_mesh.hpp"
#include "step/body_dynamics.hpp"
#include "support/scenes.hpp"

namespace stiction {
namespace {

using test::bare_scene;
using test::straight;

constexpr double kDt = 0.01;

// A block between a rod and a sheet, which a handle holds near a pinned corner. A second rod is not tied to anything.
Scene tied_scene() {
  Scene scene = bare_scene(kDt);
  Rods rods;
  rods.name = "rods";
  rods.strands.push_back({straight({0, 0, 0}, {0.2, 0, 0}, 6), {}, 0});
  rods.strands.push_back({straight({0, 0.5, 0}, {0.2, 0.5, 0}, 4), {}, 0});
  rods.radius = 2e-3;
  rods.stretch_modulus = rods.bend_modulus = 1e7;
  scene.rods.push_back(rods);
  Solid solid;
  solid.name = "block";
  solid.mesh = make_tet_box({0.1, 0.1, 0.1}, {1, 1, 1});
  for (Vec3& x : solid.mesh.vertices) x += Vec3(0.25, 0, 0);
  scene.solids.push_back(solid);
  Shell shell;
  shell.name = "sheet";
  shell.mesh = make_sheet(0.2, 0.2, 2, 2);
  for (Vec3& x : shell.mesh.vertices) x += Vec3(0.4, 0, 0);
  shell.pins.push_back({{8}, ""});
  scene.shells.push_back(shell);
  Collider handle;
  handle.name = "handle";
  handle.shape = ColliderShape::locator;
  scene.colliders.push_back(handle);
  scene.attachments.push_back({"rods", "block", false, {{0.2, 0, 0}, {0.17, 0.01, 0}}, 200, 0.003});
  scene.attachments.push_back({"sheet", "block", false, {{0.3, 0.02, 0}, {0.3, -0.04, 0.01}}, 500, 0.001});
  scene.attachments.push_back({"sheet", "handle", false, {{0.5, 0.1, 0}, {0.47, 0.08, 0}}, 300, 0.0});
  return scene;
}

// Beside the rod that few ties hold, one that many do, a sheet that many do, and a thread on the first rod: what is
// eliminated of these hangs on what is not.
Scene densely_tied_scene() {
  Scene scene = tied_scene();
  scene.rods[0].strands.push_back({straight({0.1, 0.04, 0}, {0.3, 0.04, 0}, 7), {}, 0});
  Rods thread = scene.rods[0];
  thread.name = "thread";
  thread.strands = {{straight({0, 0, 0.01}, {0, 0, 0.2}, 5), {}, 0}};
  scene.rods.push_back(thread);
  const auto tie = [&](const char* a, const char* b, std::vector<Vec3> at, double stiffness) {
    scene.attachments.push_back({a, b, false, std::move(at), stiffness, 0.002});
  };
  tie("rods", "block",
      {{0.2, 0.04, 0}, {0.21, 0.04, 0}, {0.23, 0.05, 0}, {0.25, 0.04, 0}, {0.27, 0.04, 0.01}, {0.29, 0.04, 0}}, 150);
  tie("sheet", "block", {{0.3, 0.05, 0}, {0.3, 0.03, 0}, {0.3, 0, 0}, {0.3, -0.02, 0}}, 250);
  tie("thread", "rods", {{0, 0, 0}}, 100);
  return scene;
}

// The world of a scene at an iterate, its contacts left out.
struct TiedWorld {
  explicit TiedWorld(const Scene& scene) : world(scene), dynamics(world), v(world.nodes.v) {
    poses.resize(world.scene.colliders.size());
    context.dt = kDt;
    context.time_end = kDt;
    context.world = &world.scene.world;
    context.displacement = context.displacement_start = poses;
    begin();
  }

  void begin() {
    for (Body* body : world.bodies) body->begin_step(context, world.nodes, v);
    world.ties.begin_step(context, world.nodes);
  }

  // Positions and velocities at random, fixed nodes as they are.
  void disturb() {
    std::mt19937 engine(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto random = [&] { return Vec3(uniform(engine), uniform(engine), uniform(engine)); };
    for (int j = 0; j < world.nodes.size(); ++j) {
      if (world.nodes.fixed[j]) continue;
      world.nodes.x[j] += 0.002 * random();
      world.nodes.v[j] = 0.1 * random();
      v[j] = 0.2 * random();
    }
    begin();
  }

  int size() const { return 3 * world.nodes.size(); }

  // A of all bodies, and what the ties between them add; degrees of freedom other than nodes come last.
  Eigen::MatrixXd matrix(Eigen::VectorXd& minus_g) {
    int auxiliary = 0;
    for (const Body* body : world.bodies) auxiliary += body->auxiliary_count();
    std::vector<Eigen::Triplet<double>> entries;
    std::vector<double> g(size() + auxiliary, 0.0);
    int next = size();
    for (const Body* body : world.bodies) {
      body->append_matrix(entries, g, next);
      next += body->auxiliary_count();
    }
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(next, next);
    for (const auto& entry : entries) A(entry.row(), entry.col()) += entry.value();
    std::vector<Vec3> unit(world.nodes.size(), Vec3::Zero());
    for (int i = 0; i < size(); ++i) {
      if (world.nodes.fixed[i / 3]) continue;
      std::vector<Vec3> column(world.nodes.size(), Vec3::Zero());
      unit[i / 3][i % 3] = 1;
      world.ties.multiply_between(unit, column);
      unit[i / 3].setZero();
      for (int j = 0; j < size(); ++j)
        if (!world.nodes.fixed[j / 3]) A(j, i) += column[j / 3][j % 3];
    }
    for (int i = 0; i < next; ++i)
      if (A(i, i) == 0) A(i, i) = 1;  // idle
    minus_g = Eigen::Map<Eigen::VectorXd>(g.data(), next);
    for (int i = 0; i < size(); ++i)
      if (!world.nodes.fixed[i / 3]) minus_g[i] += world.ties.minus_g()[i / 3][i % 3];
    return A;
  }

  World world;
  BodyDynamics dynamics;
  std::vector<Pose> poses;
  StepContext context;
  std::vector<Vec3> v;
};

Scene without_attachments(Scene scene) {
  scene.attachments.clear();
  return scene;
}

TEST(Ties, HoldWithoutForceWhatLiesTogetherAtTimeZero) {
  Scene scene = tied_scene();
  scene.attachments.resize(1);
  scene.attachments[0].points = {{0.2, 0, 0}, {0.15, 0, 0}};
  TiedWorld t(scene);
  t.dynamics.assemble(t.v);
  for (const Vec3& impulse : t.world.ties.minus_g()) EXPECT_LT(impulse.norm(), 1e-15);
  EXPECT_LT(t.world.ties.energy(t.world.nodes.x), 1e-28);
}

TEST(Ties, PullTwoPointsTogetherByStiffnessTimesDistance) {
  Scene scene = tied_scene();
  scene.attachments.resize(1);
  scene.attachments[0].points = {{0.2, 0, 0}};
  TiedWorld t(scene);
  const int tip = t.world.rods[0]->layout().first_node(0) + 6;
  const Vec3 offset(0.001, 0.002, -0.003);
  t.world.nodes.x[tip] += offset;
  t.begin();
  std::fill(t.v.begin(), t.v.end(), Vec3::Zero());
  t.dynamics.assemble(t.v);
  EXPECT_LT((t.world.ties.minus_g()[tip] + kDt * 200 * offset).norm(), 1e-15);
  EXPECT_NEAR(t.world.ties.energy(t.world.nodes.x), 0.5 * 200 * offset.squaredNorm(), 1e-16);
}

// Forces between bodies sum to zero, and without damping they have no moment either: a spring pulls along itself. What
// a collider holds is left out.
TEST(Ties, ForcesBetweenBodiesSumToZero) {
  Scene scene = tied_scene();
  scene.attachments.pop_back();
  for (Attachment& a : scene.attachments) a.damping = 0;
  TiedWorld t(scene);
  t.disturb();
  t.dynamics.assemble(t.v);
  Vec3 sum = Vec3::Zero(), moment = Vec3::Zero();
  double largest = 0;
  for (int j = 0; j < t.world.nodes.size(); ++j) {
    const Vec3& impulse = t.world.ties.minus_g()[j];
    sum += impulse;
    moment += (t.world.nodes.x[j] + kDt * t.v[j]).cross(impulse);
    largest = std::max(largest, impulse.norm());
  }
  ASSERT_GT(largest, 1e-3);
  EXPECT_LT(sum.norm(), 1e-14 * largest);
  EXPECT_LT(moment.norm(), 1e-14 * largest);
}

// The ties' part of A, within bodies and between them, is the derivative of their momentum to the velocity.
TEST(Ties, MatrixIsTheDerivativeOfTheForce) {
  TiedWorld t(tied_scene()), bare(without_attachments(tied_scene()));
  t.disturb();
  bare.disturb();
  t.dynamics.assemble(t.v);
  for (Body* body : bare.world.bodies) body->assemble(bare.world.nodes, bare.v);
  Eigen::VectorXd unused;
  const Eigen::MatrixXd with = t.matrix(unused);
  Eigen::MatrixXd without = Eigen::MatrixXd::Zero(with.rows(), with.cols());
  {
    std::vector<Eigen::Triplet<double>> entries;
    std::vector<double> g(with.rows(), 0.0);
    for (const Body* body : bare.world.bodies) body->append_matrix(entries, g, bare.size());
    for (const auto& entry : entries) without(entry.row(), entry.col()) += entry.value();
    for (int i = 0; i < with.rows(); ++i)
      if (without(i, i) == 0) without(i, i) = 1;
  }
  const Eigen::MatrixXd C = with - without;
  const double step = 1e-3, largest = C.cwiseAbs().maxCoeff();  // the force is linear in v
  ASSERT_GT(largest, 1e-3);
  EXPECT_LT((C - C.transpose()).cwiseAbs().maxCoeff(), 1e-14);
  for (int i = 0; i < t.size(); ++i) {
    if (t.world.nodes.fixed[i / 3]) continue;
    std::vector<Vec3> change(t.world.nodes.size());
    for (const double sign : {1.0, -1.0}) {
      std::vector<Vec3> v = t.v;
      v[i / 3][i % 3] += sign * step;
      t.dynamics.assemble(v);
      for (int j = 0; j < t.world.nodes.size(); ++j)
        change[j] = sign > 0 ? t.world.ties.minus_g()[j] : Vec3(change[j] - t.world.ties.minus_g()[j]);
    }
    for (int j = 0; j < t.size(); ++j)
      if (!t.world.nodes.fixed[j / 3]) {
        EXPECT_NEAR(C(j, i), -change[j / 3][j % 3] / (2 * step), 1e-9 * largest) << i << " " << j;
      }
  }
}

// What hangs on the rest by few ties is eliminated, and nothing that hangs on what is eliminated.
TEST(Ties, FewTiesToWhatIsKeptAreEliminated) {
  using Marks = std::vector<std::uint8_t>;
  const auto marks = [](std::span<const std::uint8_t> m) { return Marks(m.begin(), m.end()); };
  // Components: the rods' strands, the sheet, the block.
  const World few(tied_scene());
  const TieElimination of_few(few.ties, few.nodes, few.component_count);
  EXPECT_EQ(marks(of_few.eliminated()), (Marks{1, 0, 1, 0}));
  EXPECT_EQ(marks(of_few.kept()), (Marks{0, 0, 0, 1}));
  // The rods' strands, the thread, the sheet, the block.
  const World many(densely_tied_scene());
  const TieElimination of_many(many.ties, many.nodes, many.component_count);
  EXPECT_EQ(marks(of_many.eliminated()), (Marks{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(marks(of_many.kept()), (Marks{0, 0, 1, 1, 1, 1}));
}

// Elimination and conjugate gradients, each body by its own factor, find what one dense solve of everything finds. With
// and without the weight W of the contact solver, one after the other and about two iterates, so that no factor
// outlives its use; the impulse is a random one.
void expect_agreement_with_a_dense_solve(const Scene& scene) {
  TiedWorld t(scene);
  t.disturb();
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Vec3> impulse(t.world.nodes.size());
  for (Vec3& i : impulse) i = 0.01 * Vec3(uniform(engine), uniform(engine), uniform(engine));

  std::vector<int> all(t.world.component_count);
  std::iota(all.begin(), all.end(), 0);
  for (const double scale : {1.0, -1.0}) {
    for (Vec3& v : t.v) v *= scale;
    t.dynamics.assemble(t.v);
    Eigen::VectorXd minus_g;
    const Eigen::MatrixXd A = t.matrix(minus_g);
    for (const bool weighted : {false, true, false, false}) {
      std::vector<Vec3> v = t.v;
      std::vector<double> w(t.world.nodes.size(), 0.0);
      if (weighted) {
        t.dynamics.activate(all, {}, w);
        t.dynamics.solve(impulse, v, 1e-13);
      } else {
        const std::vector<std::uint8_t> marked(t.world.component_count, 1);
        EXPECT_TRUE(t.dynamics.solve_unweighted(marked, impulse, v, 1e-13));
      }
      EXPECT_GT(t.dynamics.linear_iterations(), 1);
      Eigen::MatrixXd A_plus_W = A;
      Eigen::VectorXd b = minus_g;
      for (int i = 0; i < t.size(); ++i) {
        if (t.world.nodes.fixed[i / 3]) continue;
        A_plus_W(i, i) += w[i / 3];
        b[i] += impulse[i / 3][i % 3];
      }
      const Eigen::VectorXd y = A_plus_W.ldlt().solve(b);
      const double largest = y.cwiseAbs().maxCoeff();
      for (int i = 0; i < t.size(); ++i)
        if (!t.world.nodes.fixed[i / 3]) {
          EXPECT_NEAR(v[i / 3][i % 3], t.v[i / 3][i % 3] + y[i], 1e-8 * largest) << weighted;
        }
    }
  }
}

TEST(Ties, SolveAgreesWithADenseOneWhereAllButOneIsEliminated) { expect_agreement_with_a_dense_solve(tied_scene()); }

TEST(Ties, SolveAgreesWithADenseOneWhereMostIsKept) { expect_agreement_with_a_dense_solve(densely_tied_scene()); }

// The scene with each strand of its first rods in a body of its own; `owner` names the one that an attachment is to.
template <class Owner>
Scene with_strands_apart(const Scene& together, Owner&& owner) {
  Scene apart = together;
  apart.rods.erase(apart.rods.begin());
  for (std::size_t s = together.rods[0].strands.size(); s-- > 0;) {
    Rods own = together.rods[0];
    own.name = "rod " + std::to_string(s);
    own.strands = {together.rods[0].strands[s]};
    apart.rods.insert(apart.rods.begin(), own);
  }
  for (Attachment& attachment : apart.attachments)
    for (std::string* end : {&attachment.a, &attachment.b})
      if (*end == together.rods[0].name) *end = "rod " + std::to_string(owner(attachment));
  return apart;
}

// Bends rods about two axes, so that bending twists them.
void bend(Rods& rods) {
  rods.poisson = 0.4;
  for (Strand& strand : rods.strands)
    for (std::size_t i = 0; i < strand.nodes.size(); ++i) {
      const auto phase = static_cast<double>(i);
      strand.nodes[i] += 0.004 * Vec3(0, std::sin(1.1 * phase), std::cos(0.8 * phase));
    }
}

// Steps both scenes, which have the same nodes in the same order; they go the same ways.
void expect_same_motion(Scene a, Scene b, int steps) {
  for (Scene* scene : {&a, &b}) scene->solver.linear_tolerance = 1e-9;
  Simulation one(a), other(b);
  const std::vector<Vec3> start(one.positions().begin(), one.positions().end());
  for (int i = 0; i < steps; ++i) {
    one.step();
    other.step();
  }
  const auto x = one.positions(), y = other.positions();
  ASSERT_EQ(x.size(), y.size());
  double moved = 0, apart = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    moved = std::max(moved, (x[j] - start[j]).norm());
    apart = std::max(apart, (x[j] - y[j]).norm());
  }
  EXPECT_LT(apart, 1e-11);
  EXPECT_GT(moved, 1e-3);
}

// Strands of one body are solved side by side, some of them eliminated, kept, or not tied: each finds its own twist.
TEST(Ties, StrandsOfOneBodyMoveAsStrandsOfSeveral) {
  Scene together = densely_tied_scene();
  bend(together.rods[0]);
  const auto owner = [](const Attachment& a) { return a.points.size() > 2 ? 2 : 0; };
  expect_same_motion(together, with_strands_apart(together, owner), 10);
}

// Two blocks, a strand on each; only one of them touches the ground, and the other is not in the contact solve.
TEST(Ties, StrandsOutsideTheContactSolveMoveAsStrandsOfAnotherBody) {
  Scene scene = tied_scene();
  scene.shells.clear();
  scene.rods[0].strands = {{straight({0, 0, 0}, {0.2, 0, 0}, 6), {}, 0},
                           {straight({0, 0.5, 0}, {0.2, 0.5, 0}, 6), {}, 0}};
  bend(scene.rods[0]);
  Solid high = scene.solids[0];
  high.name = "high";
  for (Vec3& x : high.mesh.vertices) x += Vec3(0, 0.5, 0);
  scene.solids.push_back(high);
  scene.attachments = {{"rods", "block", false, {{0.2, 0, 0}, {0.17, 0.01, 0}}, 200, 0.003},
                       {"rods", "high", false, {{0.2, 0.5, 0}, {0.17, 0.51, 0}}, 200, 0.003}};
  Collider step;
  step.name = "step";
  step.shape = ColliderShape::box;
  step.half_extents = {0.2, 0.1, 0.05};
  step.placement.position = {0.25, 0, -0.102};
  scene.colliders.push_back(step);
  const auto owner = [](const Attachment& a) { return a.b == "high" ? 1 : 0; };
  expect_same_motion(scene, with_strands_apart(scene, owner), 12);
}

// A solve that starts from the answer of the last one, as the next iteration of the contact solver does, is done at
// once where nothing has changed.
TEST(Ties, SolveStartsFromTheLastAnswer) {
  TiedWorld t(tied_scene());
  t.disturb();
  t.dynamics.assemble(t.v);
  std::vector<int> all(t.world.component_count);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> w(t.world.nodes.size(), 0.0);
  t.dynamics.activate(all, {}, w);
  const std::vector<Vec3> impulse(t.world.nodes.size(), Vec3(0.01, 0, 0));
  std::vector<Vec3> v = t.v;
  t.dynamics.solve(impulse, v, 1e-12);
  const int first = t.dynamics.linear_iterations();
  EXPECT_GT(first, 1);
  t.dynamics.solve(impulse, v, 1e-11);
  EXPECT_EQ(t.dynamics.linear_iterations(), first);
  EXPECT_EQ(t.dynamics.linear_unsolved(), 0);
  t.dynamics.solve(impulse, v, -1.0);  // which nothing reaches
  EXPECT_EQ(t.dynamics.linear_unsolved(), 1);
}

TEST(Ties, ConnectWhatHangsTogetherAndNothingElse) {
  TiedWorld t(tied_scene());
  // Components: the rods' strands, the sheet, the block.
  const auto group = t.world.ties.group(0);
  EXPECT_EQ(std::vector<int>(group.begin(), group.end()), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(t.world.ties.group(1).size(), 1u);
  std::vector<std::uint8_t> marked{0, 0, 1, 0};
  t.dynamics.mark_groups(marked);
  EXPECT_EQ(marked, (std::vector<std::uint8_t>{1, 0, 1, 1}));
  marked = {0, 1, 0, 0};
  t.dynamics.mark_groups(marked);
  EXPECT_EQ(marked, (std::vector<std::uint8_t>{0, 1, 0, 0}));
}

TEST(Ties, IterationsAreReportedAndNoneWithoutTies) {
  Simulation tied(tied_scene()), bare(without_attachments(tied_scene()));
  for (int i = 0; i < 3; ++i) {
    const StepReport report = tied.step();
    EXPECT_GT(report.linear_iterations, 0);
    EXPECT_EQ(report.linear_unsolved, 0);
    EXPECT_EQ(bare.step().linear_iterations, 0);
  }
}

TEST(Ties, StateAfterAResumeIsTheSame) {
  Simulation straight_on(tied_scene()), resumed(tied_scene());
  for (int i = 0; i < 3; ++i) straight_on.step();
  resumed.restore(straight_on.snapshot());
  for (int i = 0; i < 3; ++i) {
    straight_on.step();
    resumed.step();
    EXPECT_EQ(straight_on.state_hash(), resumed.state_hash());
  }
}

TEST(Ties, AttachmentsThatCannotHoldAreRefused) {
  const auto refusal = [](auto&& change) -> std::string {
    Scene scene = tied_scene();
    change(scene);
    try {
      Simulation s(scene);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  const auto expect_refused = [&](auto&& change, const char* why) {
    const std::string message = refusal(change);
    EXPECT_NE(message.find(why), std::string::npos) << "'" << message << "' does not say '" << why << "'";
  };
  expect_refused([](Scene& s) { s.attachments[0].a = "handle"; }, "the first is no body");
  expect_refused([](Scene& s) { s.attachments[0].b = "rods"; }, "they are the same");
  expect_refused([](Scene& s) { s.attachments[0].b = ""; }, "the second has no name");
  expect_refused([](Scene& s) { s.attachments[0].b = "handel"; }, "no collider is called 'handel'");
  expect_refused([](Scene& s) { s.attachments[1].roots = true; }, "only strands have roots");
  expect_refused([](Scene& s) { s.colliders[0].mesh_sequence = {{Vec3::Zero()}}; }, "sequence of meshes");
  expect_refused(
      [](Scene& s) {
        Frames frames;
        frames.name = "frames";
        frames.frames = {{1, 0, 0}};
        frames.samples = {{{1, 0, 0}, 1e-3, {{0, 1.0, Vec3::Zero()}}}};
        s.frames.push_back(frames);
        s.attachments[0].b = "frames";
      },
      "no surface");
}

}  // namespace
}  // namespace stiction
