// The state of an AllocRunner, shared by its sources and by nobody else: alloc_runner.cpp has its
// life and the messages, alloc_runner_tasks.cpp what follows from the states of its tasks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/client/alloc_runner.hpp"
#include "actors/core/actor.hpp"
#include "runtime/workload/client_status.hpp"
#include "runtime/workload/kill_stages.hpp"
#include "runtime/workload/task_coordinator.hpp"

namespace nomad::client::detail {

/// Looks at the states of all tasks; sent behind whatever is in the mailbox.
struct Review {
  using is_message = void;
};

using AllocSelf = actor::WithInternal<AllocRunner,
                                      void(task_runner::Changed),
                                      void(task_runner::Ended),
                                      void(hook::HealthDecided),
                                      void(Review)>;

class AllocState {
public:
  static constexpr const char* name = "alloc_runner";

  explicit AllocState(AllocSelf::pointer actor) : self_{actor} {}

  ~AllocState();

  void init(AllocSetup setup);

  // What the parent says.
  void launch();  ///< Not `begin`: CAF would take the state for a container.
  void assign(Object<schema::Allocation> alloc, Object<schema::Job> job);
  void reconnect(Object<schema::Allocation> alloc, Object<schema::Job> job);
  void report_again();
  void servers_contacted();
  void driver_replaced(const alloc_runner::DriverReplaced& msg);
  actor::Answer<alloc_runner::Done> destroy();
  actor::Answer<alloc_runner::Done> detach();
  actor::Answer<client_api::Done> restart(const client_api::RestartTask& msg);
  actor::Answer<client_api::Done> signal(const client_api::SignalTask& msg);
  actor::Answer<client_api::AllocUsage> stats(const client_api::AllocStats& msg);
  actor::Answer<client_api::AllocDir> directory();
  actor::Answer<client_api::ExecStarted> exec(client_api::Exec& msg);

  // What the tasks and hooks say.
  void task_changed(const task_runner::Changed& msg);
  void task_ended(const task_runner::Ended& msg);
  void health_decided(const hook::HealthDecided& msg);
  void review();
  void child_down(const actor::Address& source);

private:
  enum class Step : std::uint8_t { idle, prerun, running, postrun, over, destroying, gone };

  struct Task {
    std::string name;
    workload::Stage stage = workload::Stage::main;
    TaskRunner runner;  ///< Empty once it has ended.
    TaskStatePtr state;
    bool gate_open = false;

    bool is_poststop() const { return stage == workload::Stage::poststop; }

    bool has_ended() const { return !runner; }

    bool is_live() const { return state->state != schema::TaskRunState::DEAD; }
  };

  struct HookActor {
    const AllocHookEntry* entry;
    AllocHook handle;
  };

  // Life (alloc_runner.cpp).
  void make_tasks();
  void prerun(std::size_t index);
  void prerun_failed(const std::string& hook, const Error& err);
  void begin_tasks();
  void postrun();
  void over();
  void run_destroy(std::size_t index);
  void destroyed();
  void spawn_health_hook();
  AllocScope scope() const;
  bool should_run() const;
  actor::Answer<client_api::Done> restart_tasks(bool all_tasks);
  template <class Message, class Then>
  void ask_hooks(Phase phase, Then then, std::size_t from = 0);

  // Tasks (alloc_runner_tasks.cpp).
  void start_kill();
  void kill(const std::vector<std::size_t>& tasks);
  void react_to_deaths();
  void open_gates();
  void report();
  std::vector<workload::TaskView> views() const;
  workload::StatusSummary status() const;
  void request_review();
  Nanoseconds kill_timeout(const Task& task) const;

  std::int64_t unix_now() const { return setup_.context->unix_now(); }

  AllocSelf::pointer self_;
  AllocSetup setup_;
  std::string id_;
  std::vector<Task> tasks_;  ///< In the group's order.
  std::optional<workload::TaskCoordinator> coordinator_;
  std::optional<workload::KillStages> kill_stages_;
  std::vector<HookActor> hooks_;
  std::optional<workload::HealthStatus> health_;

  Step step_ = Step::idle;
  bool cancel_prerun_ = false;
  bool skips_delay_ = false;
  bool review_sent_ = false;
  bool setup_failed_ = false;
  bool again_ = false;         ///< The next report is sent even if it says nothing new.
  std::uint64_t version_ = 0;  ///< Of the last report.
  std::optional<schema::ClientStatus> reported_;
  std::vector<actor::Promise<alloc_runner::Done>> destroy_promises_;
};

constexpr auto alloc_hook_timeout = std::chrono::minutes{24 * 60};

template <class Message, class Then>
void AllocState::ask_hooks(Phase phase, Then then, std::size_t from) {
  for (std::size_t i = from; i < hooks_.size(); ++i) {
    if ((hooks_[i].entry->asked_in & static_cast<std::uint8_t>(phase)) == 0) continue;
    auto next = [this, phase, then, i]() mutable { ask_hooks<Message>(phase, then, i + 1); };
    self_->request(hooks_[i].handle, alloc_hook_timeout, Message{})
        .then([next](const hook::Done&) mutable { next(); },
              [next](const Error&) mutable { next(); });
    return;
  }
  then();
}

}  // namespace nomad::client::detail
