#include "actors/client/drivers/raw_exec.hpp"

#include <csignal>
#include <filesystem>
#include <set>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/executor_client.hpp"
#include "runtime/host/signals.hpp"

namespace nomad::client {
namespace {

using driver::Done;
using driver::Started;
using driver::TaskId;

constexpr auto stats_timeout = std::chrono::seconds{10};

/// From the executor client's thread: a start or an attach has come to this.
struct ProcessKnown {
  using is_message = void;
  TaskId id;
  std::string run_id;
  Result<host::TaskStarted> outcome;
};

struct ProcessEnded {
  using is_message = void;
  TaskId id;
  std::string run_id;
  workload::ExitResult result;
};

/// An order has been carried out or refused.
struct OrderDone {
  using is_message = void;
  std::uint64_t ticket;
  Result<> outcome;
};

/// A command runs beside a task, or does not.
struct CommandKnown {
  using is_message = void;
  std::uint64_t ticket;
  Result<std::shared_ptr<host::ExecSession>> outcome;
};

using RawExecSelf = actor::WithInternal<Driver,
                                        void(ProcessKnown),
                                        void(ProcessEnded),
                                        void(OrderDone),
                                        void(CommandKnown)>;

struct Process {
  std::string asked;   ///< The run that was asked for; empty: any.
  std::string run_id;  ///< That there is.
  TaskListener listener;
  pid_t executor_pid = 0;
  bool ended = false;
  actor::Promise<Started> starting;  ///< One of the two while it is not known.
  actor::Promise<driver::Recovered> recovering;
  std::optional<workload::ExitResult> early_exit;  ///< Told before it was known what runs.
};

struct RawExecState {
  static constexpr const char* name = "raw_exec";

  explicit RawExecState(RawExecSelf::pointer actor) : self{actor} {}

  RawExecSelf::pointer self;
  StatsReader stats;
  bool enabled = false;
  bool use_cgroups = true;
  std::string problem;  ///< Why nothing can be run here.
  std::unique_ptr<host::ExecutorClient> executors;
  std::map<TaskId, Process> processes;
  std::map<std::uint64_t, actor::Promise<Done>> orders;
  std::map<std::uint64_t, actor::Promise<client_api::ExecStarted>> commands;
  std::uint64_t tickets = 0;

  void init(const DriverOptions& options) {
    stats = options.stats;
    const auto is_set = [&options](const char* key) {
      const auto found = options.config.find(key);
      return found != options.config.end() && (found->second == "true" || found->second == "1");
    };
    enabled = is_set("enabled");
    use_cgroups = !is_set("no_cgroups");
    const auto state_dir = options.state_dir + "/executors";
    if (!enabled) problem = "disabled";
    // What ran while it was enabled has to end.
    if (std::error_code failure; !enabled && !std::filesystem::exists(state_dir, failure)) return;
    auto opened = host::ExecutorClient::open({.executor_path = options.executor_path,
                                              .state_dir = state_dir,
                                              .cgroup_parent = options.cgroup_parent,
                                              .use_cgroups = use_cgroups});
    if (opened) {
      executors = std::move(*opened);
      return;
    }
    log::error("client", "raw_exec cannot be used: {}", opened.error().what);
    if (enabled) problem = opened.error().what;
  }

  host::TaskListener listener_for(const TaskId& id, const std::string& run_id) {
    const RawExecSelf internal{self};
    return {.started =
                [internal, id, run_id](Result<host::TaskStarted> outcome) {
                  actor::tell(internal, ProcessKnown{id, run_id, std::move(outcome)});
                },
            .exited =
                [internal, id, run_id](const host::TaskExit& exit) {
                  actor::tell_urgent(
                      internal,
                      ProcessEnded{id,
                                   run_id,
                                   {.code = exit.exit_code,
                                    .signal = exit.signal,
                                    .oom_killed = exit.oom_killed,
                                    .error = exit.oom_killed ? "OOM Killed" : exit.reason}});
                },
            .lost =
                [internal, id, run_id](const Error& err) {
                  actor::tell_urgent(internal,
                                     ProcessEnded{id, run_id, {.code = 1, .error = err.what}});
                }};
  }

  // -- starting and finding ----------------------------------------------------------------------

  actor::Answer<Started> start(const driver::StartTask& msg) {
    if (!enabled || !executors)
      return Error{Errc::rejected, enabled ? problem : "raw_exec is disabled"};
    auto command = NOMAD_TRY(command_of(*msg.config));
    const auto& id = msg.config->id;
    auto& process = processes[id];
    process = {.asked = msg.config->run_id,
               .run_id = msg.config->run_id,
               .listener = msg.listener,
               .starting = self->make_response_promise<Started>(),
               .recovering = {},
               .early_exit = {}};
    auto answer = process.starting;
    executors->start(key(id), std::move(command), listener_for(id, process.run_id));
    return answer;
  }

