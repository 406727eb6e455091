// Where figures come from: the sources that the program was built from, and the machine that it runs on.
#pragma once

#include <string>

namespace stiction {

/// Version and commit, as "0.1.0 (1a2b3c4)"; "-dirty" follows the commit of sources that differ from it.
std::string version();

/// The commit alone; "unknown" where the sources are in no git checkout.
std::string commit();

/// Model and number of the processors, as "AMD EPYC, 2 threads".
std::string machine();

}  // namespace stiction
