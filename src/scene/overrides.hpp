// Overrides of single values from the command line.
#pragma once

#include <toml++/toml.h>

#include <map>
#include <string>

#include "scene/schema.hpp"

namespace stiction::scene {

/// Path of an overridden key → "--set key=value".
using Overrides = std::map<std::string, std::string>;

/// Writes "dotted.key=value" into the tables and records it. Throws SceneError "--set key=value: key: problem".
void apply_override(const std::string& text, toml::table& root, Overrides& applied);

/// "unknown key", with the key that may be meant, or else all keys of the section.
std::string unknown_key(std::string_view key, const Section& section);

}  // namespace stiction::scene
