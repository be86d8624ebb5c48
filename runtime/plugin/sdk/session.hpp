// Session: a plugin's side of its conversation with an agent: makes the plugin's objects, hands
// them what the agent asks, and sends what they say. No socket, no thread and no clock: frames come
// in by `take` and go out by a function, time is an argument. So the same session is served by a
// process (serve.hpp), by a thread of the agent, and by tests (test_kit.hpp).
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <poll.h>

#include <capnp/message.h>

#include "runtime/plugin/sdk/plugin.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

class Session {
public:
  /// Takes the frame before it returns.
  using Send = std::function<void(capnp::MessageBuilder& frame)>;

  /// `plugin` is described already, and outlives the session.
  Session(const Plugin& plugin, Send send);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Says what the plugin is.
  void begin();

  /// A frame of the agent's, in Cap'n Proto's stream form. An error ends the session: the bytes are
  /// none, or an actor has thrown.
  Result<> take(std::span<const capnp::word> frame, Nanoseconds now);

  /// When `run_timers` wants to be called; nothing: when something is taken.
  std::optional<Nanoseconds> next_timer() const;

  Result<> run_timers(Nanoseconds now);

  /// Which descriptors to wait for beside the agent's, and what became of them.
  std::vector<pollfd> watched() const;
  Result<> run_ready(std::span<const pollfd> seen, Nanoseconds now);

  /// The agent has ended it: nothing more is to be done but to send what waits.
  bool is_over() const;

private:
  class Core;

  std::unique_ptr<Core> core_;
};

}  // namespace nomad::plugin
