// RelayInput: what a client sends behind the head of a request that is passed on, on its way to the
// agent that serves it, at that agent's pace: a piece is acknowledged to the client's connection
// when the stream has taken it, so that no more waits here than one window of the connection.
//
// Threads: any, at the same time. The stream and `taken` are called under the lock: after `drop`
// neither is used again.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "runtime/base/bytes.hpp"
#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::api {

class RelayInput {
public:
  /// From here on bytes go to `stream`, whose `on_writable` is to call `send`. `taken` gets how
  /// many of the client's bytes are gone. Once.
  void begin(std::shared_ptr<net::RpcStream> stream, std::function<void(std::size_t)> taken);

  /// Of the client; `last` ends the stream behind it.
  void add(std::string_view bytes, bool last);

  /// Passes on what the stream takes now.
  void send();

  /// Forgets the stream and what waits.
  void drop();

private:
  std::mutex guard_;
  std::shared_ptr<net::RpcStream> stream_;  ///< From `begin` until the input has ended.
  std::function<void(std::size_t)> taken_;
  std::deque<Bytes> waiting_;  ///< What the stream did not take yet.
  bool has_ended_ = false;
};

}  // namespace nomad::api
