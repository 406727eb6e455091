// Arrays that are streamed through again and again: on large pages where the system has them, so that a sweep does not
// wait for the page tables.
#pragma once

#include <cstddef>
#include <new>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace stiction {

template <class T>
struct LargePageAllocator {
  using value_type = T;

  LargePageAllocator() = default;
  template <class U>
  LargePageAllocator(const LargePageAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as allocators convert

  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    void* p = ::operator new(bytes, alignment(bytes));
#ifdef __linux__
    if (bytes >= kPage) madvise(p, bytes / kPage * kPage, MADV_HUGEPAGE);  // advice: a refusal changes nothing
#endif
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) { ::operator delete(p, alignment(n * sizeof(T))); }

  template <class U>
  bool operator==(const LargePageAllocator<U>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kPage = std::size_t{1} << 21, kCacheLine = 64;
  static std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes >= kPage ? kPage : kCacheLine}; }
};

template <class T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace stiction
