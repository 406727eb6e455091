#include "io/cache.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "io/hdf5.hpp"

namespace stiction {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "raw data are written as they lie in memory");

constexpr auto cache_name = "cache.h5";
constexpr auto xdmf_name = "cache.xdmf";

int node_count(const CurveLayout& curves) { return curves.offsets.empty() ? 0 : curves.offsets.back(); }

bool same_layout(const FrameLayout& a, const FrameLayout& b) {
  const auto same_curves = [](const CurveLayout& c, const CurveLayout& d) {
    return c.name == d.name && c.offsets == d.offsets && c.radius == d.radius;
  };
  const auto same_mesh = [](const MeshLayout& c, const MeshLayout& d) {
    return c.name == d.name && c.triangles == d.triangles && c.vertex_count == d.vertex_count &&
           c.is_ground == d.is_ground && c.is_simulated == d.is_simulated;
  };
  return std::ranges::equal(a.curves, b.curves, same_curves) && std::ranges::equal(a.meshes, b.meshes, same_mesh);
}

void reserve_positions(hdf5::Group& body, int nodes, std::int64_t capacity) {
  hdf5::Group positions = body.create_group("positions");
  for (std::int64_t i = 0; i < capacity; ++i) {
    positions.reserve<float>(std::to_string(i), {static_cast<hsize_t>(nodes), 3});
  }
}

std::vector<std::uint64_t> position_offsets(const hdf5::Group& body, int nodes, std::int64_t capacity) {
  const hdf5::Group positions = body.group("positions");
  std::vector<std::uint64_t> offsets;
  for (std::int64_t i = 0; i < capacity; ++i)
    offsets.push_back(positions.offset(std::to_string(i), 3 * static_cast<std::size_t>(nodes)));
  return offsets;
}

void write_curves(hdf5::Group group, const CurveLayout& curves, std::int64_t capacity) {
  group.write_string("name", curves.name);
  group.write<int>("offsets", curves.offsets);
  group.write<double>("radius", curves.radius);
  group.write<int>("topology", xdmf_polylines(curves));
  reserve_positions(group, node_count(curves), capacity);
}

void write_mesh(hdf5::Group group, const MeshLayout& mesh, std::int64_t capacity) {
  std::vector<int> triangles;
  for (const Eigen::Vector3i& triangle : mesh.triangles) {
    triangles.insert(triangles.end(), triangle.begin(), triangle.end());
  }
  group.write_string("name", mesh.name);
  group.write_value<int>("is_ground", mesh.is_ground);
  group.write_value<int>("is_simulated", mesh.is_simulated);
  group.write<int>("triangles", triangles, {mesh.triangles.size(), 3});
  group.write_value<int>("vertex_count", mesh.vertex_count);
  reserve_positions(group, mesh.vertex_count, capacity);
}

CurveLayout read_curves(const hdf5::Group& group) {
  return {group.read_string("name"), group.read<int>("offsets"), group.read<double>("radius")};
}

MeshLayout read_mesh(const hdf5::Group& group) {
  MeshLayout mesh;
  mesh.name = group.read_string("name");
  mesh.is_ground = group.read_value<int>("is_ground") != 0;
  mesh.is_simulated = group.read_value<int>("is_simulated") != 0;
  mesh.vertex_count = group.read_value<int>("vertex_count");
  const std::vector<int> triangles = group.read<int>("triangles");
  for (std::size_t i = 0; i + 2 < triangles.size(); i += 3) {
    mesh.triangles.emplace_back(triangles[i], triangles[i + 1], triangles[i + 2]);
  }
  return mesh;
}

void create_structure(const fs::path& path, const FrameLayout& layout, std::int64_t capacity) {
  hdf5::create_file(path, [&](hdf5::Group& root) {
    const auto frames = static_cast<hsize_t>(capacity);
    root.write_value<std::int64_t>("frame_count", 0);
    root.reserve<int>("index", {frames});
    root.reserve<double>("time", {frames});
    hdf5::Group curves = root.create_group("curves");
    for (const CurveLayout& body : layout.curves) {
      write_curves(curves.create_group(std::to_string(curves.size())), body, capacity);
    }
    hdf5::Group meshes = root.create_group("meshes");
    for (const MeshLayout& body : layout.meshes) {
      write_mesh(meshes.create_group(std::to_string(meshes.size())), body, capacity);
    }
  });
}

