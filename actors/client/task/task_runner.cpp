#include "actors/client/task/task_runner.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/hooks/hook_set.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/client_status.hpp"
#include "runtime/workload/task_machine.hpp"

namespace nomad::client {
namespace {

namespace action = workload::task_action;
namespace event = workload::task_event;
using action::Round;
using workload::TaskMachine;
using workload::TaskTime;

constexpr auto driver_timeout = std::chrono::minutes{1};
constexpr auto start_timeout = std::chrono::minutes{120};  ///< Images may have to be fetched.
constexpr auto save_timeout = std::chrono::minutes{1};

/// A timer of the machine is over.
struct TimeOver {
  using is_message = void;
  Round round;
};

using RunnerSelf
    = actor::WithInternal<TaskRunner, void(driver::Exited), void(driver::Message), void(TimeOver)>;

class TaskRunnerState {
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
  void replace_driver(Driver driver);
  actor::Answer<task_runner::Done> detach();
  void update_hooks(bool again = false);

  void child_down(const actor::Down& down) { hooks_->child_down(down); }

  actor::Answer<task_runner::Done> restart(task_runner::Restart& msg);
  actor::Answer<task_runner::Done> signal(const task_runner::Signal& msg);
  actor::Answer<client_api::TaskUsage> stats();
  actor::Answer<client_api::ExecStarted> exec(task_runner::Exec& msg);

private:
  void carry_out();
  void perform(const action::Publish& it);
  void perform(const action::SaveLater& it);
  void perform(const action::Save& it);
  void perform(const action::Recover& it);
  void perform(const action::Reattach&);
  void perform(const action::AskWanted& it);
  void perform(const action::RunHook& it);
  void perform(const action::CancelHook& it);
  void perform(const action::Configure& it);
  void perform(const action::Start& it);
  void perform(const action::Stop& it);
  void perform(const action::Destroy& it);
  void perform(const action::Wait& it);
  void perform(const action::AnswerRestart& it);
  void perform(const action::Log& it);
  void perform(const action::End&);

  void fill(const HookEntry& hook, schema::plugin::HookRequest::Builder request) const;
  void hook_answered(const action::RunHook& it, const HookSet::Answer& answer);

  /// Asks somebody: `then(reply)` or `failed(error)` tell the machine what came of it.
  template <class Handle, class Message, class Then, class Failed>
  void ask(const Handle& dest, actor::Timeout timeout, Message msg, Then then, Failed failed);

  // What is known of the task.
  schema::Task::Reader task() const;
  workload::TaskTraits traits() const;
  workload::TaskTerms terms() const;
  const driver::Capabilities& capabilities() const;

  HookScope scope() const { return {setup_.alloc, setup_.job, place_}; }

  driver::TaskId id() const;
  driver::RecoverTask recover_task() const;
  storage::ClientBatch batch(const Object<schema::LocalTask>& row) const;

  TaskTime time() const {
    return {.steady = self_->now().time_since_epoch(), .unix = setup_.context->unix_now()};
  }

