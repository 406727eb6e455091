// parse_scene (stiction/scene_file.hpp) with bounds on what the text may ask for, as the fuzzer needs.
#pragma once

#include "scene/build.hpp"

namespace stiction::scene {

/// Throws SceneError.
Scene parse_limited(std::string_view text, const std::string& name, const std::vector<std::string>& overrides,
                    const Limits& limits);

}  // namespace stiction::scene
