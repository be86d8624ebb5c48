#include "runtime/text/letters.hpp"

#include <utility>

#include <unicode/uchar.h>

#include "runtime/base/utf8.hpp"

namespace nomad {
namespace {

template <class Change>
std::string changed(std::string_view text, Change change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    append_utf8(out, change(point.value));
    at += point.length;
  }
  return out;
}

UChar32 icu(char32_t c) {
  return static_cast<UChar32>(c);
}

/// Where strings.Title sees the end of a word.
bool parts_words(char32_t c) {
  if (is_unicode_letter(c) || is_unicode_digit(c)) return false;
  return c < 0x80 ? c != '_' : is_unicode_space(c);
}

}  // namespace

bool is_unicode_space(char32_t c) {
  if (c < 0x100) return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0;
  return u_isUWhiteSpace(icu(c)) != 0;
}

bool is_unicode_letter(char32_t c) {
  return u_isalpha(icu(c)) != 0;
}

bool is_unicode_digit(char32_t c) {
  return u_isdigit(icu(c)) != 0;
}

char32_t upper_letter(char32_t c) {
  return static_cast<char32_t>(u_toupper(icu(c)));
}

char32_t lower_letter(char32_t c) {
  return static_cast<char32_t>(u_tolower(icu(c)));
}

char32_t title_letter(char32_t c) {
  return static_cast<char32_t>(u_totitle(icu(c)));
}

std::string_view trim_left_space(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text, 0);
    if (!is_unicode_space(point.value)) break;
    text.remove_prefix(point.length);
  }
  return text;
}

std::string_view trim_right_space(std::string_view text) {
  const auto is_continuation
      = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80; };
  while (!text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && is_continuation(at))
      --at;
    const CodePoint point = decode_utf8(text, at);
    if (at + point.length != text.size() || !is_unicode_space(point.value)) break;
    text.remove_suffix(point.length);
  }
  return text;
}

std::string_view trim_space(std::string_view text) {
  return trim_right_space(trim_left_space(text));
}

std::string upper_case(std::string_view text) {
  return changed(text, [](char32_t c) { return upper_letter(c); });
}

std::string lower_case(std::string_view text) {
  return changed(text, [](char32_t c) { return lower_letter(c); });
}

std::string title_case(std::string_view text) {
  char32_t last = ' ';
  return changed(text, [&last](char32_t c) {
    const bool starts = parts_words(std::exchange(last, c));
    return starts ? title_letter(c) : c;
  });
}

std::string title_words(std::string_view text) {
  bool within = false;
  return changed(text, [&within](char32_t c) {
    if (is_unicode_letter(c)) return std::exchange(within, true) ? c : title_letter(c);
    // What does not end a word that has begun.
    const bool joins = c == '_' || c == '\'' || c == '.' || c == ':' || c == 0x2019;
    within = within && (joins || is_unicode_digit(c));
    return c;
  });
}

}  // namespace nomad
