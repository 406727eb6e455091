// Both formats are words in lines; a Gmsh file has sections, $Name to $EndName, of which all but three are skipped.
#include "geometry/tet_io.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unordered_map>

namespace stiction {

namespace {

struct Token {
  std::string_view text;
  size_t line;    // from 1
  size_t column;  // from 1, bytes
};

std::string quoted(std::string_view text) {
  constexpr size_t max_shown = 40;
  return "'" + std::string(text.substr(0, max_shown)) + (text.size() > max_shown ? "…'" : "'");
}

/// Reads the words of a text, and numbers from them.
class Reader {
 public:
  /// `comment` starts a comment up to the end of a line; '\n' for none.
  Reader(std::string_view text, const std::string& name, char comment) : text_(text), name_(name), comment_(comment) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text_.starts_with(byte_order_mark)) next_ = line_start_ = byte_order_mark.size();
  }

  /// The next word, over the ends of lines; an empty one at the end of the text.
  Token word() {
    while (true) {
      const Token token = word_in_line();
      if (!token.text.empty() || next_ == text_.size()) return token;
      new_line();
    }
  }

  /// The next word of the line; an empty one at its end.
  Token word_in_line() {
    while (next_ < text_.size() && is_blank(text_[next_])) ++next_;
    if (next_ < text_.size() && text_[next_] == comment_) next_ = std::min(text_.find('\n', next_), text_.size());
    const size_t begin = next_;
    while (next_ < text_.size() && !is_blank(text_[next_]) && text_[next_] != '\n' && text_[next_] != comment_) ++next_;
    return {text_.substr(begin, next_ - begin), line_, begin - line_start_ + 1};
  }

  void skip_line() {
    next_ = std::min(text_.find('\n', next_), text_.size());
    if (next_ < text_.size()) new_line();
  }

  double number(const char* what) {
    const Token token = word();
    const std::string_view digits = token.text.starts_with('+') ? token.text.substr(1) : token.text;
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool malformed = error == std::errc::invalid_argument || end != digits.data() + digits.size();
    if (malformed || token.text.starts_with("+-")) fail(token, "expected " + std::string(what) + found(token));
    if (error != std::errc() || !std::isfinite(value)) fail(token, quoted(token.text) + " is not a finite number");
    return value;
  }

  std::int64_t integer(const char* what) { return integer(word(), what); }

  std::int64_t integer(const Token& token, const char* what) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc() || end != token.text.data() + token.text.size()) {
      fail(token, "expected " + std::string(what) + found(token));
    }
    return value;
  }

  /// An integer from 0 to `limit`.
  size_t count(const char* what, size_t limit) {
    const Token token = word();
    const std::int64_t value = integer(token, what);
    if (value < 0) fail(token, std::string(what) + " is negative");
    if (static_cast<std::uint64_t>(value) > limit) {
      fail(token, std::string(what) + " " + std::to_string(value) + " is more than " + std::to_string(limit));
    }
    return static_cast<size_t>(value);
  }

  [[noreturn]] void fail(const Token& at, const std::string& message) const {
    throw MeshError(name_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + message);
  }

  std::string found(const Token& token) const {
    if (!token.text.empty()) return ", found " + quoted(token.text);
    return next_ == text_.size() ? ", found the end of the file" : ", found the end of the line";
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

  void new_line() {
    ++next_;
    ++line_;
    line_start_ = next_;
  }

  std::string_view text_;
  const std::string& name_;
  char comment_;
  size_t next_ = 0;
  size_t line_start_ = 0;
  size_t line_ = 1;
};

/// A mesh under construction, its vertices known by the file's numbers.
class Builder {
 public:
  void add_vertex(const Reader& reader, const Token& at, std::int64_t tag, const Vec3& x) {
    if (!index_.emplace(tag, static_cast<int>(mesh_.vertices.size())).second) {
      reader.fail(at, "node " + std::to_string(tag) + " is defined twice");
    }
    mesh_.vertices.push_back(x);
  }

  /// Reads four node numbers and adds their tet.
  void add_tet(Reader& reader, const Token& at) {
    Eigen::Vector4i tet;
    for (int i = 0; i < 4; ++i) {
      const Token token = reader.word_in_line();
      const auto entry = index_.find(reader.integer(token, "a node number"));
      if (entry == index_.end()) reader.fail(token, "there is no node " + std::string(token.text));
      tet[i] = entry->second;
    }
    const std::vector<Vec3>& x = mesh_.vertices;
    const double volume = (x[tet[1]] - x[tet[0]]).cross(x[tet[2]] - x[tet[0]]).dot(x[tet[3]] - x[tet[0]]);
    if (!std::isfinite(volume) || volume == 0) reader.fail(at, "the tet has no volume");
    if (volume < 0) std::swap(tet[2], tet[3]);
    mesh_.tets.push_back(tet);
  }

