#include "geometry/mesh_io.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <filesystem>
#include <fstream>

#include "geometry/primitives.hpp"
#include "support/error_of.hpp"

namespace stiction {
namespace {

using test::error_of;

using Triangles = std::vector<Eigen::Vector3i>;

const std::string square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

TriangleMesh parse(const std::string& text) { return parse_obj(text, "t.obj"); }

std::string error_in(const std::string& text) {
  return error_of<MeshError>([&] { parse(text); });
}

TEST(MeshIo, ReadsVerticesAndFaces) {
  const TriangleMesh mesh = parse("v 0.5 -1e-3 +2\nv .25 3. 0\nv 1 2 3 1.0\nf 1 2 3\n");
  ASSERT_EQ(mesh.vertices.size(), 3u);
  EXPECT_EQ(mesh.vertices[0], Vec3(0.5, -1e-3, 2));
  EXPECT_EQ(mesh.vertices[1], Vec3(0.25, 3, 0));
  EXPECT_EQ(mesh.vertices[2], Vec3(1, 2, 3));
  EXPECT_EQ(mesh.triangles, (Triangles{{0, 1, 2}}));
}

TEST(MeshIo, CutsPolygonsIntoFans) {
  EXPECT_EQ(parse(square + "v 0 0.5 0\nf 1 2 3 4 5\n").triangles, (Triangles{{0, 1, 2}, {0, 2, 3}, {0, 3, 4}}));
}

TEST(MeshIo, ReadsAllIndexForms) {
  const std::string attributes = "vt 0 0\nvt 1 0\nvn 0 0 1\n";
  for (const char* face : {"f 1 2 3", "f 1/1 2/2 3/1", "f 1//1 2//1 3//1", "f 1/1/1 2/2/1 3/1/1", "f 1/-1/-1 2 3//1"}) {
    EXPECT_EQ(parse(square + attributes + face).triangles, (Triangles{{0, 1, 2}})) << face;
  }
}

TEST(MeshIo, NegativeIndicesCountBackFromTheLastVertexSoFar) {
  const TriangleMesh mesh = parse("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 0 0 1\nf -4 -1 -2\n");
  EXPECT_EQ(mesh.triangles, (Triangles{{0, 1, 2}, {0, 3, 2}}));
}

TEST(MeshIo, LayoutOfTheTextDoesNotMatter) {
  const Triangles expected = {{0, 1, 2}};
  EXPECT_EQ(parse("# head\r\nv 0 0 0\r\nv 1 0 0\r\n\r\nv 1 1 0 # a corner\r\nf 1 2 3\r\n").triangles, expected);
  EXPECT_EQ(parse("v 0 0 0\nv 1 \\\n0 0\nv 1 1 \\\r\n 0\nf 1 2\\\n 3").triangles, expected);
  EXPECT_EQ(parse("\xEF\xBB\xBFv 0 0 0\n\tv\t1 0 0  \nv 1 1 0\n  f 1 2 3   ").triangles, expected);
  EXPECT_EQ(parse("o a#b\ng x \\\nv 9 9 9\nusemtl m\ns off\nv 0 0 0\nv 1 0 0\nv 1 1 0\nl 1 2\nf 1 2 3\n").triangles,
            expected);
}

TEST(MeshIo, TheLocaleDoesNotMatter) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) std::setlocale(LC_ALL, name);
  const TriangleMesh mesh = parse("v 0.5 0 0\nv 1.5 0 0\nv 0 1.25 0\nf 1 2 3\n");
  const std::string text = format_obj(mesh);
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(mesh.vertices[0].x(), 0.5);
  EXPECT_EQ(text, "v 0.5 0 0\nv 1.5 0 0\nv 0 1.25 0\nf 1 2 3\n");
}

