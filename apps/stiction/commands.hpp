// The subcommands of the program, and its exit codes.
#pragma once

#include <CLI/App.hpp>

namespace stiction {

inline constexpr int kDone = 0;
inline constexpr int kBadInput = 2;       // nothing was written
inline constexpr int kFailed = 3;         // the last good checkpoint is kept
inline constexpr int kInterrupted = 130;  // a checkpoint was written

void add_run(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_render(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);

}  // namespace stiction
