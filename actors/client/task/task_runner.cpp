#include "actors/client/task/task_runner.hpp"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/hooks/hook_objects.hpp"
#include "actors/client/task/task_config.hpp"
#include "actors/client/task/task_runner_state.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/workload/runs/usage_streams.hpp"

namespace nomad::client {

namespace {

namespace event = workload::task_event;
using workload::EventTime;
using workload::TaskMachine;

constexpr auto driver_timeout = std::chrono::minutes{1};
constexpr auto task_start_timeout = std::chrono::minutes{120};  ///< Images may have to be fetched.
constexpr auto reattach = DriverLink::Purpose::reattach;
constexpr auto task_save_timeout = std::chrono::minutes{1};

}  // namespace

void TaskRunnerState::init(TaskSetup setup) {
  setup_ = std::move(setup);
  const auto group = workload::find_group(*setup_.job, setup_.alloc->task_group());
  task_name_ = copy(group->getTasks()[static_cast<unsigned>(setup_.index)].getName());
  const auto driver = copy(task().getDriver());
  link_.emplace(self_, driver, setup_.parts->drivers->at(driver));
  link_->serve(setup_.parts->driver_manager, id(), self_);
  usage_.emplace(
      self_, &*link_, this,
      UsageStream{workload::usage_interval(setup_.parts->usage_interval),
                  setup_.parts->usage_counts,
                  setup_.parts->keeps_usage ? workload::UsageHistory::short_slot : Nanoseconds{0}},
      setup_.parts->keeps_usage);
  hooks_.emplace(self_, setup_.parts->hooks->of_tasks, *this);
  const auto now = time();
  // With the time in it, so that no run of a later agent gets the id of an earlier one.
  const Random random{setup_.parts->seed
                      ^ std::hash<std::string>{}(std::string{setup_.alloc->id()} + task_name_)
                      ^ static_cast<std::uint64_t>(now.unix)};
  std::optional<workload::TaskRecord> saved;
  if (setup_.saved) saved = workload::to_task_record(*setup_.saved);
  setup_.saved = {};
  machine_.emplace(traits_of(*setup_.alloc, *setup_.job, task(), setup_.may_run),
                   setup_.parts->hook_traits, terms(), std::move(saved), random, now);
}

/// What hooks have to know of the task; its driver may have become another one.
HookScope TaskRunnerState::hook_scope() const {
  Draft<schema::plugin::HookTarget> target;
  target->setAllocId(text(setup_.alloc->id()));
  target->setAllocRoot(text(setup_.parts->node->alloc_root(setup_.alloc->id())));
  target->setTask(text(task_name_));
  target->setDriver(capabilities());
  const auto group = workload::find_group(*setup_.job, setup_.alloc->task_group());
  if (group && group->getVolumes().size() > 0)
    target->setHostVolumes(setup_.parts->node->record->getHostVolumes());
  return {setup_.alloc, setup_.job, target.freeze()};
}

// -- what is known of the task -------------------------------------------------------------------

schema::Task::Reader TaskRunnerState::task() const {
  return *workload::find_task(*setup_.alloc, *setup_.job, task_name_);
}

workload::TaskTerms TaskRunnerState::terms() const {
  return terms_of(*setup_.alloc, *setup_.job, task(), setup_.parts->max_kill_timeout);
}

driver::TaskId TaskRunnerState::id() const {
  return {std::string{setup_.alloc->id()}, task_name_};
}

storage::ClientBatch TaskRunnerState::batch(const Object<schema::LocalTask>& row) const {
  storage::ClientBatch batch;
  client_db::put_task(batch, std::string{setup_.alloc->id()}, task_name_, row);
  return batch;
}

// -- what the allocation's runner and users say --------------------------------------------------

void TaskRunnerState::assign(task_runner::Assign& msg) {
  if (!workload::find_task(*msg.alloc, *msg.job, task_name_)) {
    log::error("client", "an update of the allocation misses the task; killing it",
               {{"alloc", setup_.alloc->id()}, {"task", task_name_}});
    on([](TaskMachine& machine, EventTime now) {
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
  on([this](TaskMachine& machine, EventTime now) { machine.set_terms(terms(), now); });
  update_hooks();
}

void TaskRunnerState::update_hooks(bool again) {
  hooks_->scope_changed();
  again_ = again;
  hooks_->update([this](const HookEntry& hook, const Error& err) {
    on([&hook, &err](TaskMachine& machine, EventTime now) {
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
        log::warn("client", "a hook failed at the agent's end",
                  {{"alloc", setup_.alloc->id()},
                   {"task", task_name_},
                   {"hook", hook.name},
                   {"error", err}});
      },
      [this, promise] {
        say_the_rest();  // Before the agent hears it, and ends who saves it.
        promise.deliver(task_runner::Done{});
        self_->quit();
      });
  return promise;
}

/// Another driver is asked to recover what runs before it is asked anything else.
void TaskRunnerState::replace_driver(const KnownDriver& driver) {
  link_->replace(driver);
  usage_->driver_is_gone();
  if (!driver.driver) return;
  link_->serve(setup_.parts->driver_manager, id(), self_);
  hooks_->scope_changed();
  on([](TaskMachine& machine, EventTime) { machine.driver_replaced(); });
  link_->resume();
}

void TaskRunnerState::heard(schema::plugin::Notice::Reader notice) {
  using Which = schema::plugin::Notice::Which;
  switch (notice.which()) {
    case Which::EXITED:
      on([&notice](TaskMachine& machine, EventTime now) {
        machine.exited(copy(notice.getExited().getRunId()),
                       read_exit(notice.getExited().getResult()), now);
      });
      return;
    case Which::EVENT:
      on([&notice](TaskMachine& machine, EventTime now) {
        machine.tell(event::driver_message(now.unix, copy(notice.getEvent().getMessage())), now);
      });
      return;
    case Which::USAGE:
    case Which::USAGE_FAILED:
      usage_->heard(notice);
      return;
    default:
      log::debug("client", "a driver told something that is not its to tell",
                 {{"alloc", setup_.alloc->id()}, {"task", task_name_}});
  }
}

actor::Answer<task_runner::Done> TaskRunnerState::restart(task_runner::Restart& msg) {
  const auto promise = self_->make_response_promise<task_runner::Done>();
  restarts_.emplace(++last_ticket_, promise);
  on([this, &msg](TaskMachine& machine, EventTime now) {
    machine.restart({.ticket = last_ticket_,
                     .event = std::move(msg.event),
                     .failure = msg.failure,
                     .force = msg.force},
                    now);
  });
  return promise;
}

actor::Answer<task_runner::Done> TaskRunnerState::signal(const task_runner::Signal& msg) {
  if (!machine_->is_alive())
    return Error{msg.reason.empty() ? Errc::rejected : Errc::not_found, "Task not running"};
  on([&msg](TaskMachine& machine, EventTime now) {
    machine.tell(event::signal_sent(now.unix, msg.reason).with("signal", msg.signal), now);
  });
  auto promise = self_->make_response_promise<task_runner::Done>();
  link_->ask_once(
      driver::signal_task(id(), msg.signal), driver_timeout, driver::DriverAnswer::DONE,
      [promise](driver::Answered&) { promise.deliver(task_runner::Done{}); },
      [promise](const driver::Refusal& why) { promise.deliver(why.error); });
  return promise;
}

actor::Answer<task_runner::Done> TaskRunnerState::pause(task_runner::Pause msg) {
  Result<> outcome;
  on([&outcome, msg](TaskMachine& machine, EventTime now) {
    outcome = machine.set_schedule(msg.order, now);
  });
  if (!outcome) return outcome.error();
  auto promise = self_->make_response_promise<task_runner::Done>();
  later_saves_.drop();  // It is of the same row.
  self_
      ->request(setup_.parts->db, task_save_timeout,
                client_db::Save{batch(workload::to_object(machine_->record()))})
      .then([promise](client_db::Committed&) { promise.deliver(task_runner::Done{}); },
            [promise](const Error& err) { promise.deliver(err.within("saving local state")); });
  return promise;
}

actor::Answer<task_runner::ScheduleState> TaskRunnerState::read_pause() {
  return task_runner::ScheduleState{NOMAD_TRY(machine_->schedule_state(time()))};
}

actor::Answer<client_api::TaskUsage> TaskRunnerState::usage() {
  auto promise = self_->make_response_promise<client_api::TaskUsage>();
  usage_->read([promise](Result<client_api::TaskUsage> usage) {
    if (usage)
      promise.deliver(std::move(*usage));
    else
      promise.deliver(usage.error());
  });
  return promise;
}

task_runner::History TaskRunnerState::history() const {
  const auto kept = usage_->history();
  return {kept ? std::make_shared<const workload::UsageHistory>(*kept) : nullptr};
}

actor::Answer<client_api::ExecStarted> TaskRunnerState::exec(task_runner::Exec& msg) {
  if (!machine_->is_alive())
    return Error{Errc::not_found, fmt::format("task \"{}\" is not running.", task_name_)};
  if (!capabilities().getExec()) return Error{Errc::rejected, "task driver does not support exec"};
  auto promise = self_->make_response_promise<client_api::ExecStarted>();
  link_->ask_once(
      driver::exec_task(id(), msg.command), driver_timeout, driver::DriverAnswer::EXEC,
      [promise, pump = setup_.parts->exec_pump](driver::Answered& answer) {
        auto session = driver::take_session(answer, *pump);
        if (!session) return promise.deliver(session.error());
        promise.deliver(client_api::ExecStarted{std::move(*session)});
      },
      [promise](const driver::Refusal& why) { promise.deliver(why.error); });
  return promise;
}

// -- what the machine wants ----------------------------------------------------------------------

void TaskRunnerState::carry_out() {
  for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
    for (const auto& each : actions)
      std::visit([this](const auto& it) { perform(it); }, each);
  hooks_->scope_changed();  // It is long until it is wanted again.
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

template <class Then, class Failed>
void TaskRunnerState::ask_driver(driver::Ask order,
                                 driver::DriverAnswer::Which expected,
                                 Then then,
                                 Failed failed,
                                 DriverLink::Purpose purpose) {
  const auto timeout
      = expected == driver::DriverAnswer::STARTED ? task_start_timeout : driver_timeout;
  link_->ask(
      std::move(order), timeout, expected, purpose,
      [this, then](driver::Answered& answer) {
        then(answer);
        carry_out();
      },
      [this, failed](const driver::Refusal& why) {
        failed(why);
        carry_out();
      });
}

void TaskRunnerState::perform(const task_action::Publish& it) {
  news_.tell(self_, setup_.parent, task_runner::Changed{setup_.index, it.state});
}

void TaskRunnerState::perform(const task_action::SaveLater& it) {
  later_saves_.tell(self_, setup_.parts->db, {batch(it.row)});
}

void TaskRunnerState::perform(const task_action::Save& it) {
  later_saves_.drop();  // It is of the same row.
  ask(
      setup_.parts->db, task_save_timeout, client_db::Save{batch(it.row)},
      [this, round = it.round](client_db::Committed&) {
        NOMAD_FAILPOINT("client.task_saved");
        machine_->saved(round, {}, time());
      },
      [this, round = it.round](const Error& err) { machine_->saved(round, err, time()); });
}

void TaskRunnerState::perform(const task_action::Recover& it) {
  ask_driver(
      driver::recover_task(id(), machine_->record()), driver::DriverAnswer::RECOVERED,
      [this, round = it.round](driver::Answered& answer) {
        machine_->recovered(round, copy(answer.answer->getRecovered()), time());
        usage_->driver_has_run();
      },
      [this, round = it.round](const driver::Refusal& why) {
        machine_->recovery_failed(round, why.error, time());
      });
}

void TaskRunnerState::perform(const task_action::Reattach&) {
  ask_driver(
      driver::recover_task(id(), machine_->record()), driver::DriverAnswer::RECOVERED,
      [this](driver::Answered&) { usage_->driver_has_run(); },
      [this, run_id = machine_->record().run_id](const driver::Refusal& why) {
        machine_->exited(run_id, {.code = 1, .error = why.error.what}, time());
      },
      reattach);
}

void TaskRunnerState::perform(const task_action::AskWanted& it) {
  machine_->hook_wanted(it.round, hooks_->is_wanted(it.hook), time());
}

void TaskRunnerState::perform(const task_action::RunHook& it) {
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
}

Environments TaskRunnerState::environments() const {
  return {make_env(*setup_.parts->node, *setup_.alloc, *setup_.job, task(), capabilities(),
                   machine_->record())};
}

void TaskRunnerState::hook_answered(const task_action::RunHook& it, const HookSet::Answer& answer) {
  if (it.phase != HookPhase::PRESTART)
    machine_->hook_answered(it.round, answer ? Result<>{} : Result<>{answer.error()}, time());
  else if (answer)
    machine_->prestart_done(it.round, record_of(*answer), time());
  else
    machine_->prestart_failed(it.round, answer.error(), time());
}

void TaskRunnerState::perform(const task_action::CancelHook& it) {
  hooks_->cancel(it.hook);
}

void TaskRunnerState::perform(const task_action::Configure& it) {
  start_ = {};
  const auto& description = link_->description();
  if (!description) return machine_->configured(it.round, {}, time());  // Start will fail.
  const auto& record = machine_->record();
  const auto current = task();
  const auto env
      = make_env(*setup_.parts->node, *setup_.alloc, *setup_.job, current, capabilities(), record);
  auto order = make_start(*setup_.parts->node,
                          {.alloc = *setup_.alloc,
                           .job = *setup_.job,
                           .task = current,
                           .network_namespace = network_namespace_},
                          env, record, *description);
  Result<> outcome;
  if (order)
    start_ = std::move(*order);
  else
    outcome = order.error();
  machine_->configured(it.round, outcome, time());
}

void TaskRunnerState::perform(const task_action::Start& it) {
  NOMAD_FAILPOINT("client.before_start");
  if (!start_.request) {
    const auto why = link_->silence({Errc::unavailable, "it has not said what it is"});
    return machine_->start_failed(it.round, why.error, why.recoverable, time());
  }
  ask_driver(
      std::exchange(start_, {}), driver::DriverAnswer::STARTED,
      [this, round = it.round](driver::Answered& answer) {
        NOMAD_FAILPOINT("client.after_start");
        const auto begun = answer.answer->getStarted();
        machine_->started(round, driver::read_handle(begun.getHandle()),
                          read_network(begun.getNetwork()), time());
        usage_->driver_has_run();
      },
      [this, round = it.round](const driver::Refusal& why) {
        machine_->start_failed(round, why.error, why.recoverable, time());
      },
      DriverLink::Purpose::start);
}

void TaskRunnerState::perform(const task_action::Stop& it) {
  ask_driver(
      driver::stop_task(id(), it.signal, it.grace), driver::DriverAnswer::DONE,
      [this, round = it.round](driver::Answered&) { machine_->stop_taken(round, time()); },
      [this, round = it.round](const driver::Refusal& why) {
        machine_->stop_failed(round, why.error, time());
      });
}

void TaskRunnerState::perform(const task_action::Destroy& it) {
  NOMAD_FAILPOINT("client.before_destroy");
  ask_driver(
      driver::destroy_task(id()), driver::DriverAnswer::DONE,
      [this, round = it.round](driver::Answered&) {
        NOMAD_FAILPOINT("client.after_destroy");
        machine_->destroyed(round, {}, time());
      },
      [this, round = it.round](const driver::Refusal& why) {
        machine_->destroyed(round, why.error, time());
      });
}

void TaskRunnerState::perform(const task_action::Wait& it) {
  actor::send_self_after(self_, it.delay, TimeOver{it.round});
}

void TaskRunnerState::perform(const task_action::SetAlarm& it) {
  actor::send_self_after(self_, it.delay, AlarmOver{it.number});
}

void TaskRunnerState::perform(const task_action::AnswerRestart& it) {
  const auto promise = restarts_.at(it.ticket);
  restarts_.erase(it.ticket);
  if (it.outcome)
    promise.deliver(task_runner::Done{});
  else
    promise.deliver(it.outcome.error());
}

void TaskRunnerState::perform(const task_action::Log& it) {
  log::write(it.is_error ? log::Level::error : log::Level::warn, "client", it.text,
             {{"alloc", setup_.alloc->id()}, {"task", task_name_}, {"error", it.error}});
}

void TaskRunnerState::perform(const task_action::End&) {
  actor::send_urgent(self_, setup_.parts->driver_manager, driver_manager::Leave{id()});
  say_the_rest();
  self_->send(setup_.parent, task_runner::Ended{setup_.index, {usage_->history()}});
  self_->quit();
}

/// What waits for who has been told of something, before the end.
void TaskRunnerState::say_the_rest() {
  later_saves_.flush(self_);
  news_.flush(self_);
}

// -- the actor -----------------------------------------------------------------------------------

namespace {

RunnerSelf::behavior_type task_runner_actor(RunnerSelf::stateful_pointer<TaskRunnerState> self,
                                            TaskSetup setup) {
  auto& state = self->state;
  actor::on_down(self, [&state](const actor::Down& down) { state.child_down(down); });
  state.init(std::move(setup));
  return {
      [&state](task_runner::Joins& msg) { state.joins(std::move(msg.network_namespace)); },
      [&state](task_runner::Begin) {
        state.on([](TaskMachine& machine, EventTime now) { machine.begin(now); });
      },
      [&state](task_runner::FailSetup& msg) {
        state.on([&msg](auto& machine, EventTime) { machine.fail_setup(std::move(msg.reason)); });
      },
      [&state](task_runner::Gate msg) {
        state.on([msg](TaskMachine& machine, EventTime now) { machine.set_gate(msg.open, now); });
      },
      [&state](task_runner::Assign& msg) { state.assign(msg); },
      [&state](task_runner::Kill& msg) {
        state.on([&msg](TaskMachine& machine, EventTime now) {
          machine.kill({.event = std::move(msg.event), .skip_delay = msg.skip_delay}, now);
        });
      },
      [&state](task_runner::SkipDelay) {
        state.on([](TaskMachine& machine, EventTime now) { machine.skip_delay(now); });
      },
      [&state](task_runner::Tell& msg) {
        state.on([&msg](TaskMachine& machine, EventTime now) {
          machine.tell(std::move(msg.event), now);
        });
      },
      [&state](task_runner::ServersContacted) {
        state.on([](TaskMachine& machine, EventTime now) { machine.servers_contacted(now); });
      },
      [&state](task_runner::DriverReplaced& msg) { state.replace_driver(msg.driver); },
      [&state](task_runner::Restart& msg) { return state.restart(msg); },
      [&state](const task_runner::Signal& msg) { return state.signal(msg); },
      [&state](task_runner::Pause msg) { return state.pause(msg); },
      [&state](task_runner::ReadPause) { return state.read_pause(); },
      [&state](task_runner::ReadUsage) { return state.usage(); },
      [&state](task_runner::ReadHistory) { return state.history(); },
      [&state](task_runner::Exec& msg) { return state.exec(msg); },
      [&state](task_runner::Detach) { return state.detach(); },
      [&state](task_runner::TellServersAgain) { state.update_hooks(true); },
      [&state](const plugin_agent::Notice& msg) { state.heard(*msg.notice); },
      [&state](DriverLink::VerdictDue msg) { state.verdict_due(msg); },
      [&state](UsageLink::LookDue) { state.usage_look_due(); },
      [&state](TimeOver msg) {
        state.on([msg](TaskMachine& machine, EventTime now) { machine.time_over(msg.round, now); });
      },
      [&state](AlarmOver msg) {
        state.on(
            [msg](TaskMachine& machine, EventTime now) { machine.alarm_over(msg.number, now); });
      },
  };
}

}  // namespace

TaskRunner spawn_task_runner(const actor::Owner& owner, TaskSetup setup) {
  return actor::spawn(owner, task_runner_actor, std::move(setup));
}

}  // namespace nomad::client
