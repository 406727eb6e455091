// A one-pass OBJ reader. Numbers go through std::from_chars and std::to_chars, so no locale can change them.
#include "geometry/mesh_io.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace stiction {

namespace {

struct Token {
  std::string_view text;
  size_t line;    // from 1
  size_t column;  // from 1, bytes
};

/// Splits text into statements (logical lines) and words, with comments and continuations resolved.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text_.starts_with(byte_order_mark)) skip(byte_order_mark.size());
  }

  bool at_end() const { return next_ == text_.size(); }

  /// The next word of the current statement; an empty one at its end.
  Token next_word() {
    skip_blanks();
    const size_t begin = next_;
    while (!at_end() && !is_blank(text_[next_]) && text_[next_] != '\n' && continuation() == 0) ++next_;
    return {text_.substr(begin, next_ - begin), line_, begin - line_start_ + 1};
  }

  /// Moves on to the start of the next statement.
  void skip_statement() {
    while (!next_word().text.empty()) continue;
    if (!at_end()) new_line();
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

  /// Length of the line break that a backslash cancels here; zero where there is none.
  size_t continuation() const {
    const std::string_view rest = text_.substr(next_);
    if (rest.starts_with("\\\n")) return 2;
    return rest.starts_with("\\\r\n") ? 3 : 0;
  }

  void skip_blanks() {
    while (!at_end()) {
      if (const size_t length = continuation(); length > 0) {
        skip(length - 1);
        new_line();
      } else if (is_blank(text_[next_])) {
        skip(1);
      } else if (text_[next_] == '#') {
        next_ = std::min(text_.find('\n', next_), text_.size());
      } else {
        return;
      }
    }
  }

  void skip(size_t count) { next_ += count; }

  void new_line() {
    skip(1);
    ++line_;
    line_start_ = next_;
  }

  std::string_view text_;
  size_t next_ = 0;
  size_t line_start_ = 0;
  size_t line_ = 1;
};

class ObjReader {
 public:
  ObjReader(std::string_view text, const std::string& name, const MeshLimits& limits)
      : scanner_(text), name_(name), limits_(limits) {}

  TriangleMesh read() {
    while (!scanner_.at_end()) {
      read_statement();
      scanner_.skip_statement();
    }
    if (mesh_.triangles.empty()) fail(scanner_.next_word(), "the mesh has no faces");
    return std::move(mesh_);
  }

 private:
  struct Corner {
    int vertex;
    Token word;
  };

  void read_statement() {
    const Token keyword = scanner_.next_word();
    if (keyword.text == "v") {
      read_vertex(keyword);
    } else if (keyword.text == "f") {
      read_face(keyword);
    } else if (keyword.text == "vt") {
      ++texture_coordinates_;
    } else if (keyword.text == "vn") {
      ++normals_;
    }
  }

  void read_vertex(const Token& keyword) {
    constexpr size_t max_numbers = 7;  // x y z, and a weight, a colour, or both
    std::array<double, max_numbers> numbers;
    size_t count = 0;
    for (Token word = scanner_.next_word(); !word.text.empty(); word = scanner_.next_word()) {
      if (count == max_numbers) fail(word, "a vertex has more than 7 numbers");
      numbers[count++] = parse_number(word);
    }
    if (count < 3) fail(keyword, "a vertex needs 3 coordinates, found " + std::to_string(count));
    if (mesh_.vertices.size() == limits_.vertices) fail_limit(keyword, limits_.vertices, "vertices");
    mesh_.vertices.emplace_back(numbers[0], numbers[1], numbers[2]);
  }

  void read_face(const Token& keyword) {
    face_.clear();
    for (Token word = scanner_.next_word(); !word.text.empty(); word = scanner_.next_word()) {
      if (face_.size() == limits_.polygon) fail_limit(word, limits_.polygon, "vertices in a face");
      face_.push_back({parse_corner(word), word});
    }
    if (face_.size() < 3) fail(keyword, "a face needs 3 vertices or more, found " + std::to_string(face_.size()));
    if (face_.size() - 2 > limits_.triangles - mesh_.triangles.size()) {
      fail_limit(keyword, limits_.triangles, "triangles");
    }
    for (size_t i = 2; i < face_.size(); ++i) {
      mesh_.triangles.emplace_back(face_[0].vertex, face_[i - 1].vertex, face_[i].vertex);
    }
    require_distinct_corners();
  }

