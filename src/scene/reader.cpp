#include "scene/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "scene/overrides.hpp"
#include "scene/schema.hpp"
#include "scene/toml_guard.hpp"
#include "stiction/scene_file.hpp"

namespace stiction::scene {
namespace {

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string toml_text(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return fmt::format("a list of {}", node.as_array()->size());
  if (node.is_floating_point()) return fmt::format("{}", node.as_floating_point()->get());
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  const std::string text = out.str();
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

/// The entry of `path` or of the nearest table around it.
const std::string* find_enclosing(const std::map<std::string, std::string>& entries, const std::string& path) {
  for (std::size_t end = path.size(); end != 0 && end != std::string::npos; end = path.rfind('.', end - 1)) {
    const auto found = entries.find(path.substr(0, end));
    if (found != entries.end()) return &found->second;
  }
  return nullptr;
}

/// Reads tables into records. A value's place in the file is that of its node; inside an override, the override's text.
class Reader {
 public:
  Reader(std::string file, const Overrides& overrides)
      : file_(std::move(file)), overrides_(overrides), locations_(file_) {}

  Locations take_locations() { return std::move(locations_); }

  void read_table(const toml::table& table, const Section& section, void* record, const std::string& path) {
    for (const auto& [key, node] : table) {
      const std::string key_path = join(path, key.str());
      const Field* field = section.find(key.str());
      if (!field) fail(key_path, key.source(), unknown_key(key.str(), section));
      locations_.set(key_path, where(key_path, node.source()));
      read_field(node, *field, field->slot(record), key_path);
    }
    for (const Field& field : section.fields) check_presence(table, section, field, record, path);
  }

 private:
  std::string where(const std::string& path, const toml::source_region& source) const {
    if (const std::string* text = find_enclosing(overrides_, path)) return *text;
    return fmt::format("{}:{}:{}", file_, source.begin.line, source.begin.column);
  }

  [[noreturn]] void fail(const std::string& path, const toml::source_region& source, std::string_view problem) const {
    throw SceneError(fmt::format("{}: {}: {}", where(path, source), path, problem));
  }

  [[noreturn]] void fail_type(const toml::node& node, std::string_view expected, const std::string& path) const {
    fail(path, node.source(), fmt::format("expected {}, got {}", expected, toml_text(node)));
  }

  void check_presence(const toml::table& table, const Section& section, const Field& field, void* record,
                      const std::string& path) const {
    const toml::node* node = table.get(field.key);
    if (!node && field.required)
      fail(join(path, field.key), table.source(),
           fmt::format("missing, a {} is required", type_name(field.slot(record))));
    const Condition& condition = field.only_where;
    if (!node || condition.key.empty()) return;
    const Choice chosen = std::get<Choice>(section.find(condition.key)->slot(record));
    const std::string_view value = chosen.names[static_cast<std::size_t>(chosen.get(chosen.value))];
    if (std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end()) return;
    fail(join(path, field.key), node->source(),
         fmt::format("has no effect where {} = \"{}\"; it goes with \"{}\"", condition.key, value,
                     fmt::join(condition.values, "\", \"")));
  }

  void read_field(const toml::node& node, const Field& field, const Slot& slot, const std::string& path) {
    std::visit([&](const auto& target) { read(node, field, target, path); }, slot);
  }

  void read(const toml::node& node, const Field&, bool* target, const std::string& path) {
    const auto* value = node.as_boolean();
    if (!value) fail_type(node, "true or false", path);
    *target = value->get();
  }

  void read(const toml::node& node, const Field& field, int* target, const std::string& path) {
    const auto* value = node.as_integer();
    if (!value) fail_type(node, "an integer", path);
    check_range(node, field.range, field.unit, static_cast<double>(value->get()), path);
    *target = static_cast<int>(value->get());
  }

  void read(const toml::node& node, const Field& field, double* target, const std::string& path) {
    *target = number(node, field, path);
  }

  void read(const toml::node& node, const Field& field, Eigen::Vector2d* target, const std::string& path) {
    *target = numbers<2>(node, field, path);
  }

  void read(const toml::node& node, const Field& field, Vec3* target, const std::string& path) {
    *target = numbers<3>(node, field, path);
  }

  void read(const toml::node& node, const Field& field, const Scale& target, const std::string& path) {
    if (node.is_array())
      *target.value = numbers<3>(node, field, path);
    else
      target.value->setConstant(number(node, field, path));
  }

  void read(const toml::node& node, const Field& field, Eigen::Vector3i* target, const std::string& path) {
    const toml::array* array = node.as_array();
    if (!array || array->size() != 3) fail_type(node, "a list of 3 integers", path);
    for (int i = 0; i < 3; ++i) read(*array->get(static_cast<std::size_t>(i)), field, &(*target)[i], path);
  }

  void read(const toml::node& node, const Field& field, std::vector<int>* target, const std::string& path) {
    for (const toml::node& element : list(node, "a list of integers", path))
      read(element, field, &target->emplace_back(), path);
  }

  void read(const toml::node& node, const Field&, std::string* target, const std::string& path) {
    *target = string(node, path);
  }

  void read(const toml::node& node, const Field&, const Choice& target, const std::string& path) {
    const std::string name = string(node, path);
    const auto found = std::find(target.names.begin(), target.names.end(), name);
    if (found == target.names.end())
      fail(path, node.source(),
           fmt::format("'{}' is not one of \"{}\"{}", name, fmt::join(target.names, "\", \""),
                       did_you_mean(name, target.names)));
    target.set(target.value, static_cast<int>(found - target.names.begin()));
  }

  void read(const toml::node& node, const Field& field, std::vector<VectorKey>* target, const std::string& path) {
    static constexpr Range any_time{-1e6, 1e6, false};
    for (const toml::node& element : list(node, "a list of [t, x, y, z]", path)) {
      const toml::array* key = element.as_array();
      if (!key || key->size() != 4) fail_type(element, "[t, x, y, z]", path);
      const double time = finite(*key->get(0), path);
      check_range(*key->get(0), any_time, "s", time, path);
      if (!target->empty() && time <= target->back().time)
        fail(path, element.source(),
             fmt::format("times must increase: {} s comes after {} s", time, target->back().time));
      target->push_back({time, Vec3(number(*key->get(1), field, path), number(*key->get(2), field, path),
                                    number(*key->get(3), field, path))});
    }
  }

  void read(const toml::node& node, const Field& field, std::vector<Vec3>* target, const std::string& path) {
    for (const toml::node& element : list(node, "a list of [x, y, z]", path))
      target->push_back(numbers<3>(element, field, path));
  }

  void read(const toml::node& node, const Field&, std::vector<std::string>* target, const std::string& path) {
    if (node.is_string()) {
      target->push_back(string(node, path));
      return;
    }
    for (const toml::node& element : list(node, "a string or a list of strings", path))
      target->push_back(string(element, path));
  }

  void read(const toml::node& node, const Field&, const SubTable& target, const std::string& path) {
    const toml::table* table = node.as_table();
    if (!table) fail_type(node, "a table", path);
    read_table(*table, *target.section, target.record, path);
  }

  void read(const toml::node& node, const Field&, const TableList& target, const std::string& path) {
    std::size_t index = 0;
    for (const toml::node& element : list(node, fmt::format("a list of tables ([[{}]])", path), path)) {
      const std::string element_path = join(path, std::to_string(index++));
      const toml::table* table = element.as_table();
      if (!table) fail_type(element, "a table", element_path);
      locations_.set(element_path, where(element_path, element.source()));
      read_table(*table, *target.section, target.append(), element_path);
    }
  }

  const toml::array& list(const toml::node& node, std::string_view expected, const std::string& path) const {
    const toml::array* array = node.as_array();
    if (!array) fail_type(node, expected, path);
    return *array;
  }

  std::string string(const toml::node& node, const std::string& path) const {
    const auto* value = node.as_string();
    if (!value) fail_type(node, "a string", path);
    return value->get();
  }

  double finite(const toml::node& node, const std::string& path) const {
    const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value) fail_type(node, "a number", path);
    if (!std::isfinite(*value)) fail(path, node.source(), fmt::format("{} is not a finite number", *value));
    return *value;
  }

  double number(const toml::node& node, const Field& field, const std::string& path) const {
    const double value = finite(node, path);
    check_range(node, field.range, field.unit, value, path);
    return value;
  }

  template <int Size>
  Eigen::Matrix<double, Size, 1> numbers(const toml::node& node, const Field& field, const std::string& path) const {
    const toml::array* array = node.as_array();
    if (!array || array->size() != Size) fail_type(node, fmt::format("a list of {} numbers", Size), path);
    Eigen::Matrix<double, Size, 1> vector;
    for (int i = 0; i < Size; ++i) vector[i] = number(*array->get(static_cast<std::size_t>(i)), field, path);
    return vector;
  }

  void check_range(const toml::node& node, const Range& range, std::string_view unit, double value,
                   const std::string& path) const {
    const bool low = range.excludes_min ? value <= range.min : value < range.min;
    if (!low && value <= range.max) return;
    const std::string_view relation = !low ? "<=" : range.excludes_min ? ">" : ">=";
    // Keys carry the units of time and value, "s, m".
    const std::size_t comma = unit.rfind(", ");
    const std::string_view plain = comma == unit.npos ? unit : unit.substr(comma + 2);
    fail(path, node.source(),
         fmt::format("is {}, must be {} {}{}{}", toml_text(node), relation, low ? range.min : range.max,
                     plain.empty() ? "" : " ", plain));
  }

  std::string file_;
  const Overrides& overrides_;
  Locations locations_;
};

toml::table parse_toml(std::string_view text, const std::string& name) {
  const auto error_at = [&](std::size_t line, std::size_t column, std::string_view problem) {
    return SceneError(fmt::format("{}:{}:{}: TOML syntax: {}", name, line, column, problem));
  };
  if (const auto problem = guard_toml(text)) throw error_at(problem->line, problem->column, problem->what);
  try {
    return toml::parse(ascii_only(text), name);
  } catch (const toml::parse_error& error) {
    throw error_at(error.source().begin.line, error.source().begin.column, error.description());
  }
}

}  // namespace

void Locations::fail(const std::string& path, std::string_view problem) const {
  const std::string* found = find_enclosing(where_, path);
  throw SceneError(fmt::format("{}: {}: {}", found ? *found : file_ + ":1:1", path, problem));
}

Locations read_document(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                        Document& document) {
  toml::table root = parse_toml(text, name);
  Overrides applied;
  for (const std::string& override_text : overrides) apply_override(override_text, root, applied);
  Reader reader(name, applied);
  reader.read_table(root, root_section(), &document, "");
  return reader.take_locations();
}

}  // namespace stiction::scene
