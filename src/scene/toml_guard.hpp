// What toml++ must not be shown. Version 3.3 runs into undefined behaviour (or an assertion) on some malformed text:
// non-ASCII characters where it does not expect them, table headers without a key, brackets that close another kind.
// Non-ASCII characters are therefore kept to comments (a string can name them by TOML's \u escapes), and the parser
// sees ASCII only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stiction::scene {

struct TomlProblem {
  std::size_t line, column;
  std::string what;
};

/// The first such place, if any; all other errors are left to the parser.
std::optional<TomlProblem> guard_toml(std::string_view text);

/// The text with every non-ASCII byte, and a byte order mark, blanked: what a guarded text is parsed as.
std::string ascii_only(std::string_view text);

}  // namespace stiction::scene
