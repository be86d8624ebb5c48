#include "actors/client/drivers/executor_tasks.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/signals.hpp"

namespace nomad::client {

using driver::Answered;
using driver::TaskId;
using executor_tasks::ReadingDue;
using Request = schema::plugin::DriverRequest;

namespace {

constexpr auto reading_timeout = std::chrono::seconds{10};
constexpr auto detect_timeout = std::chrono::seconds{20};

/// Stops nothing at once, but the task is killed after its grace all the same.
constexpr int no_signal = 0;

}  // namespace

struct ExecutorTasks::State {
  using Run = workload::TaskRuns::Run;
  using Stage = workload::TaskRuns::Stage;
  using Number = workload::TaskRuns::Number;

  struct Process {
    bool is_found = false;  ///< It was not started here.
    pid_t executor_pid = 0;
    host::UniqueFd last_request{};  ///< To end by itself.
    workload::DriverNetwork network{};
  };

  explicit State(ExecutorDriver::pointer actor) : self{actor} {}

  ExecutorDriver::pointer self;
  const Turns turns = actor::turns_of(self);
  const Turns urgent = actor::turns_of(self, actor::Priority::urgent);
  std::string name;
  ExecutorTraits traits;
  std::string executor_path;
  std::string cgroup_parent;
  UsageReader usage_reader;
  BlockingPool steps;
  PluginAgent agent;
  std::unique_ptr<host::ExecutorClient> executors;  ///< None before there is something to run.
  workload::TaskRuns runs{
      [this](const Run& run) { actor::send_urgent(self, agent, driver::exited(run)); }};
  std::map<Number, Process> processes;  ///< Of the runs.

  Nanoseconds now() const { return self->now().time_since_epoch(); }

  void init(const DriverOptions& options, ExecutorTraits wanted) {
    usage_reader = options.usage_reader;
    steps = options.steps;
    agent = options.agent;
    name = options.name;
    executor_path = options.executor_path;
    cgroup_parent = options.cgroup_parent;
    traits = std::move(wanted);
    // What ran while it was enabled, or found what it needs, has to be found again.
    if (std::error_code failure;
        (traits.enabled && !traits.detect) || std::filesystem::exists(traits.state_dir, failure))
      if (const auto opened = open_executors(); !opened)
        log::error("client", "a driver cannot be used",
                   {{"driver", name}, {"error", opened.error()}});
  }

  Result<> open_executors() {
    if (executors) return {};
    executors = NOMAD_TRY(host::ExecutorClient::open({.executor_path = executor_path,
                                                      .state_dir = traits.state_dir,
                                                      .cgroup_parent = cgroup_parent,
                                                      .use_cgroups = traits.use_cgroups,
                                                      .limits = traits.limits}));
    return {};
  }

  host::TaskListener listener_for(Number run) {
    return {.started = turns.callback(
                [this, run](const Result<host::TaskStarted>& outcome) { known(run, outcome); }),
            .exited = urgent.callback([this, run](const host::TaskExit& exit) {
              ended(run, {.code = exit.exit_code,
                          .signal = exit.signal,
                          .oom_killed = exit.oom_killed,
                          .error = exit.oom_killed ? "OOM Killed" : exit.reason});
            }),
            .lost = urgent.callback(
                [this, run](const Error& err) { ended(run, {.code = 1, .error = err.what}); })};
  }

  // -- starting and finding ----------------------------------------------------------------------

  actor::Answer<Answered> start(schema::plugin::TaskConfig::Reader config) {
    if (!traits.enabled) return driver::failed({Errc::rejected, name + " is disabled"});
    if (!traits.problem.empty()) return driver::failed({Errc::rejected, traits.problem});
    if (const auto opened = open_executors(); !opened)
      return driver::failed({Errc::rejected, opened.error().what});
    const auto id = driver::read_id(config.getId());
    auto promise = self->make_response_promise<Answered>();
    const auto begun = runs.start(id, view(config.getRunId()),
                                  driver::answer_by(promise, [this](const Run& run) {
                                    return driver::started({traits.handle_version, run.run_id},
                                                           processes.at(run.number).network);
                                  }));
    if (!begun) return promise;
    processes.erase(begun->replaced);
    if (auto command = traits.make_command(config)) {
      auto& process = processes[begun->number];
      if (traits.network_of) process.network = traits.network_of(config);
      executors->start(key(id), std::move(*command), listener_for(begun->number));
    } else {
      runs.failed(begun->number, {command.error()});
    }
    return promise;
  }

