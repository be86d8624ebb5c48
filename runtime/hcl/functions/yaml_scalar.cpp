#include "runtime/hcl/functions/yaml_scalar.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/text/civil_time.hpp"
#include "runtime/text/yaml.hpp"

namespace nomad::hcl {

namespace {

constexpr std::string_view tag_prefix = "tag:yaml.org,2002:";

std::optional<Value> keyword(std::string_view text) {
  switch (yaml_word(text)) {
    case YamlWord::null:
      return Value::null();
    case YamlWord::yes:
    case YamlWord::no:
      return Value::boolean(yaml_word(text) == YamlWord::yes);
    case YamlWord::infinity:
    case YamlWord::minus_infinity:
      return Value::number(Number::infinity(text.front() == '-'));
    case YamlWord::not_a_number:
    case YamlWord::none:
      break;
  }
  return std::nullopt;
}

bool all_in(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

bool looks_like_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with("0o") && text.size() > 2) return all_in(text.substr(2), "01234567_");
  if (text.starts_with("0x") && text.size() > 2)
    return all_in(text.substr(2), "0123456789abcdefABCDEF_");
  return all_in(text, "0123456789_");
}

/// Decimal, or with a prefix 0x, 0o or 0b; underscores anywhere.
std::optional<Number> number(std::string_view text) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != '_'; });
  if (auto decimal = Number::parse(plain)) return decimal;
  const std::size_t sign = plain.starts_with('-') || plain.starts_with('+') ? 1 : 0;
  if (plain.size() < sign + 3 || plain[sign] != '0') return std::nullopt;
  const char letter = plain[sign + 1];
  const int base = letter == 'x' || letter == 'X'   ? 16
                   : letter == 'o' || letter == 'O' ? 8
                   : letter == 'b'                  ? 2
                                                    : 0;
  return base == 0 ? std::nullopt
                   : Number::parse_integer(plain.substr(0, sign) + plain.substr(sign + 2), base);
}

YamlScalar misfit(std::string_view text, std::string_view tag, std::string_view why = "") {
  return {{}, false, "cannot parse " + quote(text) + " as " + std::string{tag} + std::string{why}};
}

YamlScalar tagged(std::string_view tag, std::string_view kind, std::string_view text) {
  if (kind == "str" || kind == "binary") {
    if (kind == "binary" && !decode_base64(text)) return misfit(text, tag, ": not valid base64");
    return {Value::string(text), false, {}};
  }
  if (kind == "bool") {
    const auto value = keyword(text);
    return value && value->is_bool() ? YamlScalar{*value, false, {}} : misfit(text, tag);
  }
  if (kind == "int" || kind == "float") {
    auto value = number(text);
    return value ? YamlScalar{Value::number(std::move(*value)), false, {}} : misfit(text, tag);
  }
  if (kind == "timestamp") {
    const auto time = parse_yaml_timestamp(text);
    return time ? YamlScalar{Value::string(time->to_rfc3339()), false, {}} : misfit(text, tag);
  }
  return {Value::null(), false, {}};
}

bool is_known_kind(std::string_view kind) {
  constexpr std::array<std::string_view, 7> kinds{"str",  "bool",      "int",   "float",
                                                  "null", "timestamp", "binary"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

/// What the first letter of a plain scalar lets it be.
char hint(std::string_view text) {
  if (text.empty()) return 'N';
  const char c = text.front();
  if (c == '+' || c == '-' || is_digit(c)) return 'D';
  if (c == '.') return '.';
  return std::string_view{"yYnNtTfFoO~"}.find(c) != std::string_view::npos ? 'M' : '\0';
}

}  // namespace

YamlScalar resolve_yaml_scalar(std::string_view tag, std::string_view text, bool is_quoted) {
  std::string_view kind = tag;
  if (tag.starts_with(tag_prefix)) kind.remove_prefix(tag_prefix.size());
  if (!tag.empty() && (kind == tag || !is_known_kind(kind)))
    return {{}, false, "unsupported tag " + quote(tag)};
  const char first = hint(text);
  if (first != '\0' && kind != "str" && kind != "binary") {
    if (is_quoted) return {Value::string(text), false, {}};
    if (auto value = keyword(text)) return {std::move(*value), false, {}};
    if (tag.empty() && yaml_word(text) == YamlWord::not_a_number)
      return {{}, false, "floating point NaN is not supported"};
    if (first == '.') {
      if (auto value = Number::parse(text)) return {Value::number(std::move(*value)), false, {}};
    } else if (first == 'D') {
      if (const auto time
          = tag.empty() || kind == "timestamp" ? parse_yaml_timestamp(text) : std::nullopt)
        return {Value::string(time->to_rfc3339()), false, {}};
      if (looks_like_integer(text)) return tagged("tag:yaml.org,2002:int", "int", text);
      if (is_yaml_float(text)) return tagged("tag:yaml.org,2002:float", "float", text);
    }
  }
  if (!tag.empty()) return tagged(tag, kind, text);
  if (text == "<<") return {{}, true, {}};
  return {Value::string(text), false, {}};
}

}  // namespace nomad::hcl
