// A small wrapper of the HDF5 C library, private to io: handles that close themselves, typed datasets, IoError in place
// of error codes and of the library's own printing.
//
// Files are built in memory and written by us (file_image, write_file_atomically), since HDF5 cannot recover from a
// disk that fills up. The one exception is create_file, for a file whose raw data are too large for memory.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stiction::hdf5 {

/// An HDF5 identifier and the function that closes it.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  hid_t get() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

using Dims = std::vector<hsize_t>;

/// The memory and file type of T: double, float, int and std::int64_t.
template <class T>
hid_t type_of();

/// A group of a file, or the file itself as its root group. Names may be paths ("vectors/f").
class Group {
 public:
  Group(std::filesystem::path path, Handle handle) : path_(std::move(path)), handle_(std::move(handle)) {}

  const std::filesystem::path& path() const { return path_; }  ///< the file
  hid_t id() const { return handle_.get(); }
  bool has(const std::string& name) const;
  std::size_t size() const;  ///< links in the group

  Group group(const std::string& name) const;
  Group create_group(const std::string& name);

  template <class T>
  void write(const std::string& name, std::span<const T> values) {
    write(name, values, {values.size()});
  }
  /// Writes `values` as a dataset of shape `dims`.
  template <class T>
  void write(const std::string& name, std::span<const T> values, const Dims& dims) {
    write_raw(name, type_of<T>(), values.data(), dims);
  }
  template <class T>
  void write_value(const std::string& name, T value) {
    write(name, std::span<const T>(&value, 1));
  }
  void write_string(const std::string& name, const std::string& value);

  template <class T>
  std::vector<T> read(const std::string& name) const {
    std::vector<T> values(element_count(name));
    read_raw(name, type_of<T>(), values.data());
    return values;
  }
  template <class T>
  T read_value(const std::string& name) const {
    expect_size(name, 1);
    T value;
    read_raw(name, type_of<T>(), &value);
    return value;
  }
  std::string read_string(const std::string& name) const;
  std::size_t element_count(const std::string& name) const;
  /// Throws IoError unless the dataset has `count` elements.
  void expect_size(const std::string& name, std::size_t count) const;

  /// Creates a contiguous dataset whose space in the file is set aside at once and left unwritten.
  template <class T>
  void reserve(const std::string& name, const Dims& dims) {
    reserve_raw(name, type_of<T>(), dims);
  }
  /// Where the data of a contiguous dataset of `count` elements start in the file, in bytes; 0 for an empty one.
  std::uint64_t offset(const std::string& name, std::size_t count) const;

  /// Throws an IoError with `action` and the cause that HDF5 gives.
  [[noreturn]] void fail(const std::string& action) const;

 private:
  Handle open_dataset(const std::string& name) const;
  Handle create_dataset(const std::string& name, hid_t type, const Dims& dims, hid_t creation) const;
  void write_raw(const std::string& name, hid_t type, const void* values, const Dims& dims);
  void read_raw(const std::string& name, hid_t type, void* values) const;
  void reserve_raw(const std::string& name, hid_t type, const Dims& dims);

  std::filesystem::path path_;
  Handle handle_;
};

/// Opens a file for reading.
Group open_file(const std::filesystem::path& path);

/// Creates a file on disk, lets `fill` write to it and closes it.
void create_file(const std::filesystem::path& path, const std::function<void(Group&)>& fill);

/// The bytes of a file that `fill` wrote to. `path` stands for the file in errors.
std::string file_image(const std::filesystem::path& path, const std::function<void(Group&)>& fill);

}  // namespace stiction::hdf5
