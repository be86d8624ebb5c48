#include "runtime/telemetry/heap_profiler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>

#include <unistd.h>

#include <execinfo.h>

#include "runtime/base/clock.hpp"
#include "runtime/telemetry/cpu_profiler.hpp"

namespace nomad::telemetry {
namespace {

/// How many places beyond its own are looked at for one thing.
constexpr std::size_t most_probes = 64;

// Of a site.
constexpr std::uint32_t site_free = 0;
constexpr std::uint32_t site_begun = 1;
constexpr std::uint32_t site_ready = 2;

// Of a piece, in the place of its address: no page begins there.
constexpr std::uintptr_t never_used = 0;
constexpr std::uintptr_t being_written = 1;
constexpr std::uintptr_t is_gone = 2;

std::size_t mixed(std::uint64_t value) {
  value ^= value >> 33U;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33U;
  return static_cast<std::size_t>(value);
}

std::size_t hash_of_stack(std::span<void* const> stack) {
  std::uint64_t hash = stack.size();
  for (void* const frame : stack)
    hash = mixed(hash ^ reinterpret_cast<std::uintptr_t>(frame));
  return static_cast<std::size_t>(hash);
}

}  // namespace

HeapSamples::Site* HeapSamples::site_of(std::span<void* const> stack) {
  const auto start = hash_of_stack(stack);
  for (std::size_t probe = 0; probe < most_probes; ++probe) {
    auto& site = sites_[(start + probe) % most_sites];
    auto state = site.state.load(std::memory_order_acquire);
    if (state == site_ready && site.depth == stack.size()
        && std::equal(stack.begin(), stack.end(), site.frames.begin()))
      return &site;
    // One that another thread is writing may be of the same stack: it is counted twice then, and
    // told as one.
    if (state != site_free || !site.state.compare_exchange_strong(state, site_begun)) continue;
    std::ranges::copy(stack, site.frames.begin());
    site.depth = static_cast<std::uint32_t>(stack.size());
    site.state.store(site_ready, std::memory_order_release);
    return &site;
  }
  return nullptr;
}

HeapSamples::Piece* HeapSamples::room_for(std::uintptr_t address) {
  const auto start = mixed(address);
  for (std::size_t probe = 0; probe < most_probes; ++probe) {
    auto& piece = pieces_[(start + probe) % most_pieces];
    auto known = piece.address.load(std::memory_order_acquire);
    if ((known == never_used || known == is_gone)
        && piece.address.compare_exchange_strong(known, being_written))
      return &piece;
  }
  return nullptr;
}

bool HeapSamples::came(std::uintptr_t address, std::size_t size, std::span<void* const> stack) {
  auto* const site = site_of(stack.first(std::min(stack.size(), most_frames)));
  if (site == nullptr) return false;
  auto* const piece = room_for(address);
  if (piece == nullptr) return false;
  piece->size = size;
  piece->site = site;
  site->allocs.fetch_add(1, std::memory_order_relaxed);
  site->alloc_bytes.fetch_add(size, std::memory_order_relaxed);
  piece->address.store(address, std::memory_order_release);
  return true;
}

void HeapSamples::went(std::uintptr_t address) {
  const auto start = mixed(address);
  for (std::size_t probe = 0; probe < most_probes; ++probe) {
    auto& piece = pieces_[(start + probe) % most_pieces];
    const auto known = piece.address.load(std::memory_order_acquire);
    if (known == never_used) return;
    if (known != address) continue;
    piece.site->frees.fetch_add(1, std::memory_order_relaxed);
    piece.site->free_bytes.fetch_add(piece.size, std::memory_order_relaxed);
    piece.address.store(is_gone, std::memory_order_release);
    return;
  }
}

std::vector<HeapSample> HeapSamples::all() const {
  std::map<std::vector<std::uint64_t>, HeapSample> by_stack;
  for (const auto& site : sites_) {
    if (site.state.load(std::memory_order_acquire) != site_ready) continue;
    std::vector<std::uint64_t> stack;
    for (std::uint32_t i = 0; i < site.depth; ++i)
      stack.push_back(reinterpret_cast<std::uint64_t>(site.frames[i]) - 1);  // the call itself
    // What went is read first: no more can have gone than came.
    const auto frees = site.frees.load(std::memory_order_acquire);
    const auto free_bytes = site.free_bytes.load(std::memory_order_acquire);
    auto& sample = by_stack[std::move(stack)];
    const auto allocs = site.allocs.load(std::memory_order_acquire);
    const auto alloc_bytes = site.alloc_bytes.load(std::memory_order_acquire);
    sample.allocs += allocs;
    sample.alloc_bytes += alloc_bytes;
    sample.live += allocs - std::min(allocs, frees);
    sample.live_bytes += alloc_bytes - std::min(alloc_bytes, free_bytes);
  }
  std::vector<HeapSample> samples;
  for (auto& [stack, sample] : by_stack) {
    sample.stack = stack;
    samples.push_back(std::move(sample));
  }
  return samples;
}

namespace {

/// Made with the program and never ended: memory is freed until the last moment.
constinit HeapSamples samples_of_process;

/// `allocate_rarely` and `operator new`.
constexpr int hook_frames = 2;
constexpr std::size_t page = 4'096;

/// The process that began, not what it forks.
bool is_own_process() {
  static const pid_t began = ::getpid();
  return began == ::getpid();
}

/// Bytes until the next sample: each is as likely to be the one.
std::int64_t draw(HeapTurn& turn) {
  if (turn.drawn == 0) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    turn.drawn = mixed(reinterpret_cast<std::uintptr_t>(&turn) ^ static_cast<std::uint64_t>(now));
    turn.drawn |= 1U;
  }
  turn.drawn ^= turn.drawn << 13U;
  turn.drawn ^= turn.drawn >> 7U;
  turn.drawn ^= turn.drawn << 17U;
  constexpr double range = 9'007'199'254'740'993.0;  // 2^53 + 1: never 0, never above 1
  const auto fraction = (static_cast<double>(turn.drawn >> 11U) + 1) / range;
  return static_cast<std::int64_t>(-std::log(fraction) * static_cast<double>(heap_sample_bytes));
}

}  // namespace

[[gnu::noinline]] void* allocate_rarely(std::size_t size, HeapTurn& turn) noexcept {
  const bool is_first = turn.drawn == 0;
  turn.bytes_left = draw(turn);
  if (is_first && static_cast<std::int64_t>(size) < turn.bytes_left) {
    turn.bytes_left -= static_cast<std::int64_t>(size);
    return std::malloc(size);
  }
  if (turn.is_sampling || !is_own_process()) return std::malloc(size);
  turn.is_sampling = true;
  void* piece = nullptr;
  if (::posix_memalign(&piece, page, size) != 0) piece = nullptr;
  if (piece != nullptr) {
    std::array<void*, HeapSamples::most_frames + hook_frames> frames;  // NOLINT: is filled
    const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    if (depth > hook_frames)
      samples_of_process.came(
          reinterpret_cast<std::uintptr_t>(piece), size,
          std::span{frames.data() + hook_frames, static_cast<std::size_t>(depth - hook_frames)});
  }
  turn.is_sampling = false;
  return piece;
}

void note_freed(void* piece) noexcept {
  samples_of_process.went(reinterpret_cast<std::uintptr_t>(piece));
}

Result<HeapProfile> heap_profile() {
  if (!has_heap_hooks())
    return Error{Errc::unavailable,
                 "this program was built with a sanitizer, which has its own allocator"};
  return HeapProfile{
      .samples = samples_of_process.all(), .mappings = code_mappings(), .at = unix_now()};
}

}  // namespace nomad::telemetry
