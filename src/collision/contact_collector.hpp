// Contacts found by parallel tests, brought into the order of their keys.
#pragma once

#include <cstdint>
#include <vector>

#include "contact/contact.hpp"
#include "parallel/chunk_lists.hpp"

namespace stiction {

class ContactCollector {
 public:
  /// Runs test(i, found) for i < count; it appends what it finds. May be called several times before append_sorted().
  template <class Test>
  void collect(std::size_t count, Test&& test) {
    found_.collect(count, test);
  }

  /// Appends everything collected since the last call, sorted by key. Keys are unique, so this is one order.
  void append_sorted(ContactList& out);

 private:
  struct Place {
    std::uint64_t key;
    const Contact* contact;
  };
  ChunkLists<Contact> found_;
  std::vector<Place> places_;
};

}  // namespace stiction
