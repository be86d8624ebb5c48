// The number that a text is from its first character to its last, as std::from_chars reads it: no
// blanks, no plus sign.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace nomad {

/// False if the text is empty, has more than the number, or `Number` can't hold it.
template <class Number>
bool read_whole_number(std::string_view text, Number& number) {
  const auto* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc{} && stop == end;
}

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  return read_whole_number(text, number) ? std::optional{number} : std::nullopt;
}

/// As Go's ParseInt and ParseFloat do, which take a plus sign, too.
template <class Number>
std::optional<Number> signed_number(std::string_view text) {
  if (!text.starts_with('+')) return whole_number<Number>(text);
  text.remove_prefix(1);
  return text.starts_with('-') ? std::nullopt : whole_number<Number>(text);
}

}  // namespace nomad
