#include "runtime/plugin/bridge/bridge_driver.hpp"

#include <algorithm>
#include <utility>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "runtime/plugin/bridge/remote_command.hpp"
#include "runtime/plugin/bridge/replies.hpp"
#include "runtime/plugin/bridge/shown.hpp"
#include "runtime/plugin/bridge/values.hpp"
#include "runtime/plugin/sdk/declare.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;
using AnswerBuilder = schema::plugin::DriverAnswer::Builder;
using DriverRequest = schema::plugin::DriverRequest;
using NoticeBuilder = schema::plugin::Notice::Builder;
using Stub = drivers::Driver::StubInterface::async_interface;

/// However long it takes: the agent has its own patience with starts and kills.
constexpr auto unbounded = 0ms;
constexpr auto signal_patience = 10s;
constexpr auto recover_patience = 30s;
/// Altogether, of a driver that is away: the agent takes the task for lost after a minute.
constexpr Nanoseconds recover_in_all = 50s;
constexpr auto destroy_patience = 45s;
constexpr Nanoseconds stop_margin = 10s;  ///< Behind the grace, until a task is ended by force.

std::string isolation_of(const drivers::DriverCapabilities& can) {
  switch (can.fs_isolation()) {
    case drivers::DriverCapabilities::CHROOT:
      return "chroot";
    case drivers::DriverCapabilities::IMAGE:
      return "image";
    default:
      return "none";
  }
}

std::string_view bytes_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

Error no_task() {
  return {Errc::not_found, "the driver has no such task"};
}

}  // namespace

BridgeDriver::BridgeDriver(Agent& agent, Served served)
    : agent_{agent},
      served_{std::move(served)},
      remote_{served_.remote},
      kept_{agent.surroundings().data_dir + "/runs"},
      logs_{agent, served_.executor, agent.surroundings().data_dir + "/logs"},
      left_{agent, remote_, agent.surroundings().data_dir + "/left",
            [this](const drivers::KeptRun& run) { logs_.finish(run.logs()); }} {
  watch_health();
  watch_events();
}

BridgeDriver::~BridgeDriver() {
  if (health_stream_) health_stream_->cancel();
  if (event_stream_) event_stream_->cancel();
  runs_.usage() = {};
  for (const auto& [number, run] : known_)
    if (run->usage) run->usage->end();
}

void BridgeDriver::ask(DriverRequest::Reader request, const DriverReply& reply) {
  switch (request.which()) {
    case DriverRequest::DESCRIBE:
      return describe(reply);
    case DriverRequest::FINGERPRINT:
      return fingerprint(reply);
    case DriverRequest::START_TASK:
      return health_ ? start(request.getStartTask(), reply)
                     : start_later(request.getStartTask(), reply);
    case DriverRequest::RECOVER_TASK:
      return recover(request.getRecoverTask(), reply);
    case DriverRequest::STOP_TASK:
      return stop(request.getStopTask(), reply);
    case DriverRequest::DESTROY_TASK:
      return destroy(task_id(request.getDestroyTask()), reply);
    case DriverRequest::END_OTHERS:
      return end_others(request.getEndOthers(), reply);
    case DriverRequest::SIGNAL_TASK:
      return signal(request.getSignalTask(), reply);
    case DriverRequest::TASK_STATS:
      return usage(request.getTaskStats(), reply);
    default:
      reject(reply,
             {Errc::invalid_argument, "the bridge to Nomad's drivers does not know the request"});
  }
}

void BridgeDriver::describe(const DriverReply& reply) const {
  reply(FillAnswer{[this](AnswerBuilder to) {
    const auto& from = served_.capabilities;
    auto description = to.initDescription();
    auto can = description.initCapabilities();
    can.setFsIsolation(text_of(isolation_of(from)));
    can.setSendSignals(from.send_signals());
    can.setExec(from.exec());
    can.setMounts(from.mount_configs() != drivers::DriverCapabilities::NO_MOUNTS);
    const auto& fields = served_.task_config.fields();
    fill_fields(description.initConfig(static_cast<unsigned>(fields.size())), fields);
  }});
}

