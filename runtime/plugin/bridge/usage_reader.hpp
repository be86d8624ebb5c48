// UsageReader: reads what a task uses from its driver, which streams it.
//
// Threads: the plugin's. Part of a run of BridgeDriver's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plugin/bridge/answer_stream.hpp"
#include "runtime/plugin/bridge/remote.hpp"
#include "runtime/plugin/sdk/agent.hpp"

namespace nomad::plugin::bridge {

class UsageReader : public std::enable_shared_from_this<UsageReader> {
public:
  /// Null: there is none, for that reason.
  using Then = std::function<void(const drivers::TaskStats*, const Refusal&)>;

  UsageReader(Agent& agent, Remote& remote, std::string task_id)
      : agent_{agent}, remote_{remote}, task_id_{std::move(task_id)} {}

  /// Calls `then` once, at once or in a later turn, with what came last, if that is not older than
  /// two intervals, or what comes next. From then on the driver streams at `interval`; 0: no more.
  void read(Nanoseconds interval, Then then);

  /// The run is over.
  void end();

private:
  void open();
  void close();
  void take(const drivers::TaskStats& usage);
  void fail(const Refusal& why);

  Agent& agent_;
  Remote& remote_;
  std::string task_id_;
  Nanoseconds interval_{0};  ///< 0: who waits wants to know once.
  std::shared_ptr<AnswerStream<drivers::TaskStatsRequest, drivers::TaskStatsResponse>> stream_;
  std::vector<Then> asked_;
  std::optional<drivers::TaskStats> last_;  ///< Of the stream.
  Nanoseconds last_at_{0};
  std::uint64_t number_ = 0;  ///< Of the stream.
  std::uint64_t waits_ = 0;   ///< Tells the patience of who waits now from earlier ones'.
};

}  // namespace nomad::plugin::bridge
