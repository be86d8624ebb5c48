#include "runtime/template/functions/yaml_scalar.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <unicode/uchar.h>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {
namespace {

template <class Words>
bool is_one_of(std::string_view text, const Words& words) {
  return std::ranges::find(words, text) != std::end(words);
}

constexpr std::array<std::string_view, 11> true_words{"y",    "Y",    "yes", "Yes", "YES", "true",
                                                      "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> false_words{
    "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> null_words{"", "~", "null", "Null", "NULL"};

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_float(std::string_view text) {
  const auto take_digits = [&text] {
    std::size_t size = 0;
    while (size < text.size() && is_digit(text[size]))
      ++size;
    text.remove_prefix(size);
    return size;
  };
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::size_t whole = take_digits();
  std::size_t fraction = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits();
  }
  if (whole + fraction == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return take_digits() > 0 && text.empty();
}

/// "2001-12-14", "2001-12-14T21:59:43Z" and the like.
bool is_timestamp(std::string_view text) {
  const auto take = [&text](std::size_t least, std::size_t most) {
    std::size_t size = 0;
    while (size < most && size < text.size() && is_digit(text[size]))
      ++size;
    if (size < least) return false;
    text.remove_prefix(size);
    return true;
  };
  const auto skip = [&text](std::string_view characters) {
    if (text.empty() || characters.find(text[0]) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!take(4, 4) || !skip("-") || !take(1, 2) || !skip("-") || !take(1, 2)) return false;
  if (text.empty()) return true;
  const bool has_zone = text[0] != ' ';
  if (!skip("Tt ") || !take(1, 2) || !skip(":") || !take(1, 2) || !skip(":") || !take(1, 2))
    return false;
  if (skip(".") && !take(1, 9)) return false;
  if (!has_zone) return text.empty();
  if (skip("Z")) return text.empty();
  return skip("+-") && take(2, 2) && skip(":") && take(2, 2) && text.empty();
}

/// "12:30:45", which YAML 1.1 counts to the base of 60.
bool is_base60(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_digit(text[0])) return false;
  const auto is_number = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return is_digit(c) || c == '_'; });
  };
  if (!is_number(text.substr(0, colon))) return false;
  text.remove_prefix(colon + 1);
  if (const std::size_t point = text.find('.'); point != std::string_view::npos) {
    if (!is_number(text.substr(point + 1))) return false;
    text = text.substr(0, point);
  }
  return std::ranges::all_of(split(text, ':'), [](std::string_view part) {
    return is_digits(part) && (part.size() == 1 || (part.size() == 2 && part[0] < '6'));
  });
}

Value whole_number(std::string_view text, bool& found) {
  std::string plain{text};
  std::erase(plain, '_');
  found = true;
  const auto integer = parse_integer(plain, 0);
  if (!integer.fault) return Value::integer(integer.value);
  const auto natural = parse_natural(plain, 0);
  if (!natural.fault) return Value::natural(natural.value);
  if (is_float(plain)) {
    const auto number = parse_number(plain);
    if (!number.fault) return Value::number(number.value);
  }
  found = false;
  return {};
}

double key_number(const Value& key, bool& found) {
  found = true;
  if (key.kind() == Kind::integer) return static_cast<double>(key.as_integer());
  if (key.kind() == Kind::natural) return static_cast<double>(key.as_natural());
  if (key.kind() == Kind::number) return key.as_number();
  if (key.kind() == Kind::boolean) return key.as_boolean() ? 1 : 0;
  found = false;
  return 0;
}

bool is_letter_of(char32_t c) {
  return u_isalpha(static_cast<UChar32>(c)) != 0;
}

bool is_digit_of(char32_t c) {
  return u_isdigit(static_cast<UChar32>(c)) != 0;
}

std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    out += point.value;
    at += point.length;
  }
  return out;
}

/// The number that begins at `at`, after `value`; `at` moves behind it.
std::uint64_t number_at(const std::u32string& text, std::size_t& at, std::uint64_t value) {
  for (; at < text.size() && is_digit_of(text[at]); ++at)
    value = value * 10 + (text[at] - U'0');
  return value;
}

bool is_text_before(const std::u32string& a, const std::u32string& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    const bool letter_a = is_letter_of(a[i]);
    const bool letter_b = is_letter_of(b[i]);
    if (letter_a && letter_b) return a[i] < b[i];
    if (letter_a || letter_b) return letter_b;
    std::uint64_t start = 0;
    if (a[i] == U'0' || b[i] == U'0')
      for (std::size_t j = i; j-- > 0 && is_digit_of(a[j]);)
        if (a[j] != U'0') {
          start = 1;
          break;
        }
    std::size_t end_a = i;
    std::size_t end_b = i;
    const std::uint64_t number_a = number_at(a, end_a, start);
    const std::uint64_t number_b = number_at(b, end_b, start);
    if (number_a != number_b) return number_a < number_b;
    if (end_a != end_b) return end_a < end_b;
    return a[i] < b[i];
  }
  return a.size() < b.size();
}

}  // namespace

Value resolve_scalar(std::string_view text) {
  if (is_one_of(text, null_words)) return {};
  if (is_one_of(text, true_words)) return Value::boolean(true);
  if (is_one_of(text, false_words)) return Value::boolean(false);
  const std::string lower = to_lower(text);
  const double infinite = std::numeric_limits<double>::infinity();
  // ".Inf", but not ".iNF".
  const bool is_cased = text.ends_with("inf") || text.ends_with("Inf") || text.ends_with("INF");
  if (is_cased && (lower == ".inf" || lower == "+.inf")) return Value::number(infinite);
  if (is_cased && lower == "-.inf") return Value::number(-infinite);
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return Value::number(std::nan(""));
  const char first = text[0];
  if (first == '.') {
    const auto number = parse_number(text);
    if (!number.fault) return Value::number(number.value);
  } else if ((is_digit(first) || first == '+' || first == '-') && !is_timestamp(text)) {
    bool found = false;
    Value number = whole_number(text, found);
    if (found) return number;
  }
  return Value::text(std::string{text});
}

bool is_plain_text(std::string_view text) {
  return resolve_scalar(text).kind() == Kind::text && !is_timestamp(text) && !is_base60(text);
}

bool is_before(const Value& a, const Value& b) {
  bool number_a = false;
  bool number_b = false;
  const double value_a = key_number(a, number_a);
  const double value_b = key_number(b, number_b);
  if (number_a && number_b) return value_a != value_b ? value_a < value_b : a.kind() < b.kind();
  if (a.kind() != Kind::text || b.kind() != Kind::text) return a.kind() < b.kind();
  return is_text_before(characters(a.as_text()), characters(b.as_text()));
}

}  // namespace nomad::templates
