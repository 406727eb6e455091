#include "geometry/tet_io.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "geometry/tet_mesh.hpp"
#include "support/error_of.hpp"

namespace stiction {
namespace {

using test::error_of;

const std::string nodes_2 =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n7 0 1 0\n4 0 0 1\n9 5 5 5\n$EndNodes\n";
const std::string tiny_2 = nodes_2 + "$Elements\n2\n1 2 2 0 1 1 2 7\n2 4 2 0 1 1 2 7 4\n$EndElements\n";

const std::string tiny_4 =
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 0 0\n$EndEntities\n"
    "$Nodes\n2 5 1 9\n2 1 1 2\n1\n2\n0 0 0 0.1 0.2\n1 0 0 0.3 0.4\n3 1 0 3\n7\n4\n9\n0 1 0\n0 0 1\n5 5 5\n$EndNodes\n"
    "$Elements\n2 2 1 2\n2 1 2 1\n1 1 2 7\n3 1 4 1\n2 1 2 7 4\n$EndElements\n";

const std::string tiny_node =
    "# a comment\n5 3 1 1\n\n 0 0 0 0 0.5 1\n 1 1 0 0 0.5 1 # another\n 2 0 1 0 0.5 1\n 3 0 0 1 0.5 1\n 4 5 5 5 0.5 "
    "1\n";
const std::string tiny_ele = "1 4 1\n 0 0 1 2 3 17\n";

TetMesh parse_tiny_tetgen(const std::string& nodes, const std::string& elements) {
  return parse_tetgen(nodes, "t.node", elements, "t.ele");
}

std::string msh_error(const std::string& text) {
  return error_of<MeshError>([&] { parse_msh(text, "t.msh"); });
}

std::string tetgen_error(const std::string& nodes, const std::string& elements) {
  return error_of<MeshError>([&] { parse_tiny_tetgen(nodes, elements); });
}

void expect_tiny(const TetMesh& mesh) {
  EXPECT_EQ(mesh.vertices, (std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));  // the fifth is not used
  EXPECT_EQ(mesh.tets, (std::vector<Eigen::Vector4i>{{0, 1, 2, 3}}));
}

/// What a reader may return for any text at all.
bool is_sound(const TetMesh& mesh) {
  if (mesh.tets.empty()) return false;
  for (const Vec3& x : mesh.vertices) {
    if (!x.allFinite()) return false;
  }
  for (const Eigen::Vector4i& tet : mesh.tets) {
    if (tet.minCoeff() < 0 || tet.maxCoeff() >= static_cast<int>(mesh.vertices.size())) return false;
  }
  for (const double volume : tet_volumes(mesh)) {
    if (!(volume > 0)) return false;
  }
  return true;
}

std::string msh_2(const TetMesh& mesh) {
  std::ostringstream text;
  text.precision(17);
  text << "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n" << mesh.vertices.size() << "\n";
  for (size_t i = 0; i < mesh.vertices.size(); ++i) text << i + 1 << " " << mesh.vertices[i].transpose() << "\n";
  text << "$EndNodes\n$Elements\n" << mesh.tets.size() << "\n";
  for (size_t i = 0; i < mesh.tets.size(); ++i) {
    text << i + 1 << " 4 2 1 1 " << (mesh.tets[i].array() + 1).matrix().transpose() << "\n";
  }
  text << "$EndElements\n";
  return text.str();
}

TEST(TetIo, ReadsAllFormatsAlike) {
  expect_tiny(parse_msh(tiny_2, "t.msh"));
  expect_tiny(parse_msh(tiny_4, "t.msh"));
  expect_tiny(parse_tiny_tetgen(tiny_node, tiny_ele));
}

TEST(TetIo, LayoutOfTheTextDoesNotMatter) {
  for (const std::string& text : {tiny_2, tiny_4}) {
    std::string windows, spaced;
    for (const char c : text) {
      windows += c == '\n' ? "\r\n" : std::string(1, c);
      spaced += c == ' ' ? "\t  " : c == '\n' ? "  \n\n" : std::string(1, c);
    }
    expect_tiny(parse_msh(windows, "t.msh"));
    expect_tiny(parse_msh(spaced, "t.msh"));
    expect_tiny(parse_msh("\xEF\xBB\xBF" + text, "t.msh"));
    expect_tiny(parse_msh(text + "$NodeData\n1\n\"a view\"\n$EndNodeData\n", "t.msh"));
  }
}

TEST(TetIo, RoundTripsAMeshToTheBit) {
  const TetMesh box = make_tet_box({0.1, 0.2, 0.7}, {3, 4, 5});
  const TetMesh read = parse_msh(msh_2(box), "box.msh");
  EXPECT_EQ(read.vertices, box.vertices);
  EXPECT_EQ(read.tets, box.tets);
}

TEST(TetIo, TurnsTetsOfNegativeVolume) {
  const TetMesh mesh = parse_tiny_tetgen(tiny_node, "1 4 0\n0 1 0 2 3\n");
  EXPECT_NEAR(total_volume(mesh), 1.0 / 6, 1e-16);
}

TEST(TetIo, TakesTheCornersOfSecondOrderTets) {
  const std::string node =
      "10 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n4 .5 0 0\n5 .5 .5 0\n6 0 .5 0\n7 0 0 .5\n8 .5 0 .5\n9 0 .5 .5\n";
  expect_tiny(parse_tiny_tetgen(node, "1 10 0\n0 0 1 2 3 4 5 6 7 8 9\n"));
}

TEST(TetIo, ReadsFilesByTheirEnding) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "stiction_tet_io";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  };
  expect_tiny(read_tet_mesh(write("t.msh", tiny_4)));
  const std::string node = write("t.node", tiny_node), ele = write("t.ele", tiny_ele);
  expect_tiny(read_tet_mesh(node));
  expect_tiny(read_tet_mesh(ele));
  const std::string missing = (folder / "none.msh").string();
  EXPECT_EQ(error_of<MeshError>([&] { read_tet_mesh(missing); }), missing + ": no such file");
  const std::string other = write("t.vtk", "");
  EXPECT_EQ(error_of<MeshError>([&] { read_tet_mesh(other); }), other + ": a tet mesh ends in .msh, .node or .ele");
  std::filesystem::remove_all(folder);
}

