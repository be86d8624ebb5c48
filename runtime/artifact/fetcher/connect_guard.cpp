#include "runtime/artifact/fetcher/connect_guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ifaddrs.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {
namespace {

#ifdef __aarch64__
constexpr std::uint32_t native = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t native = AUDIT_ARCH_X86_64;
#endif
constexpr std::size_t most_resolv_bytes = 64UL * 1024;
constexpr std::uint32_t first_of_x32 = 0x4000'0000;  ///< Others have no calls so high.

/// connect(2) is asked about. What runs by another architecture's calls is not let in at all, for
/// it has other numbers.
std::array<sock_filter, 8> connect_filter() {
  return {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, native, 0, 4),
           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
           BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_of_x32, 2, 0),
           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 2),
           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
}

struct Refused {
  std::mutex guard;
  std::string last;
};

Refused& refused() {
  static Refused the;
  return the;
}

/// The address that the asking thread wants to connect to; empty when it can't be looked at.
std::string address_of(const seccomp_notif& asked) {
  sockaddr_storage address{};
  const auto size = std::min<std::uint64_t>(asked.data.args[2], sizeof address);
  iovec here{&address, size};
  iovec there{reinterpret_cast<void*>(asked.data.args[1]),
              size};  // NOLINT(performance-no-int-to-ptr)
  const auto got = ::process_vm_readv(static_cast<pid_t>(asked.pid), &here, 1, &there, 1, 0);
  if (got < 0 || static_cast<std::uint64_t>(got) != size) return {};
  return {reinterpret_cast<const char*>(&address), size};
}

bool may_connect(const ReachJudge& judge, const seccomp_notif& asked) {
  const auto address = address_of(asked);
  auto why = address.empty()
                 ? std::optional<std::string>{"an address could not be looked at before connecting"}
                 : judge.refuses(reinterpret_cast<const sockaddr*>(address.data()), address.size());
  if (!why) return true;
  const std::lock_guard lock{refused().guard};
  refused().last = std::move(*why);
  return false;
}

void answer_all(const host::UniqueFd& listener, const ReachJudge& judge) {
  for (;;) {
    seccomp_notif asked{};
    if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
      if (errno == EINTR || errno == ENOENT) continue;  // who asked is gone
      return;
    }
    seccomp_notif_resp answer{};
    answer.id = asked.id;
    if (may_connect(judge, asked))
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
      answer.error = -EACCES;
    ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

}  // namespace

std::vector<IpBytes> addresses_of_machine() {
  std::vector<IpBytes> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const auto* each = list; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr)
      if (const auto ip = ip_of(each->ifa_addr, sizeof(sockaddr_storage))) all.push_back(*ip);
  ::freeifaddrs(list);
  return all;
}

std::vector<IpBytes> name_servers_of_machine() {
  std::string text(most_resolv_bytes, '\0');
  std::size_t size = 0;
  const host::UniqueFd file{::open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  while (file && size < text.size()) {
    const auto got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  return name_servers_of(std::string_view{text}.substr(0, size));
}

Result<> guard_connections(const ReachJudge& judge) {
  auto filter = connect_filter();
  sock_fprog program{filter.size(), filter.data()};
  host::UniqueFd listener{static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program))};
  if (!listener) return errno_error("asking for connections", errno);
  // It lives as long as the process. The call that makes a thread is no connect(2), so it may come
  // behind the filter.
  std::thread{[listener = std::move(listener), &judge] { answer_all(listener, judge); }}.detach();
  return {};
}

std::string refused_connection() {
  const std::lock_guard lock{refused().guard};
  return refused().last;
}

}  // namespace nomad::artifact
