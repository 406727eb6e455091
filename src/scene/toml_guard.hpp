// What toml++ must not be shown. Version 3.3 runs into undefined behaviour (or an assertion) on some malformed text
// outside strings: non-ASCII characters, table headers without a key, brackets that close another kind. All are errors
// in TOML 1.0.
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

}  // namespace stiction::scene