// -- starts ---------------------------------------------------------------------------------------

BridgeDriver::RunPtr BridgeDriver::find(const TaskId& id) const {
  const auto* const run = runs_.find(id);
  return run == nullptr ? nullptr : known_.at(run->number);
}

BridgeDriver::RunPtr BridgeDriver::find_running(const TaskId& id) const {
  const auto run = find(id);
  return run && is_running(run) ? run : nullptr;
}

/// The agent does not want to hear of it any more.
BridgeDriver::RunPtr BridgeDriver::take_out(Number number) {
  const auto run = std::move(known_.extract(number).mapped());
  if (run->forget_end) run->forget_end();
  if (run->usage) run->usage->end();
  return run;
}

void BridgeDriver::start(schema::plugin::TaskConfig::Reader config, const DriverReply& reply) {
  const auto id = task_id(config.getId());
  const auto run_id = copy(config.getRunId());
  const auto begun
      = runs_.start(id, run_id, [this, reply](const TaskRun* there, const Refusal& why) {
          there != nullptr ? answer_started(reply, *known_.at(there->number)) : refuse(reply, why);
        });
  if (!begun) return;
  if (begun->replaced != 0) leave(id, take_out(begun->replaced)->kept, /*is_held=*/true);
  // Started by an earlier process, which had no time to say so.
  if (auto kept = kept_.find(id); kept && kept->run_id() == run_id)
    return recover_run(id, begun->number, std::move(*kept));
  leave_other_run(id, run_id);
  const auto run = make_run(begun->number);
  boost::json::error_code failure;
  const auto json = boost::json::parse(view(config.getConfig()), failure);
  if (failure || !json.is_object())
    return failed(run, {{Errc::invalid_argument, "the task's config is no object"}});
  const auto value = served_.task_config.decode(json.get_object());
  if (!value) return failed(run, {value.error()});
  if (served_.capabilities.must_create_network() && config.getNetworkNamespace().size() > 0)
    return failed(run, {{Errc::rejected,
                         "the driver wants to make the group's network itself, which plugins of "
                         "Nomad's can't do here: use the network mode \"host\""}});
  run->kept.set_run_id(run_id);
  *run->kept.mutable_handle()->mutable_config() = task_config(config, to_msgpack(*value), {});
  logs_.start(config, file_name(run_id), [this, id, run](Result<LogCollectors::Kept> logs) {
    start_with(id, run, std::move(logs));
  });
}

void BridgeDriver::start_with(const TaskId& id,
                              const RunPtr& run,
                              Result<LogCollectors::Kept> logs) {
  if (!is_known(run)) {  // It was to be destroyed meanwhile.
    if (logs) logs_.finish(logs->process);
    return;
  }
  if (!logs) return failed(run, {logs.error(), true});
  *run->kept.mutable_logs() = logs->process;
  auto& task = *run->kept.mutable_handle()->mutable_config();
  task.set_stdout_path(logs->paths.out);
  task.set_stderr_path(logs->paths.errors);
  drivers::StartTaskRequest request;
  *request.mutable_task() = task;
  remote_.ask<drivers::StartTaskRequest, drivers::StartTaskResponse>(
      "StartTask", &Stub::StartTask, std::move(request), unbounded,
      [this, id, run](const drivers::StartTaskResponse* response, const Refusal& why) {
        started(id, run, response, why);
      });
}

