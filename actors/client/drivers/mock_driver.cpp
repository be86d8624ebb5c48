#include "actors/client/drivers/mock_driver.hpp"

#include <algorithm>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/drivers/mock_task.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/workload/runs/usage_streams.hpp"

namespace nomad::client {
namespace {

using driver::Answered;
using driver::TaskId;
using Request = schema::plugin::DriverRequest;

/// Of its handles.
constexpr std::uint32_t mock_handle = 1;

/// Something of the schedule is due.
struct EventDue {
  using is_message = void;
  std::uint64_t round;
};

/// A stream of usage is due.
struct MockUsageDue {
  using is_message = void;
  std::uint64_t round;
};

using MockSelf = actor::WithInternal<Driver, void(EventDue), void(MockUsageDue)>;

enum class Act : std::uint8_t { start, out, err, end, crash };

struct MockLogs {
  MockLog out;
  MockLog err;
};

struct Running {
  std::string config;  ///< As it was given, for the handle.
  std::shared_ptr<const MockTask> task;
  std::string run_id;
  std::uint64_t serial = 0;  ///< Tells this run from others of the same task.
  actor::Promise<Answered> owed;
  workload::TaskHandle handle;
  std::unique_ptr<MockLogs> logs;  ///< Of one that has something to say.
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
  PluginHost host;
  std::map<TaskId, Running> tasks;
  std::multimap<Nanoseconds, Event> schedule;
  std::optional<Nanoseconds> timer;
  std::uint64_t round = 0;
  std::uint64_t serials = 0;
  workload::UsageStreams streams;
  Random random{1};
  std::optional<Nanoseconds> disabled_from;
  Object<schema::plugin::DriverDescription> description;
  std::string last_config;  ///< What was read last, and made of it.
  std::shared_ptr<const MockTask> last_read;

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  // -- starting ----------------------------------------------------------------------------------

  actor::Answer<Answered> start(schema::plugin::TaskConfig::Reader config) {
    const auto id = driver::read_id(config.getId());
    auto& running = tasks[id];
    if (!running.run_id.empty() && view(config.getRunId()) == running.run_id) {
      if (!running.owed.pending()) return driver::started(running.handle, running.task->network);
      return running.owed = self->make_response_promise<Answered>();  // Who asked before is gone.
    }
    if (!running.run_id.empty() && !running.ended)
      return driver::failed({Errc::conflict, "task is already running"});
    auto task = read_task(view(config.getConfig()));
    if (!task) {
      tasks.erase(id);
      return driver::failed(task.error());
    }
    running = {.config = copy(config.getConfig()),
               .task = std::move(*task),
               .run_id = copy(config.getRunId()),
               .serial = ++serials,
               .owed = self->make_response_promise<Answered>(),
               .handle = {},
               .logs = {}};
    const auto& command = running.task->command;
    if (!command.out.text.empty() || !command.err.text.empty())
      running.logs = std::make_unique<MockLogs>(MockLogs{{config, "stdout"}, {config, "stderr"}});
    auto owed = running.owed;
    if (running.task->start_block_for.count() > 0)
      plan(running.task->start_block_for, id, running, Act::start);
    else
      finish_start(id, running);
    return owed;
  }

  /// Tasks of one job are mostly alike, and share it.
  Result<std::shared_ptr<const MockTask>> read_task(std::string_view config) {
    if (!last_read || last_config != config) {
      auto task = NOMAD_TRY(parse_mock_task(NOMAD_TRY(ConfigReader::parse(config))));
      last_read = std::make_shared<const MockTask>(std::move(task));
      last_config = config;
    }
    return last_read;
  }

