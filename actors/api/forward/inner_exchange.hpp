// InnerExchange: the Exchange of a request that the agent asks itself, for a part of an answer that
// it puts together: as if it had come from the client, with the client's token, served wherever
// dispatch finds that it must be. What comes of it waits here until it is taken.
//
// Bounds: who answers stops when so much waits as one allows that comes from elsewhere: half a MiB
// of a stream of this node, a window of the connection from another agent.
//
// Threads: any. Tests: job_logs_test.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/net/http/exchange.hpp"

namespace nomad::api {

class InnerExchange final : public net::detail::Exchange {
public:
  struct Taken {
    std::string bytes{};                    ///< Of the body, of an answer that streams.
    std::optional<net::Response> answer{};  ///< Instead: one that is whole, as refusals are.
    bool has_ended = false;                 ///< Nothing follows.
    bool broke_off = false;                 ///< And something is missing.
  };

  /// `changed` is called on any thread when there is something to take, and holds no lock.
  explicit InnerExchange(std::function<void()> changed) : changed_{std::move(changed)} {}

  /// What has come since the last time: pieces of some `most_bytes` together.
  Taken take_some(std::size_t most_bytes);

  /// Nobody wants the answer any more.
  void abandon();

  bool take(Turns::Action&) override { return false; }

  void send(net::Response response) override;
  void start_stream(net::Response head) override;
  bool write(std::string_view chunk, std::function<void()> drained) override;
  void end(bool properly) override;
  void drop() override;
  bool abandoned() const override;
  std::size_t queued() const override;
  void on_abandoned(std::function<void()> callback) override;

private:
  struct Piece {
    std::string bytes;
    std::function<void()> drained;
  };

  void finish(bool properly);

  const std::function<void()> changed_;
  mutable std::mutex guard_;
  std::deque<Piece> pieces_;
  std::size_t queued_ = 0;
  std::optional<net::Response> answer_;
  std::function<void()> abandoned_;
  bool is_answered_ = false;
  bool has_ended_ = false;
  bool broke_off_ = false;
  bool is_abandoned_ = false;
};

}  // namespace nomad::api
