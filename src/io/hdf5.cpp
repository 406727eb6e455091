#include "io/hdf5.hpp"

#include <cstdint>
#include <functional>
#include <numeric>

#include "io/output_folder.hpp"

namespace stiction::hdf5 {
namespace {

/// The description at the origin of the last error.
std::string last_error() {
  std::string cause = "unknown HDF5 error";
  const auto keep_first = [](unsigned n, const H5E_error2_t* error, void* text) -> herr_t {
    if (n == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &cause);
  return cause;
}

/// No clean-up when the program ends: HDF5 crashes there on a file whose disk was full. Must precede any other call.
[[maybe_unused]] const herr_t no_clean_up = H5dont_atexit();

void silence() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

hsize_t product(const Dims& dims) { return std::accumulate(dims.begin(), dims.end(), hsize_t{1}, std::multiplies<>()); }

/// Without time stamps, so that equal content gives equal bytes.
Handle dataset_creation() {
  Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);
  return creation;
}

/// Writes through `fill` and closes the file with all that is still open in it.
void fill_file(const std::filesystem::path& path, hid_t access, const std::function<void(Group&)>& fill,
               const std::function<void(const Group&)>& before_close) {
  silence();
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  const hid_t id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (id < 0) throw IoError(path, "cannot create: " + last_error());
  Group root(path, Handle(id, H5Fclose));
  fill(root);
  if (H5Fflush(root.id(), H5F_SCOPE_GLOBAL) < 0) root.fail("write");
  before_close(root);
}

}  // namespace

template <>
hid_t type_of<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
hid_t type_of<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
hid_t type_of<int>() {
  return H5T_NATIVE_INT;
}
template <>
hid_t type_of<std::int64_t>() {
  return H5T_NATIVE_INT64;
}

void Group::fail(const std::string& action) const { throw IoError(path_, "cannot " + action + ": " + last_error()); }

bool Group::has(const std::string& name) const {
  for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    if (H5Lexists(id(), name.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return H5Lexists(id(), name.c_str(), H5P_DEFAULT) > 0;
}

std::size_t Group::size() const {
  H5G_info_t info;
  if (H5Gget_info(id(), &info) < 0) fail("list a group");
  return info.nlinks;
}

Group Group::group(const std::string& name) const {
  Handle handle(H5Gopen2(id(), name.c_str(), H5P_DEFAULT), H5Gclose);
  if (handle.get() < 0) fail("open the group '" + name + "'");
  return {path_, std::move(handle)};
}

Group Group::create_group(const std::string& name) {
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation.get(), false);
  Handle handle(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Gclose);
  if (handle.get() < 0) fail("create the group '" + name + "'");
  return {path_, std::move(handle)};
}

Handle Group::open_dataset(const std::string& name) const {
  Handle dataset(H5Dopen2(id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (dataset.get() < 0) fail("open the dataset '" + name + "'");
  return dataset;
}

Handle Group::create_dataset(const std::string& name, hid_t type, const Dims& dims, hid_t creation) const {
  const Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  Handle dataset(H5Dcreate2(id(), name.c_str(), type, space.get(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose);
  if (dataset.get() < 0) fail("create the dataset '" + name + "'");
  return dataset;
}

std::size_t Group::element_count(const std::string& name) const {
  const Handle dataset = open_dataset(name);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0) fail("read the shape of '" + name + "'");
  // Only a chunked dataset may be compressed and so hold more than the file's size.
  const bool is_chunked = H5Pget_layout(creation.get()) == H5D_CHUNKED;
  if (!is_chunked && std::cmp_greater(count, std::filesystem::file_size(path_))) {
    throw IoError(path_, "damaged: the dataset '" + name + "' is larger than the file");
  }
  return static_cast<std::size_t>(count);
}

void Group::expect_size(const std::string& name, std::size_t count) const {
  const std::size_t found = element_count(name);
  if (found == count) return;
  throw IoError(path_, "the dataset '" + name + "' has " + std::to_string(found) + " elements, " +
                           std::to_string(count) + " expected");
}

void Group::write_raw(const std::string& name, hid_t type, const void* values, const Dims& dims) {
  const Handle creation = dataset_creation();
  const Handle dataset = create_dataset(name, type, dims, creation.get());
  if (product(dims) == 0) return;
  if (H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) fail("write '" + name + "'");
}

void Group::read_raw(const std::string& name, hid_t type, void* values) const {
  const Handle dataset = open_dataset(name);
  if (H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) fail("read '" + name + "'");
}

void Group::reserve_raw(const std::string& name, hid_t type, const Dims& dims) {
  const Handle creation = dataset_creation();
  H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  create_dataset(name, type, dims, creation.get());
}

std::uint64_t Group::offset(const std::string& name, std::size_t count) const {
  expect_size(name, count);
  if (count == 0) return 0;
  const Handle dataset = open_dataset(name);
  const haddr_t address = H5Dget_offset(dataset.get());
  if (address == HADDR_UNDEF) throw IoError(path_, "the dataset '" + name + "' is not contiguous");
  return address;
}

void Group::write_string(const std::string& name, const std::string& value) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), value.size() + 1);
  write_raw(name, type.get(), value.c_str(), {});
}

std::string Group::read_string(const std::string& name) const {
  const Handle dataset = open_dataset(name);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const bool fixed_length = H5Tget_class(type.get()) == H5T_STRING && H5Tis_variable_str(type.get()) == 0;
  if (!fixed_length || element_count(name) != 1) throw IoError(path_, "'" + name + "' is not a fixed-length string");
  std::string value(H5Tget_size(type.get()), '\0');
  read_raw(name, type.get(), value.data());
  return value.c_str();
}

Group open_file(const std::filesystem::path& path) {
  silence();
  const File must_be_readable(path, File::Mode::read);
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (id < 0) throw IoError(path, "cannot open: " + last_error());
  return {path, Handle(id, H5Fclose)};
}

void create_file(const std::filesystem::path& path, const std::function<void(Group&)>& fill) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  fill_file(path, access.get(), fill, [](const Group&) {});
}

std::string file_image(const std::filesystem::path& path, const std::function<void(Group&)>& fill) {
  constexpr std::size_t growth = 1 << 20;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), growth, false);
  std::string image;
  fill_file(path, access.get(), fill, [&image](const Group& file) {
    const ssize_t size = H5Fget_file_image(file.id(), nullptr, 0);
    if (size < 0) file.fail("write");
    image.resize(static_cast<std::size_t>(size));
    if (H5Fget_file_image(file.id(), image.data(), image.size()) < 0) file.fail("write");
  });
  return image;
}

}  // namespace stiction::hdf5