void check(const FrameLayout& layout, const fs::path& path) {
  for (const CurveLayout& body : layout.curves) {
    const bool valid = std::cmp_equal(body.radius.size(), node_count(body)) && std::ranges::is_sorted(body.offsets) &&
                       (body.offsets.empty() || body.offsets.front() == 0);
    if (!valid) throw IoError(path, "the layout of the curves '" + body.name + "' contradicts itself");
  }
  for (const MeshLayout& body : layout.meshes) {
    const auto in_range = [&](const Eigen::Vector3i& t) {
      return t.minCoeff() >= 0 && t.maxCoeff() < body.vertex_count;
    };
    const bool valid = body.vertex_count >= 0 && std::ranges::all_of(body.triangles, in_range);
    if (!valid) throw IoError(path, "the layout of the mesh '" + body.name + "' contradicts itself");
  }
}

CacheFile open_cache(const fs::path& path, File::Mode mode) {
  CacheFile cache{.file = File(path, mode)};
  const hdf5::Group root = hdf5::open_file(path);
  const std::size_t capacity = root.element_count("time");
  cache.capacity = static_cast<std::int64_t>(capacity);
  cache.frame_count_at = root.offset("frame_count", 1);
  cache.index_at = root.offset("index", capacity);
  cache.time_at = root.offset("time", capacity);
  const hdf5::Group curves = root.group("curves");
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const hdf5::Group body = curves.group(std::to_string(i));
    cache.layout.curves.push_back(read_curves(body));
    cache.curve_positions_at.push_back(position_offsets(body, node_count(cache.layout.curves[i]), cache.capacity));
  }
  const hdf5::Group meshes = root.group("meshes");
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    const hdf5::Group body = meshes.group(std::to_string(i));
    cache.layout.meshes.push_back(read_mesh(body));
    cache.mesh_positions_at.push_back(position_offsets(body, cache.layout.meshes[i].vertex_count, cache.capacity));
  }
  check(cache.layout, path);
  return cache;
}

void write_positions(File& file, std::uint64_t offset, const std::vector<Vec3>& positions) {
  std::vector<float> values;
  values.reserve(3 * positions.size());
  for (const Vec3& x : positions) {
    for (const double coordinate : x) values.push_back(static_cast<float>(coordinate));
  }
  file.write_at(offset, values.data(), values.size() * sizeof(float));
}

std::vector<Vec3> read_positions(const File& file, std::uint64_t offset, int nodes) {
  std::vector<float> values(3 * static_cast<std::size_t>(nodes));
  file.read_at(offset, values.data(), values.size() * sizeof(float));
  std::vector<Vec3> positions;
  positions.reserve(static_cast<std::size_t>(nodes));
  for (std::size_t i = 0; i < values.size(); i += 3) positions.emplace_back(values[i], values[i + 1], values[i + 2]);
  return positions;
}

bool fits(const Frame& frame, const FrameLayout& layout) {
  const auto curves_fit = [](const std::vector<Vec3>& x, const CurveLayout& body) {
    return std::cmp_equal(x.size(), node_count(body));
  };
  const auto mesh_fits = [](const std::vector<Vec3>& x, const MeshLayout& body) {
    return std::cmp_equal(x.size(), body.vertex_count);
  };
  return std::ranges::equal(frame.curves, layout.curves, curves_fit) &&
         std::ranges::equal(frame.meshes, layout.meshes, mesh_fits);
}

/// Puts a new cache with the first `count` frames of `source` in the place of the one at `path`.
CacheFile create_cache(const fs::path& path, const FrameLayout& layout, std::int64_t capacity,
                       const CacheFile* source = nullptr, std::int64_t count = 0) {
  check(layout, path);
  replace_atomically(path, [&](const fs::path& temporary) {
    create_structure(temporary, layout, capacity);
    CacheFile cache = open_cache(temporary, File::Mode::update);
    for (std::int64_t i = 0; i < count; ++i) cache.write(i, source->read(i));
    cache.commit(count);
  });
  return open_cache(path, File::Mode::update);
}

}  // namespace