TEST(TetIo, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(msh_error(""), "t.msh:1:1: expected $MeshFormat, found the end of the file");
  EXPECT_EQ(msh_error("solid cube\n"), "t.msh:1:1: expected $MeshFormat, found 'solid'");
  EXPECT_EQ(msh_error("$MeshFormat\n4 0 8\n"), "t.msh:2:1: version '4' is not read; save as version 2.2 or 4.1");
  EXPECT_EQ(msh_error("$MeshFormat\n2.2 1 8\n"), "t.msh:2:5: binary files are not read; save as ASCII");
  EXPECT_EQ(msh_error(nodes_2), "t.msh:12:1: the mesh has no tets");
  const auto with = [](const std::string& element) {
    return msh_error(nodes_2 + "$Elements\n1\n" + element + "\n$EndElements\n");
  };
  EXPECT_EQ(with("1 4 2 0 1 1 2 7 5"), "t.msh:14:17: there is no node 5");
  EXPECT_EQ(with("1 4 2 0 1 1 2 7"), "t.msh:14:16: expected a node number, found the end of the line");
  EXPECT_EQ(with("1 4 2 0 1 1 2 7 7"), "t.msh:14:1: the tet has no volume");
  EXPECT_EQ(with("1 4 -2 0 1 1 2 7 7"), "t.msh:14:5: number of tags is negative");
  EXPECT_EQ(with("1 4 2 0 1 1 2 x 7"), "t.msh:14:15: expected a node number, found 'x'");
  EXPECT_EQ(msh_error("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n2\n1 0 0 0\n1 1 0 0\n"),
            "t.msh:7:1: node 1 is defined twice");
  EXPECT_EQ(msh_error("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 nan 0\n"),
            "t.msh:6:5: 'nan' is not a finite number");
  EXPECT_EQ(msh_error("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Periodic\n1 2 3\n"),
            "t.msh:4:1: the section '$Periodic' does not end");
  EXPECT_EQ(tetgen_error("5 2 0 0\n", tiny_ele), "t.node:1:3: the points have 2 coordinates, not 3");
  EXPECT_EQ(tetgen_error(tiny_node, "1 5 0\n"), "t.ele:1:3: a tet has 4 or 10 nodes, not 5");
  EXPECT_EQ(tetgen_error(tiny_node, "2 4 0\n0 0 1 2 3\n"),
            "t.ele:3:1: expected a tet number, found the end of the file");
  EXPECT_EQ(tetgen_error(tiny_node, "1 4 0\n0 0 1 2 3\n1 0 1 2 3\n"), "t.ele:3:1: more tets than 1");
  EXPECT_EQ(tetgen_error("1 3 0 0\n0 0 0 0\n1 1 1 1\n", tiny_ele), "t.node:3:1: more points than 1");
}

