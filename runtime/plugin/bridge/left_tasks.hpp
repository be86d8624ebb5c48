// LeftTasks: tasks that nobody wants any more, and that the driver is to destroy. Each has a file
// until the driver says that it has destroyed the task, or that it has none; the next process goes
// on with what it finds. A driver that is away, or fails, is asked again, later each time, and
// `most_tries` times by one process; the log tells of the first failure and of the last.
//
// Threads: the plugin's. It lives as long as what calls it back: the agent and the turns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/back_off.hpp"
#include "runtime/plugin/bridge/kept_runs.hpp"
#include "runtime/plugin/bridge/remote.hpp"
#include "runtime/plugin/sdk/agent.hpp"

namespace nomad::plugin::bridge {

/// The driver has not said whether it has a task: it, its program or the way to it is away, or in
/// trouble. What it has answered by itself is none of these.
bool is_away(const Refusal& why);

class LeftTasks {
public:
  static constexpr unsigned most_tries = 12;  ///< In half an hour.

  using Gone = std::function<void(const drivers::KeptRun&)>;

  /// `directory` is made; what is in it is destroyed. `gone` is called for each that is destroyed
  /// or was not there.
  LeftTasks(Agent& agent, Remote& remote, const std::string& directory, Gone gone);

  /// `is_held`: the program knows it, and need not find it again first. `tried` is called once,
  /// when the first try is over. A run without a handle is none that a later process could find.
  void destroy(drivers::KeptRun run, bool is_held, std::function<void()> tried = {});

  /// Somebody wants it again.
  void withdraw(const std::string& remote_id);

private:
  struct Entry {
    drivers::KeptRun run;
    bool is_held = false;
    unsigned tries = 0;
    BackOff pauses{std::chrono::seconds{5}, std::chrono::minutes{5}};
    std::function<void()> tried{};

    const std::string& id() const { return run.handle().config().id(); }
  };

  using EntryPtr = std::shared_ptr<Entry>;

  void attempt(const EntryPtr& entry);
  void find_again(const EntryPtr& entry);
  void ask_destroy(const EntryPtr& entry);
  void finish(const EntryPtr& entry);
  void failed(const EntryPtr& entry, const Refusal& why);
  bool is_left(const EntryPtr& entry) const;

  Agent& agent_;
  Remote& remote_;
  KeptRuns files_;
  Gone gone_;
  std::map<std::string, EntryPtr> left_;  ///< By the driver's ids.
};

}  // namespace nomad::plugin::bridge
