#include "actors/api/http/wiping_memory.hpp"

#include <cstddef>
#include <new>

#include <sodium/utils.h>

namespace nomad::api {
namespace {

class WipingMemory : public std::pmr::memory_resource {
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    return ::operator new (size, std::align_val_t{alignment});
  }

  void do_deallocate(void* at, std::size_t size, std::size_t alignment) override {
    sodium_memzero(at, size);
    ::operator delete (at, std::align_val_t{alignment});
  }

  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace

std::unique_ptr<std::pmr::memory_resource> wiping_memory() {
  return std::make_unique<WipingMemory>();
}

}  // namespace nomad::api