  Result<host::TaskCommand> command_of(const driver::TaskConfig& config) const {
    ConfigReader reader{config.config};
    host::TaskCommand command{.run_id = config.run_id,
                              .command = reader.text("command"),
                              .arguments = reader.texts("args"),
                              .environment = config.environment,
                              .task_directory = config.task_dir,
                              .search_path = {},
                              .user = {},
                              .logs = {},
                              .limits = {},
                              .network_namespace = {}};
    NOMAD_TRY(reader.finish());
    if (command.command.empty())
      return Error{Errc::invalid_argument,
                   "failed to parse config: missing required argument \"command\""};
    if (!config.user.empty()) {
      command.user = NOMAD_TRY(host::find_user(config.user));
    }
    if (!config.logs_disabled)
      command.logs = host::TaskLogs{.alloc_root = config.alloc_root,
                                    .task = config.id.task,
                                    .max_files = config.max_log_files,
                                    .max_file_bytes = config.max_log_file_bytes};
    command.use_cgroup = use_cgroups;
    return command;
  }

  actor::Answer<driver::Recovered> recover(const driver::RecoverTask& msg) {
    if (!executors) return Error{Errc::unavailable, problem};
    auto& process = processes[msg.id];
    process = {.asked = msg.run_id,
               .run_id = msg.run_id,
               .listener = msg.listener,
               .starting = {},
               .recovering = self->make_response_promise<driver::Recovered>(),
               .early_exit = {}};
    auto answer = process.recovering;
    executors->attach(key(msg.id), msg.run_id, listener_for(msg.id, msg.run_id));
    return answer;
  }

  void known(ProcessKnown& msg) {
    const auto found = processes.find(msg.id);
    if (found == processes.end() || found->second.asked != msg.run_id) return;
    auto& process = found->second;
    auto starting = std::exchange(process.starting, {});
    auto recovering = std::exchange(process.recovering, {});
    if (!msg.outcome) {
      processes.erase(found);
      const auto err = msg.outcome.error();
      if (starting.pending())
        starting.deliver(Error{err.code, "failed to launch command with executor: " + err.what});
      if (recovering.pending()) recovering.deliver(err);
      return;
    }
    process.executor_pid = msg.outcome->executor_pid;
    process.run_id = msg.outcome->run_id;
    if (starting.pending()) starting.deliver(Started{msg.run_id, {}});
    if (recovering.pending()) recovering.deliver(driver::Recovered{process.run_id});
    if (process.early_exit) tell_end(msg.id, process, *process.early_exit);
  }

  void tell_end(const TaskId& id, const Process& process, const workload::ExitResult& result) {
    self->send(process.listener, driver::Exited{id, process.run_id, result});
  }

  void ended(const ProcessEnded& msg) {
    const auto found = processes.find(msg.id);
    if (found == processes.end() || found->second.asked != msg.run_id) return;
    auto& process = found->second;
    process.ended = true;
    if (process.run_id.empty())
      process.early_exit = msg.result;
    else
      tell_end(msg.id, process, msg.result);
  }

  // -- orders ------------------------------------------------------------------------------------

  static std::string key(const TaskId& id) { return host::executor_key(id.alloc_id, id.task); }

  /// Gives an order whose outcome comes back as OrderDone.
  template <class Give>
  actor::Answer<Done> order(const Give& give) {
    const auto ticket = ++tickets;
    const RawExecSelf internal{self};
    auto answer = self->make_response_promise<Done>();
    orders.emplace(ticket, answer);
    give([internal, ticket](Result<> outcome) {
      actor::tell(internal, OrderDone{ticket, std::move(outcome)});
    });
    return answer;
  }

  void order_done(const OrderDone& msg) {
    auto waiting = orders.extract(msg.ticket);
    if (waiting.empty()) return;
    if (msg.outcome)
      waiting.mapped().deliver(Done{});
    else
      waiting.mapped().deliver(msg.outcome.error());
  }

  actor::Answer<Done> stop(const driver::StopTask& msg) {
    const auto found = processes.find(msg.id);
    if (!executors || found == processes.end()) return Error{Errc::not_found, "task not found"};
    if (found->second.ended) return Done{};
    int number = SIGINT;
    if (!msg.signal.empty()) {
      if (const auto parsed = host::parse_signal(msg.signal))
        number = *parsed;
      else
        log::warn("client", "unknown kill signal {}; using SIGINT", msg.signal);
    }
    return order(
        [&](auto done) { executors->stop(key(msg.id), number, msg.grace, std::move(done)); });
  }

  actor::Answer<Done> destroy(const driver::DestroyTask& msg) {
    if (!executors) return Done{};
    const auto found = processes.find(msg.id);
    const bool ended = found != processes.end() && found->second.ended;
    if (found != processes.end()) processes.erase(found);
    self->send(stats, stats::ForgetTask{key(msg.id)});
    return order([&](auto done) {
      if (ended)
        executors->acknowledge(key(msg.id), std::move(done));
      else
        executors->purge(key(msg.id), std::move(done));
    });
  }

