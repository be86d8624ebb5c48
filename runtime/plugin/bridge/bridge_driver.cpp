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

BridgeDriver::BridgeDriver(Host& host, Served served)
    : host_{host},
      served_{std::move(served)},
      remote_{served_.remote},
      kept_{host.surroundings().data_dir + "/runs"},
      logs_{host, served_.executor, host.surroundings().data_dir + "/logs"},
      left_{host, remote_, host.surroundings().data_dir + "/left",
            [this](const drivers::KeptRun& run) { logs_.finish(run.logs()); }} {
  watch_health();
  watch_events();
}

BridgeDriver::~BridgeDriver() {
  if (health_stream_) health_stream_->cancel();
  if (event_stream_) event_stream_->cancel();
  streams_ = {};
  for (const auto& [id, run] : runs_)
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
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : found->second;
}

bool BridgeDriver::is_known(const TaskId& id, const RunPtr& run) const {
  return find(id) == run;
}

void BridgeDriver::start(schema::plugin::TaskConfig::Reader config, const DriverReply& reply) {
  const auto id = task_id(config.getId());
  const auto run_id = copy(config.getRunId());
  const auto then = [this, id, reply](const Refusal* why) {
    const auto run = find(id);
    if (why != nullptr) return refuse(reply, *why);
    if (!run) return reject(reply, no_task());
    answer_started(reply, *run);
    if (run->end) ended(id, run, *run->end);
  };
  if (const auto known = find(id)) {
    if (known->kept.run_id() != run_id)
      return reject(reply, {Errc::conflict, "another run of the task is not over yet"}, true);
    if (known->runs) return then(nullptr);
    known->asked.push_back(then);
    return;
  }
  // Started by an earlier process, which had no time to say so.
  if (auto kept = kept_.find(id); kept && kept->run_id() == run_id)
    return recover_run(id, std::move(*kept), then);
  leave_other_run(id, run_id);
  boost::json::error_code failure;
  const auto json = boost::json::parse(view(config.getConfig()), failure);
  if (failure || !json.is_object())
    return reject(reply, {Errc::invalid_argument, "the task's config is no object"});
  const auto value = served_.task_config.decode(json.get_object());
  if (!value) return reject(reply, value.error());
  if (served_.capabilities.must_create_network() && config.getNetworkNamespace().size() > 0)
    return reject(reply, {Errc::rejected,
                          "the driver wants to make the group's network itself, which plugins of "
                          "Nomad's can't do here: use the network mode \"host\""});
  const auto run = std::make_shared<Run>();
  run->kept.set_run_id(run_id);
  *run->kept.mutable_handle()->mutable_config() = task_config(config, to_msgpack(*value), {});
  run->asked.push_back(then);
  runs_[id] = run;
  logs_.start(config, file_name(run_id), [this, id, run](Result<LogCollectors::Kept> logs) {
    start_with(id, run, std::move(logs));
  });
}

void BridgeDriver::start_with(const TaskId& id,
                              const RunPtr& run,
                              Result<LogCollectors::Kept> logs) {
  if (!is_known(id, run)) {  // It was to be destroyed meanwhile.
    if (logs) logs_.finish(logs->process);
    return;
  }
  if (!logs) {
    const Refusal why{logs.error(), true};
    return settle(id, run, &why);
  }
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
    return is_known(id, run) ? settle(id, run, &*problem) : void();
  }
  const auto config = run->kept.handle().config();
  *run->kept.mutable_handle() = response->handle();
  if (response->handle().config().id() != config.id())  // All that finds it is ours to know.
    *run->kept.mutable_handle()->mutable_config() = config;
  if (response->has_network_override()) *run->kept.mutable_network() = response->network_override();
  if (!is_known(id, run))  // It was to be destroyed meanwhile.
    return left_.destroy(run->kept, true);
  record(id, *run);
  settle(id, run, nullptr);
}

/// It runs, or never will.
void BridgeDriver::settle(const TaskId& id, const RunPtr& run, const Refusal* why) {
  run->runs = why == nullptr;
  if (why != nullptr) runs_.erase(id);
  for (const auto& then : std::exchange(run->asked, {}))
    then(why);
  if (why != nullptr) return;
  logs_.watch(run->kept.logs(), [this, id, run](const drivers::LogCollector& process) {
    *run->kept.mutable_logs() = process;
    if (!is_known(id, run)) return;
    record(id, *run);
    tell_event(id, "what kept the task's logs has ended; another process goes on with them");
  });
  await_end(id, run);
}

