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

namespace nomad::client {
namespace {

using driver::Answered;
using driver::TaskId;
using workload::TaskRuns;
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
  workload::TaskHandle handle;
  std::unique_ptr<MockLogs> logs;  ///< Of one that has something to say.
  std::int64_t out_left = 0;
  std::int64_t err_left = 0;
  bool stopping = false;
};

struct Event {
  TaskRuns::Number run = 0;
  Act act = Act::end;
};

struct MockState {
  static constexpr const char* name = "mock_driver";

  explicit MockState(MockSelf::pointer actor) : self{actor} {}

  MockSelf::pointer self;
  std::function<std::int64_t()> unix_now;
  PluginAgent agent;
  TaskRuns runs{
      [this](const TaskRuns::Run& run) { actor::send_urgent(self, agent, driver::exited(run)); }};
  std::map<TaskRuns::Number, Running> tasks;  ///< Of the runs.
  std::multimap<Nanoseconds, Event> schedule;
  std::optional<Nanoseconds> timer;
  std::uint64_t round = 0;
  Random random{1};
  std::optional<Nanoseconds> disabled_from;
  Object<schema::plugin::DriverDescription> description;
  std::string last_config;  ///< What was read last, and made of it.
  std::shared_ptr<const MockTask> last_read;

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  // -- starting ----------------------------------------------------------------------------------

