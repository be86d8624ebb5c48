#include "actors/client/drivers/driver_objects.hpp"

#include <utility>

#include "actors/client/hooks/hook_objects.hpp"
#include "actors/roles/node_replies.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::client::driver {
namespace {

capnp::Data::Reader bytes(std::string_view value) {
  return {reinterpret_cast<const capnp::byte*>(value.data()), value.size()};
}

template <class List>
void write_texts(List to, const std::vector<std::string>& from) {
  for (unsigned i = 0; i < to.size(); ++i)
    to.set(i, text(from[i]));
}

template <class List>
std::vector<std::string> read_texts(const List& from) {
  std::vector<std::string> texts;
  for (const auto each : from)
    texts.push_back(copy(each));
  return texts;
}

client_api::MemoryUsage read_memory(schema::plugin::MemoryUsage::Reader from) {
  return {.rss = from.getRss(),
          .cache = from.getCache(),
          .swap = from.getSwap(),
          .mapped_file = from.getMappedFile(),
          .usage = from.getUsage(),
          .max_usage = from.getMaxUsage(),
          .kernel_usage = from.getKernelUsage(),
          .kernel_max_usage = from.getKernelMaxUsage(),
          .measured = read_texts(from.getMeasured())};
}

client_api::CpuUsage read_cpu(schema::plugin::CpuUsage::Reader from) {
  return {.system_mode = from.getSystemMode(),
          .user_mode = from.getUserMode(),
          .total_ticks = from.getTotalTicks(),
          .percent = from.getPercent(),
          .throttled_periods = from.getThrottledPeriods(),
          .throttled_time = from.getThrottledTime(),
          .measured = read_texts(from.getMeasured())};
}

void write_task_usage(const client_api::TaskUsage& from, schema::plugin::TaskUsage::Builder to) {
  write_usage(from.memory, to.initMemory());
  write_usage(from.cpu, to.initCpu());
  to.setTimestamp(from.timestamp);
  to.setNetwork(from.network.value_or(0));
  to.setHasNetwork(from.network.has_value());
  auto processes = to.initProcesses(static_cast<unsigned>(from.processes.size()));
  for (unsigned i = 0; i < processes.size(); ++i) {
    processes[i].setPid(from.processes[i].pid);
    write_usage(from.processes[i].memory, processes[i].initMemory());
    write_usage(from.processes[i].cpu, processes[i].initCpu());
  }
}

void write_failure(const Error& from, bool recoverable, schema::plugin::Failure::Builder to) {
  to.setCode(static_cast<std::uint8_t>(from.code));
  to.setMessage(text(from.what));
  to.setRecoverable(recoverable);
}

plugin_agent::Notice notice(Draft<schema::plugin::Notice>& draft, const TaskId& id) {
  draft->setAllocId(text(id.alloc_id));
  draft->setTask(text(id.task));
  return {draft.freeze()};
}

}  // namespace

TaskId read_id(schema::plugin::TaskId::Reader from) {
  return {copy(from.getAllocId()), copy(from.getTask())};
}

void write_id(const TaskId& from, schema::plugin::TaskId::Builder to) {
  to.setAllocId(text(from.alloc_id));
  to.setTask(text(from.task));
}

// -- requests ------------------------------------------------------------------------------------

Ask describe() {
  static const auto request = [] {
    Draft<DriverRequest> draft;
    draft->setDescribe();
    return draft.freeze();
  }();
  return {request};
}

Ask fingerprint() {
  static const auto request = [] {
    Draft<DriverRequest> draft;
    draft->setFingerprint();
    return draft.freeze();
  }();
  return {request};
}

Ask recover_task(const TaskId& id, const workload::TaskRecord& record) {
  Draft<DriverRequest> draft;
  auto order = draft->initRecoverTask();
  write_id(id, order.initId());
  order.setRunId(text(record.run_id));
  if (record.has_handle) {
    auto handle = order.initHandle();
    handle.setVersion(record.handle.version);
    handle.setData(bytes(record.handle.data));
  }
  return {draft.freeze()};
}