TEST(MeshIo, BadTextIsRefusedWithItsPlace) {
  const struct {
    std::string text, error;
  } cases[] = {
      {square + "f 1 2 5\n", "t.obj:5:7: index 5 is out of range, with 4 vertices defined so far"},
      {square + "f 0 1 2\n", "t.obj:5:3: index 0 is out of range, with 4 vertices defined so far"},
      {square + "f 1 -5 2\n", "t.obj:5:5: index -5 is out of range, with 4 vertices defined so far"},
      {square + "f 1 2 99999999999999999999\n",
       "t.obj:5:7: index 99999999999999999999 is out of range, with 4 vertices defined so far"},
      {square + "f 1/1 2 3\n", "t.obj:5:3: index 1 is out of range, with 0 texture coordinates defined so far"},
      {square + "f 1 2//1 3\n", "t.obj:5:5: index 1 is out of range, with 0 normals defined so far"},
      {"v 0 0 0\nf 1 2 3\nv 1 0 0\nv 0 1 0\n", "t.obj:2:5: index 2 is out of range, with 1 vertices defined so far"},
      {"v 0 0 0\nv 0 nan 0\n", "t.obj:2:5: 'nan' is not a finite number"},
      {"v 0 0 0\n\nv 0 0 -inf\n", "t.obj:3:7: '-inf' is not a finite number"},
      {"v 1e999 0 0\n", "t.obj:1:3: '1e999' is not a finite number"},
      {"v 0 0,5 0\n", "t.obj:1:5: expected a number, found '0,5'"},
      {"v 0 0 0x10\n", "t.obj:1:7: expected a number, found '0x10'"},
      {"v 0 +-1 0\n", "t.obj:1:5: expected a number, found '+-1'"},
      {"v 0 + 0\n", "t.obj:1:5: expected a number, found '+'"},
      {"v 0 0 \\\n  zero\n", "t.obj:2:3: expected a number, found 'zero'"},
      {"v 0 0 " + std::string(50, 'z'), "t.obj:1:7: expected a number, found '" + std::string(40, 'z') + "…'"},
      {"# a comment\r\nv 0 0\r\n", "t.obj:2:1: a vertex needs 3 coordinates, found 2"},
      {"v 1 2 3 4 5 6 7 8\n", "t.obj:1:17: a vertex has more than 7 numbers"},
      {square + "  f 1 2\n", "t.obj:5:3: a face needs 3 vertices or more, found 2"},
      {square + "f\n", "t.obj:5:1: a face needs 3 vertices or more, found 0"},
      {square + "f 1 2 -4\n", "t.obj:5:7: a face repeats the vertex '-4'"},
      {square + "f 1 2 3 4 2\n", "t.obj:5:11: a face repeats the vertex '2'"},
      {square + "f 1 2 x\n", "t.obj:5:7: expected v, v/vt, v//vn or v/vt/vn, found 'x'"},
      {square + "f 1 2 3.0\n", "t.obj:5:7: expected v, v/vt, v//vn or v/vt/vn, found '3.0'"},
      {square + "f 1 2 3//\n", "t.obj:5:7: expected v, v/vt, v//vn or v/vt/vn, found '3//'"},
      {square + "f 1 2 /3\n", "t.obj:5:7: expected v, v/vt, v//vn or v/vt/vn, found '/3'"},
      {square, "t.obj:5:1: the mesh has no faces"},
      {"", "t.obj:1:1: the mesh has no faces"},
      {"solid not an obj file\n", "t.obj:2:1: the mesh has no faces"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(error_in(text), error);
}

TEST(MeshIo, CountsBeyondTheLimitsAreRefused) {
  const auto error_within = [](const std::string& text, const MeshLimits& limits) {
    return error_of<MeshError>([&] { parse_obj(text, "t.obj", limits); });
  };
  const std::string text = square + "f 1 2 3\nf 1 2 3 4\n";
  EXPECT_EQ(error_within(text, {.vertices = 4, .triangles = 3, .polygon = 4}), "accepted");
  EXPECT_EQ(error_within(text, {.vertices = 3}), "t.obj:4:1: more than 3 vertices");
  EXPECT_EQ(error_within(text, {.triangles = 2}), "t.obj:6:1: more than 2 triangles");
  EXPECT_EQ(error_within(text, {.polygon = 3}), "t.obj:6:9: more than 3 vertices in a face");
}

TEST(MeshIo, FilesRoundTripToTheBit) {
  const std::string path = testing::TempDir() + "stiction_mesh_io_test.obj";
  const TriangleMesh mesh = make_torus(1.0 / 3, 0.1, 7, 11);
  write_obj(path, mesh);
  const TriangleMesh copy = read_obj(path);
  std::filesystem::remove(path);
  EXPECT_EQ(copy.vertices, mesh.vertices);
  EXPECT_EQ(copy.triangles, mesh.triangles);
}

TEST(MeshIo, FileErrorsNameTheFile) {
  const std::string nowhere = testing::TempDir() + "no/such/file.obj";
  EXPECT_EQ(error_of<MeshError>([&] { read_obj(nowhere); }), nowhere + ": no such file");
  EXPECT_EQ(error_of<MeshError>([&] { read_obj(testing::TempDir()); }), testing::TempDir() + ": no such file");
  EXPECT_EQ(error_of<MeshError>([&] { write_obj(nowhere, {}); }), nowhere + ": cannot be written");
}

/// What the fuzzer found worth keeping (tests/fuzz/fuzz_obj.cpp): accepted and round-tripped, or refused with a place.
TEST(MeshIo, FuzzCorpusIsReadOrRefused) {
  int accepted = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STICTION_SOURCE_DIR "/tests/fuzz/corpus/obj")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    TriangleMesh mesh;
    const std::string error = error_of<MeshError>([&] { mesh = parse(text); });
    if (error != "accepted") {
      EXPECT_TRUE(error.starts_with("t.obj:")) << entry.path() << ": " << error;
      ++refused;
      continue;
    }
    const TriangleMesh copy = parse(format_obj(mesh));
    EXPECT_EQ(copy.vertices, mesh.vertices) << entry.path();
    EXPECT_EQ(copy.triangles, mesh.triangles) << entry.path();
    ++accepted;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace stiction
