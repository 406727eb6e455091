#!/bin/sh
# clang-format on every source, clang-tidy on the library, the program and the benchmarks. Fails on any finding.
set -eu
cd "$(dirname "$0")/.."

git ls-files '*.cpp' '*.hpp' | xargs clang-format --dry-run -Werror
# Only our own files; GCC's flags that clang does not know are none of its business.
git ls-files 'src/*.cpp' 'apps/*.cpp' 'bench/*.cpp' |
  xargs -P "$(nproc)" -n 4 clang-tidy -p build --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null