  actor::Answer<Answered> recover(schema::plugin::RecoverTask::Reader order) {
    if (const auto opened = open_executors(); !opened) return driver::failed(opened.error());
    const auto id = driver::read_id(order.getId());
    auto promise = self->make_response_promise<Answered>();
    const auto begun = runs.recover(id, view(order.getRunId()), driver::answer_recovered(promise));
    if (!begun) return promise;
    processes[begun->number].is_found = true;
    executors->attach(key(id), copy(order.getRunId()), listener_for(begun->number));
    return promise;
  }

  /// A start or an attach has come to this.
  void known(Number run, const Result<host::TaskStarted>& outcome) {
    const auto found = processes.find(run);
    if (found == processes.end()) return;
    if (outcome) {
      found->second.executor_pid = outcome->executor_pid;
      return runs.began(run, outcome->run_id);
    }
    const bool is_found = found->second.is_found;
    processes.erase(found);
    const auto& err = outcome.error();
    if (is_found) return runs.failed(run, {err});
    runs.failed(run, {err.within("failed to launch command with executor"), may_pass(err)});
  }

  /// Whether the executor could not be started for a reason that need not last.
  static bool may_pass(const Error& err) {
    return err.code == Errc::unavailable || err.code == Errc::timeout
           || err.code == Errc::overloaded;
  }

  void ended(Number run, const workload::ExitResult& result) {
    const auto found = processes.find(run);
    if (found != processes.end()) found->second.last_request.reset();
    runs.ended(run, result);
  }

  // -- orders ------------------------------------------------------------------------------------

  static std::string key(const TaskId& id) { return host::executor_key(id.alloc_id, id.task); }

  /// Gives an order, and answers with its outcome.
  template <class Give>
  actor::Answer<Answered> order(const Give& give) {
    auto answer = self->make_response_promise<Answered>();
    give(turns.callback([answer](const Result<>& outcome) {
      answer.deliver(outcome ? driver::done()
                             : driver::failed(outcome.error(), may_pass(outcome.error())));
    }));
    return answer;
  }

  actor::Answer<Answered> stop(schema::plugin::StopTask::Reader order_to) {
    const auto id = driver::read_id(order_to.getId());
    const auto* const run = runs.find(id);
    if (run == nullptr) return driver::found_nothing();
    if (run->result) return driver::done();
    const auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(Nanoseconds{order_to.getGrace()}, Nanoseconds{0}));
    int number = stop_signal(view(order_to.getSignal()));
    if (traits.ask_to_end && grace.count() > 0) {
      auto& request = processes[run->number].last_request;
      request = traits.ask_to_end(id);
      if (request) number = no_signal;
    }
    return order([&](auto done) { executors->stop(key(id), number, grace, std::move(done)); });
  }

  static int stop_signal(std::string_view wanted) {
    if (wanted.empty()) return SIGINT;
    if (const auto parsed = host::parse_signal(wanted)) return *parsed;
    log::warn("client", "unknown kill signal; using SIGINT", {{"signal", wanted}});
    return SIGINT;
  }

  actor::Answer<Answered> destroy(const TaskId& id) {
    if (!executors) return driver::done();
    const auto run = runs.destroy(id);
    if (run) processes.erase(run->number);
    self->send(usage_reader, usage::ForgetTask{key(id)});
    return order([&](auto done) {
      if (run && run->result)
        executors->acknowledge(key(id), std::move(done));
      else
        executors->purge(key(id), std::move(done));
    });
  }

  Answered end_others(capnp::List<schema::plugin::TaskId>::Reader wanted) {
    if (!executors) return driver::done();
    const auto found = executors->keys();
    if (!found) return driver::failed(found.error());
    std::set<std::string> kept;
    for (const auto id : wanted)
      kept.insert(key(driver::read_id(id)));
    for (const auto& [id, number] : runs.all())
      kept.insert(key(id));
    for (const auto& name : *found) {
      if (kept.contains(name)) continue;
      log::warn("client", "ending what is left of a task that no allocation of this node has",
                {{"key", name}});
      executors->purge(name, [name](Result<> outcome) {
        if (!outcome)
          log::error("client", "what is left of a task may still run",
                     {{"key", name}, {"error", outcome.error()}});
      });
    }
    return driver::done();
  }