std::int64_t CacheFile::frame_count() const {
  std::int64_t count = 0;
  file.read_at(frame_count_at, &count, sizeof count);
  if (count < 0 || count > capacity) throw IoError(file.path(), "damaged: the number of frames is out of range");
  return count;
}

Frame CacheFile::read(std::int64_t slot) const {
  const auto i = static_cast<std::size_t>(slot);
  Frame frame;
  file.read_at(index_at + i * sizeof frame.index, &frame.index, sizeof frame.index);
  file.read_at(time_at + i * sizeof frame.time, &frame.time, sizeof frame.time);
  for (std::size_t body = 0; body < layout.curves.size(); ++body) {
    frame.curves.push_back(read_positions(file, curve_positions_at[body][i], node_count(layout.curves[body])));
  }
  for (std::size_t body = 0; body < layout.meshes.size(); ++body) {
    frame.meshes.push_back(read_positions(file, mesh_positions_at[body][i], layout.meshes[body].vertex_count));
  }
  return frame;
}

void CacheFile::write(std::int64_t slot, const Frame& frame) {
  const auto i = static_cast<std::size_t>(slot);
  file.write_at(index_at + i * sizeof frame.index, &frame.index, sizeof frame.index);
  file.write_at(time_at + i * sizeof frame.time, &frame.time, sizeof frame.time);
  for (std::size_t body = 0; body < frame.curves.size(); ++body) {
    write_positions(file, curve_positions_at[body][i], frame.curves[body]);
  }
  for (std::size_t body = 0; body < frame.meshes.size(); ++body) {
    write_positions(file, mesh_positions_at[body][i], frame.meshes[body]);
  }
}

void CacheFile::commit(std::int64_t count) {
  file.sync();
  file.write_at(frame_count_at, &count, sizeof count);
}

CacheWriter::CacheWriter(const fs::path& folder, const FrameLayout& layout, std::int64_t expected_frames)
    : CacheWriter(folder, create_cache(folder / cache_name, layout, std::max<std::int64_t>(expected_frames, 1)), {}) {}

CacheWriter::CacheWriter(const fs::path& folder, CacheFile cache, std::vector<double> times)
    : folder_(folder), cache_(std::move(cache)), times_(std::move(times)) {
  write_xdmf();
}

CacheWriter CacheWriter::resume(const fs::path& folder, const FrameLayout& layout, std::int64_t frames_to_keep) {
  const fs::path path = folder / cache_name;
  CacheFile cache = open_cache(path, File::Mode::update);
  if (!same_layout(cache.layout, layout)) throw IoError(path, "was written for other bodies than those of the scene");
  if (frames_to_keep < 0 || cache.frame_count() < frames_to_keep) {
    throw IoError(path, "has " + std::to_string(cache.frame_count()) + " frames, " + std::to_string(frames_to_keep) +
                            " expected");
  }
  std::vector<double> times(static_cast<std::size_t>(frames_to_keep));
  cache.file.read_at(cache.time_at, times.data(), times.size() * sizeof(double));
  cache.commit(frames_to_keep);
  return CacheWriter(folder, std::move(cache), std::move(times));
}

void CacheWriter::append(const Frame& frame) {
  if (!fits(frame, cache_.layout)) throw IoError(cache_.file.path(), "the frame does not have the layout's nodes");
  if (frame_count() == cache_.capacity) {
    cache_ = create_cache(cache_.file.path(), cache_.layout, 2 * cache_.capacity, &cache_, frame_count());
  }
  cache_.write(frame_count(), frame);
  cache_.commit(frame_count() + 1);
  times_.push_back(frame.time);
  write_xdmf();
}

void CacheWriter::write_xdmf() const { write_file_atomically(folder_ / xdmf_name, xdmf_text(cache_.layout, times_)); }

CacheReader::CacheReader(const fs::path& path)
    : cache_(open_cache(fs::is_directory(path) ? path / cache_name : path, File::Mode::read)) {}

Frame CacheReader::read(std::int64_t index) const {
  if (index < 0 || index >= frame_count()) {
    throw IoError(cache_.file.path(), "has no frame " + std::to_string(index) + " of " + std::to_string(frame_count()));
  }
  return cache_.read(index);
}

}  // namespace stiction