void BridgeDriver::started(const TaskId& id,
                           const RunPtr& run,
                           const drivers::StartTaskResponse* response,
                           const Refusal& why) {
  std::optional<Refusal> problem;
  if (response == nullptr)
    problem = why;
  else if (response->result() != drivers::StartTaskResponse::SUCCESS)
    problem = Refusal{{Errc::rejected, shown_reason(response->driver_error_msg())},
                      response->result() == drivers::StartTaskResponse::RETRY};
  else if (!response->has_handle())
    problem
        = Refusal{{Errc::corrupt, "the driver has started a task without a handle for it"}, false};
  if (problem) {
    logs_.finish(run->kept.logs());
    return failed(run, *problem);
  }
  const auto config = run->kept.handle().config();
  *run->kept.mutable_handle() = response->handle();
  if (response->handle().config().id() != config.id())  // All that finds it is ours to know.
    *run->kept.mutable_handle()->mutable_config() = config;
  if (response->has_network_override()) *run->kept.mutable_network() = response->network_override();
  if (!is_known(run))  // It was to be destroyed meanwhile.
    return left_.destroy(run->kept, true);
  record(id, *run);
  began(id, run);
}

BridgeDriver::RunPtr BridgeDriver::make_run(Number number) {
  const auto run = std::make_shared<Run>();
  run->number = number;
  known_[number] = run;
  return run;
}

void BridgeDriver::failed(const RunPtr& run, const Refusal& why) {
  known_.erase(run->number);
  runs_.failed(run->number, why);
}

void BridgeDriver::began(const TaskId& id, const RunPtr& run) {
  runs_.began(run->number, run->kept.run_id());
  logs_.watch(run->kept.logs(), [this, id, run](const drivers::LogCollector& process) {
    *run->kept.mutable_logs() = process;
    if (!is_known(run)) return;
    record(id, *run);
    tell_event(id, "what kept the task's logs has ended; another process goes on with them");
  });
  await_end(id, run);
}

void BridgeDriver::record(const TaskId& id, const Run& run) {
  if (const auto put = kept_.put(id, run.kept); !put)
    agent_.log(Level::warn,
               fmt::format("a task may be lost with its record: {}", put.error().what));
}

