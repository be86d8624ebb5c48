// TaskMachine: decides what happens to one task of an allocation, from its first start to its last
// end: hooks, driver, restarts, kill, and what of it is written down when. What happened goes in as
// calls; what to do about it comes out of `take`. No I/O, no clock, no thread, no actor.
//
// The idea: a task does one thing at a time, its step, and mostly waits for the end of one action
// (a hook, the database, the driver, a timer). What the servers, users and the process itself do
// meanwhile is noted, and looked at when the step is over, unless the step is only waiting and can
// be left at once. What has to survive a crash of the agent is saved before the action that it
// announces, or before anybody hears of it.
//
// (1) Every action that waits for an answer carries a round, which the answer repeats. Only the
//     newest round counts: the answer to anything else, a timer included, is stale and ignored.
// (2) A start is asked for only while no process is known, and with a run id that has been saved.
//     So an agent that comes later finds the process, even if this one dies before it hears of it.
// (3) `running` is published only when the driver's handle has been saved, or could not be: a good
//     task does not end because a disk is full.
// (4) The driver may forget a process (Destroy) only when the end of it has been saved, or could
//     not be; one that was started is forgotten before another is started.
// (5) A killed task starts nothing any more, and cancels the hooks of its start. Once its hooks,
// its driver and the database have
//     answered, or their deadlines are over, it ends. Ending is last, and happens once.
// (6) A dead task that is not poststop waits for its kill, because a restart of all tasks may make
//     it run again. A poststop task ends by itself.
// (7) A task is paused outside of its schedule, and by order: its process is ended as for a
//     restart, which the restart policy neither counts nor judges, and none is started. Starts are
//     asked for only when the schedule has just been looked at.
// (8) Each request to restart is answered once: refused at once, or when the process has ended, or
//     refused when the task ends. For a process that turns out to be lost, the start that follows
//     is the restart.
//
// clang-format off
//
//   idle ─begin─▶ recovering ─recovered─▶ prestart          the last agent's record names a run, or is lost
//     │               └─recovery_failed─▶ waiting_for_servers ─servers_contacted─▶ gate
//     ├───begin─▶ gate                                      it names none
//     ├───begin─▶ dead ─▶ …                                 it says that the task is dead
//     └───begin─▶ (policy)                                  it says that the last run has ended, and no more
//
//   gate ─set_gate(open)─▶ prestart ─prestart_done, last─▶ configuring ─configured─▶ saving_run
//                                   └───outside of its schedule─▶ paused ─alarm_over, set_schedule─▶ configuring
//   saving_run ─saved─▶ starting ─started─▶ saving_start ─saved─▶ poststart ─hook_answered, last─▶ running
//                       prestart ─prestart_done, last, of a recovered process─▶ poststart
//
//   running ─kill, restart, alarm_over, set_schedule─▶ pre_kill ─hook_answered, last─▶ shutdown_delay     killed, with a delay
//                                                        └─▶ stopping           otherwise
//   shutdown_delay ─time_over, skip_delay─▶ stopping ─stop_failed, time_over─▶ stopping, five times
//
//   running, shutdown_delay, stopping ─exited─▶ saving_exit ─saved─▶ destroying ─destroyed─▶ exited
//
//   exited ─hook_answered, last─▶ (policy)        prestart ─prestart_failed─▶ (policy)
//   starting ─start_failed─▶ (policy)             configuring ─configured, with an error─▶ (policy)
//   dead ─restart─▶ (policy)
//
//   (policy) ─▶ restart_delay ─time_over─▶ gate   or at once, without a delay
//            └▶ dead ─kill─▶ stop_hooks ─hook_answered, last─▶ ended
//
//   waiting_for_servers, gate, paused, restart_delay ─kill─▶ dead ─▶ stop_hooks
//
// clang-format on
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"
#include "runtime/workload/event_time.hpp"
#include "runtime/workload/restart_policy.hpp"
#include "runtime/workload/task_event.hpp"
#include "runtime/workload/task_record.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::jobspec {
class TaskSchedule;
}

