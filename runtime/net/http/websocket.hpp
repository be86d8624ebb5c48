// Websockets (RFC 6455) as bytes: messages to frames and back, for both sides, by libwslay. Pure:
// whoever uses it moves the bytes. No extensions.
//
// libwslay and not Beast's websocket::stream: that one wants a socket of Asio's that it reads
// itself and a handshake of its own, while our bytes are pushed to us, by a connection of the HTTP
// server or from another agent, on threads that change, and the same frames are read by a command's
// poll loop.
//
// Bounds: a message is refused beyond `max_message_bytes`, with the first byte of the frame that
// would make it so long. A codec holds at most one such message, and the output that nobody has
// taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/random.hpp"

struct wslay_event_context;

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
  std::string payload;           ///< Of a close: its reason.
  std::uint16_t close_code = 0;  ///< Of a close; 1005: it has none.
};

/// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
std::string accept_for(std::string_view key);

/// Whether it is a key: 16 bytes in base64.
bool is_key(std::string_view key);

enum class Side : std::uint8_t { server, client };

/// One side of one websocket. Pings and closes of the peer are answered by the codec itself;
/// whoever has called anything here sends what `take_output` returns. Not thread-safe.
class Codec {
public:
  /// `side` is our own: a server takes masked frames only, a client only unmasked ones.
  Codec(Side side, std::size_t max_message_bytes);
  Codec(const Codec&) = delete;
  ~Codec();

  /// Takes bytes off the front of `bytes` until a message is complete, and not one more; none: it
  /// has taken all, or `fault` says why no more can be read. What follows a close is dropped.
  std::optional<Message> next(std::string_view& bytes);

  /// What the peer did wrong. The close that tells it so is in the output.
  std::optional<CloseCode> fault() const { return fault_; }

  /// Nothing goes behind a close, be it ours or the answer to the peer's.
  void send(Kind kind, std::string_view payload);

  /// The reason is cut to what fits into a close.
  void close(CloseCode code, std::string_view reason);

  /// The frames that are to be sent now.
  std::string take_output();

private:
  struct Callbacks;  ///< Of libwslay.

  void open();
  void fail(CloseCode code);

  const Side side_;
  const std::size_t max_message_bytes_;
  wslay_event_context* context_ = nullptr;
  Random random_ = Random::from_system();  ///< For the masks of a client's frames.
  std::string_view input_;                 ///< What `next` has not given to the library yet.
  std::uint64_t left_ = 0;                 ///< Of the present frame's payload.
  std::optional<Message> received_;
  bool is_closed_ = false;  ///< By the peer.
  std::optional<CloseCode> fault_;
  std::string output_;
};

}  // namespace nomad::net::websocket
