// Framing of the executor's protocol (schema/executor.capnp): each message is its length in four
// bytes, little end first, and the flat bytes of one `Message`. Used by both sides.
//
// Bytes from the other side are never trusted: messages are read with Cap'n Proto's checks, and a
// length beyond `max_message_bytes` or a malformed message ends the connection.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schema/executor.capnp.h"

namespace nomad::host::executor {

/// Executors and tasks outlive upgrades of the agent, and downgrades: both sides speak all versions
/// from the oldest on, and use the newest that the other knows.
inline constexpr std::uint16_t oldest_version = 1;
inline constexpr std::uint16_t protocol_version = 3;

/// The first in which a start may ask for isolation.
inline constexpr std::uint16_t isolation_version = 3;

/// The newest version that this release and one that speaks `min` to `max` share; 0: none.
constexpr std::uint16_t common_version(std::uint16_t min, std::uint16_t max) {
  const auto newest = max < protocol_version ? max : protocol_version;
  return newest >= min && newest >= oldest_version ? newest : std::uint16_t{0};
}

/// Linux accepts about 2 MiB of arguments and environment.
inline constexpr std::size_t max_message_bytes = 8 * 1024 * 1024;

/// What an executor answers to a request of a later release.
inline constexpr const char* unknown_request = "this executor does not know the request";

using Message = schema::executor::Message;

/// One framed message; `fill` sets everything but the id.
std::string frame(std::uint32_t id, const std::function<void(Message::Builder)>& fill);

/// Collects received bytes and takes messages off.
class FrameReader {
public:
  void append(std::string_view bytes) { buffer_ += bytes; }

  enum class Outcome { nothing, message, malformed };

  /// Calls `receive` with the next whole message, if there is one.
  Outcome next(const std::function<void(Message::Reader)>& receive);

private:
  std::string buffer_;
};

}  // namespace nomad::host::executor