  /// The mesh without the vertices that no tet uses.
  TetMesh finish(const Reader& reader, const Token& at) {
    if (mesh_.tets.empty()) reader.fail(at, "the mesh has no tets");
    std::vector<int> number(mesh_.vertices.size(), -1);
    for (const Eigen::Vector4i& tet : mesh_.tets) {
      for (const int v : tet) number[v] = 0;
    }
    int used = 0;
    for (size_t v = 0; v < number.size(); ++v) {
      if (number[v] < 0) continue;
      mesh_.vertices[used] = mesh_.vertices[v];
      number[v] = used++;
    }
    mesh_.vertices.resize(used);
    for (Eigen::Vector4i& tet : mesh_.tets) {
      for (int& v : tet) v = number[v];
    }
    return std::move(mesh_);
  }

 private:
  TetMesh mesh_;
  std::unordered_map<std::int64_t, int> index_;
};

class MshReader {
 public:
  MshReader(std::string_view text, const std::string& name, const TetMeshLimits& limits)
      : reader_(text, name, '\n'), limits_(limits) {}

  TetMesh read() {
    Token token = reader_.word();
    if (token.text != "$MeshFormat") reader_.fail(token, "expected $MeshFormat" + reader_.found(token));
    read_format();
    for (token = reader_.word(); !token.text.empty(); token = reader_.word()) {
      if (token.text == "$Nodes") {
        read_nodes();
        end_section("$EndNodes");
      } else if (token.text == "$Elements") {
        read_elements();
        end_section("$EndElements");
      } else {
        skip_section(token);
      }
    }
    return builder_.finish(reader_, token);
  }

 private:
  static constexpr std::int64_t tet = 4, tet_of_second_order = 11;  // element types

  void read_format() {
    const Token version = reader_.word();
    version_4_ = version.text == "4.1";
    if (!version_4_ && version.text != "2" && version.text != "2.1" && version.text != "2.2") {
      reader_.fail(version, "version " + quoted(version.text) + " is not read; save as version 2.2 or 4.1");
    }
    const Token type = reader_.word();
    if (reader_.integer(type, "a file type") != 0) reader_.fail(type, "binary files are not read; save as ASCII");
    reader_.skip_line();
    end_section("$EndMeshFormat");
  }

  void read_nodes() {
    if (version_4_) {
      const size_t blocks = reader_.count("number of blocks", limits_.vertices);
      size_t left = reader_.count("number of nodes", limits_.vertices);
      reader_.skip_line();
      for (size_t i = 0; i < blocks; ++i) read_node_block(left);
      return;
    }
    const size_t count = reader_.count("number of nodes", limits_.vertices);
    for (size_t i = 0; i < count; ++i) {
      const Token at = reader_.word();
      const std::int64_t tag = reader_.integer(at, "a node number");
      builder_.add_vertex(reader_, at, tag, point());
    }
  }

  void read_node_block(size_t& left) {
    reader_.integer("an entity's dimension");
    reader_.integer("an entity's number");
    const bool parametric = reader_.integer("0 or 1") != 0;
    const size_t count = reader_.count("number of nodes in the block", left);
    left -= count;
    std::vector<std::pair<Token, std::int64_t>> tags;
    for (size_t i = 0; i < count; ++i) {
      const Token at = reader_.word();
      tags.emplace_back(at, reader_.integer(at, "a node number"));
    }
    for (const auto& [at, tag] : tags) {
      builder_.add_vertex(reader_, at, tag, point());
      if (parametric) reader_.skip_line();
    }
  }

  void read_elements() {
    if (version_4_) {
      const size_t blocks = reader_.count("number of blocks", limits_.tets);
      size_t left = reader_.count("number of elements", limits_.tets);
      reader_.skip_line();
      for (size_t i = 0; i < blocks; ++i) read_element_block(left);
      return;
    }
    const size_t count = reader_.count("number of elements", limits_.tets);
    for (size_t i = 0; i < count; ++i) {
      const Token at = reader_.word();
      reader_.integer(at, "an element number");
      const std::int64_t type = reader_.integer("an element type");
      if (is_tet(type)) {
        const size_t tags = reader_.count("number of tags", 1 << 10);
        for (size_t k = 0; k < tags; ++k) reader_.integer("a tag");
        builder_.add_tet(reader_, at);
      }
      reader_.skip_line();
    }
  }

