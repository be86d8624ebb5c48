// Containment: kills all that a task has left running.
//
// In a version 2 cgroup one write to cgroup.kill does it. Otherwise each listed process is killed;
// and always the executor's own children, to which, it being a subreaper, every orphan of the task
// comes in the end. One pass kills what is there now: call again after reaping until `empty`.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace nomad::host::executor {

class Containment {
public:
  Containment() = default;
  Containment(std::vector<std::string> cgroups, std::string unified, std::string oom_events);

  /// Sends SIGKILL to all processes of the task.
  void kill_all() const;

  /// Whether no child of this process and no process in the cgroup is left. Zombies of children
  /// must have been reaped.
  bool empty() const;

  /// Whether the kernel has killed a process of the task for memory since construction.
  bool oom_killed() const;

private:
  std::vector<pid_t> cgroup_processes() const;

  std::vector<std::string> cgroups_;
  std::string unified_;
  std::string oom_events_;
  unsigned long long oom_kills_before_ = 0;
};

/// The pids of this process's children, zombies included.
std::vector<pid_t> children();

/// The pids of this process's children, of their children, and so on: all of the task, since this
/// process is a subreaper. What comes and goes meanwhile may be missed.
std::vector<pid_t> descendants();

/// The number after "oom_kill " in memory.events or memory.oom_control; 0 without one. Pure.
unsigned long long parse_oom_kills(const std::string& text);

}  // namespace nomad::host::executor
