#include "runtime/host/isolation/system_calls.hpp"

#include <algorithm>
#include <cstring>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sched.h>

using namespace nomad;
using namespace nomad::host;

namespace {

bool refuses(const char* name, CapabilitySet capabilities) {
  return std::ranges::any_of(refused_calls(), [&](const RefusedCall& call) {
    return std::strcmp(call.name, name) == 0 && is_refused(call, capabilities);
  });
}

CapabilitySet with(unsigned capability) {
  return CapabilitySet{default_capabilities().bits() | std::uint64_t{1} << capability};
}

/// The errno of a system call under the filter of `capabilities`; 0 when it succeeds.
template <class... Arguments>
int under_filter(CapabilitySet capabilities, long number, Arguments... arguments) {
  const std::string program = make_call_filter(capabilities).value();
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<sock_filter> steps(program.size() / sizeof(sock_filter));
    std::memcpy(steps.data(), program.data(), program.size());
    const sock_fprog filter{static_cast<unsigned short>(steps.size()), steps.data()};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) ::_exit(255);
    ::_exit(::syscall(number, arguments...) < 0 ? errno : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("system calls: a capability of the task lifts what depends on it, and nothing else") {
  const auto usual = default_capabilities();
  for (const char* name : {"mount", "unshare", "setns", "bpf", "init_module", "keyctl", "reboot"})
    CHECK_MESSAGE(refuses(name, usual), name);
  CHECK_FALSE(refuses("mount", with(CAP_SYS_ADMIN)));
  CHECK_FALSE(refuses("bpf", with(CAP_BPF)));
  CHECK(refuses("mount", with(CAP_BPF)));
  CHECK(refuses("keyctl", all_capabilities()));
  CHECK(refuses("io_uring_setup", all_capabilities()));
  for (const char* name : {"read", "execve", "ptrace", "chroot", "mknod", "clone"})
    CHECK_FALSE_MESSAGE(refuses(name, usual), name);
}

TEST_CASE("system calls: the kernel refuses what the filter says") {
  const auto usual = default_capabilities();
  CHECK(under_filter(usual, SYS_unshare, CLONE_NEWUSER) == EPERM);
  CHECK(under_filter(usual, SYS_clone3, nullptr, 0) == ENOSYS);
  CHECK(under_filter(usual, SYS_clone, CLONE_NEWUSER | 17, nullptr, nullptr, nullptr, 0L) == EPERM);
  CHECK(under_filter(usual, SYS_keyctl, 0, 0) == EPERM);
  CHECK(under_filter(usual, SYS_personality, 0x40000) == EPERM);
  CHECK(under_filter(usual, SYS_personality, 0xffffffff) == 0);
  CHECK(under_filter(usual, SYS_socket, 40 /* AF_VSOCK */, 1, 0) == EPERM);
  CHECK(under_filter(usual, SYS_socket, 1L << 32 | 40, 1, 0) == EPERM);
  CHECK(under_filter(usual, SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x") == EPERM);
  CHECK(under_filter(usual, SYS_ioctl, 0, 1L << 32 | 0x5412, "x") == EPERM);
  CHECK(under_filter(usual, SYS_getppid) == 0);
  CHECK(under_filter(usual, SYS_unshare, 0) == EPERM);
  CHECK(under_filter(with(CAP_SYS_ADMIN), SYS_unshare, 0) == 0);
}
