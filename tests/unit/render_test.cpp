// The renderer against projective geometry (how many pixels a ball or a strand covers), its lights, its files, and
// its independence of the number of threads.
#include <gtest/gtest.h>
#include <png.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "render/renderer.hpp"
#include "render/shading.hpp"
#include "render/video.hpp"

namespace stiction {
namespace {

constexpr double pi = std::numbers::pi;

struct Picture {
  FrameLayout layout;
  Frame frame;
};

void add_sphere(Picture& picture, const Vec3& center, double radius) {
  constexpr int rings = 48, sectors = 96;
  MeshLayout mesh;
  std::vector<Vec3> vertices;
  for (int i = 0; i <= rings; ++i) {
    const double latitude = -pi / 2 + pi * i / rings;
    for (int j = 0; j < sectors; ++j) {
      const double longitude = 2 * pi * j / sectors;
      const Vec3 n(std::cos(latitude) * std::cos(longitude), std::cos(latitude) * std::sin(longitude),
                   std::sin(latitude));
      vertices.push_back(center + radius * n);
    }
  }
  for (int i = 0; i < rings; ++i) {
    for (int j = 0; j < sectors; ++j) {
      const int a = i * sectors + j, b = i * sectors + (j + 1) % sectors;
      mesh.triangles.emplace_back(a, b, b + sectors);
      mesh.triangles.emplace_back(a, b + sectors, a + sectors);
    }
  }
  mesh.vertex_count = static_cast<int>(vertices.size());
  picture.layout.meshes.push_back(mesh);
  picture.frame.meshes.push_back(vertices);
}

/// A body of one strand.
void add_curve(Picture& picture, const std::vector<Vec3>& nodes, double radius) {
  const auto count = static_cast<int>(nodes.size());
  picture.layout.curves.push_back({"curve", {0, count}, std::vector<double>(nodes.size(), radius)});
  picture.frame.curves.push_back(nodes);
}

std::vector<Vec3> segment(const Vec3& a, const Vec3& b, int nodes) {
  std::vector<Vec3> points;
  for (int i = 0; i < nodes; ++i) points.push_back(a + (b - a) * (static_cast<double>(i) / (nodes - 1)));
  return points;
}

/// A small picture without ground, from straight ahead at 1 m.
RenderOptions frontal(int size, int samples) {
  RenderOptions options;
  options.width = options.height = size;
  options.samples = samples;
  options.frame_scene = false;
  options.eye = {0, -1, 0};
  options.target = Vec3::Zero();
  options.ground = false;
  return options;
}

/// Pixels that differ from the picture of an empty scene.
int changed_pixels(const Image& image, const Image& empty) {
  int count = 0;
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    const double change = std::abs(image.rgb[i] - empty.rgb[i]) + std::abs(image.rgb[i + 1] - empty.rgb[i + 1]) +
                          std::abs(image.rgb[i + 2] - empty.rgb[i + 2]);
    count += change > 1e-6;
  }
  return count;
}

Image empty_picture(const RenderOptions& options) { return render({}, {}, options); }

TEST(Render, SphereCoversItsSilhouette) {
  Picture picture;
  add_sphere(picture, Vec3::Zero(), 0.1);
  const RenderOptions options = frontal(200, 4);
  const Image image = render(picture.layout, picture.frame, options);

  // A sphere's outline is the cone of half angle asin(r/d); the filter adds up to about one pixel around it.
  const double pixel = 2 * std::tan(15 * pi / 180) / options.height;
  const double outline = std::tan(std::asin(0.1)) / pixel;
  const int covered = changed_pixels(image, empty_picture(options));
  EXPECT_GE(covered, 0.99 * pi * outline * outline);
  EXPECT_LE(covered, pi * (outline + 1.5) * (outline + 1.5));
}

TEST(Render, StrandCoversLengthTimesWidth) {
  Picture picture;
  add_curve(picture, segment({-0.15, 0, 0}, {0.15, 0, 0}, 8), 0.005);
  const RenderOptions options = frontal(200, 4);
  const Image image = render(picture.layout, picture.frame, options);

  const double pixel = 2 * std::tan(15 * pi / 180) / options.height;
  const double length = 0.31 / pixel, width = 0.01 / pixel;  // round caps: one radius at either end
  const int covered = changed_pixels(image, empty_picture(options));
  EXPECT_GE(covered, 0.97 * length * width);
  EXPECT_LE(covered, (length + 2) * (width + 2.5));
}

TEST(Render, ThinStrandIsDrawnWithoutGaps) {
  Picture picture;
  add_curve(picture, segment({-0.1, 0, -0.05}, {0.1, 0, 0.05}, 8), 3.7e-5);
  const RenderOptions options = frontal(200, 16);
  const Image image = render(picture.layout, picture.frame, options);
  const Image empty = empty_picture(options);
  const Camera camera = frame_camera(picture.layout, {&picture.frame, 1}, options);
  for (double s = -0.95; s <= 0.95; s += 0.01) {
    const Eigen::Vector2d at = project(camera, 200, 200, {0.1 * s, 0, 0.05 * s});
    const size_t i = 3 * (200 * static_cast<size_t>(at.y()) + static_cast<size_t>(at.x()));
    ASSERT_GT(std::abs(image.rgb[i + 2] - empty.rgb[i + 2]), 0.05 * empty.rgb[i + 2]) << "at " << s;
  }
}

TEST(Render, SameBytesForOneAndTwoThreads) {
  Picture picture;
  add_sphere(picture, Vec3::Zero(), 0.1);
  for (int k = 0; k < 60; ++k) {
    const Vec3 n(std::cos(2.4 * k) * 0.7, std::sin(2.4 * k) * 0.7, 0.7);
    add_curve(picture, segment(0.1 * n, 0.2 * n + Vec3(0.03, 0, 0), 6), k % 2 ? 3.7e-5 : 1e-3);
  }
  RenderOptions options;
  options.width = 96;
  options.height = 54;
  options.samples = 4;
  const Camera camera = frame_camera(picture.layout, {&picture.frame, 1}, options);
  const auto image_with = [&](int threads) {
    tbb::task_arena arena(threads);
    return arena.execute([&] { return Renderer(options).render(picture.layout, picture.frame, camera); });
  };
  const Image one = image_with(1);
  EXPECT_EQ(one.rgb, image_with(2).rgb);
}

TEST(Render, ShadowIsDarkerThanOpenGround) {
  Picture picture;
  add_sphere(picture, {0, 0, 0.1}, 0.1);
  RenderOptions options;
  options.width = 160;
  options.height = 90;
  options.samples = 16;
  options.frame_scene = false;
  const Camera camera = frame_camera(picture.layout, {&picture.frame, 1}, options);
  const Image image = render(picture.layout, picture.frame, options);
  const auto brightness_at = [&](const Vec3& x) {
    const Eigen::Vector2d at = project(camera, options.width, options.height, x);
    return image.rgb.at(3 * (options.width * static_cast<size_t>(at.y()) + static_cast<size_t>(at.x())) + 1);
  };
  EXPECT_NEAR(camera.ground_height, 0.0, 1e-12);

  // On the ground, opposite to the key light and as far away on its side.
  const Vec3 view = (camera.target - camera.eye).normalized();
  const shading::Vec3f to_key = shading::make_studio(view.cast<float>()).key.direction;
  const Vec3 across = Vec3(to_key.x(), to_key.y(), 0).normalized() * 0.12;
  EXPECT_LT(brightness_at(-across), 0.6 * brightness_at(across));
}

TEST(Render, GroundMeshIsDrawnAsTheAutomaticGround) {
  Picture picture;
  add_sphere(picture, {0, 0, 0.1}, 0.1);
  RenderOptions options;
  options.width = 64;
  options.height = 36;
  options.samples = 2;
  const Image automatic = render(picture.layout, picture.frame, options);
  picture.layout.meshes.push_back({"floor", {{0, 1, 2}, {0, 2, 3}}, 4, true});
  picture.frame.meshes.push_back({{-9, -9, 0}, {9, -9, 0}, {9, 9, 0}, {-9, 9, 0}});
  const Image given = render(picture.layout, picture.frame, options);
  double difference = 0;  // the heights differ by rounding
  for (size_t i = 0; i < given.rgb.size(); ++i) difference += std::abs(given.rgb[i] - automatic.rgb[i]);
  EXPECT_LT(difference / static_cast<double>(given.rgb.size()), 1e-3);
}

TEST(Render, RejectsFramesThatDoNotFitTheLayout) {
  Picture picture;
  add_curve(picture, segment({0, 0, 0}, {1, 0, 0}, 4), 0.01);
  picture.frame.curves[0].pop_back();
  EXPECT_THROW(render(picture.layout, picture.frame, frontal(8, 1)), std::invalid_argument);
}

TEST(Camera, AutomaticFramingHoldsAllPointsTightly) {
  Picture first, second;
  add_curve(first, segment({2, 3, 0}, {2.3, 3, 1}, 10), 0.02);
  add_sphere(first, {1.8, 3.1, 0.3}, 0.2);
  second = first;
  for (Vec3& x : second.frame.curves[0]) x += Vec3(0.5, 0.2, 0);
  const std::vector<Frame> frames = {first.frame, second.frame};
  const RenderOptions options;
  const Camera camera = frame_camera(first.layout, frames, options);

  Eigen::AlignedBox2d box;
  for (const Frame& frame : frames) {
    for (const Vec3& x : frame.curves[0]) box.extend(project(camera, options.width, options.height, x));
    for (const Vec3& x : frame.meshes[0]) box.extend(project(camera, options.width, options.height, x));
  }
  EXPECT_GE(box.min().minCoeff(), 0);
  EXPECT_LE(box.max().x(), options.width);
  EXPECT_LE(box.max().y(), options.height);
  EXPECT_GT(std::max(box.sizes().x() / options.width, box.sizes().y() / options.height), 0.75);
}

TEST(Camera, IgnoresGroundsAndSceneryWhenFraming) {
  Picture picture;
  add_curve(picture, segment({0, 0, 0}, {0.1, 0, 0.1}, 4), 1e-3);
  const RenderOptions options;
  const Camera alone = frame_camera(picture.layout, {&picture.frame, 1}, options);
  add_sphere(picture, {0, 0, -5}, 4.0);
  add_sphere(picture, {0, 0, 0}, 0.05);
  picture.layout.meshes.back().is_ground = true;
  const Camera camera = frame_camera(picture.layout, {&picture.frame, 1}, options);
  EXPECT_EQ(camera.eye, alone.eye);
  EXPECT_NEAR(camera.ground_height, -9.0, 1e-9);
}

TEST(Camera, KeepsTheViewOfTheOptionsWithoutFraming) {
  Picture picture;
  add_curve(picture, segment({0, 0, 0}, {1, 0, 1}, 4), 1e-3);
  const RenderOptions options = frontal(10, 1);
  const Camera camera = frame_camera(picture.layout, {&picture.frame, 1}, options);
  EXPECT_EQ(camera.eye, options.eye);
  EXPECT_TRUE(project(camera, 10, 10, options.target).isApprox(Eigen::Vector2d(5, 5)));
}

TEST(Shading, CreasesKeepTheNormalsOfFlatFaces) {
  // Two pairs of triangles that share an edge: a right angle stays sharp, a bend of 20 degrees is smoothed.
  const auto bent = [](double angle) {
    const std::vector<Vec3> x = {{0, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {std::cos(angle), 0, std::sin(angle)}};
    const std::vector<Eigen::Vector3i> t = {{0, 1, 2}, {0, 3, 1}};
    return shading::corner_normals(x, t)[0];
  };
  EXPECT_NEAR(bent(pi / 2).z(), 1, 1e-6);
  EXPECT_NEAR(bent(pi / 9).z(), std::cos(pi / 18), 1e-6);
}

TEST(Shading, SamplePointsAreStratified) {
  // A scrambled (0,2)-sequence has one of 16 points in each of the 4 x 4 cells and in each of 16 columns.
  for (std::uint32_t dimension = 0; dimension < 3; ++dimension) {
    int cells[16] = {}, columns[16] = {};
    for (std::uint32_t i = 0; i < 16; ++i) {
      const shading::Vec2f p = shading::SamplePoint(123, i)(dimension);
      ++cells[4 * static_cast<int>(4 * p.x()) + static_cast<int>(4 * p.y())];
      ++columns[static_cast<int>(16 * p.x())];
    }
    for (int k = 0; k < 16; ++k) {
      EXPECT_EQ(cells[k], 1);
      EXPECT_EQ(columns[k], 1);
    }
  }
}

class RenderFiles : public testing::Test {
 protected:
  RenderFiles() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("stiction 100% ") + test.name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~RenderFiles() override { std::filesystem::remove_all(folder_); }

  static Image gradient(int width, int height) {
    Image image{width, height, {}};
    for (int i = 0; i < 3 * width * height; ++i) image.rgb.push_back(1.5f * i / (3.0f * width * height));
    return image;
  }

  static int count_frames(const std::filesystem::path& film) {
    const std::string command =
        "ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 '" + film.string() + "'";
    FILE* pipe = popen(command.c_str(), "r");
    int count = -1;
    if (std::fscanf(pipe, "%d", &count) != 1) count = -1;
    pclose(pipe);
    return count;
  }

  std::filesystem::path folder_;
};

TEST_F(RenderFiles, PngRoundTrip) {
  const Image image = gradient(31, 17);
  const std::filesystem::path path = folder_ / "picture.png";
  write_png(path, image);

  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&png, path.c_str()));
  EXPECT_EQ(png.width, 31u);
  EXPECT_EQ(png.height, 17u);
  png.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(png));
  ASSERT_TRUE(png_image_finish_read(&png, nullptr, bytes.data(), 0, nullptr));
  EXPECT_EQ(bytes, to_srgb8(image));
}

