#include "scene/overrides.hpp"

#include <fmt/format.h>

#include <charconv>

#include "scene/toml_guard.hpp"
#include "stiction/scene_file.hpp"

namespace stiction::scene {
namespace {

bool holds_strings(const Slot& slot) {
  return std::holds_alternative<std::string*>(slot) || std::holds_alternative<Choice>(slot) ||
         std::holds_alternative<std::vector<std::string>*>(slot);
}

/// Writes one "dotted.key=value" into the tables.
class OverrideWriter {
 public:
  explicit OverrideWriter(std::string_view text) : text_(text), where_(fmt::format("--set {}", text)) {}

  void write(toml::table& root, Overrides& applied) {
    const std::size_t equals = text_.find('=');
    if (equals == text_.npos || equals == 0) fail("expected key=value");
    path_ = text_.substr(0, equals);
    std::string_view rest = path_;
    toml::table* table = &root;
    const Section* section = &root_section();
    for (;;) {
      const std::string_view key = next_part(rest);
      const Field* field = section->find(key);
      if (!field) fail(unknown_key(key, *section));
      const Slot slot = section->default_slot(*field);
      if (rest.empty()) {
        insert(*table, key, slot, text_.substr(equals + 1));
        applied[path_] = where_;
        return;
      }
      if (const SubTable* sub = std::get_if<SubTable>(&slot)) {
        table = sub_table(*table, key);
        section = sub->section;
      } else if (const TableList* list = std::get_if<TableList>(&slot)) {
        table = element(*table, key, next_part(rest));
        section = list->section;
        if (rest.empty()) fail("name a key of the table, as in " + path_ + "." + std::string(section->fields[0].key));
      } else {
        fail(fmt::format("'{}' has no keys inside it", key));
      }
    }
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw SceneError(path_.empty() ? fmt::format("{}: {}", where_, problem)
                                   : fmt::format("{}: {}: {}", where_, path_, problem));
  }

  static std::string_view next_part(std::string_view& rest) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    rest = dot == rest.npos ? std::string_view() : rest.substr(dot + 1);
    return part;
  }

  toml::table* sub_table(toml::table& table, std::string_view key) const {
    if (!table.contains(key)) table.insert(key, toml::table{});
    toml::table* sub = table.get_as<toml::table>(key);
    if (!sub) fail(fmt::format("the scene's '{}' is not a table", key));
    return sub;
  }

  toml::table* element(toml::table& table, std::string_view key, std::string_view index) const {
    const toml::array* array = table.get_as<toml::array>(key);
    const std::size_t size = array ? array->size() : 0;
    std::size_t i = 0;
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), i);
    if (error != std::errc() || end != index.data() + index.size())
      fail(fmt::format("expected an index after '{}', got '{}'", key, index));
    if (i >= size) fail(fmt::format("index {} is out of range, the scene has {} of '{}'", i, size, key));
    toml::table* found = table.get_as<toml::array>(key)->get_as<toml::table>(i);
    if (!found) fail(fmt::format("the scene's '{}' is not a list of tables", key));
    return found;
  }

  void insert(toml::table& table, std::string_view key, const Slot& slot, std::string_view value) const {
    const bool bare = holds_strings(slot) && value.find_first_of("\"'[{") != 0;
    if (bare) {
      table.insert_or_assign(key, std::string(value));
      return;
    }
    const std::string line = fmt::format("value = {}", value);
    if (const auto problem = guard_toml(line)) fail(fmt::format("'{}' is not a TOML value: {}", value, problem->what));
    try {
      const toml::table parsed = toml::parse(ascii_only(line));
      if (parsed.size() != 1) fail("expected one value");
      parsed.get("value")->visit([&](const auto& node) { table.insert_or_assign(key, node); });
    } catch (const toml::parse_error& error) {
      fail(fmt::format("'{}' is not a TOML value: {}", value, error.description()));
    }
  }

  std::string_view text_;
  std::string where_;
  std::string path_;
};

}  // namespace

std::string unknown_key(std::string_view key, const Section& section) {
  std::vector<std::string_view> known;
  for (const Field& field : section.fields) known.push_back(field.key);
  const std::string suggestion = did_you_mean(key, known);
  return "unknown key" + (suggestion.empty() ? fmt::format("; known: {}", fmt::join(known, ", ")) : suggestion);
}

void apply_override(const std::string& text, toml::table& root, Overrides& applied) {
  OverrideWriter(text).write(root, applied);
}

}  // namespace stiction::scene
