#include "runtime/plugin/bridge/log_collectors.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/host/executor/log_collector.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/plugin/bridge/shown.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;

constexpr auto reap_interval = 200ms;
/// Until one reads; a machine may be busy.
constexpr auto patience = 10s;
constexpr auto long_life = 1min;            ///< Of one that is followed soon when it ends.
constexpr std::size_t longest_word = 1024;  ///< Of what one says of itself.

/// Its reading end.
Result<host::UniqueFd> hold_fifo(const std::string& path) {
  host::UniqueFd held{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
  if (!held) return errno_error("opening " + path, errno);

  struct stat status {};

  if (::fstat(held.get(), &status) != 0 || !S_ISFIFO(status.st_mode))
    return Error{Errc::corrupt, path + " is no FIFO"};
  return held;
}

Result<host::UniqueFd> make_fifo(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST)
    return errno_error("making " + path, errno);
  return hold_fifo(path);
}

void remove_fifos(const drivers::LogCollector& process) {
  for (const auto& path : {process.out(), process.errors()})
    if (!path.empty()) ::unlink(path.c_str());
}

host::ProcessId identity_of(const drivers::LogCollector& process) {
  return {process.pid(), process.start_ticks(), process.boot_id()};
}

}  // namespace

std::string file_name(std::string_view text) {
  std::string made;
  for (const char sign : text) {
    const bool fits = (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z')
                      || (sign >= '0' && sign <= '9') || sign == '-' || sign == '_';
    if (fits)
      made += sign;
    else
      made += fmt::format("%{:02x}", static_cast<unsigned char>(sign));
  }
  return made;
}

LogCollectors::LogCollectors(Host& host, std::string executor, std::string directory)
    : host_{host}, executor_{std::move(executor)}, directory_{std::move(directory)} {
  ::mkdir(directory_.c_str(), 0700);  // a failure shows where a FIFO is to be made
}

void LogCollectors::start(schema::plugin::TaskConfig::Reader config,
                          const std::string& run,
                          Then then) {
  if (config.getLogs().getDisabled()) return then(Kept{});
  const auto one = std::make_shared<Keeping>();
  auto& wanted = one->process;
  wanted.set_alloc_root(copy(config.getAllocRoot()));
  wanted.set_task(copy(config.getId().getTask()));
  wanted.set_max_files(config.getLogs().getMaxFiles());
  wanted.set_max_file_bytes(config.getLogs().getMaxFileBytes());
  wanted.set_out(fmt::format("{}/{}.out", directory_, run));
  wanted.set_errors(fmt::format("{}/{}.err", directory_, run));
  for (const auto& path : {wanted.out(), wanted.errors()}) {
    auto held = make_fifo(path);
    if (!held) {
      remove_fifos(wanted);
      return then(held.error());
    }
    one->held.push_back(std::move(*held));
  }
  begin(wanted, [this, one, then = std::move(then)](Result<drivers::LogCollector> process) {
    if (!process) {
      remove_fifos(one->process);
      return then(process.error());
    }
    one->process = *process;
    kept_[process->out()] = one;
    look_after(one);
    then(Kept{.paths = {process->out(), process->errors()}, .process = *process});
  });
}

/// `wanted` says all but which process it is.
void LogCollectors::begin(drivers::LogCollector wanted, Begun then) {
  pid_t pid = 0;
  auto says = spawn({"logs", wanted.alloc_root(), wanted.task(), std::to_string(wanted.max_files()),
                     std::to_string(wanted.max_file_bytes()), wanted.out(), wanted.errors()},
                    pid);
  if (!says) return then(says.error());
  const auto one = std::make_shared<Beginning>();
  const auto identity = host::identify(pid);
  one->process = std::move(wanted);
  one->process.set_pid(identity.pid);
  one->process.set_start_ticks(identity.start_ticks);
  one->process.set_boot_id(identity.boot_id);
  one->says = std::move(*says);
  one->then = [process = one->process, then = std::move(then)](const std::string& problem) {
    if (problem.empty()) return then(process);
    then(Error{Errc::unavailable, "the task's logs can't be kept: " + shown(problem, 500)});
  };
  one->timer = host_.after(patience, [this, one] {
    settle(one, fmt::format("it does not read {} yet, after {} s", one->process.out(),
                            patience.count()));
  });
  host_.watch(one->says.get(), POLLIN, [this, one](short) { hear(one); });
}

Result<host::UniqueFd> LogCollectors::spawn(std::vector<std::string> arguments, pid_t& pid) {
  auto says = NOMAD_TRY(host::make_pipe());
  ::fcntl(says.reading.get(), F_SETFL, O_NONBLOCK);
  const auto spawned = host::spawn({.program = executor_,
                                    .arguments = std::move(arguments),
                                    .descriptors = {{says.writing.get(), 2}},
                                    .group = host::ProcessGroup::of_own_session});
  if (!spawned) return Error{Errc::unavailable, spawned.error().what};
  pid = spawned->pid;
  return std::move(says.reading);
}

/// By value: what has called it is let go of meanwhile.
void LogCollectors::hear(std::shared_ptr<Beginning> one) {
  char part[longest_word];
  const auto got = ::read(one->says.get(), part, sizeof part);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) one->said.append(part, static_cast<std::size_t>(got));
  const auto end = one->said.find('\n');
  if (got > 0 && end == std::string::npos && one->said.size() < longest_word) return;
  auto line = one->said.substr(0, end);
  if (line.empty()) line = "it has ended before it read anything";
  settle(std::move(one), line == host::executor::logs_are_read ? "" : line);
}