  actor::Answer<Answered> signal(schema::plugin::SignalTask::Reader order_to) {
    if (!traits.description->getCapabilities().getSendSignals())
      return driver::failed({Errc::rejected, fmt::format("{} can't signal tasks", name)});
    const auto id = driver::read_id(order_to.getId());
    if (runs.find(id) == nullptr) return driver::found_nothing();
    const auto number = host::parse_signal(view(order_to.getSignal()));
    if (!number) return driver::failed(number.error());
    return order([&](auto done) { executors->signal(key(id), *number, std::move(done)); });
  }

  // -- usage -------------------------------------------------------------------------------------

  host::TaskProcesses processes_of(const Run& run) const {
    const auto name = key(run.id);
    return {.key = name,
            .executor_pid = processes.at(run.number).executor_pid,
            .cgroup = executors->cgroups().find(name)};
  }

  actor::Answer<Answered> usage(schema::plugin::TaskStats::Reader order_to) {
    const auto id = driver::read_id(order_to.getId());
    const auto* const run = runs.find(id);
    if (run == nullptr || run->stage == Stage::starting) return driver::found_nothing();
    if (!run->result) runs.usage().follow(id, Nanoseconds{order_to.getInterval()}, now());
    wake_for_streams();
    auto promise = self->make_response_promise<Answered>();
    self->request(usage_reader, reading_timeout, usage::ReadTasks{{processes_of(*run)}})
        .then(
            [promise](const usage::TaskUsages& answer) {
              promise.deliver(driver::used(answer.usages.empty() ? client_api::TaskUsage{}
                                                                 : answer.usages.front()));
            },
            [promise](const Error& err) {
              promise.deliver(driver::failed(err, /*recoverable=*/true));
            });
    return promise;
  }

  void wake_for_streams() {
    if (const auto wake = runs.usage().take_wake(now()))
      actor::send_self_after(self, wake->delay, ReadingDue{wake->round});
  }

  /// One question for all tasks that are due.
  void reading_due(std::uint64_t round) {
    const auto due = runs.usage().take_due(round, now());
    wake_for_streams();
    if (due.empty()) return;
    usage::ReadTasks question;
    for (const auto& reading : due)  // There are no streams of others.
      question.tasks.push_back(processes_of(*runs.find(reading.id)));
    self->request(usage_reader, reading_timeout, std::move(question))
        .then(
            [this, due](const usage::TaskUsages& answer) {
              for (std::size_t i = 0; i < due.size(); ++i)
                tell_usage(due[i],
                           i < answer.usages.size() ? answer.usages[i] : client_api::TaskUsage{});
            },
            [this, due](const Error& err) {
              for (const auto& reading : due)
                tell_usage(reading, err);
            });
  }

  void tell_usage(const workload::UsageStreams::Reading& reading,
                  const Result<client_api::TaskUsage>& usage) {
    if (runs.usage().end_reading(reading))
      self->send(agent, driver::told_usage(reading.id, runs.find(reading.id)->run_id, usage));
  }

  actor::Answer<Answered> exec(schema::plugin::ExecTask::Reader order_to) {
    if (!traits.description->getCapabilities().getExec()) return driver::no_exec();
    const auto id = driver::read_id(order_to.getId());
    const auto* const run = runs.find(id);
    if (run == nullptr || run->result) return driver::found_nothing();
    host::ExecCommand command{.command = {}, .tty = order_to.getTty()};
    for (const auto word : order_to.getCommand())
      command.command.push_back(copy(word));
    auto answer = self->make_response_promise<Answered>();
    using Ends = std::vector<host::UniqueFd>;
    executors->exec(
        key(id), std::move(command), order_to.getInTaskDirectory() ? "" : "/",
        turns.callback([answer](Result<Ends> ends) {
          if (!ends) return answer.deliver(driver::failed(ends.error()));
          answer.deliver(driver::exec_started(std::make_shared<Ends>(std::move(*ends))));
        }));
    return answer;
  }

