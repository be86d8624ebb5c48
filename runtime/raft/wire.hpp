// The messages between servers as bytes (schema/raft.capnp), for the transport.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/raft/messages.hpp"

namespace nomad::raft {

/// How soon a message has to leave. Heartbeats and votes keep a leader in office and never wait
/// behind entries; entries do not wait behind a snapshot.
enum class Lane : std::uint8_t { urgent, normal, bulk };

Lane lane_of(const Message& message);

/// A message, and where its sender can be reached.
struct WireMessage {
  Message message;
  std::string from_address;
};

/// The message as bytes that `read_wire` understands.
Bytes write_wire(const Message& message, const std::string& from_address);

/// Reads outside bytes. What the message holds (payloads, parts of a snapshot) shares `bytes`,
/// which begin at an 8-byte boundary; nothing in a payload has been checked. `corrupt` when they
/// are no message, `invalid_argument` when they are one of another protocol version.
Result<WireMessage> read_wire(const Bytes& bytes);

}  // namespace nomad::raft
