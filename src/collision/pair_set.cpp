#include "collision/pair_set.hpp"

#include <atomic>

#include "parallel/loops.hpp"

namespace stiction {

void PairSet::clear() {
  if (slot_.size() > 8 * count_) clear_large(slot_);
  count_ = 0;
  for_each_index(slot_.size(), [&](std::size_t i) { slot_[i] = kEmpty; });
}

// The high bits of a product with 2^64 over the golden ratio, as a share of the slots: neighbours scatter.
std::size_t PairSet::home_of(std::uint64_t key) const {
  return ((key * 0x9e3779b97f4a7c15u) >> 32) * slot_.size() >> 32;
}

void PairSet::put(std::uint64_t key) {
  for (std::size_t i = home_of(key);; i = after(i)) {
    std::uint64_t found = kEmpty;
    if (std::atomic_ref(slot_[i]).compare_exchange_strong(found, key, std::memory_order_relaxed) || found == key)
      return;
  }
}

void PairSet::make_room(std::size_t count) {
  if (count + count / 2 + 2 <= slot_.size()) return;
  const std::vector<std::uint64_t> old = std::exchange(slot_, std::vector<std::uint64_t>(2 * count + 2, kEmpty));
  for_each_index(old.size(), [&](std::size_t i) {
    if (old[i] != kEmpty) put(old[i]);
  });
}

void PairSet::insert(std::span<const std::pair<int, int>> pairs) {
  count_ += pairs.size();
  make_room(count_);
  for_each_index(pairs.size(), [&](std::size_t i) { put(key_of(pairs[i])); });
}

bool PairSet::contains(const std::pair<int, int>& pair) const {
  const std::uint64_t key = key_of(pair);
  if (slot_.empty()) return false;
  for (std::size_t i = home_of(key); slot_[i] != kEmpty; i = after(i))
    if (slot_[i] == key) return true;
  return false;
}

}  // namespace stiction
