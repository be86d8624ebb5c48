#include "runtime/hcl/value/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace nomad::hcl {

namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    append_utf8(out, point.value);
    at += point.length;
  }
  return out;
}

}  // namespace

std::size_t wide_sequence_length(std::string_view text, std::size_t at) {
  const unsigned char lead = byte_at(text, at);
  std::size_t length = 0;
  if (lead >= 0xC0 && lead <= 0xDF)
    length = 2;
  else if (lead >= 0xE0 && lead <= 0xEF)
    length = 3;
  else if (lead >= 0xF0 && lead <= 0xF7)
    length = 4;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
  return length;
}

CodePoint decode(std::string_view text, std::size_t at) {
  const unsigned char lead = byte_at(text, at);
  if (lead < 0x80) return {lead, 1};
  auto position = static_cast<std::int32_t>(0);
  const std::size_t rest = std::min<std::size_t>(text.size() - at, 4);
  UChar32 value = 0;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data() + at);
  U8_NEXT(bytes, position, static_cast<std::int32_t>(rest), value);
  if (value < 0) return {0xFFFD, 1};
  return {static_cast<char32_t>(value), static_cast<std::size_t>(position)};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto c = static_cast<std::uint32_t>(code_point);
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6U));
    out += static_cast<char>(0x80 | (c & 0x3FU));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12U));
    out += static_cast<char>(0x80 | ((c >> 6U) & 0x3FU));
    out += static_cast<char>(0x80 | (c & 0x3FU));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18U));
    out += static_cast<char>(0x80 | ((c >> 12U) & 0x3FU));
    out += static_cast<char>(0x80 | ((c >> 6U) & 0x3FU));
    out += static_cast<char>(0x80 | (c & 0x3FU));
  }
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080'8080'8080'8080ULL) != 0) return false;
  }
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_wide_identifier_start(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ID_START) != 0;
}

bool is_wide_identifier_part(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ID_CONTINUE) != 0;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028
         || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::string_view trim_left_space(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode(text, 0);
    if (!is_space(point.value)) break;
    text.remove_prefix(point.length);
  }
  return text;
}

std::string_view trim_right_space(std::string_view text) {
  while (!text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (byte_at(text, at) & 0xC0) == 0x80)
      --at;
    const CodePoint point = decode(text, at);
    if (at + point.length != text.size() || !is_space(point.value)) break;
    text.remove_suffix(point.length);
  }
  return text;
}

std::string normalized(std::string_view text) {
  if (is_ascii(text)) return std::string{text};
  std::string valid = valid_utf8(text);
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  const icu::StringPiece piece{valid.data(), static_cast<std::int32_t>(valid.size())};
  if (U_FAILURE(status) != 0 || nfc->isNormalizedUTF8(piece, status)) return valid;
  std::string out;
  icu::StringByteSink<std::string> sink{&out};
  nfc->normalizeUTF8(0, piece, sink, nullptr, status);
  return U_FAILURE(status) != 0 ? valid : out;
}

}  // namespace nomad::hcl
