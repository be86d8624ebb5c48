#include "runtime/net/http/websocket.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/evp.h>
#include <wslay/wslay.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::net::websocket {
namespace {

constexpr std::size_t largest_reason = 123;
constexpr std::size_t key_bytes = 16;
constexpr std::string_view accept_salt = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

std::string accept_for(std::string_view key) {
  const auto text = std::string{key}.append(accept_salt);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr) != 1)
    return {};  // a library without SHA-1: no client accepts the handshake
  return encode_base64({reinterpret_cast<const char*>(digest.data()), size});
}

bool is_key(std::string_view key) {
  if (key.size() != (key_bytes + 2) / 3 * 4 || !key.ends_with("==")) return false;
  return std::all_of(key.begin(), key.end() - 2,
                     [](char c) { return is_alphanumeric(c) || c == '+' || c == '/'; });
}

struct Codec::Callbacks {
  static Codec& codec_of(void* data) { return *static_cast<Codec*>(data); }

  /// Never more than the present frame has: the library would take what follows a message along
  /// with it. Of a header it gets one byte at a time, for only the library knows how long it is.
  static ssize_t receive(
      wslay_event_context* context, std::uint8_t* buffer, std::size_t size, int, void* data) {
    auto& codec = codec_of(data);
    const auto most = std::min<std::uint64_t>(size, std::max<std::uint64_t>(codec.left_, 1));
    const auto count = std::min<std::size_t>(most, codec.input_.size());
    if (count == 0 || codec.received_) {
      wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    std::memcpy(buffer, codec.input_.data(), count);
    codec.input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }

  static ssize_t send(
      wslay_event_context*, const std::uint8_t* bytes, std::size_t size, int, void* data) {
    codec_of(data).output_.append(reinterpret_cast<const char*>(bytes), size);
    return static_cast<ssize_t>(size);
  }

  static int make_mask(wslay_event_context*, std::uint8_t* mask, std::size_t size, void* data) {
    const auto number = codec_of(data).random_.next();
    std::memcpy(mask, &number, std::min(size, sizeof number));
    return 0;
  }

  static void begin_frame(wslay_event_context*,
                          const wslay_event_on_frame_recv_start_arg* frame,
                          void* data) {
    codec_of(data).left_ = frame->payload_length;
  }

  static void take_payload(wslay_event_context*,
                           const wslay_event_on_frame_recv_chunk_arg* chunk,
                           void* data) {
    codec_of(data).left_ -= chunk->data_length;
  }

  static void take_message(wslay_event_context*,
                           const wslay_event_on_msg_recv_arg* message,
                           void* data) {
    const bool is_close = message->opcode == WSLAY_CONNECTION_CLOSE;
    std::string_view payload{reinterpret_cast<const char*>(message->msg), message->msg_length};
    if (is_close) payload.remove_prefix(std::min<std::size_t>(payload.size(), 2));
    const auto code = message->status_code != 0 ? message->status_code
                                                : std::uint16_t{WSLAY_CODE_NO_STATUS_RCVD};
    codec_of(data).received_ = Message{static_cast<Kind>(message->opcode), std::string{payload},
                                       is_close ? code : std::uint16_t{0}};
  }
};

Codec::Codec(Side side, std::size_t max_message_bytes)
    : side_{side}, max_message_bytes_{max_message_bytes} {
  open();
}

Codec::~Codec() {
  wslay_event_context_free(context_);
}

void Codec::open() {
  const wslay_event_callbacks callbacks{
      Callbacks::receive,      Callbacks::send, Callbacks::make_mask,   Callbacks::begin_frame,
      Callbacks::take_payload, nullptr,         Callbacks::take_message};
  const auto init
      = side_ == Side::server ? wslay_event_context_server_init : wslay_event_context_client_init;
  if (init(&context_, &callbacks, this) != 0) throw std::bad_alloc{};
  wslay_event_config_set_max_recv_msg_length(context_, max_message_bytes_);
}

/// With a new context: the present one has queued a close without a code.
void Codec::fail(CloseCode code) {
  wslay_event_context_free(std::exchange(context_, nullptr));
  open();
  close(code, {});
  wslay_event_shutdown_read(context_);
  fault_ = code;
}

std::optional<Message> Codec::next(std::string_view& bytes) {
  input_ = bytes;
  while (!input_.empty() && !received_ && wslay_event_get_read_enabled(context_) != 0)
    if (const int failure = wslay_event_recv(context_); failure != 0)
      fail(failure == WSLAY_ERR_NOMEM ? CloseCode::internal_error : CloseCode::protocol_error);
  const bool is_over = wslay_event_get_read_enabled(context_) == 0;
  if (received_ && received_->kind == Kind::close && !is_valid_utf8(received_->payload)) {
    received_.reset();  // the library checks a reason only if it comes in one piece
    fail(CloseCode::bad_text);
  }
  is_closed_ = is_closed_ || (received_ && received_->kind == Kind::close);
  wslay_event_send(context_);
  if (is_over && !fault_ && !is_closed_)
    fault_ = static_cast<CloseCode>(wslay_event_get_status_code_sent(context_));
  bytes = is_over ? std::string_view{} : input_;
  input_ = {};
  return std::exchange(received_, std::nullopt);
}

void Codec::send(Kind kind, std::string_view payload) {
  const wslay_event_msg message{static_cast<std::uint8_t>(kind), bytes_of(payload), payload.size()};
  static_cast<void>(wslay_event_queue_msg(context_, &message));  // refused: it is closed
  wslay_event_send(context_);  // at once: a close that is still queued goes ahead of everything
}

void Codec::close(CloseCode code, std::string_view reason) {
  std::string text{utf8_prefix(reason, largest_reason)};
  if (!is_valid_utf8(text))
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; },
        '?');
  static_cast<void>(wslay_event_queue_close(context_, static_cast<std::uint16_t>(code),
                                            bytes_of(text), text.size()));  // as above
  wslay_event_send(context_);
}

std::string Codec::take_output() {
  return std::exchange(output_, {});
}

}  // namespace nomad::net::websocket