void BridgeDriver::record(const TaskId& id, const Run& run) {
  if (const auto put = kept_.put(id, run.kept); !put)
    host_.log(Level::warn, fmt::format("a task may be lost with its record: {}", put.error().what));
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
  const auto then = [this, id, reply](const Refusal* why) {
    const auto run = find(id);
    if (why != nullptr) return refuse(reply, *why);
    if (!run) return reject(reply, no_task());
    reply(FillAnswer{[&run](AnswerBuilder to) { to.setRecovered(text_of(run->kept.run_id())); }});
    if (run->end) ended(id, run, *run->end);
  };
  if (const auto known = find(id)) {
    if (known->runs) return then(nullptr);
    known->asked.push_back(then);
    return;
  }
  const auto run_id = view(order.getRunId());
  auto kept = read_run(bytes_of(order.getHandle().getData()));
  // The file is the newer one: a run may have got another collector of its logs.
  if (auto filed = kept_.find(id); filed && (!kept || filed->run_id() == kept->run_id()))
    kept = std::move(filed);
  if (!kept || (!run_id.empty() && kept->run_id() != run_id)) return reject(reply, no_task());
  leave_other_run(id, kept->run_id());
  recover_run(id, std::move(*kept), then);
}

void BridgeDriver::recover_run(const TaskId& id,
                               drivers::KeptRun kept,
                               const std::function<void(const Refusal*)>& then) {
  const auto run = std::make_shared<Run>();
  run->kept = std::move(kept);
  run->asked.push_back(then);
  runs_[id] = run;
  record(id, *run);
  left_.withdraw(run->id());
  ask_recovery(id, run, host_.now() + recover_in_all);
}

void BridgeDriver::ask_recovery(const TaskId& id, const RunPtr& run, Nanoseconds until) {
  drivers::RecoverTaskRequest request;
  request.set_task_id(run->id());
  *request.mutable_handle() = run->kept.handle();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - host_.now());
  remote_.ask<drivers::RecoverTaskRequest, drivers::RecoverTaskResponse>(
      "RecoverTask", &Stub::RecoverTask, std::move(request),
      std::clamp<std::chrono::milliseconds>(left, 1ms, recover_patience),
      [this, id, run, until](const drivers::RecoverTaskResponse* response, const Refusal& why) {
        if (!is_known(id, run)) return;  // Destroyed meanwhile, by who finds it himself.
        if (response == nullptr) return recovery_failed(id, run, until, why);
        run->pauses.reset();
        settle(id, run, nullptr);
      });
}

void BridgeDriver::recovery_failed(const TaskId& id,
                                   const RunPtr& run,
                                   Nanoseconds until,
                                   const Refusal& why) {
  // With its program this process ends, too, in a moment: the next one finds the task.
  if (const auto pause = run->pauses.next(); is_away(why) && host_.now() + pause < until) {
    if (!std::exchange(run->is_told_of, true))
      tell_event(id, "the driver does not say whether it has the task, and is asked again: "
                         + why.error.what);
    host_.after(pause, [this, id, run, until] {
      if (is_known(id, run)) ask_recovery(id, run, until);
    });
    return;
  }
  // Whatever it was, it is not to be found any more: `not_found` would say that it never ran.
  Refusal lost = why;
  if (lost.error.code == Errc::not_found) lost.error.code = Errc::rejected;
  leave(id, run->kept, /*is_held=*/false);
  settle(id, run, &lost);
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
    host_.log(Level::info, fmt::format("ends a task that nobody knows any more: {}",
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
        if (!is_known(id, run) || run->end) return;
        if (response == nullptr && why.error.code == Errc::unavailable)
          return await_end_later(id, run, why);
        run->end = response != nullptr ? run_end(*response)
                                       : RunEnd{.code = -1, .error = why.error.what};
        ended(id, run, *run->end);
      });
}

/// With the program this process ends, and the next one recovers the task. One that lives, and
/// whose driver is away, is asked again as long as the task is wanted.
void BridgeDriver::await_end_later(const TaskId& id, const RunPtr& run, const Refusal& why) {
  if (!std::exchange(run->is_told_of, true))
    host_.log(Level::warn, fmt::format("the driver does not say how task {} ends, and is asked "
                                       "again: {}",
                                       run->id(), why.error.what));
  host_.after(run->pauses.next(), [this, id, run] {
    if (is_known(id, run) && !run->end) await_end(id, run);
  });
}

void BridgeDriver::ended(const TaskId& id, const RunPtr& run, const RunEnd& end) {
  streams_.drop(id);
  if (run->usage) run->usage->end();
  tell(id, [&](NoticeBuilder notice) {
    auto exited = notice.initExited();
    exited.setRunId(text_of(run->kept.run_id()));
    auto result = exited.initResult();
    result.setCode(end.code);
    result.setSignal(end.signal);
    result.setOomKilled(end.oom_killed);
    result.setError(text_of(end.error));
  });
}

