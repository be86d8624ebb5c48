#include "actors/client/drivers/mock_driver.hpp"

#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "actors/client/drivers/mock_task.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::client {
namespace {

using driver::Done;
using driver::Started;
using driver::TaskId;

/// Something of the schedule is due.
struct EventDue {
  using is_message = void;
  std::uint64_t round;
};

using MockSelf = actor::WithInternal<Driver, void(EventDue)>;

enum class Act : std::uint8_t { start, out, err, end, crash };

struct Running {
  std::shared_ptr<const driver::TaskConfig> config;  ///< Until it has started.
  std::shared_ptr<const MockTask> task;
  std::string run_id;
  std::uint64_t serial = 0;  ///< Tells this run from others of the same task.
  TaskListener listener;
  actor::Promise<Started> owed;
  std::string handle;
  MockLog out;
  MockLog err;
  std::int64_t out_left = 0;
  std::int64_t err_left = 0;
  bool stopping = false;
  bool ended = false;
};

struct Event {
  TaskId id;
  std::uint64_t serial = 0;
  Act act = Act::end;
};

struct MockState {
  static constexpr const char* name = "mock_driver";

  explicit MockState(MockSelf::pointer actor) : self{actor} {}

  MockSelf::pointer self;
  std::function<std::int64_t()> unix_now;
  std::map<TaskId, Running> tasks;
  std::multimap<Nanoseconds, Event> schedule;
  std::optional<Nanoseconds> timer;
  std::uint64_t round = 0;
  std::uint64_t serials = 0;
  Random random{1};
  std::optional<Nanoseconds> disabled_from;

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  // -- starting ----------------------------------------------------------------------------------

  actor::Answer<Started> start(driver::StartTask& msg) {
    auto& running = tasks[msg.config->id];
    running.listener = msg.listener;
    if (!running.run_id.empty() && running.run_id == msg.config->run_id)
      return Started{running.handle, running.task->network};
    if (!running.run_id.empty() && !running.ended)
      return Error{Errc::conflict, "task is already running"};
    auto task = parse_mock_task(msg.config->config);
    if (!task) {
      tasks.erase(msg.config->id);
      return task.error();
    }
    running = {.config = msg.config,
               .task = std::make_shared<const MockTask>(std::move(*task)),
               .run_id = msg.config->run_id,
               .serial = ++serials,
               .listener = msg.listener,
               .owed = self->make_response_promise<Started>(),
               .handle = {},
               .out = MockLog{*msg.config, "stdout"},
               .err = MockLog{*msg.config, "stderr"}};
    auto owed = running.owed;
    if (running.task->start_block_for.count() > 0)
      plan(running.task->start_block_for, msg.config->id, running, Act::start);
    else
      finish_start(msg.config->id, running);
    return owed;
  }

  void finish_start(const TaskId& id, Running& running) {
    auto owed = running.owed;
    const auto task = running.task;
    if (!task->start_error.empty()) {
      tasks.erase(id);
      owed.deliver(Error{task->start_error_recoverable ? Errc::unavailable : Errc::rejected,
                         task->start_error});
      return;
    }
    running.handle = boost::json::serialize(
        boost::json::object{{"started_at", unix_now()}, {"config", running.config->config}});
    running.config.reset();
    running.owed = {};
    owed.deliver(Started{running.handle, task->network});
    run(id, running, Nanoseconds{0});
  }

  /// The task runs, and has done so for `elapsed` under an earlier agent.
  void run(const TaskId& id, Running& running, Nanoseconds elapsed) {
    const auto& command = running.task->command;
    if (elapsed.count() == 0) {
      running.out_left = command.out.repeat;
      running.err_left = command.err.repeat;
      write(id, running, Act::out);
      write(id, running, Act::err);
    }
    plan(std::max(command.run_for - elapsed, Nanoseconds{0}), id, running, Act::end);
    if (running.task->plugin_exit_after.count() > 0 && elapsed.count() == 0)
      plan(running.task->plugin_exit_after, id, running, Act::crash);
  }

  Result<driver::Recovered> recover(const driver::RecoverTask& msg) {
    const auto known = tasks.find(msg.id);
    if (known != tasks.end() && (msg.run_id.empty() || known->second.run_id == msg.run_id)) {
      known->second.listener = msg.listener;
      if (known->second.ended) tell_end(msg.id, known->second);
      return driver::Recovered{known->second.run_id};
    }
    if (msg.handle.empty()) return Error{Errc::not_found, "it was never started"};
    const auto handle = parse_json(msg.handle);
    if (!handle || !handle->is_object() || !handle->get_object().contains("config"))
      return Error{Errc::corrupt, "the handle is not one of ours"};
    auto task = NOMAD_TRY(parse_mock_task(handle->get_object().at("config")));
    auto& running = tasks[msg.id];
    running = {.config = {},
               .task = std::make_shared<const MockTask>(std::move(task)),
               .run_id = msg.run_id,
               .serial = ++serials,
               .listener = msg.listener,
               .owed = {},
               .handle = msg.handle,
               .out = {},
               .err = {}};
    const auto* const started_at = handle->get_object().if_contains("started_at");
    const auto elapsed
        = started_at != nullptr && started_at->is_int64() ? unix_now() - started_at->as_int64() : 0;
    run(msg.id, running, Nanoseconds{std::max<std::int64_t>(elapsed, 1)});
    return driver::Recovered{msg.run_id};
  }

