// DockerTasks: the runs of tasks whose containers are looked after. What is to be done about each
// decides its ContainerMachine (runtime/docker); here its questions go to the engine, its work on
// the disk to threads that may block, and what comes of them back to it. Lives in the driver's
// actor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/client/drivers/docker/images.hpp"
#include "actors/client/drivers/docker/infra.hpp"
#include "runtime/docker/container_machine.hpp"
#include "runtime/docker/exec_bridge.hpp"
#include "runtime/docker/log_collector.hpp"
#include "runtime/workload/runs/log_machine.hpp"

namespace nomad::client {

class DockerTasks {
public:
  using Answered = driver::Answered;

  explicit DockerTasks(DockerContext& context);
  ~DockerTasks();

  actor::Answer<Answered> start(schema::plugin::TaskConfig::Reader config);
  actor::Answer<Answered> recover(schema::plugin::RecoverTask::Reader order);
  actor::Answer<Answered> stop(schema::plugin::StopTask::Reader order);
  actor::Answer<Answered> destroy(const driver::TaskId& id);
  actor::Answer<Answered> signal(schema::plugin::SignalTask::Reader order);
  actor::Answer<Answered> usage(schema::plugin::TaskStats::Reader order);
  actor::Answer<Answered> exec(schema::plugin::ExecTask::Reader order);

  /// Removes what no task of `kept`, and none that is looked after here, has.
  void end_others(const std::set<driver::TaskId>& kept, std::function<void(const Result<>&)> done);

  /// Ends what earlier agents hold for containers of tasks that are neither kept nor looked after.
  void release_left_binds(const std::set<driver::TaskId>& kept);

  /// Containers of this agent that are older than the grace and that nobody looks after.
  void end_dangling();

private:
  using Round = docker::ContainerMachine::Round;
  using Stage = docker::ContainerMachine::Stage;
  using Number = workload::TaskRuns::Number;
  using TaskRun = driver::TaskRun;
  using Listed = std::vector<docker::ListedContainer>;

  struct Run;
  struct Performer;

  Run* find(const driver::TaskId& id, std::optional<Stage> stage = {});
  Run& make_run(const driver::TaskId& id, Number number);
  void hear(Number number, const std::function<void(Run&)>& event);
  void carry_out(Run& run);
  std::string binds_folder() const;
  std::string binds_location(const Run& run) const;
  void release_location(const std::string& location);
  void release_binds(const Run& run);
  void release_others(std::function<bool(const std::string& container)> is_kept);
  docker::LogCollectorOptions log_options(const Run& run) const;
  void follow_logs(Run& run, const workload::log_action::Take& action);
  std::string position_file(const std::string& container) const;
  void forget_logs(const std::string& container, DockerContext::Action done);

  // What nobody looks after.
  void list(std::function<void(const Result<Listed>&)> then);
  bool is_looked_after(const docker::ListedContainer& container,
                       const std::set<driver::TaskId>& kept) const;
  void remove_listed(const docker::ListedContainer& container, const char* why);

  // Usage.
  void read_usage(Number number, std::function<void(Result<client_api::TaskUsage>)> then);
  void wake_for_streams();
  void readings_due(std::uint64_t round);

  DockerContext& context_;
  const std::string life_;  ///< No other agent's life has this name.
  DockerImages images_;
  DockerInfra infra_;
  docker::ExecBridge commands_;
  std::map<Number, std::unique_ptr<Run>> runs_;  ///< Those, too, of which something is left.
  workload::TaskRuns wanted_;
};

}  // namespace nomad::client
