#include "runtime/base/resident.hpp"

#include <cstdint>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <link.h>
#include <malloc.h>

namespace nomad {
namespace {

/// Unmaps what an object maps read-only from its file. Relocated pages are writable segments.
int unmap_read_only(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const auto begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const auto end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // A refusal leaves the pages mapped, which is where they are now.
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

struct Registered {
  std::mutex mutex;
  std::vector<ReleasableMemory*> all;
};

Registered& registered() {
  static Registered each;
  return each;
}

std::chrono::nanoseconds read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace

bool QuietMoment::has_come(std::chrono::nanoseconds now, std::chrono::nanoseconds used) {
  constexpr auto busy = std::chrono::milliseconds{50};
  constexpr auto longest = std::chrono::minutes{5};
  const bool is_quiet = looked_at_ && (used - used_then_) * 50 < now - *looked_at_;
  const bool is_due = is_quiet || (looked_at_ && now - calm_since_ >= longest);
  if (is_due || !looked_at_) calm_since_ = now;
  looked_at_ = now;
  used_then_ = used;
  if (!is_due || (used_at_last_ && used - *used_at_last_ < busy)) return false;
  used_at_last_ = used;
  return true;
}

void release_in_quiet(QuietMoment& moment) {
  if (moment.has_come(read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)))
    release_unused_pages();
}

ReleasableMemory::ReleasableMemory(std::function<void()> give_back)
    : give_back_{std::move(give_back)} {
  const std::lock_guard lock{registered().mutex};
  registered().all.push_back(this);
}

ReleasableMemory::~ReleasableMemory() {
  const std::lock_guard lock{registered().mutex};
  std::erase(registered().all, this);
}

void release_unused_pages() {
  {
    const std::lock_guard lock{registered().mutex};
    for (const auto* each : registered().all)
      each->give_back_();
  }
  ::malloc_trim(0);
  ::dl_iterate_phdr(unmap_read_only, nullptr);
}

}  // namespace nomad
