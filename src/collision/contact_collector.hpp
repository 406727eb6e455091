// Contacts found by parallel tests, brought into the order of their keys.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "contact/contact.hpp"
#include "parallel/loops.hpp"

namespace stiction {

class ContactCollector {
 public:
  /// Runs test(i, found) for i < count; it appends what it finds. May be called several times before sorted().
  template <class Test>
  void collect(std::size_t count, Test&& test) {
    const std::size_t first = used_;
    used_ += chunk_count(count);
    grow_to(chunks_, used_);
    for_each_chunk(count, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      std::vector<Contact> found = std::move(chunks_[first + chunk]);  // off the line that neighbours write to
      found.clear();
      for (std::size_t i = begin; i < end; ++i) test(i, found);
      chunks_[first + chunk] = std::move(found);
    });
  }

  /// Everything collected since the last call, sorted by key. Keys are unique, so this is one order.
  std::vector<Contact> sorted();

 private:
  struct Place {
    std::uint64_t key;
    const Contact* contact;
  };
  std::vector<std::vector<Contact>> chunks_;
  std::size_t used_ = 0;
  std::vector<std::size_t> first_;  // place of each chunk's contacts
  std::vector<Place> places_;
};

}  // namespace stiction
