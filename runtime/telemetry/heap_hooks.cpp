// The program's operator new and delete, by which the heap profiler hears of memory
// (heap_profiler.hpp). All forms of them that are not here come by these two, or are of memory
// with an alignment of its own, which is not sampled. Sanitizers have theirs.
#include <cstdint>
#include <cstdlib>
#include <new>

#include "runtime/telemetry/heap_profiler.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NOMAD_HEAP_HOOKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) \
    || __has_feature(memory_sanitizer)
#define NOMAD_HEAP_HOOKS 0
#endif
#endif
#ifndef NOMAD_HEAP_HOOKS
#define NOMAD_HEAP_HOOKS 1
#endif

namespace nomad::telemetry {

bool has_heap_hooks() {
  return NOMAD_HEAP_HOOKS != 0;
}

}  // namespace nomad::telemetry

#if NOMAD_HEAP_HOOKS

namespace {

constinit thread_local nomad::telemetry::HeapTurn turn;

/// As the standard has it: the handler may make room, or throws.
[[gnu::noinline]] void* allocate_again(std::size_t size) {
  for (;;) {
    const auto make_room = std::get_new_handler();
    if (make_room == nullptr) throw std::bad_alloc{};
    make_room();
    if (void* const piece = std::malloc(size); piece != nullptr) return piece;
  }
}

void give_back(void* piece) noexcept {
  constexpr std::uintptr_t within_page = 4'095;
  if ((reinterpret_cast<std::uintptr_t>(piece) & within_page) == 0 && piece != nullptr)
    nomad::telemetry::note_freed(piece);
  std::free(piece);
}

}  // namespace

void* operator new(std::size_t size) {
  if (size == 0) size = 1;
  // What is larger than any memory makes no thread wait for ever for its next sample.
  if (size > static_cast<std::size_t>(INT64_MAX)) return allocate_again(size);
  turn.bytes_left -= static_cast<std::int64_t>(size);
  void* const piece
      = turn.bytes_left >= 0 ? std::malloc(size) : nomad::telemetry::allocate_rarely(size, turn);
  return piece != nullptr ? piece : allocate_again(size);
}

void operator delete(void* piece) noexcept {
  give_back(piece);
}

void operator delete(void* piece, std::size_t) noexcept {
  give_back(piece);
}

#endif