  void read_element_block(size_t& left) {
    reader_.integer("an entity's dimension");
    reader_.integer("an entity's number");
    const std::int64_t type = reader_.integer("an element type");
    const size_t count = reader_.count("number of elements in the block", left);
    left -= count;
    for (size_t i = 0; i < count; ++i) {
      const Token at = reader_.word();
      reader_.integer(at, "an element number");
      if (is_tet(type)) builder_.add_tet(reader_, at);
      reader_.skip_line();
    }
  }

  static bool is_tet(std::int64_t type) { return type == tet || type == tet_of_second_order; }

  Vec3 point() {
    const double x = reader_.number("a coordinate"), y = reader_.number("a coordinate");
    return {x, y, reader_.number("a coordinate")};
  }

  void end_section(std::string_view name) {
    const Token token = reader_.word();
    if (token.text != name) reader_.fail(token, "expected " + std::string(name) + reader_.found(token));
  }

  void skip_section(const Token& begin) {
    if (!begin.text.starts_with('$')) reader_.fail(begin, "expected a section, found " + quoted(begin.text));
    const std::string end = "$End" + std::string(begin.text.substr(1));
    for (Token token = reader_.word(); token.text != end; token = reader_.word()) {
      if (token.text.empty()) reader_.fail(begin, "the section " + quoted(begin.text) + " does not end");
    }
  }

  Reader reader_;
  const TetMeshLimits& limits_;
  Builder builder_;
  bool version_4_ = false;
};

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) throw MeshError(path + ": no such file");
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw MeshError(path + ": cannot be read");
  return text;
}

}  // namespace

TetMesh parse_msh(std::string_view text, const std::string& name, const TetMeshLimits& limits) {
  return MshReader(text, name, limits).read();
}

TetMesh parse_tetgen(std::string_view nodes, const std::string& node_name, std::string_view elements,
                     const std::string& element_name, const TetMeshLimits& limits) {
  Builder builder;
  Reader reader(nodes, node_name, '#');
  const size_t vertices = reader.count("number of points", limits.vertices);
  const Token dimension = reader.word_in_line();
  if (!dimension.text.empty() && reader.integer(dimension, "the dimension") != 3) {
    reader.fail(dimension, "the points have " + std::string(dimension.text) + " coordinates, not 3");
  }
  reader.skip_line();
  for (size_t i = 0; i < vertices; ++i) {
    const Token at = reader.word();
    const std::int64_t tag = reader.integer(at, "a point number");
    const double x = reader.number("a coordinate"), y = reader.number("a coordinate");
    builder.add_vertex(reader, at, tag, {x, y, reader.number("a coordinate")});
    reader.skip_line();  // attributes and a marker
  }
  if (const Token rest = reader.word(); !rest.text.empty())
    reader.fail(rest, "more points than " + std::to_string(vertices));

  Reader element_reader(elements, element_name, '#');
  const size_t tets = element_reader.count("number of tets", limits.tets);
  const Token corners = element_reader.word_in_line();
  if (!corners.text.empty()) {
    const std::int64_t count = element_reader.integer(corners, "nodes a tet");
    if (count != 4 && count != 10)
      element_reader.fail(corners, "a tet has 4 or 10 nodes, not " + std::to_string(count));
  }
  element_reader.skip_line();
  for (size_t i = 0; i < tets; ++i) {
    const Token at = element_reader.word();
    element_reader.integer(at, "a tet number");
    builder.add_tet(element_reader, at);
    element_reader.skip_line();
  }
  const Token rest = element_reader.word();
  if (!rest.text.empty()) element_reader.fail(rest, "more tets than " + std::to_string(tets));
  return builder.finish(element_reader, rest);
}

TetMesh read_tet_mesh(const std::string& path) {
  const std::filesystem::path file(path);
  if (file.extension() == ".msh") return parse_msh(read_text(path), path);
  if (file.extension() != ".node" && file.extension() != ".ele") {
    throw MeshError(path + ": a tet mesh ends in .msh, .node or .ele");
  }
  const auto sibling = [&](const char* extension) {
    return std::filesystem::path(file).replace_extension(extension).string();
  };
  const std::string nodes = sibling(".node"), elements = sibling(".ele");
  return parse_tetgen(read_text(nodes), nodes, read_text(elements), elements);
}

}  // namespace stiction
