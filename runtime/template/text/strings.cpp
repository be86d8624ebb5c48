#include "runtime/template/text/strings.hpp"

#include <algorithm>
#include <utility>

#include <unicode/uchar.h>

#include "runtime/base/utf8.hpp"

namespace nomad::templates {
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

char32_t in_upper_case(char32_t c) {
  return static_cast<char32_t>(u_toupper(static_cast<UChar32>(c)));
}

char32_t in_lower_case(char32_t c) {
  return static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)));
}

char32_t in_title_case(char32_t c) {
  return static_cast<char32_t>(u_totitle(static_cast<UChar32>(c)));
}

bool is_letter_or_digit(char32_t c) {
  return u_isalpha(static_cast<UChar32>(c)) != 0 || u_isdigit(static_cast<UChar32>(c)) != 0;
}

/// Where strings.Title sees the end of a word.
bool parts_words(char32_t c) {
  if (c < 0x80) return c != '_' && !is_letter_or_digit(c);
  return !is_letter_or_digit(c) && is_unicode_space(c);
}

std::size_t count(std::string_view text, std::string_view what) {
  if (what.empty()) {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < text.size(); at += decode_utf8(text, at).length)
      ++characters;
    return characters + 1;
  }
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; at += what.size())
    ++found;
  return found;
}

}  // namespace

bool is_unicode_space(char32_t c) {
  if (c < 0x100) return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0;
  return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0;
}

std::vector<std::string> split_text(std::string_view text, std::string_view separator) {
  return split_text(text, separator, -1);
}

std::vector<std::string> split_text(std::string_view text,
                                    std::string_view separator,
                                    std::int64_t most) {
  std::vector<std::string> out;
  if (most == 0) return out;
  const auto full = [&] { return most > 0 && static_cast<std::int64_t>(out.size()) + 1 >= most; };
  if (separator.empty()) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = full() ? text.size() - at : decode_utf8(text, at).length;
      out.emplace_back(text.substr(at, length));
      at += length;
    }
    return out;
  }
  for (;;) {
    const std::size_t end = full() ? std::string_view::npos : text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + separator.size());
  }
}

std::size_t replaced_size(std::string_view text, std::string_view from, std::string_view to) {
  return text.size() + count(text, from) * to.size();
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  if (from.empty()) {
    out += to;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = decode_utf8(text, at).length;
      out += text.substr(at, length);
      out += to;
      at += length;
    }
    return out;
  }
  for (;;) {
    const std::size_t found = text.find(from);
    out += text.substr(0, found);
    if (found == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(found + from.size());
  }
}

std::string_view trim_characters(std::string_view text, std::string_view characters) {
  if (is_ascii(characters)) {
    const std::size_t first = text.find_first_not_of(characters);
    if (first == std::string_view::npos || characters.empty())
      return characters.empty() ? text : text.substr(0, 0);
    return text.substr(first, text.find_last_not_of(characters) - first + 1);
  }
  const auto is_trimmed = [&](std::size_t at, std::size_t length) {
    return characters.find(text.substr(at, length)) != std::string_view::npos;
  };
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t length = decode_utf8(text, begin).length;
    if (!is_trimmed(begin, length)) break;
    begin += length;
  }
  std::size_t end = begin;
  for (std::size_t at = begin; at < text.size();) {
    const std::size_t length = decode_utf8(text, at).length;
    if (!is_trimmed(at, length)) end = at + length;
    at += length;
  }
  return text.substr(begin, end - begin);
}

std::string_view trim_space(std::string_view text) {
  std::size_t begin = text.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (!is_unicode_space(point.value)) {
      begin = std::min(begin, at);
      end = at + point.length;
    }
    at += point.length;
  }
  return begin < end ? text.substr(begin, end - begin) : text.substr(0, 0);
}

std::string lower_text(std::string_view text) {
  return changed(text, in_lower_case);
}

std::string upper_text(std::string_view text) {
  return changed(text, in_upper_case);
}

std::string title_text(std::string_view text) {
  char32_t last = ' ';
  return changed(text, [&last](char32_t c) {
    const bool starts = parts_words(last);
    last = c;
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

}  // namespace nomad::templates
