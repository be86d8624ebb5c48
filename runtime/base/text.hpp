// Text: what parsers and messages do with characters and short texts, once for the whole tree.
//
// Characters are judged as ASCII and without a locale: a byte of 0x80 and above is no digit, no
// letter and no space. What depends on Unicode says so.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nomad {

/// What Go's strings.TrimSpace and strings.Fields take for white space in ASCII.
inline constexpr std::string_view ascii_space = " \t\n\v\f\r";

/// What \s of RE2 and of Go's regexp is: as above, without the vertical tab.
inline constexpr std::string_view regex_space = " \t\n\f\r";

/// What separates words in the files of Linux and of configurations.
inline constexpr std::string_view file_space = " \t\n\r";

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_alphanumeric(char c) {
  return is_letter(c) || is_digit(c);
}

/// The value of a hexadecimal digit of either case, -1 for any other character.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

constexpr bool is_hex_digit(char c) {
  return hex_value(c) >= 0;
}

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Only ASCII letters change.
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

/// Whether there is at least one character and all are digits.
bool is_digits(std::string_view text);

/// Whether it is a label of a DNS name (RFC 1123): 1 to 63 letters, digits and inner dashes.
bool is_dns_label(std::string_view text);

/// Without the characters of `blanks` at both ends; a part of `text`.
std::string_view trim(std::string_view text, std::string_view blanks = ascii_space);

/// The decimal number that the text begins with, after white space; 0 if there is none.
std::uint64_t leading_number(std::string_view text);

/// The parts between separators, empty ones included: at least one, and one more than separators.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The parts between runs of `blanks`, none of them empty.
std::vector<std::string_view> fields(std::string_view text, std::string_view blanks = ascii_space);

/// Of a text that ends with the statement nothing would be left to look at.
template <std::same_as<std::string> Text>
void split(Text&&, char) = delete;
template <std::same_as<std::string> Text>
void fields(Text&&, std::string_view = ascii_space) = delete;

/// The texts of a range with `separator` between each two, also where one is empty.
template <class Texts>
std::string join(const Texts& texts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& text : texts) {
    if (!first) out += separator;
    first = false;
    out += text;
  }
  return out;
}

/// Two lower-case digits for each byte.
std::string to_hex(std::string_view bytes);

/// `value` in lower-case hexadecimal, as many digits as asked for.
void append_hex(std::string& out, std::uint32_t value, int digits);

/// All but letters, digits and "-._~" as "%0A", and but `keep`.
std::string percent_encode(std::string_view text, std::string_view keep = {});

/// The same, with spaces as "+": Go's url.QueryEscape.
std::string query_encode(std::string_view text);

/// Go's unicode.IsPrint.
bool is_printable(char32_t c);

/// Go's strconv.Quote and %q: in double quotes, with backslash escapes for quotes, backslashes,
/// bytes that are no UTF-8 and what Unicode does not count as printable.
std::string quote(std::string_view text);

/// What quotes somebody's words, such as an error, short enough to be read: of words beyond a
/// kilobyte the beginning and their length, and in all no more than 64 KiB.
std::string shorten(std::string_view text);

/// Go's strconv.QuoteRune and %q of a character: in single quotes.
std::string quote_character(char32_t c);

/// Any bytes as UTF-8 that a terminal may show: bytes that are no UTF-8, and control characters but
/// \n and \t, as \x1b or \u0085; the rest as it is. For texts that hold what somebody else has
/// sent.
std::string escape_controls(std::string_view text);

/// Go's strconv.QuoteToASCII and %+q: all that is not ASCII is escaped as well.
std::string quote_ascii(std::string_view text);

}  // namespace nomad
