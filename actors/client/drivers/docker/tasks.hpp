// DockerTasks: the containers of tasks, from the order to start one until it is forgotten.
//
//     starting   image, network, create, start, inspect; what fails leaves nothing behind
//     running    its end is waited for, its logs are followed
//     ended      the end was told; kept until it is destroyed
//
// A container belongs to the engine, which may go and come: then it is looked at again. What must
// be known of it by another agent stands in its labels; its handle is its id. Lives in the driver's
// actor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "actors/client/drivers/docker/images.hpp"
#include "actors/client/drivers/docker/infra.hpp"
#include "actors/client/drivers/usage_feed.hpp"
#include "runtime/docker/exec_bridge.hpp"
#include "runtime/docker/log_keeper.hpp"

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

  /// Containers of this agent that are older than the grace and that nobody looks after.
  void end_dangling();

private:
  enum class Stage : std::uint8_t { starting, running, ended };

  struct Task;

  Task* find(const driver::TaskId& id, std::uint64_t serial);
  static std::string user_of(const driver::TaskId& id, const std::string& run_id);

  // starting
  void fail_start(const driver::TaskId& id, std::uint64_t serial, Error err, bool recoverable);
  void got_image(const driver::TaskId& id, std::uint64_t serial, const std::string& image);
  void join_network(const driver::TaskId& id, std::uint64_t serial);
  void create(const driver::TaskId& id, std::uint64_t serial, int tries);
  void name_is_taken(const driver::TaskId& id, std::uint64_t serial, int tries);
  void start_container(const driver::TaskId& id, std::uint64_t serial, int tries);
  void inspect_started(const driver::TaskId& id, std::uint64_t serial);
  void started(const driver::TaskId& id, Task& task, const docker::Container& container);
  void drop_container(const std::string& container);
  void release_images(const driver::TaskId& id, const std::string& run_id);
  void leave_network(const std::string& alloc_id, DockerContext::Action done);

  // running
  void adopt(const driver::TaskId& id, const docker::Container& container, std::uint64_t serial);
  void look_for(const driver::TaskId& id, std::uint64_t serial, int tries);
  void watch(const driver::TaskId& id, Task& task);
  void wait_ended(const driver::TaskId& id, std::uint64_t serial);
  void look_again(const driver::TaskId& id, std::uint64_t serial);
  void end(const driver::TaskId& id, Task& task, workload::ExitResult result);
  void tell_end(const driver::TaskId& id, Task& task);
  void order_stop(const driver::TaskId& id, std::uint64_t serial);
  void kill(const driver::TaskId& id, std::uint64_t serial);

  // logs
  void open_logs(const driver::TaskId& id, Task& task, const docker::Texts& labels, bool is_new);
  void follow_logs(const driver::TaskId& id, Task& task);
  void logs_ended(const driver::TaskId& id,
                  std::uint64_t serial,
                  const Result<docker::EngineAnswer>& outcome);
  std::string position_file(const std::string& container) const;

  // forgetting
  void forget(Task& task);
  void remove(const driver::TaskId& id,
              const std::string& container,
              int tries,
              actor::Promise<Answered> answer);
  void removed(const driver::TaskId& id, const actor::Promise<Answered>& answer);
  void list(std::function<void(Result<std::vector<docker::ListedContainer>>)> then);
  bool is_looked_after(const docker::ListedContainer& container,
                       const std::set<driver::TaskId>& kept) const;
  void remove_listed(const docker::ListedContainer& container, const char* why);

  // usage
  void read_usage(const driver::TaskId& id,
                  std::uint64_t serial,
                  std::function<void(Result<client_api::TaskUsage>)> then);
  void wake_for_feed();
  void readings_due(std::uint64_t round);

  DockerContext& context_;
  DockerImages images_;
  DockerInfra infra_;
  docker::ExecBridge commands_;
  std::map<driver::TaskId, std::unique_ptr<Task>> tasks_;
  std::uint64_t serials_ = 0;
  UsageFeed feed_;
  std::optional<Nanoseconds> wakes_at_;  ///< For the feed.
  std::uint64_t wake_round_ = 0;
};

}  // namespace nomad::client