void BridgeDriver::answer_started(const DriverReply& reply, const Run& run) const {
  const auto bytes = write_run(run.kept);
  reply(FillAnswer{[&](AnswerBuilder to) {
    auto made = to.initStarted();
    made.initHandle().setVersion(1);
    made.getHandle().setData({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
    if (run.kept.has_network()) fill_network(made.initNetwork(), run.kept.network());
  }});
}

// -- finding them again ---------------------------------------------------------------------------

void BridgeDriver::recover(schema::plugin::RecoverTask::Reader order, const DriverReply& reply) {
  const auto id = task_id(order.getId());
  const auto run_id = view(order.getRunId());
  const auto begun = runs_.recover(id, run_id, [reply](const TaskRun* there, const Refusal& why) {
    if (there == nullptr) return refuse(reply, why);
    reply(FillAnswer{[there](AnswerBuilder to) { to.setRecovered(text_of(there->run_id)); }});
  });
  if (!begun) return;
  auto kept = read_run(bytes_of(order.getHandle().getData()));
  // The file is the newer one: a run may have got another collector of its logs.
  if (auto filed = kept_.find(id); filed && (!kept || filed->run_id() == kept->run_id()))
    kept = std::move(filed);
  if (!kept || (!run_id.empty() && kept->run_id() != run_id))
    return runs_.failed(begun->number, {no_task()});
  leave_other_run(id, kept->run_id());
  recover_run(id, begun->number, std::move(*kept));
}

void BridgeDriver::recover_run(const TaskId& id, Number number, drivers::KeptRun kept) {
  const auto run = make_run(number);
  run->kept = std::move(kept);
  record(id, *run);
  left_.withdraw(run->id());
  ask_recovery(id, run, agent_.now() + recover_in_all);
}

void BridgeDriver::ask_recovery(const TaskId& id, const RunPtr& run, Nanoseconds until) {
  drivers::RecoverTaskRequest request;
  request.set_task_id(run->id());
  *request.mutable_handle() = run->kept.handle();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - agent_.now());
  remote_.ask<drivers::RecoverTaskRequest, drivers::RecoverTaskResponse>(
      "RecoverTask", &Stub::RecoverTask, std::move(request),
      std::clamp<std::chrono::milliseconds>(left, 1ms, recover_patience),
      [this, id, run, until](const drivers::RecoverTaskResponse* response, const Refusal& why) {
        if (!is_known(run)) return;  // Destroyed meanwhile, by who finds it himself.
        if (response == nullptr) return recovery_failed(id, run, until, why);
        run->pauses.reset();
        began(id, run);
      });
}

void BridgeDriver::recovery_failed(const TaskId& id,
                                   const RunPtr& run,
                                   Nanoseconds until,
                                   const Refusal& why) {
  // With its program this process ends, too, in a moment: the next one finds the task.
  if (const auto pause = run->pauses.next(); is_away(why) && agent_.now() + pause < until) {
    if (!std::exchange(run->is_told_of, true))
      tell_event(id, "the driver does not say whether it has the task, and is asked again: "
                         + why.error.what);
    agent_.after(pause, [this, id, run, until] {
      if (is_known(run)) ask_recovery(id, run, until);
    });
    return;
  }
  // Whatever it was, it is not to be found any more: `not_found` would say that it never ran.
  Refusal lost = why;
  if (lost.error.code == Errc::not_found) lost.error.code = Errc::rejected;
  leave(id, run->kept, /*is_held=*/false);
  failed(run, lost);
}

/// Another run than the one that is asked for: an earlier process had started it, and nobody knows.
void BridgeDriver::leave_other_run(const TaskId& id, std::string_view wanted_run) {
  if (auto other = kept_.find(id); other && other->run_id() != wanted_run)
    leave(id, std::move(*other), /*is_held=*/false);
}

/// Nobody wants it any more. Its record goes when the driver says that it is gone.
void BridgeDriver::leave(const TaskId& id,
                         drivers::KeptRun run,
                         bool is_held,
                         std::function<void()> tried) {
  const auto run_id = run.run_id();
  left_.destroy(std::move(run), is_held, std::move(tried));
  if (const auto kept = kept_.find(id); kept && kept->run_id() == run_id) kept_.forget(id);
}

void BridgeDriver::end_others(capnp::List<schema::plugin::TaskId>::Reader kept,
                              const DriverReply& reply) {
  std::set<TaskId> known;
  for (const auto each : kept)
    known.insert(task_id(each));
  for (auto& [id, run] : kept_.all()) {
    if (known.contains(id) || find(id)) continue;
    agent_.log(Level::info, fmt::format("ends a task that nobody knows any more: {}",
                                        run.handle().config().id()));
    leave(id, std::move(run), /*is_held=*/false);
  }
  answer_done(reply);
}

// -- ends -----------------------------------------------------------------------------------------

void BridgeDriver::await_end(const TaskId& id, const RunPtr& run) {
  drivers::WaitTaskRequest request;
  request.set_task_id(run->id());
  run->forget_end = remote_.ask<drivers::WaitTaskRequest, drivers::WaitTaskResponse>(
      "WaitTask", &Stub::WaitTask, std::move(request), unbounded,
      [this, id, run](const drivers::WaitTaskResponse* response, const Refusal& why) {
        if (!is_running(run)) return;
        if (response == nullptr && why.error.code == Errc::unavailable)
          return await_end_later(id, run, why);
        ended(run, response != nullptr ? run_end(*response)
                                       : workload::ExitResult{.code = -1, .error = why.error.what});
      });
}

/// Who follows its logs leaves when the end is told, so that they are complete first.
void BridgeDriver::ended(const RunPtr& run, workload::ExitResult result) {
  run->has_ended = true;
  logs_.finish(run->kept.logs(), [this, run, result = std::move(result)] {
    if (!is_known(run)) return;
    runs_.ended(run->number, result);
    if (run->usage) run->usage->end();
  });
}

/// With the program this process ends, and the next one recovers the task. One that lives, and
/// whose driver is away, is asked again as long as the task is wanted.
void BridgeDriver::await_end_later(const TaskId& id, const RunPtr& run, const Refusal& why) {
  if (!std::exchange(run->is_told_of, true))
    agent_.log(Level::warn, fmt::format("the driver does not say how task {} ends, and is asked "
                                        "again: {}",
                                        run->id(), why.error.what));
  agent_.after(run->pauses.next(), [this, id, run] {
    if (is_running(run)) await_end(id, run);
  });
}

void BridgeDriver::tell_end(const TaskRun& run) {
  tell(run.id, [&run](NoticeBuilder notice) {
    auto exited = notice.initExited();
    exited.setRunId(text_of(run.run_id));
    auto result = exited.initResult();
    result.setCode(run.result->code);
    result.setSignal(run.result->signal);
    result.setOomKilled(run.result->oom_killed);
    result.setError(text_of(run.result->error));
  });
}

void BridgeDriver::stop(schema::plugin::StopTask::Reader order, const DriverReply& reply) {
  const auto id = task_id(order.getId());
  if (const auto there = find(id); there && there->has_ended) return answer_done(reply);
  const auto run = find_running(id);
  if (!run) return reject(reply, no_task());
  const Nanoseconds grace{std::max<std::int64_t>(order.getGrace(), 0)};
  drivers::StopTaskRequest request;
  request.set_task_id(run->id());
  request.set_signal(copy(order.getSignal()));
  set_duration(*request.mutable_timeout(), grace);
  remote_.ask<drivers::StopTaskRequest, drivers::StopTaskResponse>(
      "StopTask", &Stub::StopTask, std::move(request), unbounded,
      [this, id, run](const drivers::StopTaskResponse* response, const Refusal& why) {
        if (response != nullptr || !is_running(run)) return;
        tell_event(id, "the driver has not stopped the task: " + why.error.what);
      });
  agent_.after(grace + stop_margin, [this, id, run] {
    if (!is_running(run)) return;
    tell_event(id, "the driver has not stopped the task in time: it is ended by force");
    end_by_force(id, run);
  });
  answer_done(reply);
}

/// Until it has ended, which is heard of by who waits for that.
void BridgeDriver::end_by_force(const TaskId& id, const RunPtr& run) {
  drivers::DestroyTaskRequest request;
  request.set_task_id(run->id());
  request.set_force(true);
  remote_.ask<drivers::DestroyTaskRequest, drivers::DestroyTaskResponse>(
      "DestroyTask", &Stub::DestroyTask, std::move(request), destroy_patience,
      [this, id, run](const drivers::DestroyTaskResponse* response, const Refusal& why) {
        if (response != nullptr || !is_running(run)) return;
        if (why.error.code == Errc::not_found) return;
        tell_event(id, "the driver has not ended the task by force, and is asked again: "
                           + why.error.what);
        agent_.after(run->pauses.next(), [this, id, run] {
          if (is_running(run)) end_by_force(id, run);
        });
      });
}

void BridgeDriver::destroy(const TaskId& id, const DriverReply& reply) {
  const Refusal gone{{Errc::cancelled, "the task is destroyed before it has begun"}, false};
  std::erase_if(held_starts_, [&](const HeldStart& held) {
    if (held.id != id) return false;
    refuse(held.reply, gone);
    return true;
  });
  const auto run = runs_.destroy(id);
  if (!run) {
    // Of an earlier process, and not asked for: the driver has to find it before it destroys it.
    auto kept = kept_.find(id);
    if (!kept) return answer_done(reply);
    return leave(id, std::move(*kept), /*is_held=*/false, [reply] { answer_done(reply); });
  }
  const auto known = take_out(run->number);
  if (run->stage != Stage::starting)
    return leave(id, known->kept, /*is_held=*/true, [reply] { answer_done(reply); });
  // One that is being started is destroyed when it is; one that is being found has a record.
  auto kept = kept_.find(id);
  if (!kept) return answer_done(reply);
  leave(id, std::move(*kept), /*is_held=*/false, [reply] { answer_done(reply); });
}

// -- beside them ----------------------------------------------------------------------------------

void BridgeDriver::signal(schema::plugin::SignalTask::Reader order, const DriverReply& reply) {
  const auto run = find_running(task_id(order.getId()));
  if (!run) return reject(reply, no_task());
  drivers::SignalTaskRequest request;
  request.set_task_id(run->id());
  request.set_signal(copy(order.getSignal()));
  remote_.ask<drivers::SignalTaskRequest, drivers::SignalTaskResponse>(
      "SignalTask", &Stub::SignalTask, std::move(request), signal_patience,
      [reply](const drivers::SignalTaskResponse* response, const Refusal& why) {
        response != nullptr ? answer_done(reply) : refuse(reply, why);
      });
}

void BridgeDriver::usage(schema::plugin::TaskStats::Reader order, const DriverReply& reply) {
  const auto id = task_id(order.getId());
  const auto run = find_running(id);
  if (!run) return reject(reply, no_task());
  const Nanoseconds interval{order.getInterval()};
  runs_.usage().follow(id, interval, agent_.now());
  wake_for_streams();
  if (!run->usage) run->usage = std::make_shared<UsageReader>(agent_, remote_, run->id());
  run->usage->read(workload::usage_interval(interval), [reply](const drivers::TaskStats* usage,
                                                               const Refusal& why) {
    if (usage == nullptr) return refuse(reply, why);
    reply(FillAnswer{[usage](AnswerBuilder to) { fill_usage(to.initUsage(), *usage); }});
  });
}

void BridgeDriver::wake_for_streams() {
  if (const auto wake = runs_.usage().take_wake(agent_.now()))
    agent_.after(wake->delay, [this, round = wake->round] { readings_due(round); });
}

void BridgeDriver::readings_due(std::uint64_t round) {
  for (const auto& reading : runs_.usage().take_due(round, agent_.now())) {
    const auto run = find(reading.id);  // There are no streams of others.
    run->usage->read(reading.interval,
                     [this, reading](const drivers::TaskStats* usage, const Refusal& why) {
                       if (!runs_.usage().end_reading(reading)) return;
                       if (usage == nullptr && !why.recoverable) runs_.usage().drop(reading.id);
                       tell(reading.id, [&](NoticeBuilder notice) {
                         notice.setRunId(text_of(find(reading.id)->kept.run_id()));
                         if (usage != nullptr) return fill_usage(notice.initUsage(), *usage);
                         auto failure = notice.initUsageFailed();
                         failure.setCode(static_cast<std::uint8_t>(why.error.code));
                         failure.setMessage(text_of(why.error.what));
                         failure.setRecoverable(why.recoverable);
                       });
                     });
  }
  wake_for_streams();
}

Result<ExecPlan> BridgeDriver::exec(schema::plugin::ExecTask::Reader order) {
  const auto run = find_running(task_id(order.getId()));
  if (!run) return no_task();
  std::vector<std::string> command;
  for (const auto word : order.getCommand())
    command.push_back(copy(word));
  return ExecPlan{.command = {},
                  .elsewhere = [this, run, command](
                                   bool tty, CommandTold told) -> Result<std::shared_ptr<Command>> {
                    return std::shared_ptr<Command>{
                        RemoteCommand::start(remote_, run->id(), command, tty, std::move(told))};
                  }};
}

// -- what it tells --------------------------------------------------------------------------------

void BridgeDriver::tell(const TaskId& id, const std::function<void(NoticeBuilder)>& fill) {
  capnp::MallocMessageBuilder message;
  auto notice = message.initRoot<schema::plugin::Notice>();
  notice.setAllocId(text_of(id.alloc_id));
  notice.setTask(text_of(id.task));
  notice.setDriver(text_of(served_.name));
  fill(notice);
  agent_.tell(notice.asReader());
}

void BridgeDriver::tell_event(const TaskId& id, std::string_view message) {
  tell(id, [&](NoticeBuilder notice) {
    auto event = notice.initEvent();
    event.setType("Driver");
    event.setMessage(text_of(std::string{message}));
  });
}

}  // namespace nomad::plugin::bridge
