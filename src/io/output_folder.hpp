// The output folder of a run and how its files are written: completely, or not at all with an IoError. A program that
// is killed, or a disk that is full, leaves what was written before in a valid state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stiction {

/// A file could not be read or written. what() reads "path: cause".
class IoError : public std::runtime_error {
 public:
  IoError(const std::filesystem::path& path, const std::string& cause)
      : std::runtime_error(path.string() + ": " + cause) {}
};

/// A POSIX file whose operations do all of their work or throw IoError. Nothing is buffered in the process, so a
/// write that has returned outlives a kill; sync() makes it outlive a power cut.
class File {
 public:
  enum class Mode {
    read,    // must exist
    update,  // must exist
    create   // emptied where it exists
  };

  File(std::filesystem::path path, Mode mode);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const;  ///< bytes
  void read_at(std::uint64_t offset, void* bytes, std::size_t count) const;
  void write_at(std::uint64_t offset, const void* bytes, std::size_t count);
  void truncate(std::uint64_t size);
  void sync();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// The whole content of a file.
std::string read_file(const std::filesystem::path& path);

/// Lets `write` fill a temporary file in the same folder and moves it onto `path` in one step once it is on the disk: a
/// reader sees the old content or the new. After an exception the old content stands and the temporary file is gone.
void replace_atomically(const std::filesystem::path& path,
                        const std::function<void(const std::filesystem::path& temporary)>& write);

/// Replaces a file by `bytes` in one step.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The same for JSON, indented, with a final newline.
void write_json_atomically(const std::filesystem::path& path, const nlohmann::json& json);

struct OutputFolder {
  std::filesystem::path path;
  std::uintmax_t free_bytes = 0;  ///< what the file system has left for this user
};

/// Creates the folder and proves that it can be written to, by writing and syncing a probe file. Throws IoError.
OutputFolder prepare_output(const std::filesystem::path& path);

/// A file of one JSON value a line.
class JsonLines {
 public:
  /// Starts an empty file.
  explicit JsonLines(const std::filesystem::path& path);

  /// Continues a file after its first `lines_to_keep` lines and drops the rest; throws IoError if it has fewer.
  static JsonLines resume(const std::filesystem::path& path, std::int64_t lines_to_keep);

  /// Writes one line. After an IoError the file ends with the line before.
  void append(const nlohmann::json& line);

 private:
  explicit JsonLines(File file);

  File file_;
  std::uint64_t size_ = 0;
};

}  // namespace stiction
