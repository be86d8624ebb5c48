#include "runtime/plugin/bridge/log_keepers.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "runtime/host/executor/log_keeper.hpp"
#include "runtime/host/process/pointers.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/host/process/spawn_settings.hpp"
#include "runtime/plugin/bridge/shown.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;

constexpr auto reap_interval = 200ms;
/// Until one reads; a machine may be busy.
constexpr auto patience = 10s;
constexpr std::size_t longest_word = 1024;  ///< Of what one says of itself.

Result<host::UniqueFd> make_fifo(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST)
    return errno_error("making " + path, errno);
  host::UniqueFd held{::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
  if (!held) return errno_error("opening " + path, errno);
  return held;
}

void remove(const LogPaths& paths) {
  for (const auto& path : {paths.out, paths.errors})
    ::unlink(path.c_str());
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

LogKeepers::LogKeepers(Host& host, std::string executor, std::string directory)
    : host_{host}, executor_{std::move(executor)}, directory_{std::move(directory)} {
  ::mkdir(directory_.c_str(), 0700);  // a failure shows where a FIFO is to be made
}

void LogKeepers::start(schema::plugin::TaskConfig::Reader config,
                       const std::string& run,
                       Then then) {
  if (config.getLogs().getDisabled()) return then(Kept{});
  auto begun = begin(config, run);
  if (!begun) return then(begun.error());
  const std::shared_ptr<Beginning> one{std::move(*begun)};
  one->then = std::move(then);
  one->timer = host_.after(patience, [this, one] {
    settle(one, fmt::format("it does not read {} yet, after {} s", one->kept.paths.out,
                            patience.count()));
  });
  host_.watch(one->says.get(), POLLIN, [this, one](short) { hear(one); });
}

Result<std::unique_ptr<LogKeepers::Beginning>> LogKeepers::begin(
    schema::plugin::TaskConfig::Reader config, const std::string& run) {
  auto one = std::make_unique<Beginning>();
  auto& kept = one->kept;
  const auto base = fmt::format("{}/{}", directory_, run);
  kept.paths = {base + ".out", base + ".err"};
  for (const auto& path : {kept.paths.out, kept.paths.errors}) {
    auto held = make_fifo(path);
    if (!held) return held.error();
    kept.held.push_back(std::move(*held));
  }
  const auto logs = config.getLogs();
  pid_t pid = 0;
  auto says = spawn({executor_, "logs", copy(config.getAllocRoot()), copy(config.getId().getTask()),
                     std::to_string(logs.getMaxFiles()), std::to_string(logs.getMaxFileBytes()),
                     kept.paths.out, kept.paths.errors},
                    pid);
  if (!says) {
    remove(kept.paths);
    return says.error();
  }
  one->says = std::move(*says);
  const auto identity = host::identify(pid);
  kept.process.set_pid(identity.pid);
  kept.process.set_start_ticks(identity.start_ticks);
  kept.process.set_boot_id(identity.boot_id);
  return one;
}

Result<host::UniqueFd> LogKeepers::spawn(std::vector<std::string> words, pid_t& pid) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("making a pipe", errno);
  host::UniqueFd ours{ends[0]};
  const host::UniqueFd theirs{ends[1]};
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  host::SpawnSettings settings;
  int error = settings.reset_signals(POSIX_SPAWN_SETSID);
  const auto keep = [&error](int outcome) { error = error != 0 ? error : outcome; };
  keep(::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDWR, 0));
  keep(::posix_spawn_file_actions_adddup2(&settings.actions, 0, 1));
  keep(::posix_spawn_file_actions_adddup2(&settings.actions, theirs.get(), 2));
  keep(::posix_spawn_file_actions_addchdir_np(&settings.actions, "/"));
  keep(::posix_spawn_file_actions_addclosefrom_np(&settings.actions, 3));
  const std::vector<std::string> nothing;
  if (error == 0)
    error = ::posix_spawn(&pid, executor_.c_str(), &settings.actions, &settings.attributes,
                          host::pointers_to(words).data(), host::pointers_to(nothing).data());
  if (error != 0) return errno_error("starting " + executor_, error, Errc::unavailable);
  return ours;
}

/// By value: what has called it is let go of meanwhile.
void LogKeepers::hear(std::shared_ptr<Beginning> one) {
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
void LogKeepers::settle(std::shared_ptr<Beginning> one, std::string problem) {
  host_.cancel_timer(one->timer);
  host_.unwatch(one->says.get());
  const auto then = std::exchange(one->then, nullptr);
  if (problem.empty()) return then(std::move(one->kept));
  finish(one->kept.process);
  remove(one->kept.paths);
  then(Error{Errc::unavailable, "the task's logs can't be kept: " + shown(problem, 500)});
}

/// One of an earlier process's is nobody's child here, and let go of.
void LogKeepers::reap() {
  std::erase_if(finishing_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  if (!finishing_.empty()) host_.after(reap_interval, [this] { reap(); });
}

void LogKeepers::finish(const drivers::LogKeeper& process) {
  if (process.pid() <= 0) return;
  if (host::is_alive({process.pid(), process.start_ticks(), process.boot_id()}))
    ::kill(process.pid(), SIGTERM);
  finishing_.push_back(process.pid());
  if (finishing_.size() == 1) host_.after(reap_interval, [this] { reap(); });
}

}  // namespace nomad::plugin::bridge
