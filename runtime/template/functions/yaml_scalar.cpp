#include "runtime/template/functions/yaml_scalar.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/text/civil_time.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/number_text.hpp"
#include "runtime/text/yaml.hpp"

namespace nomad::templates {
namespace {

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

std::optional<Value> number_of(std::string_view text) {
  std::string plain{text};
  std::erase(plain, '_');
  if (const auto integer = parse_integer(plain, 0); !integer.fault)
    return Value::integer(integer.value);
  if (const auto natural = parse_natural(plain, 0); !natural.fault)
    return Value::natural(natural.value);
  if (!is_yaml_float(plain)) return std::nullopt;
  const auto number = parse_number(plain);
  return number.fault ? std::nullopt : std::optional{Value::number(number.value)};
}

std::optional<double> key_number(const Value& key) {
  if (key.kind() == Kind::integer) return static_cast<double>(key.as_integer());
  if (key.kind() == Kind::natural) return static_cast<double>(key.as_natural());
  if (key.kind() == Kind::number) return key.as_number();
  if (key.kind() == Kind::boolean) return key.as_boolean() ? 1 : 0;
  return std::nullopt;
}

/// The number that begins at `at`, after `value`; `at` moves behind it.
std::uint64_t number_at(const std::u32string& text, std::size_t& at, std::uint64_t value) {
  for (; at < text.size() && is_unicode_digit(text[at]); ++at)
    value = value * 10 + (text[at] - U'0');
  return value;
}

bool is_text_before(const std::u32string& a, const std::u32string& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i]) continue;
    const bool letter_a = is_unicode_letter(a[i]);
    const bool letter_b = is_unicode_letter(b[i]);
    if (letter_a && letter_b) return a[i] < b[i];
    if (letter_a || letter_b) return letter_b;
    std::uint64_t start = 0;
    if (a[i] == U'0' || b[i] == U'0')
      for (std::size_t j = i; j-- > 0 && is_unicode_digit(a[j]);)
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
  constexpr double infinite = std::numeric_limits<double>::infinity();
  switch (const YamlWord word = yaml_word(text)) {
    case YamlWord::null:
      return {};
    case YamlWord::yes:
    case YamlWord::no:
      return Value::boolean(word == YamlWord::yes);
    case YamlWord::infinity:
    case YamlWord::minus_infinity:
      return Value::number(word == YamlWord::infinity ? infinite : -infinite);
    case YamlWord::not_a_number:
      return Value::number(std::numeric_limits<double>::quiet_NaN());
    case YamlWord::none:
      break;
  }
  const char first = text[0];
  if (first == '.') {
    const auto number = parse_number(text);
    if (!number.fault) return Value::number(number.value);
  } else if (is_digit(first) || first == '+' || first == '-') {
    if (auto number = number_of(text)) return std::move(*number);
  }
  return Value::text(std::string{text});
}

bool is_plain_text(std::string_view text) {
  return resolve_scalar(text).kind() == Kind::text && !parse_yaml_timestamp(text)
         && !is_base60(text);
}

bool is_before(const Value& a, const Value& b) {
  const auto number_a = key_number(a);
  const auto number_b = key_number(b);
  if (number_a && number_b && *number_a != *number_b) return *number_a < *number_b;
  if (a.kind() != Kind::text || b.kind() != Kind::text) return a.kind() < b.kind();
  return is_text_before(code_points(a.as_text()), code_points(b.as_text()));
}

}  // namespace nomad::templates
