// Websocket frames (RFC 6455) as bytes: read, checked and written, for both sides. Pure: whoever
// uses it moves the bytes and answers pings and closes.
//
// Not Beast's websocket::stream: that one wants a socket of Asio's that it reads itself and a
// handshake of its own, while our bytes are pushed to us, by a connection of the HTTP server or
// from another agent, on threads that change, and the same frames are read by a command's poll
// loop. A codec of bytes fits all three and is tested and fuzzed as it stands. No extensions.
//
// Bounds: a message is refused beyond `max_message_bytes`, before it is collected; one frame reader
// holds at most that and an unfinished header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::net::websocket {

enum class Kind : std::uint8_t { text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// Reasons of a close that we give.
enum class CloseCode : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  bad_text = 1007,
  policy_violation = 1008,
  too_large = 1009,
  internal_error = 1011,
};

/// A whole message, put together from its frames; or a control frame.
struct Message {
  Kind kind = Kind::text;
  std::string payload;
};

/// What a close frame says. `code` 1005: nothing.
struct Close {
  std::uint16_t code = 1005;
  std::string reason;
};

Close parse_close(std::string_view payload);

/// The payload of a close frame; the reason is cut to what fits.
std::string close_payload(CloseCode code, std::string_view reason);

/// Appends one final frame. `mask`: of a client's; a fresh random one for each frame.
void append_frame(std::string& out,
                  Kind kind,
                  std::string_view payload,
                  std::optional<std::uint32_t> mask = {});

/// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
std::string accept_for(std::string_view key);

/// Whether it is a key: 16 bytes in base64.
bool is_key(std::string_view key);

enum class Side : std::uint8_t { server, client };

class FrameReader {
public:
  /// `side` is our own: a server takes masked frames only, a client only unmasked ones.
  FrameReader(Side side, std::size_t max_message_bytes)
      : side_{side}, max_message_bytes_{max_message_bytes} {}

  /// Takes bytes off the front of `bytes` until a message is complete; none: it has taken all, or
  /// `fault` says why no more can be read.
  std::optional<Message> next(std::string_view& bytes);

  struct Fault {
    CloseCode code;
    std::string_view why;
  };

  const std::optional<Fault>& fault() const { return fault_; }

private:
  bool read_header(std::string_view& bytes);
  bool parse_header();
  bool check_kind(std::uint8_t opcode, bool is_final, std::uint64_t length);
  std::optional<Message> finish_frame();
  bool fail(CloseCode code, std::string_view why);

  const Side side_;
  const std::size_t max_message_bytes_;
  std::optional<Fault> fault_;

  std::string header_;       ///< Of the frame that is being read, as far as it is here.
  bool in_payload_ = false;  ///< The header is complete.
  bool is_final_ = false;
  bool is_control_ = false;
  std::uint64_t left_ = 0;  ///< Of the payload.
  std::uint8_t mask_[4] = {};
  std::size_t mask_at_ = 0;

  std::string control_;
  Kind control_kind_ = Kind::ping;
  std::string message_;
  std::optional<Kind> message_kind_;  ///< None: no message is under way.
};

}  // namespace nomad::net::websocket