Ask stop_task(const TaskId& id, std::string_view signal, Nanoseconds grace) {
  Draft<DriverRequest> draft;
  auto order = draft->initStopTask();
  write_id(id, order.initId());
  order.setSignal(text(signal));
  order.setGrace(grace.count());
  return {draft.freeze()};
}

Ask destroy_task(const TaskId& id) {
  Draft<DriverRequest> draft;
  write_id(id, draft->initDestroyTask());
  return {draft.freeze()};
}

Ask end_others(const std::vector<TaskId>& kept) {
  Draft<DriverRequest> draft;
  auto ids = draft->initEndOthers(static_cast<unsigned>(kept.size()));
  for (unsigned i = 0; i < ids.size(); ++i)
    write_id(kept[i], ids[i]);
  return {draft.freeze()};
}

Ask signal_task(const TaskId& id, std::string_view signal) {
  Draft<DriverRequest> draft;
  auto order = draft->initSignalTask();
  write_id(id, order.initId());
  order.setSignal(text(signal));
  return {draft.freeze()};
}

Ask task_stats(const TaskId& id, Nanoseconds interval) {
  Draft<DriverRequest> draft;
  auto order = draft->initTaskStats();
  write_id(id, order.initId());
  order.setInterval(interval.count());
  return {draft.freeze()};
}

Ask exec_task(const TaskId& id, const host::ExecCommand& command) {
  Draft<DriverRequest> draft;
  auto order = draft->initExecTask();
  write_id(id, order.initId());
  write_texts(order.initCommand(static_cast<unsigned>(command.command.size())), command.command);
  order.setTty(command.tty);
  order.setInTaskDirectory(command.in_task_directory);
  return {draft.freeze()};
}

// -- answers -------------------------------------------------------------------------------------

Answered failed(const Error& err, bool recoverable) {
  Draft<DriverAnswer> draft;
  write_failure(err, recoverable, draft->initFailed());
  return {draft.freeze()};
}

Answered unknown() {
  return failed({Errc::rejected, "this task driver cannot do that"});
}

Answered no_exec() {
  return failed({Errc::rejected, "task driver does not support exec"});
}

Answered found_nothing() {
  return failed({Errc::not_found, "task not found"});
}

Answered described(Object<schema::plugin::DriverDescription> description) {
  Draft<DriverAnswer> draft;
  draft->setDescription(*description);
  return {draft.freeze()};
}

Answered fingerprinted(Object<schema::plugin::Fingerprint> fingerprint) {
  Draft<DriverAnswer> draft;
  draft->setFingerprint(*fingerprint);
  return {draft.freeze()};
}

Answered started(const workload::TaskHandle& handle, const workload::DriverNetwork& network) {
  Draft<DriverAnswer> draft;
  auto begun = draft->initStarted();
  auto to = begun.initHandle();
  to.setVersion(handle.version);
  to.setData(bytes(handle.data));
  if (!network.is_empty()) write_network(network, begun.initNetwork());
  return {draft.freeze()};
}

Answered recovered(std::string_view run_id) {
  Draft<DriverAnswer> draft;
  draft->setRecovered(text(run_id));
  return {draft.freeze()};
}

Answered used(const client_api::TaskUsage& usage) {
  Draft<DriverAnswer> draft;
  write_task_usage(usage, draft->initUsage());
  return {draft.freeze()};
}

Answered exec_started(Descriptors descriptors) {
  Draft<DriverAnswer> draft;
  draft->setExec();
  return {draft.freeze(), std::move(descriptors)};
}

workload::TaskRuns::Answer answer_by(actor::Promise<Answered> promise,
                                     std::function<Answered(const TaskRun&)> there) {
  return [promise = std::move(promise), there = std::move(there)](const TaskRun* run,
                                                                  const Refusal& why) {
    promise.deliver(run != nullptr ? there(*run) : failed(why.error, why.recoverable));
  };
}

workload::TaskRuns::Answer answer_recovered(actor::Promise<Answered> promise) {
  return answer_by(std::move(promise), [](const TaskRun& run) { return recovered(run.run_id); });
}

Object<schema::plugin::Fingerprint> make_fingerprint(
    bool detected,
    bool healthy,
    std::string_view description,
    const std::map<std::string, std::string>& attributes) {
  Draft<schema::plugin::Fingerprint> draft;
  draft->setDetected(detected);
  draft->setHealthy(healthy);
  draft->setDescription(text(description));
  fill_entries(draft->initAttributes(static_cast<unsigned>(attributes.size())), attributes);
  return draft.freeze();
}

