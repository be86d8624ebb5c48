// The state of a TaskRunner, shared by its two sources and by nobody else: task_runner.cpp has the
// way to a running task, task_runner_end.cpp the way out of it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/task_config.hpp"
#include "actors/client/task_local.hpp"
#include "actors/client/task_runner.hpp"
#include "actors/core/actor.hpp"
#include "runtime/base/random.hpp"
#include "runtime/workload/restart_policy.hpp"

namespace nomad::client::detail {

/// A timer set in round `round` is over; stale when the runner has moved on.
struct TimeOver {
  using is_message = void;
  std::uint64_t round;
};

using RunnerSelf
    = actor::WithInternal<TaskRunner, void(driver::Exited), void(driver::Message), void(TimeOver)>;

class RunnerState {
public:
  static constexpr const char* name = "task_runner";

  explicit RunnerState(RunnerSelf::pointer actor) : self_{actor} {}

  ~RunnerState();

  void init(TaskSetup setup);

  // What the parent says.
  void launch();  ///< Not `begin`: CAF would take the state for a container.
  void fail_setup(std::string reason);
  void set_gate(bool open);
  void assign(Object<schema::Allocation> alloc, Object<schema::Job> job);
  void kill(task_runner::Kill msg);
  void skip_delay();
  void tell(workload::TaskEvent event);
  void servers_contacted();
  void replace_driver(Driver driver);
  actor::Answer<task_runner::Done> restart(task_runner::Restart msg);
  actor::Answer<task_runner::Done> signal(const task_runner::Signal& msg);
  actor::Answer<client_api::TaskUsage> stats();
  actor::Answer<client_api::ExecStarted> exec(task_runner::Exec& msg);

  // What the driver says, and the clock.
  void exited(const driver::Exited& msg);
  void driver_message(std::string text);
  void time_over(std::uint64_t round);

private:
  enum class Step : std::uint8_t {
    idle,
    recovering,
    waiting_for_servers,
    gate,
    prestart,
    recording,  ///< The run id is being saved.
    starting,
    poststart,
    running,
    pre_kill,        ///< Hooks before the end.
    shutdown_delay,  ///< Killed, but its callers are given time.
    stopping,        ///< The driver has to end it.
    exited,          ///< Recording the end, hooks after it.
    restart_delay,
    dead,
    stop_hooks,
    ended,
  };
  using Phase = client::Phase;

  /// Enters a step: whatever was started in an earlier one is ignored when it answers.
  void go(Step step);

  /// Asks somebody; the answer is ignored when the runner has moved on by then.
  template <class Reply, class Dest, class Timeout, class Message, class Then, class Fail>
  void ask(const Dest& dest, Timeout timeout, Message msg, Then then, Fail fail) {
    self_->request(dest, timeout, std::move(msg))
        .then(
            [this, round = round_, then = std::move(then)](Reply& reply) mutable {
              if (round == round_) then(reply);
            },
            [this, round = round_, fail = std::move(fail)](const Error& err) mutable {
              if (round == round_) fail(err);
            });
  }

  // The way in (task_runner.cpp).
  void recover();
  void recovery_failed(const Error& err);
  void recovered(bool has_process);
  void next_run();
  void prestart(std::size_t index);
  void run_prestart(std::size_t index, const TaskHookEntry& entry);
  void prestart_done(std::size_t index, const std::string& hook, hook::Prestarted result);
  void prestart_failed(const std::string& hook, const Error& err);
  void start();
  void ask_driver(std::shared_ptr<const driver::TaskConfig> config);
  void started(driver::Started result);
  void start_failed(const Error& err);
  void poststart();
  void running();

  // The way out (task_runner_end.cpp).
  void end_process();
  void after_pre_kill();
  void stop_process(int attempt);
  void stop_failed(int attempt, const Error& err);
  void process_ended();
  void forget_process();
  void decide();
  void die();
  void complete();
  void finish();

  // Small ones.
  bool should_stop() const;
  bool is_system_job() const;
  schema::Task::Reader task() const;
  const driver::Capabilities& capabilities() const;
  TaskScope scope(const std::string& hook);

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  std::int64_t unix_now() const { return setup_.context->unix_now(); }

  Nanoseconds kill_timeout() const;
  void wait(Nanoseconds delay);
  void add(workload::TaskEvent event);
  void enter(schema::TaskRunState state);
  void publish();
  storage::ClientBatch row();
  template <class Then>
  void save_then(Then then);
  void save_later();
  /// Asks the actors among the hooks in `phase`, one after the other, then goes on.
  template <class Message, class Then>
  void ask_hooks(Phase phase, Then then, std::size_t from = 0);
  void answer_restarts(Result<task_runner::Done> outcome);

  struct HookActor {
    const TaskHookEntry* entry;
    TaskHook handle;
  };

  RunnerSelf::pointer self_;
  TaskSetup setup_;
  std::string task_name_;
  std::string kill_signal_;
  std::string lifecycle_hook_;
  Driver driver_;
  TaskLocal local_;
  std::optional<workload::RestartTracker> tracker_;
  Random random_{0};

  Step step_ = Step::idle;
  std::uint64_t round_ = 0;
  std::string setup_failure_;
  std::string kill_error_;
  bool gate_open_ = false;
  bool has_process_ = false;  ///< The driver runs, or keeps the end of, `local_.run_id`.
  bool waits_for_servers_ = false;
  bool servers_contacted_ = false;
  bool killed_ = false;
  bool restarting_ = false;  ///< The process is being ended to be restarted.
  bool skips_delay_ = false;
  int stop_attempt_ = 0;
  std::optional<workload::ExitResult> exit_;  ///< Of the process, once the driver has told it.
  std::vector<HookActor> hooks_;
  std::vector<actor::Promise<task_runner::Done>> restarts_;  ///< To answer at the process's end.
};

constexpr auto hook_timeout = std::chrono::minutes{120};
constexpr auto driver_timeout = std::chrono::minutes{1};
constexpr auto start_timeout = std::chrono::minutes{120};  ///< Images may have to be fetched.
constexpr auto save_timeout = std::chrono::minutes{1};

template <class Then>
void RunnerState::save_then(Then then) {
  ask<client_db::Committed>(
      setup_.context->db, save_timeout, client_db::Save{row()},
      [then](const client_db::Committed&) mutable { then(Result<>{}); },
      [then](const Error& err) mutable { then(Result<>{err}); });
}

template <class Message, class Then>
void RunnerState::ask_hooks(Phase phase, Then then, std::size_t from) {
  for (std::size_t i = from; i < hooks_.size(); ++i) {
    if ((hooks_[i].entry->asked_in & static_cast<std::uint8_t>(phase)) == 0) continue;
    Message msg{};
    if constexpr (requires { msg.data; }) msg.data = local_.hook(hooks_[i].entry->name).data;
    auto next = [this, phase, then, i]() mutable { ask_hooks<Message>(phase, then, i + 1); };
    ask<hook::Done>(
        hooks_[i].handle, hook_timeout, std::move(msg),
        [next](const hook::Done&) mutable { next(); }, [next](const Error&) mutable { next(); });
    return;
  }
  then();
}

}  // namespace nomad::client::detail