  actor::Answer<Answered> start(schema::plugin::TaskConfig::Reader config) {
    const auto id = driver::read_id(config.getId());
    auto promise = self->make_response_promise<Answered>();
    const auto begun = runs.start(id, view(config.getRunId()),
                                  driver::answer_by(promise, [this](const TaskRuns::Run& run) {
                                    const auto& running = tasks.at(run.number);
                                    return driver::started(running.handle, running.task->network);
                                  }));
    if (!begun) return promise;
    tasks.erase(begun->replaced);
    auto task = read_task(view(config.getConfig()));
    if (!task) {
      runs.failed(begun->number, {task.error()});
      return promise;
    }
    auto& running = tasks[begun->number];
    running
        = {.config = copy(config.getConfig()), .task = std::move(*task), .handle = {}, .logs = {}};
    const auto& command = running.task->command;
    if (!command.out.text.empty() || !command.err.text.empty())
      running.logs = std::make_unique<MockLogs>(MockLogs{{config, "stdout"}, {config, "stderr"}});
    if (running.task->start_block_for.count() > 0)
      plan(running.task->start_block_for, begun->number, Act::start);
    else
      finish_start(begun->number, running);
    return promise;
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

  void finish_start(TaskRuns::Number number, Running& running) {
    const auto task = running.task;
    if (!task->start_error.empty()) {
      tasks.erase(number);
      return runs.failed(number,
                         {{Errc::rejected, task->start_error}, task->start_error_recoverable});
    }
    running.handle
        = {.version = mock_handle,
           .data = fmt::format(R"({{"started_at":{},"config":{}}})", unix_now(), running.config)};
    running.config = {};
    runs.began(number, std::string{runs.find(number)->run_id});
    run(number, running, Nanoseconds{0});
  }

  /// The task runs, and has done so for `elapsed` under an earlier agent.
  void run(TaskRuns::Number number, Running& running, Nanoseconds elapsed) {
    const auto& command = running.task->command;
    if (elapsed.count() == 0) {
      running.out_left = command.out.repeat;
      running.err_left = command.err.repeat;
      write(number, running, Act::out);
      write(number, running, Act::err);
    }
    plan(std::max(command.run_for - elapsed, Nanoseconds{0}), number, Act::end);
    if (running.task->plugin_exit_after.count() > 0 && elapsed.count() == 0)
      plan(running.task->plugin_exit_after, number, Act::crash);
  }

  actor::Answer<Answered> recover(schema::plugin::RecoverTask::Reader order) {
    auto promise = self->make_response_promise<Answered>();
    const auto begun = runs.recover(driver::read_id(order.getId()), view(order.getRunId()),
                                    driver::answer_recovered(promise));
    if (begun)
      if (const auto found = run_again(begun->number, order); !found)
        runs.failed(begun->number, {found.error()});
    return promise;
  }

  Result<> run_again(TaskRuns::Number number, schema::plugin::RecoverTask::Reader order) {
    if (!order.hasHandle()) return Error{Errc::not_found, "it was never started"};
    auto handle = driver::read_handle(order.getHandle());
    const auto read = NOMAD_TRY(read_handle(handle));
    auto& running = tasks[number];
    running = {.config = {},
               .task = std::make_shared<const MockTask>(read.task),
               .handle = std::move(handle),
               .logs = {}};
    runs.began(number, view(order.getRunId()));
    run(number, running, Nanoseconds{std::max<std::int64_t>(unix_now() - read.started_at, 1)});
    return {};
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

  void write(TaskRuns::Number number, Running& running, Act act) {
    auto& left = act == Act::out ? running.out_left : running.err_left;
    const auto& output = act == Act::out ? running.task->command.out : running.task->command.err;
    if (!running.logs || output.text.empty() || !runs.is_running(number) || running.stopping)
      return;
    auto& log = act == Act::out ? running.logs->out : running.logs->err;
    if (const auto written = log.write(output.text); !written) {
      log::warn("client", "writing a task's output failed",
                {{"driver", "mock_driver"}, {"error", written.error()}});
      return;
    }
    if (left-- > 0) plan(output.pause, number, act);
  }

  Answered stop(schema::plugin::StopTask::Reader order) {
    const auto* const known = runs.find(driver::read_id(order.getId()));
    if (known == nullptr) return driver::found_nothing();
    auto& running = tasks.at(known->number);
    running.stopping = true;
    plan(std::min(running.task->kill_after, Nanoseconds{order.getGrace()}), known->number,
         Act::end);
    return driver::done();
  }

  Answered destroy(const TaskId& id) {
    if (const auto run = runs.destroy(id)) tasks.erase(run->number);
    return driver::done();
  }

  Answered signal(schema::plugin::SignalTask::Reader order) {
    const auto* const known = runs.find(driver::read_id(order.getId()));
    if (known == nullptr) return driver::found_nothing();
    const auto& refusal = tasks.at(known->number).task->command.signal_error;
    if (!refusal.empty()) return driver::failed({Errc::rejected, refusal});
    return driver::done();
  }

  // -- the schedule ------------------------------------------------------------------------------

  void plan(Nanoseconds delay, TaskRuns::Number number, Act act) {
    schedule.emplace(now() + delay, Event{number, act});
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
      const auto event = schedule.begin()->second;
      schedule.erase(schedule.begin());
      if (const auto found = tasks.find(event.run); found != tasks.end())
        perform(event, found->second);
    }
    arm();
  }

  void perform(const Event& event, Running& running) {
    switch (event.act) {
      case Act::start:
        finish_start(event.run, running);
        return;
      case Act::out:
      case Act::err:
        write(event.run, running, event.act);
        return;
      case Act::end:
        runs.ended(event.run, running.task->command.result);
        return;
      case Act::crash:
        if (runs.is_running(event.run)) self->quit(Error{Errc::unavailable, "plugin_exit_after"});
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
    const auto* const known = runs.find(id);
    if (known == nullptr) return driver::found_nothing();
    if (runs.is_running(known->number))
      runs.usage().follow(id, Nanoseconds{order.getInterval()}, now());
    wake_for_streams();
    return driver::used(usage());
  }

  void wake_for_streams() {
    if (const auto wake = runs.usage().take_wake(now()))
      actor::send_self_after(self, wake->delay, MockUsageDue{wake->round});
  }

  void usage_due(std::uint64_t of_round) {
    for (const auto& reading : runs.usage().take_due(of_round, now()))
      if (runs.usage().end_reading(reading))
        self->send(agent, driver::told_usage(reading.id, runs.find(reading.id)->run_id, usage()));
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
    agent = options.agent;
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
      case Request::RECOVER_TASK:
        return recover(request.getRecoverTask());
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