// -- notices -------------------------------------------------------------------------------------

plugin_agent::Notice exited(const TaskId& id,
                            std::string_view run_id,
                            const workload::ExitResult& result) {
  Draft<schema::plugin::Notice> draft;
  auto end = draft->initExited();
  end.setRunId(text(run_id));
  write_exit(result, end.initResult());
  return notice(draft, id);
}

plugin_agent::Notice exited(const TaskRun& run) {
  return exited(run.id, run.run_id, *run.result);
}

plugin_agent::Notice message(const TaskId& id, std::int64_t unix_now, std::string_view text) {
  Draft<schema::plugin::Notice> draft;
  auto event = draft->initEvent();
  event.setType(nomad::text(workload::task_event::driver));
  event.setTime(unix_now);
  event.setMessage(nomad::text(text));
  return notice(draft, id);
}

plugin_agent::Notice told_usage(const TaskId& id,
                                std::string_view run_id,
                                const Result<client_api::TaskUsage>& usage) {
  if (!usage) return usage_failed(id, run_id, usage.error(), /*recoverable=*/true);
  Draft<schema::plugin::Notice> draft;
  write_task_usage(*usage, draft->initUsage());
  draft->setRunId(text(run_id));
  return notice(draft, id);
}

plugin_agent::Notice usage_failed(const TaskId& id,
                                  std::string_view run_id,
                                  const Error& err,
                                  bool recoverable) {
  Draft<schema::plugin::Notice> draft;
  write_failure(err, recoverable, draft->initUsageFailed());
  draft->setRunId(text(run_id));
  return notice(draft, id);
}

plugin_agent::Notice felt(std::string_view driver,
                          Object<schema::plugin::Fingerprint> fingerprint) {
  Draft<schema::plugin::Notice> draft;
  draft->setFingerprint(*fingerprint);
  draft->setDriver(text(driver));
  return {draft.freeze()};
}

// -- reading -------------------------------------------------------------------------------------

std::optional<Refusal> refusal_of(const Answered& answer, DriverAnswer::Which expected) {
  const auto which = answer.answer ? answer.answer->which() : DriverAnswer::DONE;
  if (which == expected) return std::nullopt;
  if (which != DriverAnswer::FAILED)
    return Refusal{.error = {Errc::internal, "the task driver answered something else"}};
  return read_failure(answer.answer->getFailed());
}

Refusal read_failure(schema::plugin::Failure::Reader from) {
  const auto code = from.getCode();
  const bool known = code > 0 && code <= static_cast<std::uint8_t>(last_errc);
  return {.error = {known ? static_cast<Errc>(code) : Errc::rejected, copy(from.getMessage())},
          .recoverable = from.getRecoverable()};
}

Result<std::shared_ptr<host::ExecSession>> take_session(Answered& answer,
                                                        host::ExecPumpOnDemand& pump) {
  if (answer.session) return answer.session;
  auto ends = NOMAD_TRY(host::ends_of(answer.descriptors ? std::move(*answer.descriptors)
                                                         : std::vector<host::UniqueFd>{}));
  return pump.adopt(std::move(ends));
}

workload::TaskHandle read_handle(schema::plugin::DriverHandle::Reader from) {
  const auto data = from.getData();
  return {.version = from.getVersion(),
          .data = std::string{reinterpret_cast<const char*>(data.begin()), data.size()}};
}

client_api::TaskUsage read_usage(schema::plugin::TaskUsage::Reader from) {
  client_api::TaskUsage usage{.memory = read_memory(from.getMemory()),
                              .cpu = read_cpu(from.getCpu()),
                              .timestamp = from.getTimestamp(),
                              .processes = {}};
  if (from.getHasNetwork()) usage.network = from.getNetwork();
  for (const auto process : from.getProcesses())
    usage.processes.push_back({.pid = process.getPid(),
                               .memory = read_memory(process.getMemory()),
                               .cpu = read_cpu(process.getCpu())});
  return usage;
}

}  // namespace nomad::client::driver
