#include "runtime/artifact/fetcher_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sched.h>

#include "runtime/host/process/pointers.hpp"

namespace nomad::artifact {
namespace {

using host::UniqueFd;

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr int could_not_start = 127;

Result<UniqueFd> order_file(const std::string& order) {
  UniqueFd file{::memfd_create("order", MFD_CLOEXEC)};
  if (!file) return errno_error("making an order's file", errno);
  for (std::size_t done = 0; done < order.size();) {
    const auto wrote = ::write(file.get(), order.data() + done, order.size() - done);
    if (wrote < 0) return errno_error("writing an order", errno);
    done += static_cast<std::size_t>(wrote);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return errno_error("rewinding an order", errno);
  return file;
}

/// The descriptor with a number above those that the program finds its own at.
Result<UniqueFd> moved_up(int descriptor) {
  UniqueFd copy{::fcntl(descriptor, F_DUPFD_CLOEXEC, directory_descriptor + 4)};
  if (!copy) return errno_error("copying a descriptor", errno);
  return copy;
}

/// All that the child needs; it shares the parent's memory until it has become the program.
struct Plan {
  const char* program;
  char** arguments;
  char** environment;
  std::array<std::pair<int, int>, 5> descriptors;  ///< From, to.
  sigset_t no_signals;
  int error = 0;
};

/// Only system calls here.
int become(void* given) {
  auto& plan = *static_cast<Plan*>(given);

  struct sigaction usual {};

  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    ::sigaction(number, &usual, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (const auto& [from, to] : plan.descriptors) {
    if (::dup2(from, to) < 0) {
      plan.error = errno;
      ::_exit(could_not_start);
    }
  }
  ::sigprocmask(SIG_SETMASK, &plan.no_signals, nullptr);
  ::execve(plan.program, plan.arguments, plan.environment);
  plan.error = errno;
  ::_exit(could_not_start);
}

pid_t spawn(Plan& plan, int namespaces, int* process) {
  std::vector<char> stack(stack_bytes);
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigemptyset(&plan.no_signals);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto* const top = stack.data() + (stack.size() & ~std::size_t{15});
  const auto pid = ::clone(
      become, reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15}),
      CLONE_VM | CLONE_VFORK | CLONE_PIDFD | namespaces | SIGCHLD, &plan, process);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

}  // namespace

Result<FetcherProcess> FetcherProcess::start(const FetcherStart& from) {
  const auto order = NOMAD_TRY(order_file(from.order));
  const UniqueFd nothing{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_error("making a socket for reports", errno);
  FetcherProcess started;
  started.socket_.reset(ends[0]);
  const UniqueFd theirs{ends[1]};
  ::fcntl(started.socket_.get(), F_SETFL, O_NONBLOCK);
  const auto input = NOMAD_TRY(moved_up(order.get()));
  const auto output = NOMAD_TRY(moved_up(nothing.get()));
  const auto reports = NOMAD_TRY(moved_up(theirs.get()));
  const auto directory = NOMAD_TRY(moved_up(from.directory));
  const std::vector<std::string> words{"nomadctl-artifact"};
  auto arguments = host::pointers_to(words);
  auto environment = host::pointers_to(from.environment);
  Plan plan{.program = from.program.c_str(),
            .arguments = arguments.data(),
            .environment = environment.data(),
            .descriptors = {{{input.get(), 0},
                             {output.get(), 1},
                             {output.get(), 2},
                             {reports.get(), report_descriptor},
                             {directory.get(), directory_descriptor}}},
            .no_signals = {}};
  int process = -1;
  const int apart = ::geteuid() == 0 ? CLONE_NEWPID | CLONE_NEWIPC : 0;
  auto pid = spawn(plan, apart, &process);
  if (pid < 0 && apart != 0 && errno == EPERM) pid = spawn(plan, 0, &process);
  if (pid < 0) return errno_error("starting " + from.program, errno);
  started.pid_ = pid;
  started.process_.reset(process);
  if (plan.error != 0)
    return errno_error("starting " + from.program, plan.error,
                       plan.error == ENOENT ? Errc::not_found : Errc::io);
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
