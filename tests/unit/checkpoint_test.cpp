// Checkpoints come back bit for bit and damage is noticed; the other files of an output folder survive a full disk.
#include "io/checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/error_of.hpp"

namespace stiction {
namespace {

using test::error_of;

namespace fs = std::filesystem;

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override { prepare_output(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  const fs::path folder_ =
      fs::temp_directory_path() / ("stiction_checkpoint_" + std::to_string(::getpid()) +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const fs::path path_ = folder_ / "checkpoint.h5";
};

using OutputFiles = Checkpoint;

/// Values that only survive if no bit is touched.
Snapshot sample_snapshot() {
  using Limits = std::numeric_limits<double>;
  const std::vector<double> awkward = {0.1,
                                       -0.0,
                                       1.0 / 3.0,
                                       Limits::denorm_min(),
                                       Limits::max(),
                                       Limits::infinity(),
                                       std::bit_cast<double>(0x7ff8dead0000beefu)};
  return {
      123456789012345, 0.1 + 0.2, {{"rods/0/x", awkward}, {"empty", {}}, {"contacts", std::vector<double>(1000, 2.5)}}};
}

void expect_same_bits(const Snapshot& a, const Snapshot& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(bits(a.time), bits(b.time));
  ASSERT_EQ(a.arrays.size(), b.arrays.size());
  for (std::size_t i = 0; i < a.arrays.size(); ++i) {
    EXPECT_EQ(a.arrays[i].name, b.arrays[i].name);
    ASSERT_EQ(a.arrays[i].values.size(), b.arrays[i].values.size());
    for (std::size_t j = 0; j < a.arrays[i].values.size(); ++j) {
      EXPECT_EQ(bits(a.arrays[i].values[j]), bits(b.arrays[i].values[j]));
    }
  }
}

void write_bytes(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST_F(Checkpoint, ComesBackBitForBit) {
  save_checkpoint(path_, sample_snapshot(), "scene A");
  expect_same_bits(load_checkpoint(path_, "scene A"), sample_snapshot());
}

TEST_F(Checkpoint, EqualStatesGiveEqualFiles) {
  save_checkpoint(path_, sample_snapshot(), "scene A");
  save_checkpoint(folder_ / "again.h5", sample_snapshot(), "scene A");
  EXPECT_EQ(read_file(path_), read_file(folder_ / "again.h5"));
}

TEST_F(Checkpoint, MissingFileAndOtherSceneAreSaid) {
  EXPECT_NE(error_of<IoError>([&] { load_checkpoint(path_, "A"); }).find("there is no checkpoint"), std::string::npos);
  save_checkpoint(path_, sample_snapshot(), "A");
  const std::string error = error_of<IoError>([&] { load_checkpoint(path_, "B"); });
  EXPECT_NE(error.find(path_.string()), std::string::npos);
  EXPECT_NE(error.find("belongs to another scene (fingerprint 'A', this scene has 'B')"), std::string::npos);
}

TEST_F(Checkpoint, AnyFlippedBitIsNoticed) {
  save_checkpoint(path_, sample_snapshot(), "A");
  const std::string intact = read_file(path_);
  for (std::size_t i = 0; i < intact.size(); i += 31) {
    std::string damaged = intact;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    write_bytes(path_, damaged);
    EXPECT_NE(error_of<IoError>([&] { load_checkpoint(path_, "A"); }).find("damaged"), std::string::npos)
        << "byte " << i;
  }
}

TEST_F(Checkpoint, ShortenedFileIsNoticed) {
  save_checkpoint(path_, sample_snapshot(), "A");
  const std::string intact = read_file(path_);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{512}, intact.size() - 1}) {
    write_bytes(path_, intact.substr(0, size));
    EXPECT_NE(error_of<IoError>([&] { load_checkpoint(path_, "A"); }).find("damaged"), std::string::npos)
        << size << " bytes";
  }
}

TEST_F(Checkpoint, FailedSaveKeepsTheOneBefore) {
  save_checkpoint(path_, sample_snapshot(), "A");
  fs::create_symlink("/dev/full", path_.string() + ".tmp");
  const std::string error = error_of<IoError>([&] { save_checkpoint(path_, Snapshot{}, "A"); });
  EXPECT_NE(error.find("No space left on device"), std::string::npos) << error;
  expect_same_bits(load_checkpoint(path_, "A"), sample_snapshot());
  save_checkpoint(path_, Snapshot{}, "A");
  expect_same_bits(load_checkpoint(path_, "A"), Snapshot{});
}

TEST_F(OutputFiles, PreparesNestedFoldersAndReportsSpace) {
  const OutputFolder output = prepare_output(folder_ / "a" / "b");
  EXPECT_TRUE(fs::is_directory(output.path));
  EXPECT_TRUE(fs::is_empty(output.path));
  EXPECT_GT(output.free_bytes, 0u);
}

TEST_F(OutputFiles, RefusesWhatCannotBeWrittenTo) {
  write_bytes(folder_ / "file", "");
  EXPECT_THROW(prepare_output(folder_ / "file"), IoError);
  EXPECT_THROW(prepare_output(folder_ / "file" / "below"), IoError);
  EXPECT_THROW(prepare_output("/proc/stiction"), IoError);
  EXPECT_THROW(prepare_output("/proc"), IoError);  // a folder, and even root may not write there
}

TEST_F(OutputFiles, JsonLinesAppendAndResume) {
  const fs::path path = folder_ / "stats.jsonl";
  {
    JsonLines lines(path);
    for (int step = 0; step < 5; ++step) lines.append({{"step", step}});
  }
  std::ofstream(path, std::ios::app) << "{\"step\": 5, \"cut of";
  JsonLines resumed = JsonLines::resume(path, 3);
  EXPECT_EQ(read_file(path), "{\"step\":0}\n{\"step\":1}\n{\"step\":2}\n");
  resumed.append({{"step", 3}});
  EXPECT_EQ(read_file(path), "{\"step\":0}\n{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_THROW(JsonLines::resume(path, 5), IoError);
  EXPECT_THROW(JsonLines::resume(folder_ / "absent", 0), IoError);
}

TEST_F(OutputFiles, JsonLinesReportAFullDisk) {
  JsonLines lines("/dev/full");
  const std::string error = error_of<IoError>([&] { lines.append({{"step", 0}}); });
  EXPECT_NE(error.find("/dev/full: cannot write: No space left on device"), std::string::npos) << error;
}

TEST_F(OutputFiles, JsonIsReplacedInOneStep) {
  const fs::path path = folder_ / "summary.json";
  write_json_atomically(path, {{"frames", 3}});
  EXPECT_EQ(nlohmann::json::parse(read_file(path)), nlohmann::json({{"frames", 3}}));
  fs::create_symlink("/dev/full", path.string() + ".tmp");
  EXPECT_THROW(write_json_atomically(path, {{"frames", 4}}), IoError);
  EXPECT_EQ(nlohmann::json::parse(read_file(path)), nlohmann::json({{"frames", 3}}));
}

}  // namespace
}  // namespace stiction