  actor::Answer<Done> end_others(const driver::EndOthers& msg) {
    if (!executors) return Done{};
    const auto found = NOMAD_TRY(executors->keys());
    std::set<std::string> kept;
    for (const auto& id : msg.kept)
      kept.insert(key(id));
    for (const auto& [id, process] : processes)
      kept.insert(key(id));
    for (const auto& name : found) {
      if (kept.contains(name)) continue;
      log::warn("client", "no allocation of this node has the task {}: ending what is left of it",
                name);
      executors->purge(name, [name](Result<> outcome) {
        if (!outcome)
          log::error("client", "what is left of the task {} may still run: {}", name,
                     outcome.error().what);
      });
    }
    return Done{};
  }

  actor::Answer<Done> signal(const driver::SignalTask& msg) {
    if (!executors || !processes.contains(msg.id)) return Error{Errc::not_found, "task not found"};
    auto number = NOMAD_TRY(host::parse_signal(msg.signal));
    return order([&](auto done) { executors->signal(key(msg.id), number, std::move(done)); });
  }

  actor::Answer<client_api::TaskUsage> usage(const driver::TaskStats& msg) {
    const auto found = processes.find(msg.id);
    if (!executors || found == processes.end()) return Error{Errc::not_found, "task not found"};
    auto promise = self->make_response_promise<client_api::TaskUsage>();
    const auto name = key(msg.id);
    self->request(stats, stats_timeout,
                  stats::ReadTasks{{{.key = name,
                                     .executor_pid = found->second.executor_pid,
                                     .cgroup = executors->cgroups().find(name)}}})
        .then(
            [promise](stats::TaskUsages& answer) mutable {
              if (answer.usages.empty())
                promise.deliver(client_api::TaskUsage{});
              else
                promise.deliver(std::move(answer.usages.front()));
            },
            [promise](const Error& err) mutable { promise.deliver(std::move(err)); });
    return promise;
  }

  actor::Answer<client_api::ExecStarted> exec(const driver::ExecTask& msg) {
    const auto found = processes.find(msg.id);
    if (!executors || found == processes.end() || found->second.ended)
      return Error{Errc::not_found, "task not found"};
    const auto ticket = ++tickets;
    const RawExecSelf internal{self};
    auto answer = self->make_response_promise<client_api::ExecStarted>();
    commands.emplace(ticket, answer);
    executors->exec(key(msg.id), msg.command, "/",
                    [internal, ticket](Result<std::shared_ptr<host::ExecSession>> outcome) {
                      actor::tell(internal, CommandKnown{ticket, std::move(outcome)});
                    });
    return answer;
  }

  void command_known(CommandKnown& msg) {
    auto waiting = commands.extract(msg.ticket);
    if (waiting.empty()) return;
    if (msg.outcome)
      waiting.mapped().deliver(client_api::ExecStarted{std::move(*msg.outcome)});
    else
      waiting.mapped().deliver(msg.outcome.error());
  }

  driver::Health health() const {
    if (!enabled || !executors)
      return {.detected = enabled, .healthy = false, .description = problem, .attributes = {}};
    return {.detected = true,
            .healthy = true,
            .description = "Healthy",
            .attributes = {{"driver.raw_exec", "true"}}};
  }
};

RawExecSelf::behavior_type raw_exec(RawExecSelf::stateful_pointer<RawExecState> self,
                                    const DriverOptions& options) {
  self->state.init(options);
  return {
      [self](const driver::StartTask& msg) { return self->state.start(msg); },
      [self](const driver::RecoverTask& msg) { return self->state.recover(msg); },
      [self](const driver::StopTask& msg) { return self->state.stop(msg); },
      [self](const driver::DestroyTask& msg) { return self->state.destroy(msg); },
      [self](const driver::EndOthers& msg) { return self->state.end_others(msg); },
      [self](const driver::SignalTask& msg) { return self->state.signal(msg); },
      [self](const driver::TaskStats& msg) { return self->state.usage(msg); },
      [self](const driver::ExecTask& msg) { return self->state.exec(msg); },
      [self](driver::Fingerprint) { return self->state.health(); },
      [self](ProcessKnown& msg) { self->state.known(msg); },
      [self](const ProcessEnded& msg) { self->state.ended(msg); },
      [self](const OrderDone& msg) { self->state.order_done(msg); },
      [self](CommandKnown& msg) { self->state.command_known(msg); },
  };
}

}  // namespace

DriverEntry raw_exec_entry() {
  return {.capabilities = {.fs_isolation = "none",
                           .send_signals = true,
                           .secrets_in_memory = true,
                           .exec = true,
                           .mounts = false},
          .spawn = [](const actor::Owner& owner, const DriverOptions& options) -> Driver {
            return actor::spawn(owner, raw_exec, options);
          }};
}

}  // namespace nomad::client