  RunnerSelf::pointer self_;
  TaskSetup setup_;
  std::string task_name_;
  Driver driver_;
  std::optional<TaskMachine> machine_;
  std::shared_ptr<const driver::TaskConfig> config_;  ///< From Configure to Start.
  std::optional<HookSet> hooks_;
  Object<schema::plugin::HookPlace> place_;
  bool again_ = false;  ///< What requests of hooks say.
  std::map<std::uint64_t, actor::Promise<task_runner::Done>> restarts_;  ///< By ticket.
  std::uint64_t last_ticket_ = 0;
};

void TaskRunnerState::init(TaskSetup setup) {
  setup_ = std::move(setup);
  const auto group = workload::find_group(*setup_.job, view(setup_.alloc->getTaskGroup()));
  task_name_ = copy(group->getTasks()[static_cast<unsigned>(setup_.index)].getName());
  driver_ = setup_.context->drivers.at(copy(task().getDriver()));
  Draft<schema::plugin::HookPlace> place;
  place->setAllocId(setup_.alloc->getId());
  place->setAllocRoot(text(setup_.context->alloc_root(view(setup_.alloc->getId()))));
  place->setTask(text(task_name_));
  write_capabilities(capabilities(), place->initDriver());
  place_ = place.freeze();
  hooks_.emplace(self_, setup_.context->plugins->task_hooks);
  hooks_->equip({.host = setup_.host,
                 .steps = setup_.context->steps,
                 .checks = setup_.context->checks,
                 .unix_now = setup_.context->unix_now},
                [this](const HookEntry& hook, schema::plugin::HookRequest::Builder request) {
                  fill(hook, request);
                });
  hooks_->set_scope(scope());
  const auto now = time();
  // With the time in it, so that no run of a later agent gets the id of an earlier one.
  const Random random{setup_.context->seed
                      ^ std::hash<std::string>{}(copy(setup_.alloc->getId()) + task_name_)
                      ^ static_cast<std::uint64_t>(now.unix)};
  std::optional<workload::TaskRecord> saved;
  if (setup_.saved) saved = workload::to_task_record(*setup_.saved);
  setup_.saved = {};
  machine_.emplace(traits(), setup_.context->task_hooks, terms(), std::move(saved), random, now);
}

// -- what is known of the task -------------------------------------------------------------------

schema::Task::Reader TaskRunnerState::task() const {
  return *find_task(*setup_.alloc, *setup_.job, task_name_);
}

workload::TaskTraits TaskRunnerState::traits() const {
  const auto type = view(setup_.job->getType());
  const auto lifecycle = task().getLifecycle();
  return {.alloc_id = copy(setup_.alloc->getId()),
          .name = task_name_,
          .is_poststop = view(lifecycle.getHook()) == "poststop",
          .is_system_job = type == "system" || type == "sysbatch",
          .restarts_on_success
          = workload::restarts_on_success(type, view(lifecycle.getHook()), lifecycle.getSidecar()),
          .may_run = setup_.may_run};
}

workload::TaskTerms TaskRunnerState::terms() const {
  const auto of = task();
  return {
      .restart = restart_rules_of(*setup_.alloc, *setup_.job, of),
      .kill_signal = copy(of.getKillSignal()),
      .kill_timeout = std::min(Nanoseconds{of.getKillTimeout()}, setup_.context->max_kill_timeout),
      .shutdown_delay = Nanoseconds{of.getShutdownDelay()},
      .alloc_is_over = workload::is_client_terminal(setup_.alloc->getClientStatus()),
      .alloc_stops = workload::is_server_terminal(setup_.alloc->getDesiredStatus())};
}

const driver::Capabilities& TaskRunnerState::capabilities() const {
  return setup_.context->plugins->drivers.at(copy(task().getDriver())).capabilities;
}

driver::TaskId TaskRunnerState::id() const {
  return {copy(setup_.alloc->getId()), task_name_};
}

driver::RecoverTask TaskRunnerState::recover_task() const {
  const auto& record = machine_->record();
  return {id(), record.run_id, record.handle, self_};
}

storage::ClientBatch TaskRunnerState::batch(const Object<schema::LocalTask>& row) const {
  storage::ClientBatch batch;
  client_db::put_task(batch, copy(setup_.alloc->getId()), task_name_, row);
  return batch;
}

// -- what the allocation's runner and users say --------------------------------------------------

void TaskRunnerState::assign(task_runner::Assign& msg) {
  if (!find_task(*msg.alloc, *msg.job, task_name_)) {
    log::error("client", "allocation update is missing task {}; killing", task_name_);
    on([](TaskMachine& machine, TaskTime now) {
      machine.kill({.event = event::make(event::killed, now.unix)
                                 .saying("update missing task")
                                 .with("kill_reason", "update missing task")
                                 .failing_task()},
                   now);
    });
    return;
  }
  setup_.alloc = std::move(msg.alloc);
  setup_.job = std::move(msg.job);
  machine_->set_terms(terms());
  update_hooks();
}

void TaskRunnerState::update_hooks(bool again) {
  hooks_->set_scope(scope());
  again_ = again;
  hooks_->update([this](const HookEntry& hook, const Error& err) {
    on([&hook, &err](TaskMachine& machine, TaskTime now) {
      machine.tell(event::message(event::hook_failed, now.unix,
                                  fmt::format("{} (update): {}", hook.name, err.what)),
                   now);
    });
  });
  again_ = false;
}

actor::Answer<task_runner::Done> TaskRunnerState::detach() {
  auto promise = self_->make_response_promise<task_runner::Done>();
  hooks_->cancel_all();
  hooks_->ask_all(
      HookPhase::SHUTDOWN,
      [this](const HookEntry& hook, const Error& err) {
        log::warn("client", "shutdown of hook {} of task {}: {}", hook.name, task_name_, err.what);
      },
      [this, promise] {
        promise.deliver(task_runner::Done{});
        self_->quit();
      });
  return promise;
}

void TaskRunnerState::replace_driver(Driver driver) {
  driver_ = std::move(driver);
  on([](TaskMachine& machine, TaskTime) { machine.driver_replaced(); });
}

actor::Answer<task_runner::Done> TaskRunnerState::restart(task_runner::Restart& msg) {
  const auto promise = self_->make_response_promise<task_runner::Done>();
  restarts_.emplace(++last_ticket_, promise);
  on([this, &msg](TaskMachine& machine, TaskTime now) {
    machine.restart({.ticket = last_ticket_,
                     .event = std::move(msg.event),
                     .failure = msg.failure,
                     .force = msg.force},
                    now);
  });
  return promise;
}

actor::Answer<task_runner::Done> TaskRunnerState::signal(const task_runner::Signal& msg) {
  if (!machine_->is_alive()) return Error{Errc::rejected, "Task not running"};
  on([&msg](TaskMachine& machine, TaskTime now) {
    machine.tell(event::signal_sent(now.unix).with("signal", msg.signal), now);
  });
  auto promise = self_->make_response_promise<task_runner::Done>();
  self_->request(driver_, driver_timeout, driver::SignalTask{id(), msg.signal})
      .then([promise](const driver::Done&) { promise.deliver(task_runner::Done{}); },
            [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

actor::Answer<client_api::TaskUsage> TaskRunnerState::stats() {
  if (!machine_->is_alive()) return Error{Errc::not_found, "Task not running"};
  auto promise = self_->make_response_promise<client_api::TaskUsage>();
  self_->request(driver_, driver_timeout, driver::TaskStats{id()})
      .then([promise](client_api::TaskUsage& usage) { promise.deliver(std::move(usage)); },
            [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

actor::Answer<client_api::ExecStarted> TaskRunnerState::exec(task_runner::Exec& msg) {
  if (!machine_->is_alive())
    return Error{Errc::not_found, fmt::format("task \"{}\" is not running.", task_name_)};
  if (!capabilities().exec) return driver::no_exec();
  return self_->delegate(driver_, driver::ExecTask{id(), std::move(msg.command)});
}

// -- what the machine wants ----------------------------------------------------------------------

void TaskRunnerState::carry_out() {
  for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
    for (const auto& each : actions)
      std::visit([this](const auto& it) { perform(it); }, each);
}

template <class Handle, class Message, class Then, class Failed>
void TaskRunnerState::ask(
    const Handle& dest, actor::Timeout timeout, Message msg, Then then, Failed failed) {
  self_->request(dest, timeout, std::move(msg))
      .then(
          [this, then](actor::ReplyOf<Handle, Message>& reply) {
            then(reply);
            carry_out();
          },
          [this, failed](const Error& err) {
            failed(err);
            carry_out();
          });
}

void TaskRunnerState::perform(const action::Publish& it) {
  self_->send(setup_.parent, task_runner::Changed{setup_.index, it.state});
}

void TaskRunnerState::perform(const action::SaveLater& it) {
  self_->send(setup_.context->db, client_db::SaveLater{batch(it.row)});
}

void TaskRunnerState::perform(const action::Save& it) {
  ask(
      setup_.context->db, save_timeout, client_db::Save{batch(it.row)},
      [this, round = it.round](client_db::Committed&) {
        NOMAD_FAILPOINT("client.task_saved");
        machine_->saved(round, {}, time());
      },
      [this, round = it.round](const Error& err) { machine_->saved(round, err, time()); });
}

void TaskRunnerState::perform(const action::Recover& it) {
  ask(
      driver_, driver_timeout, recover_task(),
      [this, round = it.round](driver::Recovered& found) {
        machine_->recovered(round, std::move(found.run_id), time());
      },
      [this, round = it.round](const Error& err) {
        machine_->recovery_failed(round, err, time());
      });
}

void TaskRunnerState::perform(const action::Reattach&) {
  ask(
      driver_, driver_timeout, recover_task(), [](driver::Recovered&) {},
      [this, run_id = machine_->record().run_id](const Error& err) {
        machine_->exited(run_id, {.code = 1, .error = err.what}, time());
      });
}

void TaskRunnerState::perform(const action::AskWanted& it) {
  const auto& wanted = hooks_->entry(it.hook).wanted;
  machine_->hook_wanted(it.round, !wanted || wanted(hooks_->scope()), time());
}

void TaskRunnerState::perform(const action::RunHook& it) {
  hooks_->ask(it.hook, it.phase, [this, it](const HookSet::Answer& answer) {
    hook_answered(it, answer);
    carry_out();
  });
}

void TaskRunnerState::fill(const HookEntry& hook,
                           schema::plugin::HookRequest::Builder request) const {
  const auto& record = machine_->record();
  const auto phase = request.getPhase();
  if (phase == HookPhase::PRESTART || phase == HookPhase::STOP) {
    const auto data = record.data_of(hook.name);
    fill_entries(request.initData(data.size()), data);
  }
  if (phase == HookPhase::POSTSTART || phase == HookPhase::UPDATE)
    write_network(record.network, request.initNetwork());
  request.setRunning(machine_->is_alive());
  request.setAgain(again_);
  if (hook.reads_environment)
    make_env(*setup_.context, *setup_.alloc, *setup_.job, task(), capabilities(), record)
        .write(request.initEnvironment());
}

void TaskRunnerState::hook_answered(const action::RunHook& it, const HookSet::Answer& answer) {
  if (it.phase != HookPhase::PRESTART)
    machine_->hook_answered(it.round, answer ? Result<>{} : Result<>{answer.error()}, time());
  else if (answer)
    machine_->prestart_done(it.round, record_of(*answer), time());
  else
    machine_->prestart_failed(it.round, answer.error(), time());
}

void TaskRunnerState::perform(const action::CancelHook& it) {
  hooks_->cancel(it.hook);
}

void TaskRunnerState::perform(const action::Configure& it) {
  const auto& record = machine_->record();
  const auto current = task();
  const auto env
      = make_env(*setup_.context, *setup_.alloc, *setup_.job, current, capabilities(), record);
  auto config = make_config(*setup_.context, *setup_.alloc, current, env, record.run_id);
  Result<> outcome;
  if (config)
    config_ = std::make_shared<const driver::TaskConfig>(std::move(*config));
  else
    outcome = config.error();
  machine_->configured(it.round, outcome, time());
}

void TaskRunnerState::perform(const action::Start& it) {
  NOMAD_FAILPOINT("client.before_start");
  ask(
      driver_, start_timeout, driver::StartTask{std::exchange(config_, {}), self_},
      [this, round = it.round](driver::Started& result) {
        NOMAD_FAILPOINT("client.after_start");
        machine_->started(round, std::move(result.handle), std::move(result.network), time());
      },
      [this, round = it.round](const Error& err) { machine_->start_failed(round, err, time()); });
}

void TaskRunnerState::perform(const action::Stop& it) {
  const auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(it.grace);
  ask(
      driver_, driver_timeout, driver::StopTask{id(), it.signal, grace},
      [this, round = it.round](driver::Done&) { machine_->stop_taken(round, time()); },
      [this, round = it.round](const Error& err) { machine_->stop_failed(round, err, time()); });
}

void TaskRunnerState::perform(const action::Destroy& it) {
  NOMAD_FAILPOINT("client.before_destroy");
  ask(
      driver_, driver_timeout, driver::DestroyTask{id()},
      [this, round = it.round](driver::Done&) {
        NOMAD_FAILPOINT("client.after_destroy");
        machine_->destroyed(round, {}, time());
      },
      [this, round = it.round](const Error& err) { machine_->destroyed(round, err, time()); });
}

void TaskRunnerState::perform(const action::Wait& it) {
  actor::send_self_after(self_, it.delay, TimeOver{it.round});
}

void TaskRunnerState::perform(const action::AnswerRestart& it) {
  const auto promise = restarts_.at(it.ticket);
  restarts_.erase(it.ticket);
  if (it.outcome)
    promise.deliver(task_runner::Done{});
  else
    promise.deliver(it.outcome.error());
}

void TaskRunnerState::perform(const action::Log& it) {
  log::write(it.is_error ? log::Level::error : log::Level::warn, "client", it.text);
}

void TaskRunnerState::perform(const action::End&) {
  self_->send(setup_.parent, task_runner::Ended{setup_.index});
  self_->quit();
}

// -- the actor -----------------------------------------------------------------------------------

RunnerSelf::behavior_type task_runner_actor(RunnerSelf::stateful_pointer<TaskRunnerState> self,
                                            TaskSetup setup) {
  auto& state = self->state;
  actor::on_down(self, [&state](const actor::Down& down) { state.child_down(down); });
  state.init(std::move(setup));
  return {
      [&state](task_runner::Begin) {
        state.on([](TaskMachine& machine, TaskTime now) { machine.begin(now); });
      },
      [&state](task_runner::FailSetup& msg) {
        state.on([&msg](auto& machine, TaskTime) { machine.fail_setup(std::move(msg.reason)); });
      },
      [&state](task_runner::Gate msg) {
        state.on([msg](TaskMachine& machine, TaskTime now) { machine.set_gate(msg.open, now); });
      },
      [&state](task_runner::Assign& msg) { state.assign(msg); },
      [&state](task_runner::Kill& msg) {
        state.on([&msg](TaskMachine& machine, TaskTime now) {
          machine.kill({.event = std::move(msg.event), .skip_delay = msg.skip_delay}, now);
        });
      },
      [&state](task_runner::SkipDelay) {
        state.on([](TaskMachine& machine, TaskTime now) { machine.skip_delay(now); });
      },
      [&state](task_runner::Tell& msg) {
        state.on([&msg](TaskMachine& machine, TaskTime now) {
          machine.tell(std::move(msg.event), now);
        });
      },
      [&state](task_runner::ServersContacted) {
        state.on([](TaskMachine& machine, TaskTime now) { machine.servers_contacted(now); });
      },
      [&state](task_runner::DriverReplaced& msg) { state.replace_driver(std::move(msg.driver)); },
      [&state](task_runner::Restart& msg) { return state.restart(msg); },
      [&state](const task_runner::Signal& msg) { return state.signal(msg); },
      [&state](task_runner::Stats) { return state.stats(); },
      [&state](task_runner::Exec& msg) { return state.exec(msg); },
      [&state](task_runner::Detach) { return state.detach(); },
      [&state](task_runner::TellServersAgain) { state.update_hooks(true); },
      [&state](const driver::Exited& msg) {
        state.on([&msg](TaskMachine& machine, TaskTime now) {
          machine.exited(msg.run_id, msg.result, now);
        });
      },
      [&state](driver::Message& msg) {
        state.on([&msg](TaskMachine& machine, TaskTime now) {
          machine.tell(event::driver_message(now.unix, std::move(msg.text)), now);
        });
      },
      [&state](TimeOver msg) {
        state.on([msg](TaskMachine& machine, TaskTime now) { machine.time_over(msg.round, now); });
      },
  };
}

}  // namespace

TaskRunner spawn_task_runner(const actor::Owner& owner, TaskSetup setup) {
  return actor::spawn(owner, task_runner_actor, std::move(setup));
}

}  // namespace nomad::client
