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

char32_t in_title_case(char32_t c) {
  return static_cast<char32_t>(u_totitle(static_cast<UChar32>(c)));
}

/// Where strings.Title sees the end of a word.
bool parts_words(char32_t c) {
  if (u_isalpha(static_cast<UChar32>(c)) != 0 || u_isdigit(static_cast<UChar32>(c)) != 0)
    return false;
  return c < 0x80 ? c != '_' : is_unicode_space(c);
}

}  // namespace

bool is_unicode_space(char32_t c) {
  if (c < 0x100) return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0;
  return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0;
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
  return changed(text, [](char32_t c) { return u_toupper(static_cast<UChar32>(c)); });
}

std::string lower_case(std::string_view text) {
  return changed(text, [](char32_t c) { return u_tolower(static_cast<UChar32>(c)); });
}

std::string title_case(std::string_view text) {
  char32_t last = ' ';
  return changed(text, [&last](char32_t c) {
    const bool starts = parts_words(std::exchange(last, c));
    return starts ? in_title_case(c) : c;
  });
}

std::string title_words(std::string_view text) {
  bool within = false;
  return changed(text, [&within](char32_t c) {
    if (u_isalpha(static_cast<UChar32>(c)) != 0)
      return std::exchange(within, true) ? c : in_title_case(c);
    // What does not end a word that has begun.
    const bool joins = c == '_' || c == '\'' || c == '.' || c == ':' || c == 0x2019;
    within = within && (joins || u_isdigit(static_cast<UChar32>(c)) != 0);
    return c;
  });
}

}  // namespace nomad
