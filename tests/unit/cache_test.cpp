// The frame cache: what is written comes back, whatever stops the writer, and VTK agrees.
#include "io/cache.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

namespace stiction {
namespace {

namespace fs = std::filesystem;

/// Two bodies of curves, with strands of different node counts, and a mesh: 9 + 4 + 4 points.
FrameLayout sample_layout() {
  CurveLayout hair{"hair <&\"> one", {0, 2, 5, 9}, {}};
  for (int node = 0; node < 9; ++node) hair.radius.push_back(1e-4 / (1 + node));
  const CurveLayout rope{"rope", {0, 4}, {0.01, 0.01, 0.02, 0.01}};
  const MeshLayout ground{"ground", {{0, 1, 2}, {0, 2, 3}}, 4, true};
  return {{hair, rope}, {ground}};
}

std::vector<Vec3> sample_positions(int frame, int body, int nodes) {
  std::vector<Vec3> positions;
  for (int node = 0; node < nodes; ++node) positions.emplace_back(0.1 * node, frame / 3.0, body + 1e-3 * node * frame);
  return positions;
}

Frame sample_frame(int frame) {
  return {frame,
          frame / 24.0,
          {sample_positions(frame, 0, 9), sample_positions(frame, 1, 4)},
          {sample_positions(frame, 2, 4)}};
}

void expect_float_equal(const std::vector<Vec3>& read, const std::vector<Vec3>& written) {
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], written[i].cast<float>().cast<double>());
}

/// The first `count` frames of the cache in `folder` are sample frames, and there are no more.
void expect_sample_frames(const fs::path& folder, std::int64_t count) {
  const CacheReader reader(folder);
  ASSERT_EQ(reader.frame_count(), count);
  for (int i = 0; i < count; ++i) {
    const Frame read = reader.read(i);
    const Frame written = sample_frame(i);
    EXPECT_EQ(read.index, written.index);
    EXPECT_EQ(read.time, written.time);
    for (std::size_t body = 0; body < 2; ++body) expect_float_equal(read.curves[body], written.curves[body]);
    expect_float_equal(read.meshes[0], written.meshes[0]);
  }
}

/// Starts a child process that does `work` and exits with 0, or with 1 after an IoError.
pid_t start_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (const IoError&) {
    ::_exit(1);
  }
  ::_exit(0);
}