void BridgeDriver::stop(schema::plugin::StopTask::Reader order, const DriverReply& reply) {
  const auto id = task_id(order.getId());
  const auto run = find(id);
  if (!run || !run->runs) return reject(reply, no_task());
  const Nanoseconds grace{std::max<std::int64_t>(order.getGrace(), 0)};
  drivers::StopTaskRequest request;
  request.set_task_id(run->id());
  request.set_signal(copy(order.getSignal()));
  set_duration(*request.mutable_timeout(), grace);
  remote_.ask<drivers::StopTaskRequest, drivers::StopTaskResponse>(
      "StopTask", &Stub::StopTask, std::move(request), unbounded,
      [this, id, run](const drivers::StopTaskResponse* response, const Refusal& why) {
        if (response != nullptr || run->end || !is_known(id, run)) return;
        tell_event(id, "the driver has not stopped the task: " + why.error.what);
      });
  host_.after(grace + stop_margin, [this, id, run] {
    if (run->end || !is_known(id, run)) return;
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
        if (response != nullptr || run->end || !is_known(id, run)) return;
        if (why.error.code == Errc::not_found) return;
        tell_event(id, "the driver has not ended the task by force, and is asked again: "
                           + why.error.what);
        host_.after(run->pauses.next(), [this, id, run] {
          if (!run->end && is_known(id, run)) end_by_force(id, run);
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
  const auto run = find(id);
  if (!run) {
    // Of an earlier process, and not asked for: the driver has to find it before it destroys it.
    auto kept = kept_.find(id);
    if (!kept) return answer_done(reply);
    return leave(id, std::move(*kept), /*is_held=*/false, [reply] { answer_done(reply); });
  }
  runs_.erase(id);
  streams_.drop(id);
  if (run->forget_end) run->forget_end();
  if (run->usage) run->usage->end();
  if (run->runs) return leave(id, run->kept, /*is_held=*/true, [reply] { answer_done(reply); });
  // What asks for it now is the one who hears of it.
  for (const auto& then : std::exchange(run->asked, {}))
    then(&gone);
  // One that is being started is destroyed when it is; one that is being found has a record.
  auto kept = kept_.find(id);
  if (!kept) return answer_done(reply);
  leave(id, std::move(*kept), /*is_held=*/false, [reply] { answer_done(reply); });
}

// -- beside them ----------------------------------------------------------------------------------

void BridgeDriver::signal(schema::plugin::SignalTask::Reader order, const DriverReply& reply) {
  const auto run = find(task_id(order.getId()));
  if (!run || !run->runs || run->end) return reject(reply, no_task());
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
  const auto run = find(id);
  if (!run || !run->runs || run->end) return reject(reply, no_task());
  const Nanoseconds interval{order.getInterval()};
  streams_.follow(id, interval, host_.now());
  wake_for_streams();
  if (!run->usage) run->usage = std::make_shared<UsageReader>(host_, remote_, run->id());
  run->usage->read(workload::usage_interval(interval), [reply](const drivers::TaskStats* usage,
                                                               const Refusal& why) {
    if (usage == nullptr) return refuse(reply, why);
    reply(FillAnswer{[usage](AnswerBuilder to) { fill_usage(to.initUsage(), *usage); }});
  });
}

void BridgeDriver::wake_for_streams() {
  if (const auto wake = streams_.take_wake(host_.now()))
    host_.after(wake->delay, [this, round = wake->round] { readings_due(round); });
}

void BridgeDriver::readings_due(std::uint64_t round) {
  for (const auto& reading : streams_.take_due(round, host_.now())) {
    const auto run = find(reading.id);  // There are no streams of others.
    run->usage->read(reading.interval,
                     [this, reading](const drivers::TaskStats* usage, const Refusal& why) {
                       if (!streams_.end_reading(reading)) return;
                       if (usage == nullptr && !why.recoverable) streams_.drop(reading.id);
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
  const auto run = find(task_id(order.getId()));
  if (!run || !run->runs || run->end) return no_task();
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
  host_.tell(notice.asReader());
}

void BridgeDriver::tell_event(const TaskId& id, std::string_view message) {
  tell(id, [&](NoticeBuilder notice) {
    auto event = notice.initEvent();
    event.setType("Driver");
    event.setMessage(text_of(std::string{message}));
  });
}

}  // namespace nomad::plugin::bridge