TEST_F(RenderFiles, DisplayBytesFollowTheToneCurve) {
  // Half of white is below the knee: sRGB of 0.5 is 187.5 of 255. Dithering may round either way.
  const Image image{2, 1, {0.0f, 0.0f, 0.0f, 0.5f, 0.5f, 0.5f}};
  const std::vector<std::uint8_t> bytes = to_srgb8(image);
  EXPECT_EQ(bytes[0], 0);
  EXPECT_NEAR(bytes[3], 187.5, 1.0);
  const Image bright{1, 1, {50.0f, 50.0f, 50.0f}};
  EXPECT_GE(to_srgb8(bright)[0], 254);
}

TEST_F(RenderFiles, PngErrorsNameTheFile) {
  const std::filesystem::path path = folder_ / "missing" / "picture.png";
  try {
    write_png(path, gradient(2, 2));
    FAIL() << "wrote into a folder that does not exist";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
  }
}

TEST_F(RenderFiles, FilmHasAllFrames) {
  if (std::system("ffprobe -version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no ffmpeg";
  for (int i = 7; i < 12; ++i) {
    char name[32];
    std::snprintf(name, sizeof(name), "frame_%05d.png", i);
    write_png(folder_ / name, gradient(33, 17));
  }
  const std::filesystem::path film = folder_ / "film.mp4";
  encode_mp4(folder_, 24, film);
  EXPECT_EQ(count_frames(film), 5);
}

TEST_F(RenderFiles, FilmErrorsAreClear) {
  EXPECT_THROW(encode_mp4(folder_, 24, folder_ / "film.mp4"), std::runtime_error);  // no frames

  std::ofstream(folder_ / "frame_00000.png") << "not a picture";
  EXPECT_THROW(encode_mp4(folder_, 24, folder_ / "film.mp4"), std::runtime_error);

  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  try {
    encode_mp4(folder_, 24, folder_ / "film.mp4");
    ADD_FAILURE() << "ran ffmpeg without a PATH";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("on the PATH"), std::string::npos);
  }
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace stiction
