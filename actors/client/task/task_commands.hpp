// TaskCommands: commands that hooks have run beside the tasks of an allocation, such as checks by a
// script. Each has a bound on its time, after which it is killed, and on what is kept of its
// output.
//
// The allocation's runner owns it and calls it in its own turns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "actors/client/alloc_facts.hpp"
#include "actors/client/task/task_runner.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::client {

class TaskCommands {
public:
  static constexpr std::size_t max_output = 4 * 1024;  ///< The beginning of both streams.

  explicit TaskCommands(AllocSelf::pointer self) : self_{self} {}

  TaskCommands(const TaskCommands&) = delete;
  TaskCommands& operator=(const TaskCommands&) = delete;

  /// Answered when the command has ended; `timeout` when it was killed for its time.
  actor::Answer<plugin_agent::Answered> run(const TaskRunner& task,
                                            schema::plugin::Command::Reader command);

  void time_over(const alloc_runner::CommandTimeOver& msg);

private:
  struct Running {
    actor::Promise<plugin_agent::Answered> promise;
    std::shared_ptr<host::ExecSession> session;  ///< Empty while it is being started.
  };

  void started(std::uint64_t number, std::shared_ptr<host::ExecSession> session);
  void ended(std::uint64_t number, const host::ExecResult& result, const std::string& output);
  void answer(std::uint64_t number, const Result<Object<schema::plugin::AgentAnswer>>& outcome);

  AllocSelf::pointer self_;
  std::map<std::uint64_t, Running> running_;
  std::uint64_t last_ = 0;
};

}  // namespace nomad::client