namespace nomad::workload {

/// When a hook of a task is asked.
using HookPhase = schema::plugin::Phase;

/// What the machine has to know of a hook.
struct TaskHookTraits {
  std::string name;
  std::string announcement{};         ///< A "Task Setup" event before its first run; empty: none.
  std::string failure_event{};        ///< The type of a failed start's event; empty: the usual one.
  std::vector<HookPhase> asked_in{};  ///< If it is wanted then.
};

using TaskHooks = std::vector<TaskHookTraits>;  ///< In their order.

/// What never changes of a task.
struct TaskTraits {
  std::string alloc_id;
  std::string name;
  bool is_poststop = false;
  bool is_system_job = false;
  bool restarts_on_success = true;
  /// There is no record, but an earlier agent may have started it: the driver is asked first.
  bool may_run = false;
};

/// What an update of the allocation may change.
struct TaskTerms {
  RestartRules restart;
  std::string kill_signal{};    ///< "" is the driver's own.
  Nanoseconds kill_timeout{0};  ///< The client's limit included.
  Nanoseconds shutdown_delay{0};
  bool alloc_is_over = false;  ///< Its client status is terminal: no task starts.
  bool alloc_stops = false;    ///< The servers stop it: no task starts but poststop ones.
  std::shared_ptr<const jobspec::TaskSchedule> schedule{};  ///< Null: it runs at all times.
  std::string schedule_error{};  ///< Why there is none although the job has one; the task fails.
};

struct TaskKill {
  std::optional<TaskEvent> event{};  ///< Told first, if this is the task's first kill.
  bool skip_delay = false;           ///< Without the shutdown delay.
};

struct TaskRestart {
  std::uint64_t ticket = 0;  ///< The caller's own; AnswerRestart repeats it.
  TaskEvent event{};
  bool failure = false;  ///< The restart policy decides and counts.
  bool force = false;    ///< A dead task runs again, too.
};

namespace task_action {

using Round = std::uint64_t;

/// Tell the task's new state to the allocation's runner.
struct Publish {
  std::shared_ptr<const TaskState> state;
};

/// Write the record down, soon and in the order of these actions.
struct SaveLater {
  Object<schema::LocalTask> row;
};

/// Write the record down now. Answer: `saved`.
struct Save {
  Round round;
  Object<schema::LocalTask> row;
};

/// Ask the driver for the run of the record, or for any if it names none. Answer: `recovered` or
/// `recovery_failed`.
struct Recover {
  Round round;
};

/// The same of a driver that was replaced while the process ran. Failure is an `exited`.
struct Reattach {};

/// Does this task want the hook now? Answer: `hook_wanted`, before anything else.
struct AskWanted {
  Round round;
  std::size_t hook;
};

/// Answer: `prestart_done` or `prestart_failed` in Prestart, `hook_answered` in any other phase.
struct RunHook {
  Round round;
  std::size_t hook;
  HookPhase phase;
};

/// The hook is to give up what it was asked for; it answers all the same, soon.
struct CancelHook {
  std::size_t hook;
};

/// Make what the driver is to be asked for by Start. Answer: `configured`, before anything else.
struct Configure {
  Round round;
};

/// Start what was configured. Answer: `started` or `start_failed`.
struct Start {
  Round round;
};

/// Ask the task to end, and kill it after `grace`. Answer: `stop_taken` or `stop_failed`.
struct Stop {
  Round round;
  std::string signal;
  Nanoseconds grace;
};

/// The driver may forget the run; what still lives of it is killed. Answer: `destroyed`.
struct Destroy {
  Round round;
};

/// Answer: `time_over`, after `delay`.
struct Wait {
  Round round;
  Nanoseconds delay;
};

/// Look at the schedule again. Answer: `alarm_over`, after `delay`. One that is set later counts in
/// its place.
struct SetAlarm {
  std::uint64_t number;
  Nanoseconds delay;
};

struct AnswerRestart {
  std::uint64_t ticket;
  Result<> outcome;
};

/// A line for the agent's log.
struct Log {
  bool is_error;
  std::string text;
  std::string error;
};

/// The task will never run again; tell the allocation's runner and go.
struct End {};

}  // namespace task_action

using TaskAction = std::variant<task_action::Publish,
                                task_action::SaveLater,
                                task_action::Save,
                                task_action::Recover,
                                task_action::Reattach,
                                task_action::AskWanted,
                                task_action::RunHook,
                                task_action::CancelHook,
                                task_action::Configure,
                                task_action::Start,
                                task_action::Stop,
                                task_action::Destroy,
                                task_action::Wait,
                                task_action::SetAlarm,
                                task_action::AnswerRestart,
                                task_action::Log,
                                task_action::End>;

/// What a restart is answered that finds nothing to restart.
inline Error task_not_running() {
  return {Errc::rejected, "Task not running"};
}

class TaskMachine {
public:
  using Round = task_action::Round;

  enum class State : std::uint8_t {
    idle,
    recovering,
    waiting_for_servers,
    gate,
    prestart,
    paused,  ///< Ready to start, outside of its schedule or by order.
    configuring,
    saving_run,
    starting,
    saving_start,
    poststart,
    running,
    pre_kill,        ///< Hooks before the end, of a kill or a restart.
    shutdown_delay,  ///< Killed, but its callers are given time.
    stopping,        ///< The driver has to end the process.
    saving_exit,
    destroying,
    exited,  ///< Hooks after the end.
    restart_delay,
    dead,
    stop_hooks,
    ended,
  };

  static constexpr int max_stop_attempts = 5;

  /// Without a record of an earlier agent the task is new, and has been received now.
  TaskMachine(TaskTraits traits,
              std::shared_ptr<const TaskHooks> hooks,
              TaskTerms terms,
              std::optional<TaskRecord> saved,
              Random random,
              EventTime now);

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<TaskAction> take();

  // What the allocation's runner says.

  /// The task will fail with this reason as soon as it begins.
  void fail_setup(std::string reason) { setup_failure_ = std::move(reason); }

