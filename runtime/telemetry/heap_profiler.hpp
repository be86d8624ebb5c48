// HeapProfiler: which code has asked for the memory that this process holds. The program's
// `operator new` and `operator delete` (heap_hooks.cpp) come by here: of what is asked for one
// piece in 512 KiB on average is a sample, whose stack is kept, whatever its size; all others cost
// a subtraction when they come and a look at their address when they go. So it is always on, and
// what is told is of the whole life of the process. What C libraries ask for themselves (SQLite,
// OpenSSL) is not in it, nor what wants an alignment of its own.
//
//   (1) A sample begins at a page. Few other pieces do, and those are looked up in vain.
//   (2) No locks and no memory of its own but for two tables of a fixed size, 1.6 MB of addresses
//       of which a process has touched what it used. What does not fit is not counted.
//   (3) A child between fork and exec takes no samples.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/telemetry/profile_format.hpp"

namespace nomad::telemetry {

/// What is known of samples: the code that asked for them, and where each that lives is. Takes no
/// locks; pieces are told as they come and go, each by one thread at a time.
class HeapSamples {
public:
  static constexpr std::size_t most_frames = 32;
  static constexpr std::size_t most_sites = 4'096;
  static constexpr std::size_t most_pieces = 16'384;

  constexpr HeapSamples() = default;

  /// False: there is no room, and it is not counted. `stack` has the innermost first.
  bool came(std::uintptr_t address, std::size_t size, std::span<void* const> stack);

  /// Nothing happens for what is no sample.
  void went(std::uintptr_t address);

  /// What is counted so far, equal stacks together; changes that come meanwhile may be in it.
  std::vector<HeapSample> all() const;

private:
  /// Code that asks for memory.
  struct Site {
    std::atomic<std::uint32_t> state{0};
    std::uint32_t depth = 0;
    std::array<void*, most_frames> frames{};
    std::atomic<std::uint64_t> allocs{0};
    std::atomic<std::uint64_t> alloc_bytes{0};
    std::atomic<std::uint64_t> frees{0};
    std::atomic<std::uint64_t> free_bytes{0};
  };

  struct Piece {
    std::atomic<std::uintptr_t> address{0};
    std::uint64_t size = 0;
    Site* site = nullptr;
  };

  Site* site_of(std::span<void* const> stack);
  Piece* room_for(std::uintptr_t address);

  std::array<Site, most_sites> sites_{};
  std::array<Piece, most_pieces> pieces_{};
};

/// What this process holds and has asked for. `unavailable` where the hooks are not there, in
/// programs that a sanitizer watches.
Result<HeapProfile> heap_profile();

/// What the hooks keep of a thread.
struct HeapTurn {
  std::int64_t bytes_left = 0;  ///< That it asks for until the next sample.
  std::uint64_t drawn = 0;      ///< The last random number; 0: none was drawn yet.
  bool is_sampling = false;     ///< What a sample asks for itself is none.
};

/// For `operator new`, which calls it itself: memory of `size` bytes, or null, when the thread's
/// turn has come, or is drawn for the first time.
void* allocate_rarely(std::size_t size, HeapTurn& turn) noexcept;

/// For `operator delete`: what lies at the begin of a page goes.
void note_freed(void* piece) noexcept;

/// Whether this program has the hooks.
bool has_heap_hooks();

}  // namespace nomad::telemetry
