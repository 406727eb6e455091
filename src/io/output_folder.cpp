#include "io/output_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace stiction {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_errno(const fs::path& path, const std::string& action) {
  throw IoError(path, "cannot " + action + ": " + std::generic_category().message(errno));
}

int open_flags(File::Mode mode) {
  switch (mode) {
    case File::Mode::read:
      return O_RDONLY;
    case File::Mode::update:
      return O_RDWR;
    case File::Mode::create:
      break;
  }
  return O_RDWR | O_CREAT | O_TRUNC;
}

int open_or_throw(const fs::path& path, int flags, const std::string& action) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) throw_errno(path, action);
  return descriptor;
}

/// Calls `transfer(done)`, a pread or pwrite of what is left, until `count` bytes have been moved.
template <class Transfer>
void transfer_all(const fs::path& path, const std::string& action, std::size_t count, Transfer&& transfer) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t moved = transfer(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) throw_errno(path, action);
    if (moved == 0) throw IoError(path, "cannot " + action + ": the file ends too early");
    done += static_cast<std::size_t>(moved);
  }
}

void sync_folder(const fs::path& folder) {
  const fs::path path = folder.empty() ? fs::path(".") : folder;
  const int descriptor = open_or_throw(path, O_RDONLY | O_DIRECTORY, "open the folder");
  ::fsync(descriptor);  // some network file systems refuse this on a folder; the rename itself has succeeded
  ::close(descriptor);
}

/// Undoes what a failed write left behind, as far as that is possible; the first error is the one to report.
void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

File::File(fs::path path, Mode mode)
    : path_(std::move(path)),
      descriptor_(open_or_throw(path_, open_flags(mode), mode == Mode::create ? "create" : "open")) {}

File::File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) throw_errno(path_, "find the size");
  return static_cast<std::uint64_t>(status.st_size);
}

void File::read_at(std::uint64_t offset, void* bytes, std::size_t count) const {
  transfer_all(path_, "read", count, [&](std::size_t done) {
    return ::pread(descriptor_, static_cast<char*>(bytes) + done, count - done, static_cast<off_t>(offset + done));
  });
}

void File::write_at(std::uint64_t offset, const void* bytes, std::size_t count) {
  transfer_all(path_, "write", count, [&](std::size_t done) {
    return ::pwrite(descriptor_, static_cast<const char*>(bytes) + done, count - done,
                    static_cast<off_t>(offset + done));
  });
}

void File::truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) throw_errno(path_, "truncate");
}

void File::sync() {
  if (::fsync(descriptor_) != 0) throw_errno(path_, "write to the disk");
}

std::string read_file(const fs::path& path) {
  const File file(path, File::Mode::read);
  std::string bytes(file.size(), '\0');
  file.read_at(0, bytes.data(), bytes.size());
  return bytes;
}

void replace_atomically(const fs::path& path, const std::function<void(const fs::path& temporary)>& write) {
  const fs::path temporary = path.string() + ".tmp";
  try {
    write(temporary);
    File(temporary, File::Mode::update).sync();
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw_errno(path, "replace");
  } catch (...) {
    remove_quietly(temporary);
    throw;
  }
  sync_folder(path.parent_path());
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  replace_atomically(path, [bytes](const fs::path& temporary) {
    File(temporary, File::Mode::create).write_at(0, bytes.data(), bytes.size());
  });
}

void write_json_atomically(const fs::path& path, const nlohmann::json& json) {
  write_file_atomically(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

OutputFolder prepare_output(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw IoError(path, "cannot create the folder: " + error.message());
  if (!fs::is_directory(path, error)) throw IoError(path, "is not a folder");

  const fs::path probe = path / ".stiction-probe";
  write_file_atomically(probe, "probe\n");
  remove_quietly(probe);

  const fs::space_info space = fs::space(path, error);
  if (error) throw IoError(path, "cannot find the free space: " + error.message());
  return {path, space.available};
}

JsonLines::JsonLines(const fs::path& path) : file_(path, File::Mode::create) {}

JsonLines::JsonLines(File file) : file_(std::move(file)), size_(file_.size()) {}

JsonLines JsonLines::resume(const fs::path& path, std::int64_t lines_to_keep) {
  const std::string text = read_file(path);
  std::size_t end = 0;
  for (std::int64_t line = 0; line < lines_to_keep; ++line) {
    const std::size_t newline = text.find('\n', end);
    if (newline == std::string::npos) {
      throw IoError(path, "has " + std::to_string(line) + " lines, " + std::to_string(lines_to_keep) + " expected");
    }
    end = newline + 1;
  }
  File file(path, File::Mode::update);
  file.truncate(end);
  return JsonLines(std::move(file));
}

void JsonLines::append(const nlohmann::json& line) {
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  try {
    file_.write_at(size_, text.data(), text.size());
  } catch (const IoError&) {
    std::error_code ignored;
    fs::resize_file(file_.path(), size_, ignored);
    throw;
  }
  size_ += text.size();
}

}  // namespace stiction