  void begin(EventTime now);
  /// Whether the task's lifecycle stage may start now. It is asked before each start.
  void set_gate(bool open, EventTime now);
  void set_terms(TaskTerms terms, EventTime now);
  /// Overrides the schedule, or has it obeyed again. `rejected`: there is none, or the task is
  /// over.
  Result<> set_schedule(schema::TaskScheduleOrder order, EventTime now);
  void kill(TaskKill request, EventTime now);
  /// Cuts short a shutdown delay, this one or one to come.
  void skip_delay(EventTime now);
  /// Something to add to the task's history.
  void tell(TaskEvent event, EventTime now);
  void servers_contacted(EventTime now);
  void restart(TaskRestart request, EventTime now);
  void driver_replaced();

  // Answers to actions.

  void recovered(Round round, std::string run_id, EventTime now);
  void recovery_failed(Round round, const Error& err, EventTime now);
  void hook_wanted(Round round, bool wanted, EventTime now);
  void prestart_done(Round round, HookRecord left, EventTime now);
  void prestart_failed(Round round, const Error& err, EventTime now);
  void hook_answered(Round round, const Result<>& outcome, EventTime now);
  void configured(Round round, const Result<>& outcome, EventTime now);
  void saved(Round round, const Result<>& outcome, EventTime now);
  void started(Round round, TaskHandle handle, DriverNetwork network, EventTime now);
  /// `recoverable`: the driver says that another try may do.
  void start_failed(Round round, const Error& err, bool recoverable, EventTime now);
  void stop_taken(Round round, EventTime now);
  void stop_failed(Round round, const Error& err, EventTime now);
  void destroyed(Round round, const Result<>& outcome, EventTime now);
  void time_over(Round round, EventTime now);
  void alarm_over(std::uint64_t number, EventTime now);

  /// The driver says that a run is over. Of another run than the record's, or again: no matter.
  void exited(const std::string& run_id, const ExitResult& result, EventTime now);

  State step() const { return state_; }

  const TaskRecord& record() const { return record_; }

  /// What the schedule, or an order, says of `now`. `rejected`: there is no schedule.
  Result<schema::TaskScheduleState> schedule_state(EventTime now) const;

  /// There is a process, and nothing is known of its end: it can be signalled and looked into.
  bool is_alive() const { return has_process_ && !exit_; }

private:
  // The way to a running task.
  void next_run();
  void go_on_recovered();
  void prestart_from(std::size_t hook);
  void prestart_over();
  void configure();
  void fail_validation(const std::string& why);
  void fail_start(const Error& err, bool recoverable);
  void poststart();
  void running();

  // Its schedule.
  schema::TaskScheduleState wanted_state(EventTime now) const;
  void follow_schedule();
  bool must_pause();  ///< Says so, where that is new.
  void pause();

  // The way out of it.
  void end_process();
  void after_pre_kill();
  void stop_process(int attempt);
  void note_stop_failed(const Error& err);
  void process_ended();
  void decide();
  void die();
  void complete();
  void end();

  // Small ones.
  bool should_stop() const;
  /// Whether `round` is the newest one. Its answer, which this one is, ends it.
  bool is_current(Round round, EventTime now);
  void go(State step);

  void act(TaskAction action) { actions_.push_back(std::move(action)); }

  void wait(Nanoseconds delay);
  void save();
  void save_later();
  void publish();
  void note(TaskEvent event);  ///< Adds it to the record, saves, publishes.
  void ask_hooks(HookPhase phase);
  void ask_next_hook();
  bool is_asked(std::size_t hook) const;
  void phase_over();
  void answer_restarts(const Result<>& outcome);
  void forget_restarts();

  TaskTraits traits_;
  std::shared_ptr<const TaskHooks> hooks_;
  TaskTerms terms_;
  TaskRecord record_;
  Random random_;
  RestartTracker tracker_;

  EventTime now_;  ///< Of the event that is looked at.
  std::vector<TaskAction> actions_;
  State state_ = State::idle;
  Round round_ = 0;
  std::uint64_t alarm_ = 0;  ///< The one that counts.
  std::string setup_failure_;
  std::string kill_error_;
  bool was_saved_ = false;  ///< There is a record of the last agent.
  bool gate_open_ = false;
  bool has_process_ = false;  ///< The driver runs, or keeps the end of, the record's run.
  bool waits_for_servers_ = false;
  bool servers_contacted_ = false;
  bool killed_ = false;
  bool restarting_ = false;  ///< The process is to be ended to be restarted.
  bool skips_delay_ = false;
  int stop_attempt_ = 0;
  Nanoseconds grace_{0};                    ///< Of this attempt.
  std::unique_ptr<const ExitResult> exit_;  ///< Of the record's run, once it is known.
  /// Of a run that was told to have ended before it was told to be this task's.
  using EarlyExit = std::pair<std::string, ExitResult>;
  std::unique_ptr<EarlyExit> early_exit_;
  std::size_t hook_ = 0;                   ///< The one that is asked, or was last.
  HookPhase phase_ = HookPhase::PRESTART;  ///< In which it is.
  std::vector<std::uint64_t> restarts_;    ///< To be answered when the process has ended.
};

}  // namespace nomad::workload
