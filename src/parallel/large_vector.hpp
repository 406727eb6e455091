// Large arrays that all threads write and walk over: on large pages where the system has them, so that a sweep does not
// wait for the page tables. Elements that a resize adds are left as the memory is, for the loops over all threads to
// write.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
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

  /// Nothing: whoever made room writes before anybody reads.
  template <class U>
  void construct([[maybe_unused]] U* p) {
    static_assert(std::is_trivially_destructible_v<U>);
#ifdef __SANITIZE_ADDRESS__
    std::memset(static_cast<void*>(p), 0xff, sizeof(U));  // no number, no node
#endif
  }

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
