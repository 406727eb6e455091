// Broken scenes fail with a SceneError that points at the right line and names the key: a table by hand, then one
// mutation after another of every field in the schema (support/broken_scenes.hpp), then every truncation of a scene.
// The fuzzer's corpus is replayed.
#include "support/broken_scenes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "scene/parse.hpp"
#include "stiction/scene_file.hpp"

namespace stiction {
namespace {

/// The message of the SceneError that parsing throws, or "" where the scene is accepted.
std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_scene(text, "broken.toml", overrides);
    return "";
  } catch (const SceneError& error) {
    return error.what();
  }
}

void expect_error(const test::BrokenScene& broken) {
  const std::string message = error_of(broken.text);
  EXPECT_TRUE(message.starts_with(fmt::format("broken.toml:{}:", broken.line))) << broken.text << "\n→ " << message;
  for (const std::string& fragment : broken.fragments)
    EXPECT_NE(message.find(fragment), std::string::npos) << fragment << " missing in: " << message << "\n"
                                                         << broken.text;
}

TEST(BrokenScenes, ByHand) {
  ASSERT_GE(test::broken_by_hand.size(), 60u);
  for (const test::BrokenScene& broken : test::broken_by_hand) expect_error(broken);
}

TEST(BrokenScenes, ThroughTheSchema) {
  const std::vector<test::BrokenScene> scenes = test::broken_through_the_schema();
  for (const test::BrokenScene& broken : scenes) expect_error(broken);
  EXPECT_GE(scenes.size(), 200u);
  RecordProperty("broken_scenes", static_cast<int>(scenes.size()));
}

constexpr const char* whole_scene = R"(name = "whole"
[time]
duration = 0.5
[world]
gravity = [0, 0, -9.81]
[[collider]]
name = "ball"
shape = "sphere"
radius = 0.09
rotation_keys = [
  [0, 0, 0, 0],
  [1, 0, 0, 6.28],
]
[[groom]]
on = "ball"
strands = 3
elements = 4
[[rod]]
forces = [{node = -1, force = [0, 0, 1]}]
[[friction]]
a = "ball"
b = "rod0"
friction = 0.3
)";

TEST(BrokenScenes, Truncations) {
  const std::string whole = whole_scene;
  ASSERT_EQ(error_of(whole), "");
  int broken = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string text = whole.substr(0, size);
    const std::string message = error_of(text);
    if (message.empty()) continue;
    ++broken;
    int line = 0, column = 0;
    ASSERT_EQ(std::sscanf(message.c_str(), "broken.toml:%d:%d: ", &line, &column), 2) << message;
    EXPECT_GE(line, 1) << message;
    EXPECT_LE(line, 1 + std::count(text.begin(), text.end(), '\n')) << message;
    EXPECT_GE(column, 1) << message;
  }
  EXPECT_GT(broken, 200);
}

TEST(BrokenScenes, OverridesAreNamed) {
  const std::string scene = whole_scene;
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"groom.0.strands=-1", "groom.0.strands: is -1, must be >= 1"},
      {"groom.0.strnds=3", "groom.0.strnds: unknown key; did you mean 'strands'?"},
      {"grom.0.strands=3", "unknown key; did you mean 'groom'?"},
      {"groom.1.strands=3", "index 1 is out of range, the scene has 1 of 'groom'"},
      {"groom.-1.strands=3", "expected an index after 'groom', got '-1'"},
      {"groom.strands=3", "expected an index after 'groom', got 'strands'"},
      {"groom.0=3", "name a key of the table"},
      {"chain.0.radius=1", "index 0 is out of range, the scene has 0 of 'chain'"},
      {"solver.precision=half", "solver.precision: 'half' is not one of"},
      {"time.fps=fast", "'fast' is not a TOML value"},
      {"time.fps=\xc3\xa4", "is not a TOML value: only comments may have non-ASCII"},
      {"time.fps=", "'' is not a TOML value"},
      {"time.fps=1\nduration=2", "expected one value"},
      {"time.fps=nan", "time.fps: nan is not a finite number"},
      {"time=3", "time: expected a table, got 3"},
      {"time.fps.x=3", "'fps' has no keys inside it"},
      {"world.gravity=[0, 0]", "world.gravity: expected a list of 3 numbers"},
      {"render={widht=3}", "render.widht: unknown key; did you mean 'width'?"},
      {"groom.0.on=bal", "groom.0.on: there is no collider 'bal'; did you mean 'ball'?"},
      {"rod.0.forces.0.node=99", "rod.0.forces.0.node: is 99"},
      {"groom.0.strands", "expected key=value"},
      {"=3", "expected key=value"},
  };
  for (const auto& [text, fragment] : broken) {
    const std::string message = error_of(scene, {text});
    EXPECT_TRUE(message.starts_with("--set " + text + ": ")) << message;
    EXPECT_NE(message.find(fragment), std::string::npos) << message;
  }
  // An override leaves the places of all other keys as they are.
  EXPECT_TRUE(error_of(scene + "b = 3\n", {"time.fps=3"}).starts_with("broken.toml:24:"));
}

TEST(BrokenScenes, MissingFiles) {
  for (const char* path : {"/no/such/scene.toml", "/"}) {
    try {
      load_scene(path);
      FAIL() << path;
    } catch (const SceneError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(std::string(path) + ":1:1: cannot read")) << error.what();
    }
  }
}

TEST(SceneCorpus, RunsOrFailsWithALocation) {
  const std::filesystem::path folder = std::filesystem::path(STICTION_SOURCE_DIR) / "tests/fuzz/corpus/scene";
  int files = 0, accepted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ++files;
    try {
      scene::parse_limited(text, "corpus", {}, {.nodes = 20000, .read_files = false, .folder = ""});
      ++accepted;
    } catch (const SceneError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("corpus:")) << entry.path() << ": " << error.what();
    }
  }
  EXPECT_GT(files, 0);
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace stiction
