// The one description of a scene file. A section is a table of fields; a field has a key, a unit, a range, a sentence,
// and a slot: a typed reference into the record that the section fills. Reading, validation, defaults (the values in a
// default-constructed record) and the scene reference all come from it.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stiction/scene.hpp"

namespace stiction::scene {

struct Section;

/// An enumeration in a record, seen as an index into the names it has in a scene file.
struct Choice {
  std::span<const std::string_view> names;
  void* value;
  int (*get)(const void*);
  void (*set)(void*, int);
};

template <class Enum>
Choice choice(Enum& value, std::span<const std::string_view> names) {
  return {names, &value, [](const void* e) { return static_cast<int>(*static_cast<const Enum*>(e)); },
          [](void* e, int i) { *static_cast<Enum*>(e) = static_cast<Enum>(i); }};
}

/// A table inside a record.
struct SubTable {
  const Section* section;
  void* record;
};

/// An array of tables: `append` adds a default record and returns it.
struct TableList {
  const Section* section;
  std::function<void*()> append;
};

template <class Record>
TableList table_list(std::vector<Record>& records, const Section& section) {
  return {&section, [&records]() -> void* { return &records.emplace_back(); }};
}

/// A vector that may be given as one number for all its components.
struct Scale {
  Vec3* value;
};

/// Where a field's value lives. The alternative is the field's type. A list of strings may be given as one string.
using Slot = std::variant<bool*, int*, double*, Eigen::Vector2d*, Vec3*, Scale, Eigen::Vector3i*, std::string*, Choice,
                          std::vector<int>*, std::vector<VectorKey>*, std::vector<Vec3>*, std::vector<std::string>*,
                          SubTable, TableList>;

/// Bounds on a number, or on each component of a vector.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool excludes_min = false;
};

inline Range within(double min, double max) { return {min, max, false}; }
inline Range positive(double max) { return {0, max, true}; }
inline Range magnitude(double max) { return {-max, max, false}; }

/// A field has an effect only where the choice `key` has one of `values`; to give it elsewhere is an error.
struct Condition {
  std::string_view key;
  std::vector<std::string_view> values;
};

struct Field {
  std::string_view key;
  std::string_view unit;  // empty: a pure number or not a number
  Range range;
  std::string_view doc;
  std::function<Slot(void* record)> slot;
  bool required = false;
  Condition only_where = {};
};

struct Section {
  std::string_view title;
  std::string_view doc;
  std::shared_ptr<void> defaults;  // a default-constructed record
  std::vector<Field> fields = {};

  const Field* find(std::string_view key) const;
  /// The slot of `field` in the default record.
  Slot default_slot(const Field& field) const { return field.slot(defaults.get()); }
};

/// Adds the fields of a section whose record type is Record.
template <class Record>
class SectionBuilder {
 public:
  SectionBuilder(std::string_view title, std::string_view doc) : section_{title, doc, std::make_shared<Record>()} {}

  template <class Accessor>
  SectionBuilder& add(std::string_view key, std::string_view unit, Range range, std::string_view doc,
                      Accessor accessor) {
    section_.fields.push_back(
        {key, unit, range, doc, [accessor](void* record) -> Slot { return accessor(*static_cast<Record*>(record)); }});
    return *this;
  }

  /// A field that is no number: no unit, no range.
  template <class Accessor>
  SectionBuilder& add(std::string_view key, std::string_view doc, Accessor accessor) {
    return add(key, "", Range{}, doc, accessor);
  }

  /// The field added last must be given.
  SectionBuilder& required() {
    section_.fields.back().required = true;
    return *this;
  }

  /// The field added last has an effect only where the choice `key` has one of `values`.
  SectionBuilder& only_where(std::string_view key, std::vector<std::string_view> values) {
    section_.fields.back().only_where = {key, std::move(values)};
    return *this;
  }

  Section build() { return std::move(section_); }

 private:
  Section section_;
};

/// The whole file: its record is a Document (document.hpp).
const Section& root_section();

const Section& time_section();
const Section& world_section();
const Section& solver_section();
const Section& contact_section();
const Section& render_section();
const Section& collider_section();
const Section& groom_section();
const Section& rod_section();
const Section& bundle_section();
const Section& chain_section();
const Section& shell_section();
const Section& solid_section();
const Section& frames_section();
const Section& attachment_section();
const Section& friction_section();

/// A field's type in words, e.g. "list of [t, x, y, z]".
std::string type_name(const Slot& slot);

/// The value in a slot, written as in a scene file. Tables and lists that are empty give "".
std::string value_text(const Slot& slot);

/// A range in words, e.g. "> 0, <= 10"; empty where unbounded.
std::string range_text(const Range& range);

/// "; did you mean X?" for the known name nearest by edit distance, or "" where none is near enough to be meant.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace stiction::scene
