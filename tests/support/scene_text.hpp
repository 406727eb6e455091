// Scenes from text and from a folder of their own, for tests of scene files.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "stiction/scene_file.hpp"

namespace stiction::test {

inline Scene parse(const std::string& text) { return parse_scene(text, "test.toml"); }

/// What is said about a scene that is refused; empty if it is not.
template <class Read>
std::string scene_error(const Read& read) {
  try {
    read();
  } catch (const SceneError& error) {
    return error.what();
  }
  return "";
}

/// Of all triangles, m².
inline double area(const TriangleMesh& mesh) {
  double sum = 0;
  for (const Eigen::Vector3i& t : mesh.triangles)
    sum += 0.5 * (mesh.vertices[t[1]] - mesh.vertices[t[0]]).cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]).norm();
  return sum;
}

/// A folder that lasts as long as the test.
class SceneFolderTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }
  Scene load(const std::string& name) const { return load_scene((folder / name).string()); }

  const std::filesystem::path folder = [] {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::filesystem::path(testing::TempDir()) /
           ("stiction_" + std::string(test->test_suite_name()) + "_" + test->name());
  }();
};

}  // namespace stiction::test
