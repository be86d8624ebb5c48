#include "runtime/hcl/value/utf8.hpp"

#include <cstdint>

#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>

namespace nomad::hcl {

namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
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

bool is_wide_identifier_start(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ID_START) != 0;
}

bool is_wide_identifier_part(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ID_CONTINUE) != 0;
}

std::string normalized(std::string_view text) {
  if (is_ascii(text)) return std::string{text};
  std::string valid = to_utf8(code_points(text));
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
