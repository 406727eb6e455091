#include "provenance.hpp"

#include <fmt/core.h>

#include <fstream>
#include <thread>

#include "commit.hpp"  // written by the build

namespace stiction {

std::string version() { return fmt::format("{} ({})", STICTION_VERSION, STICTION_COMMIT); }

std::string commit() { return STICTION_COMMIT; }

std::string machine() {
  std::ifstream processors("/proc/cpuinfo");
  std::string model = "unknown processor";
  for (std::string line; std::getline(processors, line);) {
    const std::size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") != 0 || colon == std::string::npos) continue;
    model = line.substr(colon + 2);
    break;
  }
  return fmt::format("{}, {} threads", model, std::thread::hardware_concurrency());
}

}  // namespace stiction
