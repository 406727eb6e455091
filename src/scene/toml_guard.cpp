#include "scene/toml_guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace stiction::scene {
namespace {

bool is_key_start(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '"' || c == '\'';
}

/// Walks through the text just closely enough to tell strings, comments and nesting apart.
class Guard {
 public:
  explicit Guard(std::string_view text) : text_(text) {
    if (text.starts_with("\xef\xbb\xbf")) at_ = start_ = 3;
  }

  std::optional<TomlProblem> run() {
    while (at_ < text_.size() && !problem_) {
      const char c = text_[at_];
      check_character();
      if (c == '#') {
        skip_comment();
      } else if (c == '"' || c == '\'') {
        check_string_start();
        skip_string();
      } else {
        if (c == '[' && open_.empty() && first_on_line_) check_header();
        track_brackets();
        if (c != ' ' && c != '\t') first_on_line_ = c == '\n';
        ++at_;
      }
    }
    return problem_;
  }

 private:
  void report(std::size_t at, std::string what) {
    if (problem_) return;
    std::size_t line = 1, column = 1;
    for (const char c : text_.substr(0, at)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n';
    }
    problem_ = TomlProblem{line, column, std::move(what)};
  }

  void check_character() {
    const auto c = static_cast<unsigned char>(text_[at_]);
    const bool is_control = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    if (is_control) report(at_, fmt::format("control character 0x{:02x}", c));
    if (c >= 0x80) report(at_, "only comments may have non-ASCII characters; a string can name them as \\uXXXX");
  }

  /// A string starts a line, or follows one of these; elsewhere the parser would read on in its own way.
  void check_string_start() {
    const std::size_t before = at_ == 0 ? std::string_view::npos : text_.find_last_not_of(" \t", at_ - 1);
    if (before != std::string_view::npos && before >= start_ &&
        std::string_view("=[{,.\n").find(text_[before]) == std::string_view::npos)
      report(at_, "unexpected quote");
  }

  void track_brackets() {
    const char c = text_[at_];
    if (c == '[' || c == '{') open_ += c;
    if ((c != ']' && c != '}') || open_.empty()) return;
    if ((c == ']') != (open_.back() == '[')) report(at_, fmt::format("'{}' closes '{}'", c, open_.back()));
    open_.pop_back();
  }

  /// A header, at its "[", goes on with a key. Its end is left to the parser.
  void check_header() {
    std::size_t next = text_.find_first_not_of(" \t", at_ + 1);
    if (next < text_.size() && text_[next] == '[') next = text_.find_first_not_of(" \t", next + 1);
    if (next < text_.size() && text_[next] != ']' && !is_key_start(text_[next]))
      report(next, "expected a key in a table header");
  }

  void skip_comment() {
    at_ = std::min(text_.find('\n', at_), text_.size());
    first_on_line_ = true;
  }

  void skip_string() {
    const char quote = text_[at_];
    const bool is_long = text_.substr(at_, 3) == std::string(3, quote);
    const std::string_view end = text_.substr(at_, is_long ? 3 : 1);
    at_ += end.size();
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      if (text_[at_] == '\n' && !is_long) return;
      check_character();
      if (text_[at_] == '\\' && quote == '"')
        skip_escape();
      else
        ++at_;
    }
    // A long string may end in up to two quotes of its own.
    at_ = std::min(at_ + end.size(), text_.size());
    while (is_long && at_ < text_.size() && text_[at_] == quote) ++at_;
    first_on_line_ = false;
  }

  /// A backslash, and all white space where it ends a line; what follows must be ASCII.
  void skip_escape() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_ + 1), text_.size());
    if (at_ == text_.size()) return;
    check_character();
    const bool is_escaped = text_[at_ - 1] == '\\';
    if (is_escaped) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0, start_ = 0;
  std::string open_;  // brackets
  bool first_on_line_ = true;
  std::optional<TomlProblem> problem_;
};

}  // namespace

std::optional<TomlProblem> guard_toml(std::string_view text) { return Guard(text).run(); }

std::string ascii_only(std::string_view text) {
  std::string ascii(text);
  for (char& c : ascii)
    if (static_cast<unsigned char>(c) >= 0x80) c = ' ';
  return ascii;
}

}  // namespace stiction::scene
