#include "runtime/host/isolation/system_calls.hpp"

#include <array>
#include <cerrno>
#include <memory>

#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <unistd.h>

#include <seccomp.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

namespace {

constexpr CapabilitySet one_of(std::initializer_list<unsigned> capabilities) {
  std::uint64_t bits = 0;
  for (const unsigned capability : capabilities)
    bits |= std::uint64_t{1} << capability;
  return CapabilitySet{bits};
}

constexpr auto admin = one_of({CAP_SYS_ADMIN});

constexpr std::array refused{
    // views and namespaces
    RefusedCall{"mount", admin}, RefusedCall{"umount", admin}, RefusedCall{"umount2", admin},
    RefusedCall{"pivot_root", admin}, RefusedCall{"fsopen", admin}, RefusedCall{"fsconfig", admin},
    RefusedCall{"fsmount", admin}, RefusedCall{"fspick", admin}, RefusedCall{"move_mount", admin},
    RefusedCall{"open_tree", admin}, RefusedCall{"mount_setattr", admin},
    RefusedCall{"setns", admin}, RefusedCall{"unshare", admin}, RefusedCall{"sethostname", admin},
    RefusedCall{"setdomainname", admin}, RefusedCall{"swapon", admin},
    RefusedCall{"swapoff", admin}, RefusedCall{"quotactl", admin},
    RefusedCall{"quotactl_fd", admin}, RefusedCall{"fanotify_init", admin},
    RefusedCall{"lookup_dcookie", admin},
    RefusedCall{"open_by_handle_at", one_of({CAP_DAC_READ_SEARCH})},
    // the kernel itself
    RefusedCall{"bpf", one_of({CAP_SYS_ADMIN, CAP_BPF})},
    RefusedCall{"perf_event_open", one_of({CAP_SYS_ADMIN, CAP_PERFMON})},
    RefusedCall{"init_module", one_of({CAP_SYS_MODULE})},
    RefusedCall{"finit_module", one_of({CAP_SYS_MODULE})},
    RefusedCall{"delete_module", one_of({CAP_SYS_MODULE})},
    RefusedCall{"reboot", one_of({CAP_SYS_BOOT})},
    RefusedCall{"kexec_load", one_of({CAP_SYS_BOOT})},
    RefusedCall{"kexec_file_load", one_of({CAP_SYS_BOOT})},
    RefusedCall{"syslog", one_of({CAP_SYS_ADMIN, CAP_SYSLOG})},
    RefusedCall{"acct", one_of({CAP_SYS_PACCT})}, RefusedCall{"iopl", one_of({CAP_SYS_RAWIO})},
    RefusedCall{"ioperm", one_of({CAP_SYS_RAWIO})},
    RefusedCall{"settimeofday", one_of({CAP_SYS_TIME})},
    RefusedCall{"clock_settime", one_of({CAP_SYS_TIME})},
    RefusedCall{"clock_settime64", one_of({CAP_SYS_TIME})},
    RefusedCall{"stime", one_of({CAP_SYS_TIME})},
    RefusedCall{"vhangup", one_of({CAP_SYS_TTY_CONFIG})},
    // other processes
    RefusedCall{"kcmp", one_of({CAP_SYS_PTRACE})},
    RefusedCall{"pidfd_getfd", one_of({CAP_SYS_PTRACE})},
    RefusedCall{"userfaultfd", one_of({CAP_SYS_PTRACE})},
    // not parted by namespaces
    RefusedCall{"add_key"}, RefusedCall{"keyctl"}, RefusedCall{"request_key"},
    RefusedCall{"io_uring_setup"}, RefusedCall{"io_uring_enter"}, RefusedCall{"io_uring_register"},
    RefusedCall{"nfsservctl"}, RefusedCall{"uselib"}, RefusedCall{"sysfs"}, RefusedCall{"_sysctl"},
    RefusedCall{"ustat"}, RefusedCall{"vm86"}, RefusedCall{"vm86old"}};

constexpr std::array<unsigned long, 7> namespace_flags{CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                                       CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                                       CLONE_NEWNET};

class FilterMaker {
public:
  FilterMaker() : context_{::seccomp_init(SCMP_ACT_ALLOW), &::seccomp_release} {}

  Result<std::string> make(CapabilitySet capabilities) {
    if (!context_) return Error{Errc::unavailable, "libseccomp cannot make a filter"};
    add_architectures();
    for (const auto& call : refused)
      if (is_refused(call, capabilities)) refuse(call.name);
    if ((capabilities & admin).empty()) refuse_namespaces();
    // The kernel reads 32 bits of these, the filter sees 64.
    constexpr unsigned long low_half = 0xffffffffU;
    for (const unsigned long request : {TIOCSTI, TIOCLINUX})
      refuse("ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, low_half, request));
    refuse("socket", SCMP_A0(SCMP_CMP_MASKED_EQ, low_half, AF_VSOCK));
    // Addresses that do not vary, and data that can be executed. A question has all bits set.
    constexpr unsigned long question = 1UL << 31;
    for (const unsigned long flag : {ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC})
      refuse("personality", SCMP_A0(SCMP_CMP_MASKED_EQ, flag | question, flag));
    if (problem_ != 0) return errno_error("making the filter of system calls", problem_);
    return take_program();
  }

private:
  void add_architectures() {
#if defined(__x86_64__)
    add_architecture(SCMP_ARCH_X86);
    add_architecture(SCMP_ARCH_X32);
#elif defined(__aarch64__)
    add_architecture(SCMP_ARCH_ARM);
#endif
    ::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // A tree, not a chain.
  }

  void add_architecture(std::uint32_t architecture) {
    note(::seccomp_arch_add(context_.get(), architecture));
  }

  void refuse_namespaces() {
    for (const unsigned long flag : namespace_flags)
      refuse("clone", SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
    // Its flags are in memory, where no filter looks. The C library then takes clone.
    add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  }

  template <class... Comparisons>
  void refuse(const char* name, Comparisons... comparisons) {
    add(SCMP_ACT_ERRNO(EPERM), name, comparisons...);
  }

  template <class... Comparisons>
  void add(std::uint32_t action, const char* name, Comparisons... comparisons) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return;  // Of a later kernel, or of another architecture.
    const std::array<scmp_arg_cmp, sizeof...(comparisons)> all{comparisons...};
    note(::seccomp_rule_add_array(context_.get(), action, number, all.size(), all.data()));
  }

  void note(int outcome) {
    if (outcome != 0 && outcome != -EEXIST && problem_ == 0) problem_ = -outcome;
  }

  Result<std::string> take_program() const {
    UniqueFd file{::memfd_create("filter", MFD_CLOEXEC)};
    if (!file) return errno_error("making the filter of system calls", errno);
    if (const int outcome = ::seccomp_export_bpf(context_.get(), file.get()); outcome != 0)
      return errno_error("making the filter of system calls", -outcome);
    std::string program(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
    if (::pread(file.get(), program.data(), program.size(), 0)
        != static_cast<ssize_t>(program.size()))
      return errno_error("reading the filter of system calls", errno);
    return program;
  }

  std::unique_ptr<void, decltype(&::seccomp_release)> context_;
  int problem_ = 0;
};

}  // namespace

std::span<const RefusedCall> refused_calls() {
  return refused;
}

bool is_refused(const RefusedCall& call, CapabilitySet capabilities) {
  return (call.unless & capabilities).empty();
}

Result<std::string> make_call_filter(CapabilitySet capabilities) {
  return FilterMaker{}.make(capabilities);
}

}  // namespace nomad::host
