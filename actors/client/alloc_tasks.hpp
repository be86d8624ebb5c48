// AllocTasks: the tasks of one allocation: spawns their runners, lets them start in the order of
// their lifecycles (workload::TaskCoordinator), kills them stage by stage (workload::KillStages),
// and carries out what is asked of one or all of them. The runner of the allocation says when.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/alloc_facts.hpp"
#include "actors/client/task/task_counters.hpp"
#include "runtime/workload/client_status.hpp"
#include "runtime/workload/kill_stages.hpp"
#include "runtime/workload/task_coordinator.hpp"

namespace nomad::client {

/// Has the driver end what may still run of a task that nobody looks after any more. `then` hears,
/// in this turn or a later one, whether nothing is left; a failure is logged.
void end_abandoned(actor::Self* self,
                   const TaskParts& parts,
                   const std::string& alloc_id,
                   schema::Task::Reader task,
                   std::function<void(bool ended)> then);

class AllocTasks {
public:
  /// `facts` outlives it.
  AllocTasks(AllocSelf::pointer self, const AllocFacts& facts) : self_{self}, facts_{facts} {}

  AllocTasks(const AllocTasks&) = delete;
  AllocTasks& operator=(const AllocTasks&) = delete;

  using Saved = std::vector<std::pair<std::string, Object<schema::LocalTask>>>;

  /// What they are made from.
  struct Parts {
    std::shared_ptr<const TaskParts> runners;
    telemetry::Registry* metrics;  ///< Of the node; outlives it. Null: nothing is counted.
  };

  /// Spawns a runner for each task of the group. Once. `restored`: an earlier agent ran them.
  /// `may_run`: what is not in `saved` may run all the same.
  void spawn(const Parts& parts, const Saved& saved, bool restored, bool may_run);

  // What the tasks say.
  void changed(const task_runner::Changed& msg);
  void ended(const task_runner::Ended& msg);

  /// A bug ended a task's runner: the task is taken for failed, so that others react. False: the
  /// runner is none of this allocation's, or its task had ended.
  bool child_down(const actor::Address& source);

  // What they are, in the group's order.
  std::vector<workload::TaskView> views() const;
  /// Empty if there is none, or it has ended.
  TaskRunner runner_of(std::string_view name) const;
  std::vector<std::string> names() const;
  /// The names of those that run.
  std::vector<std::string> running() const;
  std::vector<TaskStatePtr> states() const;
  workload::StatusSummary status() const;

  bool all_ended() const { return kill_stages_->all_ended(); }

  /// Whether a task has failed, though its process may still have to end.
  bool any_failed() const;

  /// As the servers are told, sorted by name; valid until a task changes. `terminal`: whatever has
  /// no end yet has ended now.
  std::vector<workload::TaskReport> reports(bool terminal);

  /// Sends `message` to each task that has not ended.
  template <class Message>
  void tell(const Message& message) {
    for (const auto& task : tasks_)
      if (!task.has_ended()) self_->send(task.runner, Message{message});
  }

  /// Adds to a task's history, also to that of one that has ended.
  void tell_one(std::string_view name, workload::TaskEvent event);
  void driver_replaced(const alloc_runner::DriverReplaced& msg);

  /// The allocation's own hooks have run.
  void begin();

  /// Lets start what may start by now.
  void open_gates();

  // -- killing.

  /// Kills what waits in vain, and says to those that live why they have to end. True: they have
  /// to, and killing has not begun.
  bool react_to_deaths();

  bool is_killing() const { return kill_stages_->is_killing(); }

  /// The hooks are asked; nothing is killed before `hooks_answered`.
  void begin_killing() { kill_stages_->begin(); }

  void hooks_answered() { kill(kill_stages_->hooks_answered()); }

  /// Kills who is next, and opens gates, after states have changed.
  void advance();

  /// From now on tasks end without their shutdown_delay.
  void skip_delay();

  bool skips_delay() const { return skips_delay_; }

  /// The agent ends; `then` is called when every task has recorded what it has to.
  void detach(std::function<void()> then);

  // -- requests of the API, with the errors that users know.
  actor::Answer<door::NodeReply> restart_one(const std::string& name);

  /// Answers `promise` when all have been restarted that run, or `all` whether they run or not.
  void restart(bool all, const actor::Promise<door::NodeReply>& promise);

  /// Restarts the tasks that run, or the one named; `then` comes when their processes have ended.
  void restart_running(const std::string& name,
                       const task_runner::Restart& order,
                       std::function<void()> then);

  /// All begin anew, in the order of their lifecycles.
  void reset_order() { coordinator_->restart(); }

  actor::Answer<door::NodeReply> signal(schema::door::SignalTasks::Reader order);
  actor::Answer<door::NodeReply> pause(schema::door::PauseTask::Reader order);
  actor::Answer<door::NodeReply> read_pause(std::string_view name);
  actor::Answer<client_api::AllocUsage> usage(const std::string& asked);
  actor::Answer<door::NodeReply> history(const std::string& asked);
  actor::Answer<client_api::ExecStarted> exec(client_api::Exec& msg);
  client_api::AllocDir directory() const;

private:
  struct Task {
    std::string name;
    workload::Stage stage = workload::Stage::main;
    TaskRunner runner;  ///< Empty once it has ended.
    TaskStatePtr state;
    std::unique_ptr<TaskCounters> counters;  ///< Null: nothing is counted.
    bool gate_open = false;
    task_runner::History history{};  ///< Once it has ended.

    bool is_poststop() const { return stage == workload::Stage::poststop; }

    bool has_ended() const { return !runner; }

    bool is_live() const { return state->state != schema::TaskRunState::DEAD; }
  };

  std::int64_t unix_now() const { return parts_->unix_now(); }

  /// `not_found`; `rejected`: it has ended.
  Result<TaskRunner> find_runner(std::string_view name) const;
  void kill(const std::vector<std::size_t>& tasks);
  Nanoseconds kill_timeout(const Task& task) const;

  AllocSelf::pointer self_;
  const AllocFacts& facts_;
  std::shared_ptr<const TaskParts> parts_;
  std::vector<Task> tasks_;  ///< In the group's order.
  std::optional<workload::TaskCoordinator> coordinator_;
  std::optional<workload::KillStages> kill_stages_;
  bool skips_delay_ = false;
};

}  // namespace nomad::client
