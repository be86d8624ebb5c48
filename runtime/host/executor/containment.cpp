#include "runtime/host/executor/containment.hpp"

#include <cstdlib>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <dirent.h>

#include "runtime/host/process/process_id.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

namespace {

std::vector<pid_t> parse_pids(const std::string& text) {
  std::vector<pid_t> pids;
  const char* next = text.c_str();
  for (;;) {
    char* end = nullptr;
    long pid = std::strtol(next, &end, 10);
    if (end == next) return pids;
    if (pid > 0) pids.push_back(static_cast<pid_t>(pid));
    next = end;
  }
}

// For kernels built without /proc/<pid>/task/<tid>/children.
std::vector<pid_t> children_by_scan(pid_t of) {
  std::vector<pid_t> pids;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return pids;
  while (const dirent* entry = ::readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    ProcessStat stat;
    if (parse_process_stat(read_proc_file(std::string{"/proc/"} + entry->d_name + "/stat"), stat)
        && stat.parent == of)
      pids.push_back(stat.pid);
  }
  ::closedir(proc);
  return pids;
}

// Children belong to the thread that made them.
std::vector<pid_t> children_of(pid_t process) {
  std::string threads = "/proc/" + std::to_string(process) + "/task";
  std::string self = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  if (::access(self.c_str(), R_OK) != 0) return children_by_scan(process);
  std::vector<pid_t> pids;
  DIR* directory = ::opendir(threads.c_str());
  if (directory == nullptr) return pids;  // it has ended
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    for (pid_t pid : parse_pids(read_proc_file(threads + '/' + entry->d_name + "/children")))
      pids.push_back(pid);
  }
  ::closedir(directory);
  return pids;
}

}  // namespace

std::vector<pid_t> children() {
  std::string self = std::to_string(::getpid());
  std::string path = "/proc/" + self + "/task/" + self + "/children";
  if (::access(path.c_str(), R_OK) != 0) return children_by_scan(::getpid());
  return parse_pids(read_proc_file(path));
}

std::vector<pid_t> descendants() {
  std::vector<pid_t> pids = children();
  for (std::size_t i = 0; i < pids.size(); ++i) {
    for (pid_t pid : children_of(pids[i]))
      pids.push_back(pid);
  }
  return pids;
}

unsigned long long parse_oom_kills(const std::string& text) {
  constexpr const char* field = "oom_kill ";
  std::size_t at = text.rfind(field, 0) == 0 ? 0 : text.find(std::string{"\n"} + field);
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + text.find(' ', at), nullptr, 10);
}

Containment::Containment(std::vector<std::string> cgroups,
                         std::string unified,
                         std::string oom_events)
    : cgroups_(std::move(cgroups)),
      unified_(std::move(unified)),
      oom_events_(std::move(oom_events)) {
  if (!oom_events_.empty()) oom_kills_before_ = parse_oom_kills(read_proc_file(oom_events_));
}

std::vector<pid_t> Containment::cgroup_processes() const {
  std::vector<pid_t> pids;
  for (const std::string& directory : cgroups_) {
    for (pid_t pid : parse_pids(read_proc_file(directory + "/cgroup.procs")))
      pids.push_back(pid);
  }
  return pids;
}

void Containment::kill_all() const {
  bool killed = false;
  if (!unified_.empty()) {
    UniqueFd file{::open((unified_ + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC)};
    killed = file && ::write(file.get(), "1", 1) == 1;
  }
  if (!killed) {
    for (pid_t pid : cgroup_processes())
      ::kill(pid, SIGKILL);
  }
  for (pid_t pid : children())
    ::kill(pid, SIGKILL);
}

bool Containment::empty() const {
  return children().empty() && cgroup_processes().empty();
}

bool Containment::oom_killed() const {
  return !oom_events_.empty() && parse_oom_kills(read_proc_file(oom_events_)) > oom_kills_before_;
}

}  // namespace nomad::host::executor
