// What a function says when it fails.
#pragma once

#include <string>

namespace stiction::test {

/// The message of the Error that `work` throws; "accepted" where it throws none.
template <class Error, class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace stiction::test
