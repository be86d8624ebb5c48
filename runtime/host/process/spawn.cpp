#include "runtime/host/process/spawn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sched.h>

#include "runtime/host/process/core_files.hpp"
#include "runtime/host/process/pointers.hpp"
#include "runtime/host/process/reset_signals.hpp"

namespace nomad::host {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr int not_started = 127;

enum Step { descriptors, terminal, entering, changing, executing };

constexpr std::array step_names{"passing descriptors on", "taking the terminal",
                                "entering its place", "changing to "};

struct Failure {
  Step step;
  int error;
};

/// All that the child needs; made before it is there.
struct Child {
  const SpawnOptions& options;
  char* const* arguments;
  char* const* environment;
  std::vector<std::pair<int, int>> descriptors;
  std::array<bool, 3> has_stream{};
  int first_free = 3;  ///< Above all that the program has.
  int report;
  pid_t parent;
};

// From here to `become` the child may share the caller's memory: system calls only.

[[noreturn]] void fail(const Child& child, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const auto written = ::write(child.report, &failure, sizeof failure);
  ::_exit(not_started);
}

int moved_up(const Child& child, int descriptor) {
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, child.first_free);
  if (moved < 0) fail(child, descriptors);
  return moved;
}

/// First out of each other's way, then to their locations.
void place_descriptors(Child& child) {
  child.report = moved_up(child, child.report);
  ::syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_CLOEXEC);
  for (auto& [from, to] : child.descriptors)
    from = moved_up(child, from);
  for (int stream = 0; stream < 3; ++stream) {
    if (child.has_stream[static_cast<unsigned>(stream)]) continue;
    const int nothing = ::open("/dev/null", (stream == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    if (nothing < 0 || ::dup2(moved_up(child, nothing), stream) < 0) fail(child, descriptors);
  }
  for (const auto& [from, to] : child.descriptors)
    if (::dup2(from, to) < 0) fail(child, descriptors);
}

__attribute__((no_sanitize("address", "thread"))) int become(void* given) {
  auto& child = *static_cast<Child*>(given);
  const auto& options = child.options;
  reset_signals();
  restore_core_limit();
  if (options.group == ProcessGroup::own) ::setpgid(0, 0);
  if (options.group == ProcessGroup::of_own_session) ::setsid();
  if (options.dies_with_thread) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto parent = ::getppid();  // 0: of another namespace
    if (parent != 0 && parent != child.parent) ::_exit(not_started);
  }
  place_descriptors(child);
  if (options.takes_terminal && ::ioctl(0, TIOCSCTTY, 0) != 0) fail(child, terminal);
  errno = EPERM;
  if (options.enter && !options.enter()) fail(child, entering);
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) fail(child, changing);
  if (options.searches_path)
    ::execvpe(options.program.c_str(), child.arguments, child.environment);
  else
    ::execve(options.program.c_str(), child.arguments, child.environment);
  fail(child, executing);
}

pid_t clone_sharing(Child& child, int namespaces, int* process) {
  std::vector<char> stack(stack_bytes);
  const auto top = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size());
  return ::clone(become, reinterpret_cast<char*>(top & ~std::uintptr_t{15}),
                 CLONE_VM | CLONE_VFORK | CLONE_PIDFD | namespaces | SIGCHLD, &child, process);
}

pid_t clone_copying(Child& child, int* process) {
  const auto pid = ::fork();
  if (pid == 0) become(&child);
  if (pid > 0) *process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  return pid;
}

/// No handler of the caller's runs in the child.
Result<Spawned> make_child(Child& child) {
  const auto& options = child.options;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int process = -1;
  pid_t pid = 0;
  if (options.enter) {
    pid = clone_copying(child, &process);
  } else {
    pid = clone_sharing(child, options.namespaces, &process);
    if (pid < 0 && errno == EPERM && options.namespaces != 0)
      pid = clone_sharing(child, 0, &process);
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return errno_error("starting " + options.program, error);
  return Spawned{pid, UniqueFd{process}};
}

Error error_of(const SpawnOptions& options, const Failure& failure) {
  auto attempt = "starting " + options.program;
  if (failure.step == executing)
    return errno_error(attempt, failure.error,
                       failure.error == ENOENT ? Errc::not_found : Errc::io);
  attempt = attempt + ": " + step_names[failure.step];
  if (failure.step == changing) attempt += options.directory;
  return errno_error(attempt, failure.error);
}

}  // namespace

Result<Spawned> spawn(const SpawnOptions& options) {
  auto report = NOMAD_TRY(make_pipe());
  std::vector<std::string> words{options.name.empty() ? options.program : options.name};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  const auto arguments = pointers_to(words);
  const auto environment = pointers_to(options.environment);
  Child child{.options = options,
              .arguments = arguments.data(),
              .environment = environment.data(),
              .descriptors = options.descriptors,
              .report = report.writing.get(),
              .parent = ::getpid()};
  for (const auto& [from, to] : options.descriptors) {
    child.first_free = std::max(child.first_free, to + 1);
    if (to < 3) child.has_stream[static_cast<unsigned>(to)] = true;
  }
  auto spawned = NOMAD_TRY(make_child(child));
  report.writing.reset();
  Failure failure{};
  ssize_t got = 0;
  while ((got = ::read(report.reading.get(), &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (got != sizeof failure && spawned.process) return spawned;
  if (got != sizeof failure) ::kill(spawned.pid, SIGKILL);
  while (::waitpid(spawned.pid, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  if (got == sizeof failure) return error_of(options, failure);
  return Error{Errc::io, "watching " + options.program + " is not possible"};
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("making a pipe", errno);
  return Pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

Result<UniqueFd> memory_file(std::string_view bytes) {
  UniqueFd file{::memfd_create("given", MFD_CLOEXEC)};
  if (!file) return errno_error("making a file in memory", errno);
  while (!bytes.empty()) {
    const auto wrote = ::write(file.get(), bytes.data(), bytes.size());
    if (wrote < 0) return errno_error("writing a file in memory", errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0)
    return errno_error("rewinding a file in memory", errno);
  return file;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char* const* each = environ; *each != nullptr; ++each)
    all.emplace_back(*each);
  return all;
}

}  // namespace nomad::host
