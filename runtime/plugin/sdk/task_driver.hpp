// TaskDriver: a driver as functions: what the contract asks of drivers (plugin.capnp, part
// "drivers"), taken apart, and what they tell, put together.
//
// Rules: `start` with the run id of a run that exists attaches to it. The end of a run is told
// once, by `tell_end`, and remembered until `destroy`: who recovers the task later hears of it
// again. The process of a plugin may be killed at any time; what runs then must go on without it,
// and `recover` finds it by the handle that `start` gave.
#pragma once

#include "runtime/plugin/sdk/plugin.hpp"
#include "runtime/workload/runs/task_id.hpp"

namespace nomad::plugin {

using nomad::TaskId;

/// How a run ended.
struct RunEnd {
  int code = 0;
  int signal = 0;
  std::string error{};  ///< Why it failed beyond these.
  bool oom_killed = false;
};

class TaskDriver : public Driver {
public:
  struct About {
    std::string name;
    std::string fs_isolation = "none";  ///< Or "chroot", "image".
    bool send_signals = false;
    bool exec = false;                  ///< `run_beside` is there.
    std::vector<ConfigField> config{};  ///< Of the task's `config` block.
  };

  struct Health {
    bool detected = true;
    bool healthy = true;
    std::string description = "Healthy";
    std::map<std::string, std::string> attributes{};  ///< Of the node.
  };

  TaskDriver(Agent& agent, About about) : agent_{agent}, about_{std::move(about)} {}

  void ask(schema::plugin::DriverRequest::Reader request, const DriverReply& reply) final;
  Result<ExecPlan> exec(schema::plugin::ExecTask::Reader order) final;

protected:
  virtual Health fingerprint() { return {}; }

  /// Starts a run. Returns its handle: bytes of the driver's own, by which `recover` finds it.
  virtual Result<std::string> start(schema::plugin::TaskConfig::Reader config) = 0;

  /// Finds a run again, whose end is told then, or has been and is told again. Returns its id;
  /// `run_id` and `handle` are empty if their record is lost. `not_found`: it was never started.
  virtual Result<std::string> recover(const TaskId& id,
                                      std::string_view run_id,
                                      std::string_view handle)
      = 0;

  /// Orders its end: by `signal` (empty: the driver's own), by force after `grace`.
  virtual Result<> stop(const TaskId& id, std::string_view signal, Nanoseconds grace) = 0;

  /// Kills what is left of it, and forgets it.
  virtual void destroy(const TaskId& id) = 0;

  /// Ends what runs of tasks that are not among these, and nobody has recovered.
  virtual void end_others(const std::vector<TaskId>& kept) { static_cast<void>(kept); }

  virtual Result<> signal(const TaskId& id, std::string_view signal) {
    static_cast<void>(id), static_cast<void>(signal);
    return Error{Errc::rejected, "this driver sends no signals"};
  }

  /// How `command` is run beside the task (`alloc exec`).
  virtual Result<ExecPlan> run_beside(const TaskId& id, std::vector<std::string> command) {
    static_cast<void>(id), static_cast<void>(command);
    return Error{Errc::rejected, "this driver runs no commands beside its tasks"};
  }

  void tell_end(const TaskId& id, std::string_view run_id, const RunEnd& end);

  /// An event "Driver" of the task.
  void tell_event(const TaskId& id, std::string_view message);

  Agent& agent() { return agent_; }

  /// As `agent`: the name that it had before, for one release.
  Agent& host() { return agent_; }

private:
  void describe(const DriverReply& reply) const;

  Agent& agent_;
  About about_;
};

TaskId task_id(schema::plugin::TaskId::Reader from);

}  // namespace nomad::plugin
