#include "runtime/base/ids.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/text.hpp"

namespace nomad {
namespace {

/// A byte as Go's %#U shows it: U+007A 'z'.
std::string go_rune(char c) {
  static constexpr char digits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  std::string text = "U+00";
  text += digits[byte >> 4];
  text += digits[byte & 0xf];
  if (byte >= 0x20 && byte < 0x7f) text += std::string{" '"} + c + '\'';
  return text;
}

bool is_dash_place(std::size_t place) {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

}  // namespace

std::string make_uuid(Random& random) {
  static constexpr char digits[] = "0123456789abcdef";
  std::array<std::uint64_t, 2> bits{random.next(), random.next()};
  bits[0] = (bits[0] & 0xffffffffffff0fffULL) | 0x4000ULL;              // version 4
  bits[1] = (bits[1] & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;  // variant 1
  std::string text(36, '-');
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_place(i)) continue;
    text[i] = digits[(bits[nibble / 16] >> (60 - 4 * (nibble % 16))) & 0xf];
    ++nibble;
  }
  return text;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_dash_place(i) ? text[i] != '-' : !is_hex_digit(text[i])) return false;
  return true;
}

Result<> check_uuid_prefix(std::string_view prefix) {
  if (prefix.size() > 36)
    return Error{Errc::rejected, "Invalid UUID length: UUID have 36 characters; got "
                                     + std::to_string(prefix.size())};
  const auto dashes = std::ranges::count(prefix, '-');
  if (dashes > 4)
    return Error{Errc::rejected,
                 "UUID should have maximum of 4 \"-\"; got " + std::to_string(dashes)};
  for (const char c : prefix)
    if (c != '-' && !is_hex_digit(c))
      return Error{Errc::rejected, "Invalid UUID: encoding/hex: invalid byte: " + go_rune(c)};
  return {};
}

std::string_view short_id(std::string_view id) {
  return id.substr(0, 8);
}

}  // namespace nomad
