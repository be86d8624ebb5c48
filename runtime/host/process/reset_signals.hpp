// What a child does with its signals before it becomes a program. Only system calls.
#pragma once

#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

namespace nomad::host {

/// The standard action for each, and none blocked. By the kernel's own call: the C library hides
/// the two signals that it uses itself, and leaves them ignored in whatever it has spawned.
inline void reset_signals() {
  struct {
    void (*handler)(int) = SIG_DFL;
    unsigned long rest[3] = {};
  } standard;

  constexpr std::size_t mask_bytes = 8;
  for (int number = 1; number < NSIG; ++number)
    ::syscall(SYS_rt_sigaction, number, &standard, nullptr, mask_bytes);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace nomad::host