TEST(TetIo, RefusesCountsBeyondTheLimits) {
  EXPECT_EQ(msh_error("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n99999999999\n"),
            "t.msh:5:1: number of nodes 99999999999 is more than 67108864");
  TetMeshLimits limits;
  limits.vertices = 4;
  EXPECT_EQ(error_of<MeshError>([&] { parse_msh(tiny_2, "t.msh", limits); }),
            "t.msh:5:1: number of nodes 5 is more than 4");
  limits = {};
  limits.tets = 1;
  EXPECT_EQ(error_of<MeshError>([&] { parse_msh(tiny_2, "t.msh", limits); }),
            "t.msh:13:1: number of elements 2 is more than 1");
  // Blocks that hold more than the total.
  EXPECT_EQ(msh_error("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 2 1 2\n0 1 0 3\n"),
            "t.msh:6:7: number of nodes in the block 3 is more than 2");
}

TEST(TetIo, ATruncatedFileIsAnErrorWithItsPlace) {
  for (const std::string& text : {tiny_2, tiny_4}) {
    const size_t complete = text.rfind("$EndElements") + std::string("$EndElements").size();
    for (size_t length = 0; length < complete; ++length) {
      const std::string error = msh_error(text.substr(0, length));
      EXPECT_TRUE(error.starts_with("t.msh:")) << length << " bytes: " << error;
    }
  }
  const std::string last_point = " 4 5 5 5";  // its attributes are not needed
  for (size_t length = 0; length < tiny_node.find(last_point) + last_point.size(); ++length) {
    const std::string error = tetgen_error(tiny_node.substr(0, length), tiny_ele);
    EXPECT_TRUE(error.starts_with("t.node:")) << length << " bytes: " << error;
  }
}

// What the fuzzer found worth keeping (tests/fuzz/fuzz_tet.cpp). A form feed separates TetGen's two files.
TEST(TetIo, FuzzCorpusIsReadOrRefused) {
  int accepted = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STICTION_SOURCE_DIR "/tests/fuzz/corpus/tet")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::size_t cut = text.find('\f');
    try {
      const TetMesh mesh = cut == std::string::npos ? parse_msh(text, "t")
                                                    : parse_tetgen(text.substr(0, cut), "t", text.substr(cut + 1), "t");
      for (const Eigen::Vector4i& t : mesh.tets) {
        EXPECT_GE(t.minCoeff(), 0) << entry.path();
        EXPECT_LT(t.maxCoeff(), static_cast<int>(mesh.vertices.size())) << entry.path();
      }
      ++accepted;
    } catch (const MeshError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("t:")) << entry.path() << ": " << error.what();
      ++refused;
    }
  }
  EXPECT_GE(accepted, 3);
  EXPECT_GT(refused, 0);
}

TEST(TetIo, AnyGarbageIsRefusedOrGivesASoundMesh) {
  std::mt19937 engine(11);
  const auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(engine); };
  const std::string alphabet = "0123456789 \n-+.e$#x\xff" + std::string(1, '\0');
  int accepted = 0, refused = 0;
  const auto check = [&](const auto& read) {
    try {
      EXPECT_TRUE(is_sound(read()));
      ++accepted;
    } catch (const MeshError& error) {
      EXPECT_NE(std::string(error.what()).find(':'), std::string::npos);
      ++refused;
    }
  };
  const auto mutate = [&](std::string text) {
    const size_t edits = 1 + pick(4);
    for (size_t k = 0; k < edits && !text.empty(); ++k) {
      const size_t at = pick(text.size());
      switch (pick(4)) {
        case 0:
          text[at] = alphabet[pick(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + pick(8));
          break;
        case 2:
          text.insert(at, text.substr(pick(text.size()), pick(20)));
          break;
        default:
          text.insert(at, 1, alphabet[pick(alphabet.size())]);
      }
    }
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    check([&] { return parse_msh(mutate(i % 2 == 0 ? tiny_2 : tiny_4), "t.msh"); });
    check([&] { return parse_tiny_tetgen(mutate(tiny_node), mutate(tiny_ele)); });
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace stiction
