#include "runtime/base/text.hpp"

#include <algorithm>
#include <charconv>

namespace nomad {

std::string to_lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char c) { return to_lower(c); });
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char c) { return to_upper(c); });
  return out;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

bool is_dns_label(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  return is_alphanumeric(text.front()) && is_alphanumeric(text.back())
         && std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

std::string_view trim(std::string_view text, std::string_view blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::uint64_t leading_number(std::string_view text) {
  text = trim(text);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> fields(std::string_view text, std::string_view blanks) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return parts;
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += hex_digits[(value >> static_cast<unsigned>(shift)) & 0xFU];
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes)
    append_hex(out, static_cast<unsigned char>(c), 2);
  return out;
}

std::string percent_encode(std::string_view text, std::string_view keep) {
  constexpr std::string_view hex_digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_alphanumeric(c) || std::string_view{"-._~"}.find(c) != std::string_view::npos
        || keep.find(c) != std::string_view::npos)
      out += c;
    else
      ((out += '%') += hex_digits[byte >> 4U]) += hex_digits[byte & 0xFU];
  }
  return out;
}

std::string query_encode(std::string_view text) {
  std::string out = percent_encode(text, " ");
  std::ranges::replace(out, ' ', '+');
  return out;
}

}  // namespace nomad
