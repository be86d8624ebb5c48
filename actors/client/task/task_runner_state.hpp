// TaskRunnerState: what the task's runner holds and does. Its machine
// (runtime/workload/task_machine.hpp) decides; this asks the driver, the hooks and the database,
// and tells the machine what came of it. Of task_runner.cpp alone.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "actors/client/hooks/hook_set.hpp"
#include "actors/client/task/driver_link.hpp"
#include "actors/client/task/task_runner.hpp"
#include "actors/client/task/usage_link.hpp"
#include "actors/client/tools/client_db.hpp"
#include "actors/core/newest.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::client {

namespace task_action = workload::task_action;

/// A timer of the machine is over.
struct TimeOver {
  using is_message = void;
  workload::task_action::Round round;
};

/// The schedule of the task is to be looked at.
struct AlarmOver {
  using is_message = void;
  std::uint64_t number;
};

using RunnerSelf = actor::WithInternal<TaskRunner,
                                       void(plugin_agent::Notice),
                                       void(DriverLink::VerdictDue),
                                       void(UsageLink::LookDue),
                                       void(TimeOver),
                                       void(AlarmOver)>;

class TaskRunnerState : public HookOwner, public UsageLink::Task {
public:
  static constexpr const char* name = "task_runner";

  explicit TaskRunnerState(RunnerSelf::pointer actor) : self_{actor} {}

  void init(TaskSetup setup);

  /// Tells the machine something, and does what it wants then.
  template <class Event>
  void on(Event event) {
    event(*machine_, time());
    carry_out();
  }

  void assign(task_runner::Assign& msg);
  void replace_driver(const KnownDriver& driver);

  void joins(std::string network_namespace) { network_namespace_ = std::move(network_namespace); }

  void heard(schema::plugin::Notice::Reader notice);

  void verdict_due(DriverLink::VerdictDue msg) { link_->verdict_due(msg); }

  actor::Answer<task_runner::Done> detach();
  void update_hooks(bool again = false);

  void child_down(const actor::Down& down) { hooks_->child_down(down); }

  actor::Answer<task_runner::Done> restart(task_runner::Restart& msg);
  actor::Answer<task_runner::Done> signal(const task_runner::Signal& msg);
  actor::Answer<task_runner::Done> pause(task_runner::Pause msg);
  actor::Answer<task_runner::ScheduleState> read_pause();
  actor::Answer<client_api::TaskUsage> usage();

  task_runner::History history() const;

  void usage_look_due() { usage_->look_due(); }

  actor::Answer<client_api::ExecStarted> exec(task_runner::Exec& msg);

private:
  void carry_out();
  void say_the_rest();
  void perform(const task_action::Publish& it);
  void perform(const task_action::SaveLater& it);
  void perform(const task_action::Save& it);
  void perform(const task_action::Recover& it);
  void perform(const task_action::Reattach&);
  void perform(const task_action::AskWanted& it);
  void perform(const task_action::RunHook& it);
  void perform(const task_action::CancelHook& it);
  void perform(const task_action::Configure& it);
  void perform(const task_action::Start& it);
  void perform(const task_action::Stop& it);
  void perform(const task_action::Destroy& it);
  void perform(const task_action::Wait& it);
  void perform(const task_action::SetAlarm& it);
  void perform(const task_action::AnswerRestart& it);
  void perform(const task_action::Log& it);
  void perform(const task_action::End&);

  void fill(const HookEntry& hook, schema::plugin::HookRequest::Builder request) const override;
  Environments environments() const override;
  void hook_answered(const task_action::RunHook& it, const HookSet::Answer& answer);

  template <class Then, class Failed>
  void ask_driver(driver::Ask order,
                  driver::DriverAnswer::Which expected,
                  Then then,
                  Failed failed,
                  DriverLink::Purpose purpose = DriverLink::Purpose::order);

  /// Asks somebody: `then(reply)` or `failed(error)` tell the machine what came of it.
  template <class Handle, class Message, class Then, class Failed>
  void ask(const Handle& dest, actor::Timeout timeout, Message msg, Then then, Failed failed);

  // What is known of the task.
  schema::Task::Reader task() const;
  workload::TaskTerms terms() const;

  schema::plugin::Capabilities::Reader capabilities() const { return link_->capabilities(); }

  PluginAgent agent() const override { return setup_.agent; }

  HookScope hook_scope() const override;
  driver::TaskId id() const override;

  std::string live_run() const override {
    return machine_->is_alive() ? machine_->record().run_id : std::string{};
  }

  storage::ClientBatch batch(const Object<schema::LocalTask>& row) const;

  workload::EventTime time() const {
    return {.steady = self_->now().time_since_epoch(), .unix = setup_.parts->unix_now()};
  }

  RunnerSelf::pointer self_;
  TaskSetup setup_;
  std::string task_name_;
  std::optional<DriverLink> link_;
  std::optional<workload::TaskMachine> machine_;
  std::optional<UsageLink> usage_;
  driver::Ask start_;              ///< From Configure to Start.
  std::string network_namespace_;  ///< Path; empty: the host's.
  std::optional<HookSet> hooks_;
  bool again_ = false;  ///< What requests of hooks say.
  std::map<std::uint64_t, actor::Promise<task_runner::Done>> restarts_;  ///< By ticket.
  std::uint64_t last_ticket_ = 0;
  actor::Newest<ClientDb, client_db::SaveLater> later_saves_;
  actor::Newest<TaskRunnerParent, task_runner::Changed> news_;
};

}  // namespace nomad::client
