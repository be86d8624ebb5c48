// A request between nodes, and its bytes:
//
//      0  u16  method                       8  u32  bytes of the head
//      2  u16  zero                        12  …    head, then body
//      4  u32  timeout in ms
//
// Priority and flags stand in the headers of its frames. Pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/base/bytes.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/rpc/rpc_frame.hpp"

namespace nomad::net {

/// A request as it travels. `method` and `head` mean something only to those who serve it.
struct RpcRequest {
  std::uint16_t method = 0;
  RpcPriority priority = RpcPriority::normal;
  /// What was left when it was sent; 0: none, for streams that end by themselves.
  std::chrono::milliseconds timeout{0};
  bool one_way = false;  ///< No answer, no `timeout`.
  bool byte_stream = false;
  Bytes head;  ///< At most 64 KiB less the fixed fields.
  Bytes body;
};

/// All that stands before the body.
Bytes encode_head(const RpcRequest& request);

/// The request whose last frame has this header; `corrupt` if it is cut short. Head and body are
/// parts of `message`, which they keep.
Result<RpcRequest> decode_rpc_request(const RpcFrameHeader& header, const Bytes& message);

}  // namespace nomad::net
