// A task driver: each task is a shell that sleeps for as long as its job says. The shell is a
// process of its own and goes on when the plugin's process ends; its number is the handle by which
// it is found again, and it leaves its exit status in a file. What it
// writes is in the task's logs.
#include <cctype>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nomadctl/plugin/task_driver.hpp>
#include <nomadctl/plugin/task_logs.hpp>

using namespace nomad;
using namespace nomad::plugin;
using namespace std::chrono_literals;

namespace {

/// Pid and start time, which together no other process has: "4711 90210".
std::string identity(pid_t pid) {
  std::ifstream stat{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  std::getline(stat, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos || line[name_end + 2] == 'Z') return {};
  std::size_t at = name_end + 2;
  for (int field = 3; field < 22; ++field)
    at = line.find(' ', at) + 1;
  return std::to_string(pid) + ' ' + line.substr(at, line.find(' ', at) - at);
}

struct Nap {
  std::string run_id, handle, status_file;
  pid_t pid = 0;
  std::optional<RunEnd> end{};
};

class Naps final : public TaskDriver {
public:
  explicit Naps(Agent& agent)
      : TaskDriver{
          agent,
          {.name = "naps",
           .exec = true,
           .config = {{.name = "length", .kind = ConfigKind::DURATION, .required = true}}}} {
    look();
  }

private:
  Result<std::string> start(schema::plugin::TaskConfig::Reader config) override {
    const auto id = task_id(config.getId());
    const auto run_id = copy(config.getRunId());
    if (const auto known = naps_.find(id); known != naps_.end() && known->second.run_id == run_id)
      return known->second.handle;
    const Config settings{copy(config.getConfig())};
    const auto seconds = std::to_string(settings.duration("length") / 1s);
    Nap nap{.run_id = run_id,
            .handle = {},
            .status_file = agent().surroundings().data_dir + '/' + id.alloc_id + '.' + id.task};
    const auto script = "sleep " + seconds + "; code=$?; echo slept for " + seconds
                        + " s; echo $code > '" + nap.status_file + "'";
    const auto logs = TaskLogs::open(config);
    if (!logs) return logs.error();
    nap.pid = fork();
    if (nap.pid < 0) return errno_error("starting a shell", errno, Errc::unavailable);
    if (nap.pid == 0) {
      setsid();
      dup2(logs->output(), 1);
      dup2(logs->errors(), 2);
      for (int fd = 3; fd < 64; ++fd)
        close(fd);
      execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      _exit(127);
    }
    nap.handle = identity(nap.pid) + ' ' + run_id;
    return (naps_[id] = nap).handle;
  }

  Result<std::string> recover(const TaskId& id,
                              std::string_view,
                              std::string_view handle) override {
    if (const auto known = naps_.find(id); known != naps_.end()) {
      if (known->second.end) tell_end(id, known->second.run_id, *known->second.end);
      return known->second.run_id;
    }
    const auto last = handle.rfind(' ');
    if (last == std::string_view::npos) return Error{Errc::not_found, "it never began"};
    Nap nap{.run_id = std::string{handle.substr(last + 1)},
            .handle = std::string{handle},
            .status_file = agent().surroundings().data_dir + '/' + id.alloc_id + '.' + id.task,
            .pid = std::atoi(nap.handle.c_str())};
    return (naps_[id] = nap).run_id;
  }

  Result<> stop(const TaskId& id, std::string_view, Nanoseconds) override {
    const auto known = naps_.find(id);
    if (known == naps_.end()) return Error{Errc::not_found, "no such nap"};
    kill_all_of(known->second);
    return {};
  }

  /// Beside the nap, which it finds as $NAP.
  Result<ExecPlan> run_beside(const TaskId& id, std::vector<std::string> command) override {
    const auto known = naps_.find(id);
    if (known == naps_.end() || !is_there(known->second))
      return Error{Errc::not_found, "no such nap"};
    return ExecPlan{.command = std::move(command),
                    .environment = {{"PATH=/usr/local/bin:/usr/bin:/bin",
                                     "NAP=" + std::to_string(known->second.pid)}}};
  }

  void destroy(const TaskId& id) override {
    const auto nap = naps_.extract(id);
    if (nap.empty()) return;
    kill_all_of(nap.mapped());
    unlink(nap.mapped().status_file.c_str());
  }

  static bool is_there(const Nap& nap) {
    const auto now = identity(nap.pid);
    return !now.empty() && nap.handle.starts_with(now + ' ');
  }

  /// The shell, and what it has started. It leads a group of its own a moment after it was forked.
  static void kill_all_of(const Nap& nap) {
    if (!is_there(nap)) return;
    kill(nap.pid, SIGKILL);
    kill(-nap.pid, SIGKILL);
  }

  /// Which have ended since.
  void look() {
    for (auto& [id, nap] : naps_) {
      if (nap.end || is_there(nap)) continue;
      waitpid(nap.pid, nullptr, WNOHANG);
      int code = 0;
      std::ifstream file{nap.status_file};
      nap.end = file >> code ? RunEnd{.code = code} : RunEnd{.signal = SIGKILL};
      tell_end(id, nap.run_id, *nap.end);
    }
    agent().after(200ms, [this] { look(); });
  }

  std::map<TaskId, Nap> naps_;
};

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("naps", "1.0.0");
  plugin.driver("naps", [](Agent& agent) { return std::make_unique<Naps>(agent); });
}

NOMADCTL_PLUGIN(describe)