/// No problem: it reads.
void LogCollectors::settle(std::shared_ptr<Beginning> one, const std::string& problem) {
  host_.cancel_timer(one->timer);
  host_.unwatch(one->says.get());
  if (!problem.empty()) terminate(one->process);
  std::exchange(one->then, nullptr)(problem);
}

// -- those that end before they are told to -------------------------------------------------------

bool LogCollectors::is_kept(const KeepingPtr& one) const {
  const auto found = kept_.find(one->process.out());
  return found != kept_.end() && found->second == one;
}

void LogCollectors::watch(const drivers::LogCollector& process, Renewed renewed) {
  if (process.out().empty()) return;
  auto& one = kept_[process.out()];
  if (!one) {
    one = std::make_shared<Keeping>();
    one->process = process;
    for (const auto& path : {process.out(), process.errors()}) {
      auto held = hold_fifo(path);
      if (held) {
        one->held.push_back(std::move(*held));
        continue;
      }
      host_.log(Level::warn,
                fmt::format("nothing is kept any more of what task {} of {} writes: {}",
                            process.task(), process.alloc_root(), held.error().what));
      kept_.erase(process.out());
      return;
    }
  }
  const auto known = one;
  known->renewed = std::move(renewed);
  if (known->process.pid() != process.pid()) known->renewed(known->process);
  if (!known->end && known->step == Keeping::Step::runs) look_after(known);
}

void LogCollectors::look_after(const KeepingPtr& one) {
  one->since = host_.now();
  one->end.reset(static_cast<int>(::syscall(SYS_pidfd_open, one->process.pid(), 0)));
  // Looked at behind it, for the number may have been given to another process.
  if (!one->end || !host::is_alive(identity_of(one->process))) return ended(one);
  host_.watch(one->end.get(), POLLIN, [this, one](short) { ended(one); });
}

void LogCollectors::ended(const KeepingPtr& one) {
  if (one->end) host_.unwatch(one->end.get());
  one->end.reset();
  ::waitpid(one->process.pid(), nullptr, WNOHANG);  // of an earlier process's it is nobody's child
  if (!is_kept(one)) return;
  if (host_.now() - one->since >= long_life) one->pauses.reset();
  host_.log(Level::warn, fmt::format("what keeps the logs of task {} of {} has ended, and another "
                                     "one is started",
                                     one->process.task(), one->process.alloc_root()));
  renew_later(one);
}

void LogCollectors::renew_later(const KeepingPtr& one) {
  one->step = Keeping::Step::waits;
  host_.after(one->pauses.next(), [this, one] {
    if (is_kept(one)) renew(one);
  });
}

void LogCollectors::renew(const KeepingPtr& one) {
  one->step = Keeping::Step::begins;
  begin(one->process, [this, one](Result<drivers::LogCollector> process) {
    if (!is_kept(one)) {  // It was finished meanwhile: this one reads what is left.
      if (process) return terminate(*process);
      return remove_fifos(one->process);
    }
    if (!process) {
      host_.log(Level::warn,
                fmt::format("task {} of {}: {}; it is tried again", one->process.task(),
                            one->process.alloc_root(), process.error().what));
      return renew_later(one);
    }
    one->step = Keeping::Step::runs;
    one->process = *process;
    if (one->renewed) one->renewed(*process);
    look_after(one);
  });
}

// -- ends -----------------------------------------------------------------------------------------

void LogCollectors::finish(const drivers::LogCollector& process) {
  const auto found = kept_.find(process.out());
  if (process.out().empty() || found == kept_.end()) {
    if (process.pid() > 0 && !host::is_alive(identity_of(process))) remove_fifos(process);
    return terminate(process);
  }
  const auto one = found->second;
  kept_.erase(found);
  if (one->step == Keeping::Step::begins) return;
  if (one->step == Keeping::Step::waits) return renew(one);
  host_.watch(one->end.get(), POLLIN, [this, one](short) { finished(one); });
  terminate(one->process);
}

/// It may have been killed before it had read all: it removes the FIFOs when it has.
void LogCollectors::finished(const KeepingPtr& one) {
  host_.unwatch(one->end.get());
  one->end.reset();
  if (::access(one->process.out().c_str(), F_OK) == 0) renew(one);
}

void LogCollectors::terminate(const drivers::LogCollector& process) {
  if (process.pid() <= 0) return;
  if (host::is_alive(identity_of(process))) ::kill(process.pid(), SIGTERM);
  finishing_.push_back(process.pid());
  if (finishing_.size() == 1) host_.after(reap_interval, [this] { reap(); });
}

/// One of an earlier process's is nobody's child here, and let go of.
void LogCollectors::reap() {
  std::erase_if(finishing_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  if (!finishing_.empty()) host_.after(reap_interval, [this] { reap(); });
}

}  // namespace nomad::plugin::bridge
