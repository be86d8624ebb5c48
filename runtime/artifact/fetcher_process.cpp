#include "runtime/artifact/fetcher_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sched.h>

#include "runtime/host/process/spawn.hpp"

namespace nomad::artifact {
namespace {

using host::UniqueFd;

}  // namespace

Result<FetcherProcess> FetcherProcess::start(const FetcherStart& from) {
  const auto order = NOMAD_TRY(host::memory_file(from.order));
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_error("making a socket for reports", errno);
  FetcherProcess started;
  started.socket_.reset(ends[0]);
  const UniqueFd theirs{ends[1]};
  ::fcntl(started.socket_.get(), F_SETFL, O_NONBLOCK);
  auto spawned
      = NOMAD_TRY(host::spawn({.program = from.program,
                               .name = "nomadctl-artifact",
                               .environment = from.environment,
                               .descriptors = {{order.get(), 0},
                                               {theirs.get(), report_descriptor},
                                               {from.directory, directory_descriptor}},
                               .directory = "",
                               .dies_with_thread = true,
                               .namespaces = ::geteuid() == 0 ? CLONE_NEWPID | CLONE_NEWIPC : 0}));
  started.pid_ = spawned.pid;
  started.process_ = std::move(spawned.process);
  return started;
}

FetcherProcess::~FetcherProcess() {
  if (!process_) return;
  kill();
  wait();
}

Result<std::vector<FetchReport>> FetcherProcess::reports() const {
  std::vector<FetchReport> all;
  std::array<char, max_report_bytes> packet;
  for (;;) {
    const auto got = ::recv(socket_.get(), packet.data(), packet.size(), MSG_TRUNC);
    if (got <= 0) return all;
    if (static_cast<std::size_t>(got) > packet.size())
      return Error{Errc::corrupt, "nomadctl-artifact reports too much at once"};
    all.push_back(NOMAD_TRY(
        read_report({packet.data(), static_cast<std::size_t>(got)}).within("nomadctl-artifact")));
    if (all.size() == most_reports)
      return Error{Errc::corrupt, "nomadctl-artifact reports without end"};
  }
}

void FetcherProcess::kill() const {
  ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  ::kill(-pid_, SIGKILL);  // Nobody else can have its number: it has not been waited for.
}

std::string FetcherProcess::wait() {
  ::kill(-pid_, SIGKILL);  // What is left of its group, where it has no namespace.
  int status = 0;
  while (::waitpid(pid_, &status, __WALL) < 0 && errno == EINTR) {
  }
  process_.reset();
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with {}", WEXITSTATUS(status));
}

}  // namespace nomad::artifact
