#include "runtime/base/base64.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace nomad {
namespace {

constexpr std::string_view alphabet
    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 0xff;

constexpr auto digits = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_digit);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

Error illegal(std::size_t at) {
  return {Errc::invalid_argument, "illegal base64 data at input byte " + std::to_string(at)};
}

bool is_break(char c) {
  return c == '\r' || c == '\n';
}

std::size_t skip_breaks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_break(text[at]))
    ++at;
  return at;
}

/// Appends the bytes whose bits the first `count` digits of a group hold.
void append_bytes(std::string& bytes, std::uint32_t group, unsigned count) {
  group <<= 6 * (4 - count);
  for (unsigned i = 0; i + 1 < count; ++i)
    bytes += static_cast<char>(group >> (16 - 8 * i) & 0xffU);
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data();
  const auto put = [&out](std::uint32_t group, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      *out++ = alphabet[group >> (18 - 6 * i) & 0x3fU];
  };
  const auto byte
      = [bytes](std::size_t at) -> std::uint32_t { return static_cast<unsigned char>(bytes[at]); };
  const auto whole = bytes.size() / 3 * 3;
  for (std::size_t at = 0; at < whole; at += 3)
    put(byte(at) << 16U | byte(at + 1) << 8U | byte(at + 2), 4);
  if (bytes.size() - whole == 1) put(byte(whole) << 16U, 2);
  if (bytes.size() - whole == 2) put(byte(whole) << 16U | byte(whole + 1) << 8U, 3);
  return text;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  unsigned count = 0;  // digits in `group`
  std::size_t at = 0;
  for (; at < text.size() && text[at] != '='; ++at) {
    if (is_break(text[at])) continue;
    const auto digit = digits[static_cast<unsigned char>(text[at])];
    if (digit == no_digit) return illegal(at);
    group = group << 6U | digit;
    if (++count < 4) continue;
    append_bytes(bytes, group, count);
    group = 0;
    count = 0;
  }
  if (at == text.size()) {
    if (count > 0) return illegal(at - count);
    return bytes;
  }
  if (count < 2) return illegal(at);
  ++at;
  if (count == 2) {
    at = skip_breaks(text, at);
    if (at == text.size()) return illegal(at);
    if (text[at] != '=') return illegal(at - 1);
    ++at;
  }
  at = skip_breaks(text, at);
  if (at < text.size()) return illegal(at);
  append_bytes(bytes, group, count);
  return bytes;
}

std::string encode_base64_url(std::string_view bytes) {
  std::string out = encode_base64(bytes);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

Result<std::string> decode_base64_url(std::string_view text) {
  std::string plain{text};
  // Each alphabet's own letters are wrong in the other one.
  std::ranges::replace(plain, '+', '!');
  std::ranges::replace(plain, '/', '!');
  std::ranges::replace(plain, '-', '+');
  std::ranges::replace(plain, '_', '/');
  return decode_base64(plain);
}

}  // namespace nomad