  actor::Answer<Answered> health() {
    if (!traits.enabled || !traits.problem.empty())
      return driver::fingerprinted(driver::make_fingerprint(traits.enabled, false, traits.problem));
    if (!traits.detect)
      return driver::fingerprinted(health_with(
          driver::make_fingerprint(true, true, "Healthy", {{traits.attribute, "true"}})));
    using Found = Object<schema::plugin::Fingerprint>;
    auto promise = self->make_response_promise<Answered>();
    const auto look = [detect = traits.detect]() -> Result<Found> { return detect(); };
    self->request(steps, detect_timeout, blocking::make(look))
        .then(
            [this, promise](const blocking::Outcome& found) {
              promise.deliver(driver::fingerprinted(health_with(found.as<Found>())));
            },
            [promise](const Error& err) { promise.deliver(driver::failed(err)); });
    return promise;
  }

  /// With what was `found` on this machine. Executors are made ready only where there is something.
  Object<schema::plugin::Fingerprint> health_with(
      const Object<schema::plugin::Fingerprint>& found) {
    if (!found->getDetected()) return found;
    if (const auto opened = open_executors(); !opened)
      return driver::make_fingerprint(true, false, opened.error().what);
    if (traits.lacking)
      if (auto lacking = traits.lacking(executors->cgroups())) return std::move(*lacking);
    return found;
  }

  actor::Answer<Answered> answer(Request::Reader request) {
    switch (request.which()) {
      case Request::DESCRIBE:
        return driver::described(traits.description);
      case Request::FINGERPRINT:
        return health();
      case Request::START_TASK:
        return start(request.getStartTask());
      case Request::RECOVER_TASK:
        return recover(request.getRecoverTask());
      case Request::STOP_TASK:
        return stop(request.getStopTask());
      case Request::DESTROY_TASK:
        return destroy(driver::read_id(request.getDestroyTask()));
      case Request::END_OTHERS:
        return end_others(request.getEndOthers());
      case Request::SIGNAL_TASK:
        return signal(request.getSignalTask());
      case Request::TASK_STATS:
        return usage(request.getTaskStats());
      case Request::EXEC_TASK:
        return exec(request.getExecTask());
    }
    return driver::unknown();
  }
};

ExecutorTasks::ExecutorTasks(ExecutorDriver::pointer self)
    : state_{std::make_unique<State>(self)} {}

ExecutorTasks::~ExecutorTasks() = default;

void ExecutorTasks::init(const DriverOptions& options, ExecutorTraits traits) {
  state_->init(options, std::move(traits));
}

ExecutorDriver::behavior_type ExecutorTasks::behavior() {
  return {
      [this](const driver::Ask& msg) { return state_->answer(*msg.request); },
      [this](ReadingDue msg) { state_->reading_due(msg.round); },
  };
}

Result<host::TaskCommand> plain_command(schema::plugin::TaskConfig::Reader config) {
  const auto reader = NOMAD_TRY(ConfigReader::parse(view(config.getConfig())));
  auto command = NOMAD_TRY(bare_command(config));
  command.command = reader.text("command");
  command.arguments = reader.texts("args");
  if (command.command.empty())
    return Error{Errc::invalid_argument,
                 "failed to parse config: missing required argument \"command\""};
  return command;
}

Result<host::TaskCommand> bare_command(schema::plugin::TaskConfig::Reader config) {
  host::TaskCommand command{.run_id = copy(config.getRunId()),
                            .command = {},
                            .arguments = {},
                            .environment = {},
                            .task_directory = copy(config.getTaskDirectory()),
                            .search_path = {},
                            .user = {},
                            .logs = {},
                            .limits = {},
                            .network_namespace = copy(config.getNetworkNamespace())};
  for (const auto variable : config.getEnvironment())
    command.environment.push_back(copy(variable));
  if (config.getUser().size() > 0)
    command.user = NOMAD_TRY(host::find_user(copy(config.getUser())));
  const auto logs = config.getLogs();
  if (!logs.getDisabled())
    command.logs = host::TaskLogs{.alloc_root = copy(config.getAllocRoot()),
                                  .task = copy(config.getId().getTask()),
                                  .max_files = logs.getMaxFiles(),
                                  .max_file_bytes = logs.getMaxFileBytes()};
  command.cgroup_limits.cpus = copy(config.getResources().getCpuset());
  return command;
}

}  // namespace nomad::client
