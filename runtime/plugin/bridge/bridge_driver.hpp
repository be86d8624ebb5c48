// BridgeDriver: a task driver of Nomad's, asked what this agent asks of drivers (plugin.capnp).
//
// A run is known to it by the agent's id of the run, and to the driver by an id like Nomad's. What
// the driver gives to find it again is the run's handle, which the agent keeps, and this keeps,
// too.
//
// Threads: the plugin's. Answers of the driver come in turns.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <capnp/message.h>

#include "runtime/base/back_off.hpp"
#include "runtime/plugin/bridge/answer_stream.hpp"
#include "runtime/plugin/bridge/config_spec.hpp"
#include "runtime/plugin/bridge/kept_runs.hpp"
#include "runtime/plugin/bridge/left_tasks.hpp"
#include "runtime/plugin/bridge/log_collectors.hpp"
#include "runtime/plugin/bridge/remote.hpp"
#include "runtime/plugin/bridge/usage_reader.hpp"
#include "runtime/plugin/sdk/task_driver.hpp"
#include "runtime/workload/runs/task_runs.hpp"

namespace nomad::plugin::bridge {

/// The driver behind it, when it has said what it is and is configured. References are its
/// bridge's.
struct Served {
  Remote& remote;
  const drivers::DriverCapabilities& capabilities;
  const ConfigSpec& task_config;
  std::string name;      ///< Under which jobs name it.
  std::string executor;  ///< nomadctl-executor, which keeps logs.
};

class BridgeDriver final : public Driver {
public:
  /// Starts that wait for the driver to say how it feels; another one is refused, recoverably.
  static constexpr std::size_t most_held_starts = 200;

  BridgeDriver(Agent& agent, Served served);
  ~BridgeDriver() override;
  BridgeDriver(const BridgeDriver&) = delete;
  BridgeDriver& operator=(const BridgeDriver&) = delete;

  void ask(schema::plugin::DriverRequest::Reader request, const DriverReply& reply) override;
  Result<ExecPlan> exec(schema::plugin::ExecTask::Reader order) override;

private:
  using Number = workload::TaskRuns::Number;
  using TaskRun = workload::TaskRuns::Run;
  using Stage = workload::TaskRuns::Stage;

  struct Run {
    Number number = 0;
    drivers::KeptRun kept{};
    BackOff pauses{std::chrono::seconds{1}, std::chrono::seconds{30}};  ///< Of its questions.
    bool is_told_of = false;               ///< That the driver was away.
    bool has_ended = false;                ///< Told when its logs are complete.
    std::function<void()> forget_end{};    ///< Withdraws the question for its end.
    std::shared_ptr<UsageReader> usage{};  ///< Null: nobody has asked.

    const std::string& id() const { return kept.handle().config().id(); }
  };

  /// Waits until the driver has said how it feels.
  struct HeldStart {
    TaskId id;
    std::shared_ptr<capnp::MallocMessageBuilder> config;  ///< A TaskConfig.
    DriverReply reply;
  };

  using RunPtr = std::shared_ptr<Run>;
  using FingerprintStream = AnswerStream<drivers::FingerprintRequest, drivers::FingerprintResponse>;
  using EventStream = AnswerStream<drivers::TaskEventsRequest, drivers::DriverTaskEvent>;

  void describe(const DriverReply& reply) const;
  void fingerprint(const DriverReply& reply);
  void expect_health();
  void start_later(schema::plugin::TaskConfig::Reader config, const DriverReply& reply);
  void start(schema::plugin::TaskConfig::Reader config, const DriverReply& reply);
  void start_with(const TaskId& id, const RunPtr& run, Result<LogCollectors::Kept> logs);
  void started(const TaskId& id,
               const RunPtr& run,
               const drivers::StartTaskResponse* response,
               const Refusal& why);
  void recover(schema::plugin::RecoverTask::Reader order, const DriverReply& reply);
  void recover_run(const TaskId& id, Number number, drivers::KeptRun kept);
  void ask_recovery(const TaskId& id, const RunPtr& run, Nanoseconds until);
  void recovery_failed(const TaskId& id, const RunPtr& run, Nanoseconds until, const Refusal& why);
  void await_end(const TaskId& id, const RunPtr& run);
  void ended(const RunPtr& run, workload::ExitResult result);
  void await_end_later(const TaskId& id, const RunPtr& run, const Refusal& why);
  void stop(schema::plugin::StopTask::Reader order, const DriverReply& reply);
  void end_by_force(const TaskId& id, const RunPtr& run);
  void destroy(const TaskId& id, const DriverReply& reply);
  void end_others(capnp::List<schema::plugin::TaskId>::Reader kept, const DriverReply& reply);
  void signal(schema::plugin::SignalTask::Reader order, const DriverReply& reply);
  void usage(schema::plugin::TaskStats::Reader order, const DriverReply& reply);
  void wake_for_streams();
  void readings_due(std::uint64_t round);

  void began(const TaskId& id, const RunPtr& run);
  void failed(const RunPtr& run, const Refusal& why);
  void record(const TaskId& id, const Run& run);
  void leave(const TaskId& id,
             drivers::KeptRun run,
             bool is_held,
             std::function<void()> tried = {});
  void leave_other_run(const TaskId& id, std::string_view wanted_run);
  void answer_started(const DriverReply& reply, const Run& run) const;
  RunPtr find(const TaskId& id) const;
  RunPtr find_running(const TaskId& id) const;
  RunPtr make_run(Number number);
  RunPtr take_out(Number number);

  bool is_known(const RunPtr& run) const { return runs_.find(run->number) != nullptr; }

  bool is_running(const RunPtr& run) const {
    return !run->has_ended && runs_.is_running(run->number);
  }

  void watch_health();
  void watch_events();
  void take_health(drivers::FingerprintResponse health);
  void tell(const TaskId& id, const std::function<void(schema::plugin::Notice::Builder)>& fill);
  void tell_event(const TaskId& id, std::string_view message);
  void tell_end(const TaskRun& run);

  Agent& agent_;
  Served served_;
  Remote& remote_;
  KeptRuns kept_;
  LogCollectors logs_;
  LeftTasks left_;
  workload::TaskRuns runs_{[this](const TaskRun& run) { tell_end(run); }};
  std::map<Number, RunPtr> known_;  ///< What is to be known of them to ask the driver.
  std::optional<drivers::FingerprintResponse> health_;
  std::vector<DriverReply> asked_health_;
  std::vector<HeldStart> held_starts_;
  std::shared_ptr<FingerprintStream> health_stream_;
  std::shared_ptr<EventStream> event_stream_;
};

}  // namespace nomad::plugin::bridge
