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

#include "runtime/base/overloaded.hpp"
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

LogCollectors::LogCollectors(Agent& agent, std::string executor, std::string directory)
    : agent_{agent}, executor_{std::move(executor)}, directory_{std::move(directory)} {
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
    keep(one);
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
  one->timer = agent_.after(patience, [this, one] {
    settle(one, fmt::format("it does not read {} yet, after {} s", one->process.out(),
                            patience.count()));
  });
  agent_.watch(one->says.get(), POLLIN, [this, one](short) { hear(one); });
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
  agent_.cancel_timer(one->timer);
  agent_.unwatch(one->says.get());
  if (!problem.empty()) terminate(one->process);
  std::exchange(one->then, nullptr)(problem);
}

// -- what the machines want -----------------------------------------------------------------------

void LogCollectors::keep(const KeepingPtr& one) {
  kept_[one->process.out()] = one;
  one->machine.begin();
  carry_out(one);
}

void LogCollectors::carry_out(const KeepingPtr& one) {
  using namespace workload::log_action;
  const auto warn = [&](const std::string& text) {
    agent_.log(Level::warn, fmt::format("task {} of {}: {}", one->process.task(),
                                        one->process.alloc_root(), text));
  };
  for (auto actions = one->machine.take(); !actions.empty(); actions = one->machine.take())
    for (const auto& action : actions)
      std::visit(Overloaded{[&](const Take& take) { take_output(one, take); },
                            [&](const Wait& wait) {
                              agent_.after(wait.delay, [this, one, round = wait.round] {
                                one->machine.time_over(round);
                                carry_out(one);
                              });
                            },
                            [&](const Close&) {
                              remove_fifos(one->process);
                              kept_.erase(one->process.out());
                            },
                            [&](const Complete&) {
                              for (const auto& told : std::exchange(one->complete, {}))
                                told();
                            },
                            [&](const TellUser& told) { warn(told.text); }},
                 action);
}

void LogCollectors::take_output(const KeepingPtr& one, workload::log_action::Take take) {
  if (host::is_alive(identity_of(one->process))) return await_end(one, take);
  begin(one->process, [this, one, take](Result<drivers::LogCollector> process) {
    if (!process) {
      if (!one->is_finishing)
        agent_.log(Level::warn,
                   fmt::format("task {} of {}: {}; it is tried again", one->process.task(),
                               one->process.alloc_root(), process.error().what));
      one->machine.stopped(take.round, workload::LogMachine::Stop::broken_off);
      return carry_out(one);
    }
    one->process = *process;
    if (one->renewed) one->renewed(*process);
    await_end(one, take);
  });
}

void LogCollectors::await_end(const KeepingPtr& one, workload::log_action::Take take) {
  one->end.reset(static_cast<int>(::syscall(SYS_pidfd_open, one->process.pid(), 0)));
  // Looked at behind it, for the number may have been given to another process.
  if (!one->end || !host::is_alive(identity_of(one->process))) return ended(one, take);
  agent_.watch(one->end.get(), POLLIN, [this, one, take](short) { ended(one, take); });
  if (one->is_finishing) terminate(one->process);
}

/// It may have been killed before it had read all: it removes the FIFOs when it has. By value, as
/// `hear`.
void LogCollectors::ended(KeepingPtr one, workload::log_action::Take take) {
  using Stop = workload::LogMachine::Stop;
  if (one->end) agent_.unwatch(one->end.get());
  one->end.reset();
  ::waitpid(one->process.pid(), nullptr, WNOHANG);  // of an earlier process's it is nobody's child
  const bool is_left = ::access(one->process.out().c_str(), F_OK) == 0;
  if (is_left && !one->is_finishing)
    agent_.log(Level::warn,
               fmt::format("what keeps the logs of task {} of {} has ended, and another "
                           "one is started",
                           one->process.task(), one->process.alloc_root()));
  if (is_left)
    one->machine.stopped(take.round, Stop::broken_off);
  else if (one->is_finishing)
    one->machine.stopped(take.round, Stop::all_taken);
  else
    one->machine.stopped(take.round, Stop::for_good, one->process.out() + " is gone");
  carry_out(one);
}

// -- orders ---------------------------------------------------------------------------------------

Result<LogCollectors::KeepingPtr> LogCollectors::find(const drivers::LogCollector& process) {
  if (const auto found = kept_.find(process.out()); found != kept_.end()) return found->second;
  const auto one = std::make_shared<Keeping>();
  one->process = process;
  for (const auto& path : {process.out(), process.errors()})
    one->held.push_back(NOMAD_TRY(hold_fifo(path)));
  keep(one);
  return one;
}

void LogCollectors::watch(const drivers::LogCollector& process, Renewed renewed) {
  if (process.out().empty()) return;
  const auto one = find(process);
  if (!one)
    return agent_.log(Level::warn,
                      fmt::format("nothing is kept any more of what task {} of {} writes: {}",
                                  process.task(), process.alloc_root(), one.error().what));
  (*one)->renewed = std::move(renewed);
  if ((*one)->process.pid() != process.pid()) (*one)->renewed((*one)->process);
}

void LogCollectors::finish(const drivers::LogCollector& process, std::function<void()> complete) {
  const auto found = process.out().empty() ? Result<KeepingPtr>{Error{Errc::not_found, "no path"}}
                                           : find(process);
  if (!found) {
    terminate(process);
    if (complete) complete();
    return;
  }
  const auto one = *found;
  one->renewed = nullptr;
  one->is_finishing = true;
  if (complete) one->complete.push_back(std::move(complete));
  one->machine.task_ended();
  carry_out(one);
  if (one->end) terminate(one->process);
}

void LogCollectors::terminate(const drivers::LogCollector& process) {
  if (process.pid() <= 0) return;
  if (host::is_alive(identity_of(process))) ::kill(process.pid(), SIGTERM);
  finishing_.push_back(process.pid());
  if (finishing_.size() == 1) agent_.after(reap_interval, [this] { reap(); });
}

/// One of an earlier process's is nobody's child here, and let go of.
void LogCollectors::reap() {
  std::erase_if(finishing_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  if (!finishing_.empty()) agent_.after(reap_interval, [this] { reap(); });
}

}  // namespace nomad::plugin::bridge
