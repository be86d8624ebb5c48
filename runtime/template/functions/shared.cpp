#include "runtime/template/functions/shared.hpp"

#include <cmath>
#include <limits>

#include "runtime/base/text.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/digest.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates {
namespace {

/// "12.00" is "12".
std::string_view without_zero_fraction(std::string_view text) {
  bool found_zero = false;
  for (std::size_t i = text.size(); i > 0; --i) {
    if (text[i - 1] == '.') {
      if (found_zero) return text.substr(0, i - 1);
    } else if (text[i - 1] == '0') {
      found_zero = true;
    } else {
      break;
    }
  }
  return text;
}

/// A conversion as amd64 does it: what does not fit is the least number.
std::int64_t truncated(double value) {
  constexpr double limit = 9223372036854775808.0;
  if (!(value >= -limit && value < limit)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

}  // namespace

Error too_long() {
  return {Errc::too_large, "the text gets too long"};
}

Error nil_pointer() {
  return function_error("runtime error: invalid memory address or nil pointer dereference");
}

Error divided_by_zero() {
  return function_error("runtime error: integer divide by zero");
}

Result<std::int64_t> parse_int64(std::string_view text) {
  if (text.empty()) return 0;
  return parse_int(text, 10).within("parseInt");
}

Result<Value> replaced(Context& context,
                       std::string_view from,
                       std::string_view to,
                       std::string_view text) {
  const std::uint64_t longer = Work::times(count_text(text, from), to.size());
  if (longer > context.room()) return too_long();
  NOMAD_TRY(context.make(text.size() + static_cast<std::size_t>(longer)));
  return Value::text(replace_all(text, from, to));
}

std::string sha256_hex(std::string_view text) {
  return to_hex(sha256(text));
}

Result<std::string> text_of(Context& context, const Value& value) {
  if (value.kind() == Kind::text || value.kind() == Kind::list)
    NOMAD_TRY(context.work().take(value.size()));
  if (value.kind() == Kind::text) return std::string{value.as_text()};
  if (value.kind() == Kind::list && value.type()->element == &types::byte) return bytes_of(value);
  auto text = NOMAD_TRY(print(std::span{&value, 1}, context.room()));
  NOMAD_TRY(context.work().take(text.size()));
  return text;
}

Result<std::vector<std::string>> texts_of(Context& context, const Value& value) {
  std::vector<std::string> out;
  if (value.is_invalid()) return out;
  if (value.kind() != Kind::list) {
    out.push_back(NOMAD_TRY(text_of(context, value)));
    return out;
  }
  NOMAD_TRY(context.step(value.items().size()));
  for (const Value& item : value.items()) {
    if (item.is_invalid()) continue;
    out.push_back(NOMAD_TRY(text_of(context, item)));
    NOMAD_TRY(context.make(out.back().size()));
  }
  return out;
}

std::int64_t integer_of(const Value& value) {
  switch (value.kind()) {
    case Kind::boolean:
      return value.as_boolean() ? 1 : 0;
    case Kind::integer:
      return value.as_integer();
    case Kind::natural:
      return static_cast<std::int64_t>(value.as_natural());
    case Kind::number:
      return truncated(value.as_number());
    case Kind::text: {
      const auto found = parse_integer(without_zero_fraction(value.as_text()), 0);
      return found.fault ? 0 : found.value;
    }
    default:
      return 0;
  }
}

double number_of(const Value& value) {
  switch (value.kind()) {
    case Kind::boolean:
      return value.as_boolean() ? 1 : 0;
    case Kind::integer:
      return static_cast<double>(value.as_integer());
    case Kind::natural:
      return static_cast<double>(value.as_natural());
    case Kind::number:
      return value.as_number();
    case Kind::text: {
      const auto found = parse_number(value.as_text());
      return found.fault ? 0 : found.value;
    }
    default:
      return 0;
  }
}

std::string_view kind_name(const Value& value) {
  if (value.is_invalid()) return "invalid";
  if (value.type()->is_pointer) return "ptr";
  switch (value.kind()) {
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return value.type() == &types::int64 || value.type()->show != nullptr ? "int64"
             : value.type() == &types::int32                                ? "int32"
                                                                            : "int";
    case Kind::natural:
      return value.type()->name;
    case Kind::number:
      return "float64";
    case Kind::text:
      return "string";
    case Kind::list:
      return value.type() == &types::int64_channel ? "chan" : "slice";
    case Kind::map:
      return "map";
    case Kind::structure:
      return "struct";
    case Kind::function:
      return "func";
    case Kind::any:
      break;
  }
  return "invalid";
}

}  // namespace nomad::templates
