// What handlers hold of a connection: the way back of a request (RpcExchange), and the ends of byte
// streams (StreamEnd). Internal to runtime/net.
//
// Threads: shared by handlers and the connection. Their own state is behind their mutex, everything
// else happens by posting to the connection's worker.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::net {

class RpcSocket;
class RpcWorker;

namespace detail {

/// One side of a byte stream. What its owner writes waits in `waiting_` until the protocol takes
/// it; what the peer sent waits in `arrived_` until the owner listens.
class StreamEnd : public RpcStream, public std::enable_shared_from_this<StreamEnd> {
public:
  StreamEnd(std::shared_ptr<RpcWorker> worker, std::size_t limit)
      : worker_{std::move(worker)}, limit_{limit} {}

  bool write(Bytes bytes) override;
  void end() override;
  void on_data(std::function<void(Bytes bytes, bool last)> callback) override;
  void taken(std::size_t count) override;
  void on_writable(std::function<void()> callback) override;
  void on_closed(std::function<void()> callback) override;

  // --- on the worker's thread ---
  void attach(std::shared_ptr<RpcSocket> socket, RpcStreamId id);
  void deliver(Bytes bytes, bool last);
  void push();  ///< Hands what waits to the protocol, then the answer that waits for that.

  /// Whether everything written has gone to the protocol, so that the call may be answered. If not,
  /// `push` answers it by `outcome` later.
  bool finish(const Result<Bytes>& outcome);
  void close();

private:
  void post_push();

  std::shared_ptr<RpcWorker> worker_;
  const std::size_t limit_;
  std::shared_ptr<RpcSocket> socket_;  ///< On the worker's thread.
  RpcStreamId id_ = 0;

  std::mutex guard_;
  std::deque<Bytes> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool push_posted_ = false;
  bool refused_ = false;
  bool ended_ = false;
  bool end_sent_ = false;
  std::optional<Result<Bytes>> outcome_;
  bool closed_ = false;
  std::deque<std::pair<Bytes, bool>> arrived_;
  std::function<void(Bytes, bool)> on_data_;
  std::function<void()> on_writable_;
  std::function<void()> on_closed_;
};

/// A request of the peer.
class RpcExchange {
public:
  RpcExchange(std::shared_ptr<RpcSocket> socket, RpcStreamId id, RpcRequest request);

  RpcRequest request;
  RpcClock::time_point deadline;
  RpcConnectionRef connection;
  std::shared_ptr<StreamEnd> stream;

  void respond(Result<Bytes> outcome);
  void on_cancelled(std::function<void()> callback);
  void cancel();  ///< By the connection.

private:
  std::shared_ptr<RpcSocket> socket_;
  RpcStreamId id_;
  std::mutex guard_;
  bool answered_ = false;
  bool cancelled_ = false;
  std::function<void()> callback_;
};

}  // namespace detail

}  // namespace nomad::net