  void require_distinct_corners() {
    std::stable_sort(face_.begin(), face_.end(), [](const Corner& a, const Corner& b) { return a.vertex < b.vertex; });
    const auto same = [](const Corner& a, const Corner& b) { return a.vertex == b.vertex; };
    const auto repeated = std::adjacent_find(face_.begin(), face_.end(), same);
    if (repeated == face_.end()) return;
    const Token& word = std::next(repeated)->word;
    fail(word, "a face repeats the vertex " + quoted(word.text));
  }

  double parse_number(const Token& word) const {
    const std::string_view digits = word.text.starts_with('+') ? word.text.substr(1) : word.text;
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool malformed = error == std::errc::invalid_argument || end != digits.data() + digits.size();
    if (malformed || word.text.starts_with("+-")) fail(word, "expected a number, found " + quoted(word.text));
    if (error != std::errc() || !std::isfinite(value)) fail(word, quoted(word.text) + " is not a finite number");
    return value;
  }

  /// The zero-based vertex of "v", "v/vt", "v//vn" or "v/vt/vn".
  int parse_corner(const Token& word) const {
    const size_t slash = word.text.find('/');
    const int vertex = parse_index(word, word.text.substr(0, slash), mesh_.vertices.size(), "vertices");
    if (slash == std::string_view::npos) return vertex;
    const std::string_view rest = word.text.substr(slash + 1);
    const size_t second = rest.find('/');
    if (second != 0) parse_index(word, rest.substr(0, second), texture_coordinates_, "texture coordinates");
    if (second != std::string_view::npos) parse_index(word, rest.substr(second + 1), normals_, "normals");
    return vertex;
  }

  int parse_index(const Token& word, std::string_view digits, size_t defined, const char* what) const {
    int64_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) {
      fail(word, "expected v, v/vt, v//vn or v/vt/vn, found " + quoted(word.text));
    }
    const auto count = static_cast<int64_t>(defined);
    if (error != std::errc() || index == 0 || index < -count || index > count) {
      fail(word, "index " + std::string(digits) + " is out of range, with " + std::to_string(count) + " " + what +
                     " defined so far");
    }
    return static_cast<int>(index > 0 ? index - 1 : count + index);
  }

  static std::string quoted(std::string_view text) {
    constexpr size_t max_shown = 40;
    return "'" + std::string(text.substr(0, max_shown)) + (text.size() > max_shown ? "…'" : "'");
  }

  [[noreturn]] void fail(const Token& at, const std::string& message) const {
    throw MeshError(name_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + message);
  }

  [[noreturn]] void fail_limit(const Token& at, size_t limit, const std::string& what) const {
    fail(at, "more than " + std::to_string(limit) + " " + what);
  }

  Scanner scanner_;
  const std::string& name_;
  const MeshLimits& limits_;
  TriangleMesh mesh_;
  size_t texture_coordinates_ = 0;
  size_t normals_ = 0;
  std::vector<Corner> face_;  // of the statement being read
};

template <typename Number>
void append_number(std::string& text, Number value) {
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.push_back(' ');
  text.append(digits.data(), result.ptr);
}

}  // namespace

TriangleMesh parse_obj(std::string_view text, const std::string& name, const MeshLimits& limits) {
  return ObjReader(text, name, limits).read();
}

TriangleMesh read_obj(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) throw MeshError(path + ": no such file");
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw MeshError(path + ": cannot be read");
  return parse_obj(text, path);
}

std::string format_obj(const TriangleMesh& mesh) {
  std::string text;
  for (const Vec3& x : mesh.vertices) {
    text.push_back('v');
    for (const double coordinate : x) append_number(text, coordinate);
    text.push_back('\n');
  }
  for (const Eigen::Vector3i& triangle : mesh.triangles) {
    text.push_back('f');
    for (const int vertex : triangle) append_number(text, vertex + 1);
    text.push_back('\n');
  }
  return text;
}

void write_obj(const std::string& path, const TriangleMesh& mesh) {
  std::ofstream file(path, std::ios::binary);
  file << format_obj(mesh) << std::flush;
  if (!file) throw MeshError(path + ": cannot be written");
}

}  // namespace stiction
