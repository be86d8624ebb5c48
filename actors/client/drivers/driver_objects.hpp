// The objects of the drivers' contract (schema/plugin.capnp) from values of this process, and back:
// requests for who asks, answers and notices for who writes a driver.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/client/driver.hpp"
#include "actors/roles/client_api.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/host/exec_pump.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/runs/task_runs.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_event.hpp"
#include "runtime/workload/task_record.hpp"

namespace nomad::client::driver {

using DriverRequest = schema::plugin::DriverRequest;
using DriverAnswer = schema::plugin::DriverAnswer;

TaskId read_id(schema::plugin::TaskId::Reader from);
void write_id(const TaskId& from, schema::plugin::TaskId::Builder to);

// -- requests (a start is made by task_config.hpp)

Ask describe();
Ask fingerprint();
Ask recover_task(const TaskId& id, const workload::TaskRecord& record);
Ask stop_task(const TaskId& id, std::string_view signal, Nanoseconds grace);
Ask destroy_task(const TaskId& id);
Ask end_others(const std::vector<TaskId>& kept);
Ask signal_task(const TaskId& id, std::string_view signal);
/// `interval` above 0: usage follows at it, too; 0: no more does.
Ask task_stats(const TaskId& id, Nanoseconds interval = {});
Ask exec_task(const TaskId& id, const host::ExecCommand& command);

// -- answers of a driver

inline Answered done() {
  return {};
}

/// `recoverable`: the same may work later.
Answered failed(const Error& err, bool recoverable = false);
/// The request is of a newer agent, or of a thing that this driver never does.
Answered unknown();
Answered no_exec();
Answered found_nothing();  ///< No such task.
Answered described(Object<schema::plugin::DriverDescription> description);
Answered fingerprinted(Object<schema::plugin::Fingerprint> fingerprint);
Answered started(const workload::TaskHandle& handle, const workload::DriverNetwork& network = {});
Answered recovered(std::string_view run_id);
Answered used(const client_api::TaskUsage& usage);
Answered exec_started(Descriptors descriptors);

using TaskRun = workload::TaskRuns::Run;

/// Keeps `promise` by what `there` says of the run, or with why there is none.
workload::TaskRuns::Answer answer_by(actor::Promise<Answered> promise,
                                     std::function<Answered(const TaskRun&)> there);
/// Keeps it with the run that was found.
workload::TaskRuns::Answer answer_recovered(actor::Promise<Answered> promise);

Object<schema::plugin::Fingerprint> make_fingerprint(
    bool detected,
    bool healthy,
    std::string_view description,
    const std::map<std::string, std::string>& attributes = {});

// -- what a driver tells its agent

plugin_agent::Notice exited(const TaskId& id,
                            std::string_view run_id,
                            const workload::ExitResult& result);
plugin_agent::Notice exited(const TaskRun& run);
/// For the task's history, as an event "Driver".
plugin_agent::Notice message(const TaskId& id, std::int64_t unix_now, std::string_view text);
/// What a reading of a stream has come to. After an error the next one may succeed.
plugin_agent::Notice told_usage(const TaskId& id,
                                std::string_view run_id,
                                const Result<client_api::TaskUsage>& usage);
/// `recoverable`: the next reading may succeed; otherwise this is the last word about the run's
/// usage.
plugin_agent::Notice usage_failed(const TaskId& id,
                                  std::string_view run_id,
                                  const Error& err,
                                  bool recoverable);
plugin_agent::Notice felt(std::string_view driver, Object<schema::plugin::Fingerprint> fingerprint);

// -- reading answers

using workload::Refusal;

/// Why `answer` is not what was asked for; nothing if it is. An empty answer is `done`.
std::optional<Refusal> refusal_of(const Answered& answer, DriverAnswer::Which expected);

Refusal read_failure(schema::plugin::Failure::Reader from);

/// What a command beside a task is spoken with: the driver's own session, or streams that the pump
/// takes.
Result<std::shared_ptr<host::ExecSession>> take_session(Answered& answer,
                                                        host::ExecPumpOnDemand& pump);

workload::TaskHandle read_handle(schema::plugin::DriverHandle::Reader from);
client_api::TaskUsage read_usage(schema::plugin::TaskUsage::Reader from);

}  // namespace nomad::client::driver
