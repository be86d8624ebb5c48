#include "runtime/plugin/bridge/log_keepers.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "runtime/host/process/pointers.hpp"
#include "runtime/host/process/process_id.hpp"
#include "runtime/host/process/spawn_settings.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;

constexpr auto reap_interval = 200ms;

Result<host::UniqueFd> make_fifo(const std::string& path) {
  if (::mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST)
    return errno_error("making " + path, errno);
  host::UniqueFd held{::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
  if (!held) return errno_error("opening " + path, errno);
  return held;
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

Result<LogKeepers::Kept> LogKeepers::start(schema::plugin::TaskConfig::Reader config,
                                           const std::string& run) {
  Kept kept;
  const auto logs = config.getLogs();
  if (logs.getDisabled()) return kept;
  const auto base = fmt::format("{}/{}", directory_, run);
  kept.paths = {base + ".out", base + ".err"};
  for (const auto& path : {kept.paths.out, kept.paths.errors}) {
    auto held = make_fifo(path);
    if (!held) return held.error();
    kept.held.push_back(std::move(*held));
  }
  const auto pid
      = spawn({executor_, "logs", copy(config.getAllocRoot()), copy(config.getId().getTask()),
               std::to_string(logs.getMaxFiles()), std::to_string(logs.getMaxFileBytes()),
               kept.paths.out, kept.paths.errors});
  if (!pid) {
    for (const auto& path : {kept.paths.out, kept.paths.errors})
      ::unlink(path.c_str());
    return pid.error();
  }
  const auto identity = host::identify(*pid);
  kept.process.set_pid(identity.pid);
  kept.process.set_start_ticks(identity.start_ticks);
  kept.process.set_boot_id(identity.boot_id);
  return kept;
}

Result<pid_t> LogKeepers::spawn(std::vector<std::string> words) {
  host::SpawnSettings settings;
  int error = settings.reset_signals(POSIX_SPAWN_SETSID);
  const auto keep = [&error](int outcome) { error = error != 0 ? error : outcome; };
  keep(::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDWR, 0));
  keep(::posix_spawn_file_actions_adddup2(&settings.actions, 0, 1));
  keep(::posix_spawn_file_actions_adddup2(&settings.actions, 0, 2));
  keep(::posix_spawn_file_actions_addchdir_np(&settings.actions, "/"));
  keep(::posix_spawn_file_actions_addclosefrom_np(&settings.actions, 3));
  const std::vector<std::string> nothing;
  pid_t pid = 0;
  if (error == 0)
    error = ::posix_spawn(&pid, executor_.c_str(), &settings.actions, &settings.attributes,
                          host::pointers_to(words).data(), host::pointers_to(nothing).data());
  if (error != 0) return errno_error("starting " + executor_, error, Errc::unavailable);
  return pid;
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
