// HookedTask: what a hook has its agent do with the task that it is of, and what users read of it.
// Tests: identity_hook_test, template_hook_test.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/client/hooks/hook.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {

/// Called in the turns of the hook that owns it, as what it calls back is.
class HookedTask {
public:
  /// `self` and `scope` outlive it.
  HookedTask(actor::Self* self, PluginAgent agent, UnixClock unix_now, const HookScope& scope)
      : self_{self}, agent_{std::move(agent)}, unix_now_{std::move(unix_now)}, scope_{scope} {}

  /// What programs read of an event.
  using Details = std::map<std::string, std::string>;

  /// An event in the task's history.
  void tell(std::string_view type, std::string_view message, const Details& details = {}) const;

  /// Ends the task as failed.
  void fail(std::string_view message) const;

  /// `then` comes when it runs again, or does not run at all: it starts with what is newest.
  void restart(std::string_view reason, std::function<void()> then) const;

  /// A task that does not run (any more) needs none: that is no error.
  void signal(std::string_view signal,
              std::string_view reason,
              std::function<void(const Result<>&)> then) const;

  /// Runs a command beside the task, for `timeout` at most, and says how it exited. `not_found`:
  /// the task does not run.
  void run(const std::string& program,
           const std::vector<std::string>& arguments,
           std::chrono::nanoseconds timeout,
           std::function<void(const Result<std::int64_t>&)> then) const;

private:
  schema::plugin::AgentRequest::Builder order(Draft<schema::plugin::AgentRequest>& draft) const;

  actor::Self* self_;
  PluginAgent agent_;
  UnixClock unix_now_;
  const HookScope& scope_;
};

}  // namespace nomad::client
