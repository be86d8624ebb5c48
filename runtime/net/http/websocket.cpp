#include "runtime/net/http/websocket.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <openssl/evp.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::net::websocket {
namespace {

constexpr std::size_t largest_control = 125;
constexpr std::size_t key_bytes = 16;
constexpr std::string_view accept_salt = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Codes that may be sent in a close frame.
bool is_close_code(std::uint16_t code) {
  if (code >= 3000) return code < 5000;
  return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

std::uint8_t byte_at(std::string_view bytes, std::size_t place) {
  return static_cast<std::uint8_t>(bytes[place]);
}

std::uint64_t number_at(std::string_view bytes, std::size_t place, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i)
    number = number << 8 | byte_at(bytes, place + i);
  return number;
}

void append_big_endian(std::string& out, std::uint64_t number, unsigned size) {
  for (unsigned i = size; i-- > 0;)
    out += static_cast<char>(number >> (8 * i));
}

/// How long a frame's header is, by its first two bytes.
std::size_t header_size(std::string_view start) {
  const auto length = byte_at(start, 1) & 0x7f;
  const std::size_t extra = length == 126 ? 2 : length == 127 ? 8 : 0;
  return 2 + extra + ((byte_at(start, 1) & 0x80) != 0 ? 4 : 0);
}

}  // namespace

Close parse_close(std::string_view payload) {
  if (payload.size() < 2) return {};
  return {static_cast<std::uint16_t>(number_at(payload, 0, 2)), std::string{payload.substr(2)}};
}

std::string close_payload(CloseCode code, std::string_view reason) {
  std::string payload;
  append_big_endian(payload, static_cast<std::uint16_t>(code), 2);
  auto size = std::min(reason.size(), largest_control - 2);
  if (size < reason.size())  // not within a character
    while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xc0) == 0x80)
      --size;
  const auto kept = reason.substr(0, size);
  if (is_valid_utf8(kept)) return payload.append(kept);
  for (const char c : kept)
    payload += static_cast<unsigned char>(c) < 0x80 ? c : '?';
  return payload;
}

void append_frame(std::string& out,
                  Kind kind,
                  std::string_view payload,
                  std::optional<std::uint32_t> mask) {
  out += static_cast<char>(0x80 | static_cast<unsigned>(kind));
  const unsigned masked = mask ? 0x80 : 0;
  if (payload.size() < 126) {
    out += static_cast<char>(masked | payload.size());
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(masked | 126U);
    append_big_endian(out, payload.size(), 2);
  } else {
    out += static_cast<char>(masked | 127U);
    append_big_endian(out, payload.size(), 8);
  }
  if (!mask) {
    out += payload;
    return;
  }
  const auto key_at = out.size();
  append_big_endian(out, *mask, 4);
  const std::string key = out.substr(key_at, 4);
  const auto start = out.size();
  out += payload;
  for (std::size_t i = 0; i < payload.size(); ++i)
    out[start + i] = static_cast<char>(out[start + i] ^ key[i % 4]);
}

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

bool FrameReader::fail(CloseCode code, std::string_view why) {
  fault_ = Fault{code, why};
  return false;
}

std::optional<Message> FrameReader::next(std::string_view& bytes) {
  while (!fault_) {
    if (!in_payload_ && !read_header(bytes)) return {};
    auto& into = is_control_ ? control_ : message_;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    const auto start = into.size();
    into.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    left_ -= count;
    if (side_ == Side::server)
      for (auto at = start; at < into.size(); ++at)
        into[at] = static_cast<char>(static_cast<std::uint8_t>(into[at]) ^ mask_[mask_at_++ % 4]);
    if (left_ > 0) return {};
    in_payload_ = false;
    if (auto message = finish_frame()) return message;
  }
  return {};
}

/// True once the header of a frame is complete and right.
bool FrameReader::read_header(std::string_view& bytes) {
  for (;;) {
    const auto wanted = header_.size() < 2 ? 2 : header_size(header_);
    if (header_.size() == wanted) break;
    if (bytes.empty()) return false;
    const auto count = std::min(bytes.size(), wanted - header_.size());
    header_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
  }
  const bool is_right = parse_header();
  header_.clear();
  return is_right;
}

bool FrameReader::parse_header() {
  const auto first = byte_at(header_, 0);
  const auto second = byte_at(header_, 1);
  if ((first & 0x70) != 0)
    return fail(CloseCode::protocol_error, "an extension was used that was not agreed on");
  const bool is_masked = (second & 0x80) != 0;
  if (is_masked != (side_ == Side::server))
    return fail(CloseCode::protocol_error,
                is_masked ? "a server's frame is masked" : "a client's frame is not masked");
  std::uint64_t length = second & 0x7f;
  if (length == 126) {
    length = number_at(header_, 2, 2);
    if (length < 126) return fail(CloseCode::protocol_error, "a length is not the shortest");
  } else if (length == 127) {
    length = number_at(header_, 2, 8);
    if (length <= 0xffff || length >> 63 != 0)
      return fail(CloseCode::protocol_error, "a length is not the shortest");
  }
  if (!check_kind(first & 0x0f, (first & 0x80) != 0, length)) return false;
  if (is_masked)
    for (std::size_t i = 0; i < 4; ++i)
      mask_[i] = byte_at(header_, header_.size() - 4 + i);
  mask_at_ = 0;
  left_ = length;
  in_payload_ = true;
  return true;
}

bool FrameReader::check_kind(std::uint8_t opcode, bool is_final, std::uint64_t length) {
  is_final_ = is_final;
  is_control_ = opcode >= 8;
  if (is_control_) {
    if (opcode > 10) return fail(CloseCode::protocol_error, "a frame of an unknown kind");
    if (!is_final || length > largest_control)
      return fail(CloseCode::protocol_error, "a control frame is too long or in pieces");
    control_kind_ = static_cast<Kind>(opcode);
    control_.clear();
    return true;
  }
  if (opcode > 2) return fail(CloseCode::protocol_error, "a frame of an unknown kind");
  const bool continues = opcode == 0;
  if (continues != message_kind_.has_value())
    return fail(CloseCode::protocol_error, continues ? "a message goes on that has not begun"
                                                     : "a message begins within another");
  if (length > max_message_bytes_ - message_.size())
    return fail(CloseCode::too_large, "the message is too large");
  if (!continues) message_kind_ = static_cast<Kind>(opcode);
  return true;
}

std::optional<Message> FrameReader::finish_frame() {
  if (is_control_) {
    if (control_kind_ == Kind::close && !control_.empty()) {
      const auto close = parse_close(control_);
      if (!is_close_code(close.code)) {
        fail(CloseCode::protocol_error, "a close has no valid code");
        return {};
      }
      if (!is_valid_utf8(close.reason)) {
        fail(CloseCode::bad_text, "a close's reason is not UTF-8");
        return {};
      }
    }
    return Message{control_kind_, std::exchange(control_, {})};
  }
  if (!is_final_) return {};
  const auto kind = *std::exchange(message_kind_, std::nullopt);
  if (kind == Kind::text && !is_valid_utf8(message_)) {
    fail(CloseCode::bad_text, "a text is not UTF-8");
    return {};
  }
  return Message{kind, std::exchange(message_, {})};
}

}  // namespace nomad::net::websocket
