#!/usr/bin/env bash
# Runs a GoogleTest program in N processes at once: run_shards.sh PROGRAM N. Unlike one process a test, as ctest does it,
# this makes what several tests share but once a process; under sanitizers that is most of the time.
set -euo pipefail
program=$1 shards=$2
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

pids=()
for ((i = 0; i < shards; ++i)); do
  GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$program" --gtest_brief=1 > "$logs/$i" 2>&1 &
  pids+=($!)
done
failed=0
for ((i = 0; i < shards; ++i)); do
  wait "${pids[$i]}" || failed=1
  cat "$logs/$i"
done
exit $failed
