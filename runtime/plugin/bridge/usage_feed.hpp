// UsageFeed: what a task uses, as its driver streams it: for who asks now, and for who wants it
// again and again.
//
// Threads: the plugin's. Part of a run of BridgeDriver's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plugin/bridge/answer_stream.hpp"
#include "runtime/plugin/bridge/remote.hpp"
#include "runtime/plugin/sdk/kinds.hpp"

namespace nomad::plugin::bridge {

class UsageFeed : public std::enable_shared_from_this<UsageFeed> {
public:
  struct Told {
    std::function<void(const drivers::TaskStats&)> usage;
    std::function<void(const Refusal&)> failed;
  };

  UsageFeed(Host& host, Remote& remote, std::string task_id, Told told)
      : host_{host}, remote_{remote}, task_id_{std::move(task_id)}, told_{std::move(told)} {}

  /// Answered by the next usage, or one that is not older than the interval; told again at the
  /// interval, until it is 0.
  void ask(Nanoseconds interval, const DriverReply& reply);

  /// The run is over.
  void end();

private:
  void open(Nanoseconds interval);
  void close();
  void take(const drivers::TaskStats& usage);
  void ended(const grpc::Status& status);
  void fail(const Refusal& why);

  Host& host_;
  Remote& remote_;
  std::string task_id_;
  Told told_;
  Nanoseconds interval_{0};  ///< Of who wants it told; 0: nobody.
  std::shared_ptr<AnswerStream<drivers::TaskStatsRequest, drivers::TaskStatsResponse>> stream_;
  std::vector<DriverReply> asked_;
  std::optional<drivers::TaskStats> last_;
  Nanoseconds last_at_{0};
  std::uint64_t number_ = 0;  ///< Of the stream.
};

}  // namespace nomad::plugin::bridge
