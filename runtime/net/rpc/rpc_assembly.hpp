// RpcAssembly: puts messages of a peer together from their frames, within bounds for each and for
// all that are unfinished. Where the pieces are kept is the caller's. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/base/bytes.hpp"
#include "runtime/base/result.hpp"

namespace nomad::net {

class RpcAssembly {
public:
  RpcAssembly(std::size_t max_message_bytes, std::size_t max_unfinished_bytes)
      : max_message_bytes_{max_message_bytes}, max_unfinished_bytes_{max_unfinished_bytes} {}

  /// Adds a piece to a message. The peer is at fault, and nothing is added, if the message has
  /// begun already (`corrupt`) or a bound is passed (`too_large`).
  Result<> add(std::string& message, std::span<const std::byte> piece, bool is_first);

  /// The message, which is whole; `message` is empty then.
  Bytes finish(std::string& message);

  /// Nobody waits for the rest of it.
  void drop(std::string& message);

private:
  std::size_t max_message_bytes_;
  std::size_t max_unfinished_bytes_;
  std::size_t unfinished_bytes_ = 0;
};

}  // namespace nomad::net