  void finish_start(const TaskId& id, Running& running) {
    auto owed = std::exchange(running.owed, {});
    const auto task = running.task;
    if (!task->start_error.empty()) {
      tasks.erase(id);
      owed.deliver(
          driver::failed({Errc::rejected, task->start_error}, task->start_error_recoverable));
      return;
    }
    running.handle
        = {.version = mock_handle,
           .data = fmt::format(R"({{"started_at":{},"config":{}}})", unix_now(), running.config)};
    running.config = {};
    owed.deliver(driver::started(running.handle, task->network));
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

  Result<Answered> recover(schema::plugin::RecoverTask::Reader order) {
    const auto id = driver::read_id(order.getId());
    const auto asked = view(order.getRunId());
    const auto known = tasks.find(id);
    if (known != tasks.end() && (asked.empty() || known->second.run_id == asked)) {
      if (known->second.ended) tell_end(id, known->second);
      return driver::recovered(known->second.run_id);
    }
    if (!order.hasHandle()) return Error{Errc::not_found, "it was never started"};
    auto handle = driver::read_handle(order.getHandle());
    const auto read = NOMAD_TRY(read_handle(handle));
    auto& running = tasks[id];
    running = {.config = {},
               .task = std::make_shared<const MockTask>(read.task),
               .run_id = std::string{asked},
               .serial = ++serials,
               .owed = {},
               .handle = std::move(handle),
               .logs = {}};
    run(id, running, Nanoseconds{std::max<std::int64_t>(unix_now() - read.started_at, 1)});
    return driver::recovered(asked);
  }

  struct OfHandle {
    std::int64_t started_at = 0;
    MockTask task;
  };

  Result<OfHandle> read_handle(const workload::TaskHandle& handle) const {
    const Error foreign{Errc::corrupt, "the handle is not one of ours"};
    if (handle.version > mock_handle) return foreign;
    auto parsed = parse_json(handle.data);
    if (!parsed || !parsed->is_object()) return foreign;
    const auto* const config = parsed->get_object().if_contains("config");
    if (config == nullptr || !config->is_object()) return foreign;
    // Before there were versions the configuration was kept as the job has it.
    auto fields = handle.version == 0 ? NOMAD_TRY(apply_fields(description->getConfig(), *config))
                                      : config->get_object();
    const ConfigReader reader{std::move(parsed->get_object())};
    return OfHandle{.started_at = reader.number("started_at", unix_now()),
                    .task = NOMAD_TRY(parse_mock_task(ConfigReader{std::move(fields)}))};
  }

  // -- running -----------------------------------------------------------------------------------

  void write(const TaskId& id, Running& running, Act act) {
    auto& left = act == Act::out ? running.out_left : running.err_left;
    const auto& output = act == Act::out ? running.task->command.out : running.task->command.err;
    if (!running.logs || output.text.empty() || running.ended || running.stopping) return;
    auto& log = act == Act::out ? running.logs->out : running.logs->err;
    if (const auto written = log.write(output.text); !written) {
      log::warn("client", "mock_driver: {}", written.error().what);
      return;
    }
    if (left-- > 0) plan(output.pause, id, running, act);
  }

  void end(const TaskId& id, Running& running) {
    if (running.ended) return;
    running.ended = true;
    streams.drop(id);
    tell_end(id, running);
  }

  void tell_end(const TaskId& id, const Running& running) {
    actor::send_urgent(self, host,
                       driver::exited(id, running.run_id, running.task->command.result));
  }

  Answered stop(schema::plugin::StopTask::Reader order) {
    const auto id = driver::read_id(order.getId());
    const auto known = tasks.find(id);
    if (known == tasks.end()) return driver::found_nothing();
    known->second.stopping = true;
    plan(std::min(known->second.task->kill_after, Nanoseconds{order.getGrace()}), id, known->second,
         Act::end);
    return driver::done();
  }

  Answered destroy(const TaskId& id) {
    tasks.erase(id);
    streams.drop(id);
    return driver::done();
  }

  Answered signal(schema::plugin::SignalTask::Reader order) {
    const auto known = tasks.find(driver::read_id(order.getId()));
    if (known == tasks.end()) return driver::found_nothing();
    const auto& refusal = known->second.task->command.signal_error;
    if (!refusal.empty()) return driver::failed({Errc::rejected, refusal});
    return driver::done();
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

  Object<schema::plugin::Fingerprint> health() const {
    if (disabled_from && now() >= *disabled_from)
      return driver::make_fingerprint(false, false, "disabled");
    return driver::make_fingerprint(true, true, "Healthy", {{"driver.mock", "true"}});
  }

  Answered answer_usage(schema::plugin::TaskStats::Reader order) {
    const auto id = driver::read_id(order.getId());
    const auto known = tasks.find(id);
    if (known == tasks.end()) return driver::found_nothing();
    if (!known->second.ended) streams.follow(id, Nanoseconds{order.getInterval()}, now());
    wake_for_streams();
    return driver::used(usage());
  }

  void wake_for_streams() {
    if (const auto wake = streams.take_wake(now()))
      actor::send_self_after(self, wake->delay, MockUsageDue{wake->round});
  }

  void usage_due(std::uint64_t of_round) {
    for (const auto& reading : streams.take_due(of_round, now()))
      if (streams.end_reading(reading))
        self->send(host, driver::told_usage(reading.id, tasks.at(reading.id).run_id, usage()));
    wake_for_streams();
  }

  client_api::TaskUsage usage() {
    client_api::TaskUsage usage;
    usage.memory.rss = random.below(1 << 30);
    usage.memory.measured = {"RSS"};
    usage.timestamp = unix_now();
    return usage;
  }

  void init(const DriverOptions& options) {
    unix_now = options.unix_now;
    host = options.host;
    const auto setting = [&options](const char* key) {
      const auto found = options.config.find(key);
      return found == options.config.end() ? std::string{} : found->second;
    };
    if (setting("shutdown_periodic_after") == "true") {
      const auto after = parse_duration(setting("shutdown_periodic_duration"));
      disabled_from = now() + (after ? *after : Nanoseconds{0});
    }
    Draft<schema::plugin::DriverDescription> draft;
    draft->initCapabilities().setFsIsolation("none");
    draft->getCapabilities().setSendSignals(true);
    draft->getCapabilities().setMounts(true);
    write_fields(mock_fields(), draft->initConfig(static_cast<unsigned>(mock_fields().size())));
    description = draft.freeze();
  }

  actor::Answer<Answered> answer(Request::Reader request) {
    switch (request.which()) {
      case Request::DESCRIBE:
        return driver::described(description);
      case Request::FINGERPRINT:
        return driver::fingerprinted(health());
      case Request::START_TASK:
        return start(request.getStartTask());
      case Request::RECOVER_TASK: {
        auto outcome = recover(request.getRecoverTask());
        return outcome ? std::move(*outcome) : driver::failed(outcome.error());
      }
      case Request::STOP_TASK:
        return stop(request.getStopTask());
      case Request::DESTROY_TASK:
        return destroy(driver::read_id(request.getDestroyTask()));
      case Request::END_OTHERS:
        return driver::done();  // Its tasks end with the agent.
      case Request::SIGNAL_TASK:
        return signal(request.getSignalTask());
      case Request::TASK_STATS:
        return answer_usage(request.getTaskStats());
      case Request::EXEC_TASK:
        return driver::no_exec();
    }
    return driver::unknown();
  }
};

MockSelf::behavior_type mock_driver(MockSelf::stateful_pointer<MockState> self,
                                    const DriverOptions& options) {
  self->state.init(options);
  return {
      [self](const driver::Ask& msg) { return self->state.answer(*msg.request); },
      [self](EventDue msg) { self->state.due(msg.round); },
      [self](MockUsageDue msg) { self->state.usage_due(msg.round); },
  };
}

}  // namespace

DriverEntry mock_driver_entry() {
  return {.spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
    return actor::spawn(owner, mock_driver, options);
  }};
}

}  // namespace nomad::client