int wait_status(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write_frames(CacheWriter& writer, int first, int end) const {
    for (int i = first; i < end; ++i) writer.append(sample_frame(i));
  }

  std::string run_vtk(int frames) const {
    return "/usr/bin/python3 " STICTION_SOURCE_DIR "/tests/vtk_opens_cache.py " + (folder_ / "cache.xdmf").string() +
           " --frames " + std::to_string(frames) + " --points 17 --cell-sizes 2 3 4 4 3 3";
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("stiction_cache_" + std::to_string(::getpid()) +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Cache, FramesAndLayoutComeBack) {
  CacheWriter writer(folder_, sample_layout());
  write_frames(writer, 0, 3);
  expect_sample_frames(folder_, 3);

  const CacheReader reader(folder_ / "cache.h5");
  const FrameLayout expected = sample_layout();
  ASSERT_EQ(reader.layout().curves.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reader.layout().curves[i].name, expected.curves[i].name);
    EXPECT_EQ(reader.layout().curves[i].offsets, expected.curves[i].offsets);
    EXPECT_EQ(reader.layout().curves[i].radius, expected.curves[i].radius);
  }
  ASSERT_EQ(reader.layout().meshes.size(), 1u);
  EXPECT_EQ(reader.layout().meshes[0].triangles, expected.meshes[0].triangles);
  EXPECT_EQ(reader.layout().meshes[0].vertex_count, 4);
  EXPECT_TRUE(reader.layout().meshes[0].is_ground);
}

TEST_F(Cache, GrowsPastTheExpectedFrames) {
  CacheWriter writer(folder_, sample_layout(), 2);
  write_frames(writer, 0, 9);
  expect_sample_frames(folder_, 9);
}

TEST_F(Cache, ReaderFollowsTheWriter) {
  CacheWriter writer(folder_, sample_layout());
  const CacheReader reader(folder_);
  EXPECT_EQ(reader.frame_count(), 0);
  writer.append(sample_frame(0));
  EXPECT_EQ(reader.frame_count(), 1);
  EXPECT_EQ(reader.read(0).time, 0.0);
  EXPECT_THROW(reader.read(1), IoError);
}

TEST_F(Cache, VtkOpensIt) {
  CacheWriter writer(folder_, sample_layout());
  write_frames(writer, 0, 3);
  EXPECT_EQ(std::system(run_vtk(3).c_str()), 0);
  EXPECT_NE(std::system((run_vtk(4) + " 2>/dev/null").c_str()), 0) << "the script must notice a missing frame";
}

TEST_F(Cache, ResumedRunGivesTheSameBytes) {
  const fs::path uninterrupted = folder_ / "uninterrupted";
  fs::create_directories(uninterrupted);
  CacheWriter reference(uninterrupted, sample_layout());
  write_frames(reference, 0, 6);
  {
    CacheWriter writer(folder_, sample_layout());
    write_frames(writer, 0, 2);
    Frame lost = sample_frame(2);
    lost.curves[0][0] = Vec3::Constant(7);
    writer.append(lost);
  }
  CacheWriter resumed = CacheWriter::resume(folder_, sample_layout(), 2);
  EXPECT_EQ(resumed.frame_count(), 2);
  expect_sample_frames(folder_, 2);
  write_frames(resumed, 2, 6);
  for (const char* name : {"cache.h5", "cache.xdmf"})
    EXPECT_EQ(read_file(folder_ / name), read_file(uninterrupted / name));
}

TEST_F(Cache, ResumeRefusesAnotherLayoutAndMissingFrames) {
  CacheWriter writer(folder_, sample_layout());
  writer.append(sample_frame(0));
  FrameLayout other = sample_layout();
  other.curves[0].offsets[1] = 3;
  EXPECT_THROW(CacheWriter::resume(folder_, other, 1), IoError);
  EXPECT_THROW(CacheWriter::resume(folder_, sample_layout(), 2), IoError);
  EXPECT_THROW(CacheWriter::resume(folder_ / "absent", sample_layout(), 0), IoError);
}

TEST_F(Cache, RefusesAFrameOfAnotherLayout) {
  CacheWriter writer(folder_, sample_layout());
  Frame frame = sample_frame(0);
  frame.meshes[0].pop_back();
  EXPECT_THROW(writer.append(frame), IoError);
}

TEST_F(Cache, RefusesALayoutThatContradictsItself) {
  FrameLayout layout = sample_layout();
  layout.curves[0].radius.pop_back();
  EXPECT_THROW(CacheWriter(folder_, layout), IoError);
  layout = sample_layout();
  layout.meshes[0].vertex_count = 3;
  EXPECT_THROW(CacheWriter(folder_, layout), IoError);
}

TEST_F(Cache, KilledWriterLeavesEveryEarlierFrame) {
  for (int round = 0; round < 12; ++round) {
    CacheWriter(folder_, sample_layout(), 4);  // small, so that growing is interrupted too
    const pid_t child = start_child([this] {
      CacheWriter writer = CacheWriter::resume(folder_, sample_layout(), 0);
      for (int i = 0;; ++i) writer.append(sample_frame(i));
    });
    while (CacheReader(folder_).frame_count() < 3 + round / 4)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::this_thread::sleep_for(std::chrono::microseconds(1300 * round));
    ::kill(child, SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(wait_status(child)));

    const std::int64_t count = CacheReader(folder_).frame_count();
    EXPECT_GE(count, 3);
    expect_sample_frames(folder_, count);
    CacheWriter resumed = CacheWriter::resume(folder_, sample_layout(), count);
    resumed.append(sample_frame(static_cast<int>(count)));
    expect_sample_frames(folder_, count + 1);
  }
}

TEST_F(Cache, FullDiskThrowsAndLeavesEarlierFrames) {
  const int status = wait_status(start_child([this] {
    CacheWriter writer(folder_, sample_layout());
    write_frames(writer, 0, 3);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_FSIZE, &nothing);
    writer.append(sample_frame(3));
  }));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1) << "an IoError";
  expect_sample_frames(folder_, 3);
}

TEST_F(Cache, FullDiskAtTheStartThrows) {
  const int status = wait_status(start_child([this] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &little);
    CacheWriter writer(folder_, sample_layout());
  }));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1) << "an IoError";
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace stiction
