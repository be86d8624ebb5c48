// Agent: what an agent is to a plugin. Everything is asked and answered later, in a turn of the
// plugin's own thread; nothing here is a pointer into the agent. A plugin that is asked something
// while it waits for an answer is served: nothing blocks but what its author lets block.
//
// Threads: the plugin's one. A hook that is over may still have asked something: its callbacks must
// not need it, or ask by its HookRunner, which forgets them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin {

using Nanoseconds = std::chrono::nanoseconds;

/// A text of a schema object as a view (valid as long as the object) and as a value.
inline std::string_view view(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

inline std::string copy(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

enum class Level : std::uint8_t { trace, debug, info, warn, error };

/// What a path of the agent's API has answered.
struct ApiAnswer {
  unsigned status = 0;      ///< As of HTTP.
  std::uint64_t index = 0;  ///< X-Nomad-Index, for `?index=`; 0: none.
  std::string body;         ///< JSON, as a rule.
};

using ApiAnswered = std::function<void(const Result<ApiAnswer>&)>;

/// Where the plugin is; known when it is configured.
struct Surroundings {
  std::string data_dir{};       ///< The plugin's own directory: what it keeps there stays.
  std::string node{};           ///< The agent's name.
  std::string agent_version{};  ///< "0.1.0"
  bool client = false;          ///< The agent runs a client.
  bool server = false;
};

class Agent {
public:
  virtual ~Agent() = default;

  virtual const Surroundings& surroundings() const = 0;

  /// A line of the agent's log, below the plugin's name. No secrets. More than a hundred a second
  /// are dropped and counted.
  virtual void log(Level level, std::string_view line) = 0;

  /// GET of a path of the agent's API, as "/v1/jobs?prefix=web". Requests are refused as
  /// `unavailable` until the agent serves, `overloaded` beyond 64 that are open. A status of 400
  /// and more is an answer, no error.
  void get(std::string path, ApiAnswered then) { request("GET", std::move(path), {}, then); }

  /// The same with any method and a body.
  virtual void request(std::string method, std::string path, std::string body, ApiAnswered then)
      = 0;

  /// Registers a job: the object of the API, `{"ID": …}`, as JSON.
  void register_job(std::string_view job, ApiAnswered then) {
    request("PUT", "/v1/jobs", "{\"Job\":" + std::string{job} + "}", std::move(then));
  }

  /// GET of a path whose answer does not end, as "/v1/event/stream?topic=Job". `line` is called for
  /// each line that is not empty ("{}" of the event stream is a sign of life and left out), `ended`
  /// once, when nothing more comes. The agent waits for a plugin that is slow. Returns its number.
  virtual std::uint64_t subscribe(std::string path,
                                  std::function<void(std::string_view line)> line,
                                  std::function<void(const Error& why)> ended)
      = 0;

  /// Neither `line` nor `ended` is called any more.
  virtual void unsubscribe(std::uint64_t number) = 0;

  /// Metrics `nomad.plugin.<name>` of the agent. Names have [a-z0-9_.]; a plugin has at most 64.
  virtual void count(std::string_view name, double more = 1) = 0;
  virtual void sample(std::string_view name, double value) = 0;

  /// An event of the node, as `node status` shows it. An agent without a client drops it.
  virtual void node_event(std::string_view message,
                          const std::map<std::string, std::string>& details = {})
      = 0;

  /// Calls `then` after `delay`. Returns its number.
  virtual std::uint64_t after(Nanoseconds delay, std::function<void()> then) = 0;
  virtual void cancel_timer(std::uint64_t number) = 0;

  /// Calls `ready` again and again when the descriptor can be read (POLLIN) or written (POLLOUT),
  /// or was hung up, with what poll(2) says of it, until `unwatch`. `events` 0: not now. Replaces
  /// what was watched of it. Who closes a descriptor ends its watch before.
  virtual void watch(int descriptor, short events, std::function<void(short events)> ready) = 0;
  virtual void unwatch(int descriptor) = 0;

  /// Of the clock that `after` uses; since an unknown time.
  virtual Nanoseconds now() const = 0;

  /// Of a driver, about its tasks, or itself: `exited`, `event`, `fingerprint`, `usage`.
  virtual void tell(schema::plugin::Notice::Reader notice) = 0;
};

/// What the allocation's runner is to one instance of a hook, beside what `Agent` is to all.
class HookRunner {
public:
  virtual ~HookRunner() = default;

  virtual Agent& agent() = 0;

  /// An event of the task (of all tasks, for an allocation's hook), as `alloc status` shows it.
  virtual void event(std::string_view type,
                     std::string_view message,
                     const std::map<std::string, std::string>& details = {})
      = 0;

  /// Any notice. Its ids are those of the instance, whatever they say.
  virtual void tell(schema::plugin::Notice::Reader notice) = 0;

  using Answered = std::function<void(const Result<schema::plugin::AgentAnswer::Reader>&)>;

  /// Any question: restart, kill, resources, registrations, commands. The reader is valid during
  /// the call.
  virtual void ask(schema::plugin::AgentRequest::Reader request, Answered then) = 0;

  /// Restarts the task; `failure` counts for its restart policy.
  virtual void restart(std::string_view reason, bool failure, std::function<void(Result<>)> then)
      = 0;
};

}  // namespace nomad::plugin
