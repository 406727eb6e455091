// The schema in words: types, values, ranges, suggestions, and the scene reference.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scene/schema.hpp"
#include "stiction/scene_file.hpp"

namespace stiction::scene {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string quoted_list(std::span<const std::string_view> names, std::string_view separator) {
  std::string list;
  for (const std::string_view name : names) list += fmt::format("{}`{}`", list.empty() ? "" : separator, name);
  return list;
}

std::string limits_cell(const Field& field, const Slot& slot) {
  if (const Choice* c = std::get_if<Choice>(&slot)) return quoted_list(c->names, ", ");
  return range_text(field.range);
}

std::string default_cell(const Field& field, const Slot& slot) {
  if (field.required) return "required";
  const std::string text = value_text(slot);
  return text.empty() ? "none" : fmt::format("`{}`", text);
}

std::string doc_cell(const Field& field) {
  if (field.only_where.key.empty()) return std::string(field.doc);
  return fmt::format("{} Only where `{}` is {}.", field.doc, field.only_where.key,
                     quoted_list(field.only_where.values, ", "));
}

const Section* subsection(const Slot& slot) {
  if (const SubTable* table = std::get_if<SubTable>(&slot)) return table->section;
  if (const TableList* list = std::get_if<TableList>(&slot)) return list->section;
  return nullptr;
}

/// A section's heading and table, then those of the sections inside it, each once.
void append_section(std::string& text, const Section& section, std::vector<const Section*>& done) {
  if (std::find(done.begin(), done.end(), &section) != done.end()) return;
  done.push_back(&section);
  text += fmt::format("## `{}`\n\n{}\n\n", section.title, section.doc);
  text += "| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n";
  std::vector<const Section*> inside;
  for (const Field& field : section.fields) {
    const Slot slot = section.default_slot(field);
    if (const Section* sub = subsection(slot)) {
      inside.push_back(sub);
      text += fmt::format("| `{}` | {} | | | | See `{}`. |\n", field.key, type_name(slot), sub->title);
      continue;
    }
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", field.key, type_name(slot), field.unit,
                        default_cell(field, slot), limits_cell(field, slot), doc_cell(field));
  }
  text += "\n";
  for (const Section* sub : inside) append_section(text, *sub, done);
}

template <class Vector>
std::string vector_text(const Vector& v) {
  std::vector<double> values(v.data(), v.data() + v.size());
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

std::string type_name(const Slot& slot) {
  return std::visit(
      Overloaded{[](bool*) { return "true or false"; }, [](int*) { return "integer"; },
                 [](double*) { return "number"; }, [](Eigen::Vector2d*) { return "[x, y]"; },
                 [](Vec3*) { return "[x, y, z]"; }, [](const Scale&) { return "number or [x, y, z]"; },
                 [](Eigen::Vector3i*) { return "[i, j, k]"; }, [](std::string*) { return "string"; },
                 [](const Choice&) { return "string"; }, [](std::vector<int>*) { return "list of integers"; },
                 [](std::vector<VectorKey>*) { return "list of [t, x, y, z]"; },
                 [](std::vector<Vec3>*) { return "list of [x, y, z]"; },
                 [](std::vector<std::string>*) { return "string or list of strings"; },
                 [](const SubTable&) { return "table"; }, [](const TableList&) { return "list of tables"; }},
      slot);
}

std::string value_text(const Slot& slot) {
  const auto quoted = [](std::string_view s) { return s.empty() ? "" : fmt::format("\"{}\"", s); };
  return std::visit(
      Overloaded{[](bool* b) { return fmt::format("{}", *b); }, [](int* i) { return fmt::format("{}", *i); },
                 [](double* d) { return fmt::format("{}", *d); }, [](Eigen::Vector2d* v) { return vector_text(*v); },
                 [](Vec3* v) { return vector_text(*v); }, [](const Scale& s) { return vector_text(*s.value); },
                 [](Eigen::Vector3i* v) { return vector_text(*v); }, [&](std::string* s) { return quoted(*s); },
                 [&](const Choice& c) { return quoted(c.names[static_cast<std::size_t>(c.get(c.value))]); },
                 [](const auto&) { return std::string(); }},
      slot);
}

std::string range_text(const Range& range) {
  const bool below = std::isfinite(range.min), above = std::isfinite(range.max);
  std::string text;
  if (below) text = fmt::format("{} {}", range.excludes_min ? ">" : ">=", range.min);
  if (above) text += fmt::format("{}<= {}", below ? ", " : "", range.max);
  return text;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  int least = std::max(2, static_cast<int>(name.size()) / 2) + 1;
  for (const std::string_view candidate : known) {
    const int distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

}  // namespace stiction::scene

namespace stiction {

std::string scene_reference() {
  std::string text =
      "# Scene reference\n\nGenerated from the schema. SI units; a range holds for each component of a vector.\n\n";
  std::vector<const scene::Section*> done;
  scene::append_section(text, scene::root_section(), done);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace stiction
