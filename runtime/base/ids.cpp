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

bool is_dash_position(std::size_t position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

}  // namespace

std::string uuid_of(std::string_view bytes, unsigned version) {
  std::string marked{bytes};
  marked[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0FU) | version << 4U);
  marked[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3FU) | 0x80U);
  std::string text = to_hex(marked);
  for (const std::size_t position : {8U, 13U, 18U, 23U})
    text.insert(position, 1, '-');
  return text;
}

std::string make_uuid(Random& random) {
  std::array<char, 16> bytes;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 8 == 0) bits = random.next();
    bytes[i] = static_cast<char>(bits >> (56 - 8 * (i % 8)) & 0xFFU);
  }
  return uuid_of({bytes.data(), bytes.size()}, 4);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_dash_position(i) ? text[i] != '-' : !is_hex_digit(text[i])) return false;
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
