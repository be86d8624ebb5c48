// What `operator debug` follows while it asks for the state: logs, events and profiles of agents,
// each taken down by a thread of its own until the capture's end, or an interrupt that is noted
// (cli/interrupts.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/api.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::cli {

/// Of one thread, that of the command. Those of the streams use connections of their own and are
/// joined by `finish`.
class DebugStreams {
public:
  using Clock = std::chrono::steady_clock;

  /// What is kept of one stream. The rest is left out, which the file's `.error` tells.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  /// An agent: where its files go ("servers/a"), and how a request names it ("server_id", "a").
  struct Agent {
    std::string folder;
    std::pair<std::string, std::string> name;
  };

  explicit DebugStreams(Clock::time_point end) : end_{end} {}

  ~DebugStreams();
  DebugStreams(const DebugStreams&) = delete;

  void follow_log(Api& api, const Agent& agent, const std::string& level);

  /// `topics` are "Topic:filter" each; `index` is the first that is wanted.
  void follow_events(Api& api, const std::vector<std::string>& topics, std::uint64_t index);

  /// Profiles of the agents' processor time, and of their memory at its end, one agent after the
  /// other, for `duration` each, which
  /// is at least a second; again `interval` later if that is less. Each agent is asked once,
  /// however short the capture is. `api` is for this alone, and does not wait without an end.
  void follow_profiles(Api api,
                       std::vector<Agent> agents,
                       Nanoseconds duration,
                       Nanoseconds interval);

  /// Waits for the ends of all. By the name in the archive; what failed is "<name>.error".
  std::map<std::string, std::string> finish();

private:
  using Files = std::map<std::string, std::string>;

  struct Stream {
    Files files;
    std::thread thread;
  };

  Stream& add();
  void refuse(const std::string& file, const Error& error);

  Clock::time_point end_;
  Files failed_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace nomad::cli
