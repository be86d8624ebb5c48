// The frames of the protocol between nodes: their header, to bytes and back. Pure.
//
// A connection carries frames and nothing else, in both directions:
//
//      0  u16  magic 0x4e52 ("NR")          8  u32  stream (0: the connection itself)
//      2  u8   version                     12  u32  payload bytes that follow, at most 64 KiB
//      3  u8   kind                        16  …    payload
//      4  u8   priority
//      5  u8   flags
//      6  u16  zero
//
// All numbers are little-endian. Magic and version stand in every frame, so that a stream that lost
// its position, or never was ours, is recognized at its next header and no length of it is
// believed.
//
// May depend on: runtime/base, access.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/access/caller.hpp"
#include "runtime/base/result.hpp"

namespace nomad::net {

inline constexpr std::size_t rpc_frame_header_bytes = 16;
inline constexpr std::size_t rpc_frame_payload_bytes = 64 * 1024;
inline constexpr std::uint8_t rpc_frame_version = 1;
/// What stands before the head and the body in the bytes of a request.
inline constexpr std::size_t rpc_request_fixed_bytes = 12;

/// Sent as a number: never renumber.
enum class RpcFrameKind : std::uint8_t {
  hello = 1,     ///< First frame of either side: who it is (RpcHello).
  request = 2,   ///< Part of a request; opens a stream.
  response = 3,  ///< Part of its answer; the last ends the stream.
  error = 4,     ///< Instead of an answer: code and sentence; ends the stream.
  cancel = 5,    ///< The caller does not want the answer any more; ends the stream.
  data = 6,      ///< Bytes of a byte stream, under its window; `last` ends this direction.
  window = 7,    ///< The receiver has taken so many bytes (u32) of a byte stream.
  ping = 8,      ///< Answered by `pong` with the same payload, ahead of everything.
  pong = 9,
  goodbye = 10,  ///< No new streams, please; those that are open may end. A sentence says why.
};

/// The place of a frame in the queue of its connection, and of its message in the mailbox of who
/// gets it.
enum class RpcPriority : std::uint8_t {
  urgent = 0,  ///< Raft, heartbeats, changes of a client status, kills.
  normal = 1,
  bulk = 2,  ///< Snapshots, logs, files.
};

inline constexpr std::size_t rpc_priority_count = 3;

struct RpcFrameHeader {
  RpcFrameKind kind = RpcFrameKind::ping;
  RpcPriority priority = RpcPriority::normal;
  bool first = false;        ///< Opens a message (request, response).
  bool last = false;         ///< Ends a message, or this direction of a byte stream.
  bool one_way = false;      ///< A request that nobody answers.
  bool byte_stream = false;  ///< A request that also opens a byte stream.
  std::uint32_t stream = 0;
  std::uint32_t length = 0;

  friend bool operator==(const RpcFrameHeader&, const RpcFrameHeader&) = default;
};

using RpcFrameHeaderBytes = std::array<std::byte, rpc_frame_header_bytes>;

RpcFrameHeaderBytes encode(const RpcFrameHeader& header);

/// `corrupt` names what is wrong: no frame of ours, a version, kind, priority or flag that nobody
/// sends, a payload beyond the limit. `bytes` holds a whole header.
Result<RpcFrameHeader> decode_rpc_frame_header(std::span<const std::byte> bytes);

/// "request", for logs.
std::string_view to_string(RpcFrameKind kind);

// -- small payloads ------------------------------------------------------------------------------

/// What a side says of itself. Claims: only a certificate proves a role.
using RpcRole = access::AgentRole;

struct RpcHello {
  std::uint16_t min_version = 1;  ///< Of the messages; the sides speak the highest common one.
  std::uint16_t max_version = 1;
  RpcRole role = RpcRole::client;
  bool for_raft = false;  ///< The connection is for Raft alone.
  std::string region = {};
  std::string name = {};  ///< For logs: a server's or node's id. Never an identity.

  friend bool operator==(const RpcHello&, const RpcHello&) = default;
};

std::string encode(const RpcHello& hello);
Result<RpcHello> decode_rpc_hello(std::span<const std::byte> payload);

/// The payload of `error`.
std::string encode_rpc_error(const Error& error);
Error decode_rpc_error(std::span<const std::byte> payload);

}  // namespace nomad::net