  // -- running -----------------------------------------------------------------------------------

  void write(const TaskId& id, Running& running, Act act) {
    auto& log = act == Act::out ? running.out : running.err;
    auto& left = act == Act::out ? running.out_left : running.err_left;
    const auto& output = act == Act::out ? running.task->command.out : running.task->command.err;
    if (output.text.empty() || running.ended || running.stopping) return;
    if (const auto written = log.write(output.text); !written) {
      log::warn("client", "mock_driver: {}", written.error().what);
      return;
    }
    if (left-- > 0) plan(output.pause, id, running, act);
  }

  void end(const TaskId& id, Running& running) {
    if (running.ended) return;
    running.ended = true;
    tell_end(id, running);
  }

  void tell_end(const TaskId& id, const Running& running) {
    self->send(running.listener, driver::Exited{id, running.run_id, running.task->command.result});
  }

  Result<> stop(const driver::StopTask& msg) {
    const auto known = tasks.find(msg.id);
    if (known == tasks.end()) return Error{Errc::not_found, "task not found"};
    known->second.stopping = true;
    const auto kill_after = std::min<Nanoseconds>(known->second.task->kill_after, msg.grace);
    plan(kill_after, msg.id, known->second, Act::end);
    return {};
  }

  Result<> signal(const driver::SignalTask& msg) {
    const auto known = tasks.find(msg.id);
    if (known == tasks.end()) return Error{Errc::not_found, "task not found"};
    const auto& refusal = known->second.task->command.signal_error;
    if (!refusal.empty()) return Error{Errc::rejected, refusal};
    return {};
  }

  // -- the schedule ------------------------------------------------------------------------------

  void plan(Nanoseconds delay, const TaskId& id, const Running& running, Act act) {
    schedule.emplace(now() + delay, Event{id, running.serial, act});
    arm();
  }

  void arm() {
    if (schedule.empty()) return;
    const auto next = schedule.begin()->first;
    if (timer && *timer <= next) return;
    timer = next;
    actor::send_self_after(self, std::max(next - now(), Nanoseconds{0}), EventDue{++round});
  }

  void due(std::uint64_t of_round) {
    if (of_round != round) return;
    timer.reset();
    while (!schedule.empty() && schedule.begin()->first <= now()) {
      const auto event = std::move(schedule.begin()->second);
      schedule.erase(schedule.begin());
      const auto found = tasks.find(event.id);
      if (found == tasks.end() || found->second.serial != event.serial) continue;
      perform(event, found->second);
    }
    arm();
  }

  void perform(const Event& event, Running& running) {
    switch (event.act) {
      case Act::start:
        finish_start(event.id, running);
        return;
      case Act::out:
      case Act::err:
        write(event.id, running, event.act);
        return;
      case Act::end:
        end(event.id, running);
        return;
      case Act::crash:
        if (!running.ended) self->quit(Error{Errc::unavailable, "plugin_exit_after"});
        return;
    }
  }

  driver::Health health() const {
    if (disabled_from && now() >= *disabled_from)
      return {.detected = false, .healthy = false, .description = "disabled", .attributes = {}};
    return {.detected = true,
            .healthy = true,
            .description = "Healthy",
            .attributes = {{"driver.mock", "true"}}};
  }

  client_api::TaskUsage usage() {
    client_api::TaskUsage usage;
    usage.memory.rss = random.below(1 << 30);
    usage.memory.measured = {"RSS"};
    usage.timestamp = unix_now();
    return usage;
  }
};

MockSelf::behavior_type mock_driver(MockSelf::stateful_pointer<MockState> self,
                                    const DriverOptions& options) {
  self->state.unix_now = options.unix_now;
  const auto setting = [&options](const char* key) {
    const auto found = options.config.find(key);
    return found == options.config.end() ? std::string{} : found->second;
  };
  if (setting("shutdown_periodic_after") == "true") {
    const auto after = parse_duration(setting("shutdown_periodic_duration"));
    self->state.disabled_from = self->state.now() + (after ? *after : Nanoseconds{0});
  }
  const auto done = [](const Result<>& outcome) -> actor::Answer<Done> {
    if (!outcome) return outcome.error();
    return Done{};
  };
  return {
      [self](driver::StartTask& msg) { return self->state.start(msg); },
      [self](const driver::RecoverTask& msg) { return actor::answer(self->state.recover(msg)); },
      [](const driver::EndOthers&) { return driver::Done{}; },  // Its tasks end with the agent.
      [self, done](const driver::StopTask& msg) { return done(self->state.stop(msg)); },
      [self](const driver::DestroyTask& msg) {
        self->state.tasks.erase(msg.id);
        return Done{};
      },
      [self, done](const driver::SignalTask& msg) { return done(self->state.signal(msg)); },
      [self](const driver::TaskStats&) { return self->state.usage(); },
      [](const driver::ExecTask&) -> actor::Answer<client_api::ExecStarted> {
        return driver::no_exec();
      },
      [self](driver::Fingerprint) { return self->state.health(); },
      [self](EventDue msg) { self->state.due(msg.round); },
  };
}

}  // namespace

DriverEntry mock_driver_entry() {
  return {
      .capabilities = {.fs_isolation = "none", .send_signals = true, .secrets_in_memory = false},
      .spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
        return actor::spawn(owner, mock_driver, options);
      }};
}

}  // namespace nomad::client
