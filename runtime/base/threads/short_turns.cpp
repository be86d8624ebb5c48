#include "runtime/base/threads/short_turns.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/log.hpp"
#include "runtime/base/result.hpp"

namespace nomad {
namespace {

/// The shortest that Linux takes.
constexpr std::uint64_t turn_ns = 100'000;

constexpr std::uint64_t reset_on_fork = 1;

/// The kernel's `struct sched_attr` in its first version, of which glibc 2.36 has no wrapper and
/// whose own header contradicts glibc's.
struct Scheduling {
  std::uint32_t size = sizeof(Scheduling);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

void note(const char* what) {
  log::debug("agent", what, {{"error", std::strerror(errno)}});
}

}  // namespace

void ask_for_short_turns() {
  Scheduling present;
  if (::syscall(SYS_sched_getattr, 0, &present, sizeof present, 0) != 0)
    return note("cannot read how a thread is scheduled");
  present.flags |= reset_on_fork;
  present.runtime = turn_ns;
  if (::syscall(SYS_sched_setattr, 0, &present, 0) != 0)
    note("cannot ask for short turns of a thread");
}

}  // namespace nomad
