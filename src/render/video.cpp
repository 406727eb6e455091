#include "render/video.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

extern char** environ;

namespace stiction {
namespace {

namespace fs = std::filesystem;

/// The smallest number among the files named frame_<number>.png.
std::optional<int> first_frame(const fs::path& folder) {
  std::optional<int> first;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    int number = 0, length = 0;
    const std::string name = entry.path().filename().string();
    const bool matched = std::sscanf(name.c_str(), "frame_%d.png%n", &number, &length) == 1;
    if (!matched || length != static_cast<int>(name.size())) continue;
    if (!first || number < *first) first = number;
  }
  return first;
}

/// ffmpeg expands % in the names of image sequences; the folder's own must be doubled.
std::string escape_percent(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '%' ? 2 : 1, c);
  return escaped;
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

struct ProcessResult {
  int status;  ///< as from waitpid
  std::string errors;
};

/// Runs a program found on the PATH, without a shell, and collects its standard error.
ProcessResult run_program(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  int channel[2];
  if (pipe2(channel, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, channel[1], STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(channel[1]);
  if (error != 0) {
    close(channel[0]);
    throw std::runtime_error(
        fmt::format("cannot run {}: {} (is it installed and on the PATH?)", arguments[0], std::strerror(error)));
  }

  ProcessResult result;
  result.errors = read_all(channel[0]);
  close(channel[0]);
  while (waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace

void encode_mp4(const fs::path& folder, double fps, const fs::path& out) {
  const std::optional<int> first = first_frame(folder);
  if (!first) throw std::runtime_error(fmt::format("no frame_*.png in {}", folder.string()));

  const std::string frames = "file:" + escape_percent(folder.string()) + "/frame_%05d.png";
  const ProcessResult result = run_program({"ffmpeg",
                                            "-loglevel",
                                            "error",
                                            "-y",
                                            "-framerate",
                                            fmt::format("{}", fps),
                                            "-start_number",
                                            std::to_string(*first),
                                            "-i",
                                            frames,
                                            "-vf",
                                            "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                                            "-c:v",
                                            "libx264",
                                            "-crf",
                                            "16",
                                            "-pix_fmt",
                                            "yuv420p",
                                            "-movflags",
                                            "+faststart",
                                            "file:" + out.string()});
  if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0) {
    throw std::runtime_error(fmt::format("ffmpeg could not write {}: {}", out.string(), result.errors));
  }
}

}  // namespace stiction
