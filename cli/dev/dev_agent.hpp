// DevAgent: the agent of `nomadctl dev`, a process of its own whose state is in memory and whose
// directories go with it. For one thread.
#pragma once

#include <string>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/process/spawn.hpp"

namespace nomad::cli::dev {

/// A directory that is removed with what is in it.
class OwnDirectory {
public:
  /// Below `place`, which others may pass through. Errors name it.
  static Result<OwnDirectory> make(const std::string& location);

  OwnDirectory(OwnDirectory&& other) noexcept;
  OwnDirectory& operator=(OwnDirectory&&) = delete;
  ~OwnDirectory();

  const std::string& path() const { return path_; }

private:
  explicit OwnDirectory(std::string path) : path_{std::move(path)} {}

  std::string path_;
};

struct DevAgentOptions {
  std::string region;  ///< These three are the job's; empty: the agent's defaults.
  std::string datacenter;
  std::string node_pool;
  std::string log_level = "INFO";
};

class DevAgent {
public:
  /// Returns at once. The agent listens at Nomad's own ports if they are free.
  static Result<DevAgent> start(const DevAgentOptions& options);

  DevAgent(DevAgent&&) noexcept = default;
  DevAgent& operator=(DevAgent&&) = delete;

  /// Ends it, if it has not ended.
  ~DevAgent();

  /// "http://127.0.0.1:4646"
  const std::string& address() const { return address_; }

  /// For poll(2): readable when it has said something, until its end.
  int output() const { return output_.get(); }

  /// For poll(2): readable when it has ended.
  int process() const { return running_.process.get(); }

  /// Takes what it has said since. True once: that it answers requests now.
  bool take_output();

  /// The last lines that it has said.
  const std::string& last_output() const { return said_; }

  void end(bool at_once) const;

  /// Once it has ended.
  void reap();

private:
  DevAgent(OwnDirectory state, OwnDirectory tasks, host::Spawned running, host::UniqueFd output)
      : state_{std::move(state)},
        tasks_{std::move(tasks)},
        running_{std::move(running)},
        output_{std::move(output)} {}

  OwnDirectory state_;
  OwnDirectory tasks_;
  host::Spawned running_;
  host::UniqueFd output_;
  std::string address_;
  std::string said_;
  bool is_up_ = false;
};

}  // namespace nomad::cli::dev
