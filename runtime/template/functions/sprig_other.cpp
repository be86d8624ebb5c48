// sprig: defaults, types, JSON, paths and what else there is.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/json.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates::sprig_other_family {
namespace {

Value default_value(const Value& instead, Rest<> given) {
  return given.empty() || !given[0].is_true() ? instead : given[0];
}

bool is_empty(const Value& value) {
  return !value.is_true();
}

Value coalesce(Rest<> values) {
  const auto found = std::ranges::find_if(values, &Value::is_true);
  return found == values.end() ? Value{} : *found;
}

bool all(Rest<> values) {
  return std::ranges::all_of(values, &Value::is_true);
}

bool any_of(Rest<> values) {
  return std::ranges::any_of(values, &Value::is_true);
}

Value ternary(const Value& if_true, const Value& if_false, bool condition) {
  return condition ? if_true : if_false;
}

Result<Value> from_json(Context& context, std::string_view text) {
  auto value = read_json(context, text);
  if (!value && value.error().code != Errc::too_large) return Value{};
  return value;
}

enum class Refusal : std::uint8_t { silence, error };

template <Refusal refusal, bool is_pretty, bool escapes_html>
Result<std::string> to_json(Context& context, const Value& value) {
  auto text = write_json(value, {escapes_html, is_pretty}, context.room());
  if (!text && refusal == Refusal::silence && text.error().code != Errc::too_large) return "";
  return text;
}

bool type_is(std::string_view name, const Value& value) {
  return name == type_name(value);
}

bool type_is_like(std::string_view name, const Value& value) {
  return type_is(name, value) || type_is('*' + std::string{name}, value);
}

bool kind_is(std::string_view name, const Value& value) {
  return name == kind_name(value);
}

Result<bool> is_deep_equal(Context& context, const Value& a, const Value& b) {
  return deep_equal(a, b, context.work());
}

Result<Value> fail(std::string_view message) {
  return function_error(std::string{message});
}

std::string_view hello() {
  return "Hello!";
}

std::string_view extension(std::string_view path) {
  const std::size_t at = path.find_last_of("./");
  return at == std::string_view::npos || path[at] == '/' ? "" : path.substr(at);
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/');
}

Result<std::string> environment(Context& context, std::string_view name) {
  return NOMAD_TRY(context.sources())->environment(name).value_or("");
}

/// The name behind a dollar sign, taken off; none of what is no name. Braces without a name are
/// taken off, too.
std::string_view take_variable(std::string_view& rest) {
  const auto is_special = [](char c) {
    return is_digit(c) || std::string_view{"*#$@!?-"}.find(c) != std::string_view::npos;
  };
  std::size_t from = 0;
  std::size_t size = 0;
  std::size_t taken = 0;
  if (rest.starts_with('{')) {
    const std::size_t close = rest.find('}');
    from = 1;
    size = close == std::string_view::npos ? 0 : close - 1;
    taken = close == std::string_view::npos ? 1 : close + 1;
  } else if (!rest.empty() && is_special(rest.front())) {
    size = taken = 1;
  } else {
    while (size < rest.size() && (is_alphanumeric(rest[size]) || rest[size] == '_'))
      ++size;
    taken = size;
  }
  const std::string_view name = rest.substr(from, size);
  rest.remove_prefix(taken);
  return name;
}

/// Go's os.ExpandEnv, with the task's environment.
Result<std::string> expand_environment(Context& context, std::string_view rest) {
  Sources& sources = *NOMAD_TRY(context.sources());
  std::string out;
  for (std::size_t dollar = rest.find('$');
       dollar != std::string_view::npos && dollar + 1 < rest.size(); dollar = rest.find('$')) {
    out += rest.substr(0, dollar);
    rest.remove_prefix(dollar + 1);
    const bool has_braces = rest.front() == '{';
    const std::string_view name = take_variable(rest);
    if (!name.empty())
      out += sources.environment(name).value_or("");
    else if (!has_braces)
      out += '$';
    if (out.size() > context.room()) break;
  }
  return out + std::string{rest};
}

/// A name server may take long, and nothing in a rendering waits.
Result<std::string> host_by_name(std::string_view) {
  return function_error("not available: templates are rendered without asking the network");
}

}  // namespace

std::span<const Function> functions() {
  using enum Refusal;
  static const Function table[] = {
      bind<host_by_name>("sprig_getHostByName"),
      bind<default_value>("sprig_default"),
      bind<is_empty>("sprig_empty"),
      bind<coalesce>("sprig_coalesce"),
      bind<all>("sprig_all"),
      bind<any_of>("sprig_any"),
      bind<ternary>("sprig_ternary"),
      bind<from_json>("sprig_fromJson"),
      bind<read_json>("sprig_mustFromJson"),
      bind<to_json<silence, false, true>>("sprig_toJson"),
      bind<to_json<error, false, true>>("sprig_mustToJson"),
      bind<to_json<silence, true, true>>("sprig_toPrettyJson"),
      bind<to_json<error, true, true>>("sprig_mustToPrettyJson"),
      bind<to_json<error, false, false>>("sprig_toRawJson"),
      bind<to_json<error, false, false>>("sprig_mustToRawJson"),
      bind<type_name>("sprig_typeOf"),
      bind<type_is>("sprig_typeIs"),
      bind<type_is_like>("sprig_typeIsLike"),
      bind<kind_name>("sprig_kindOf"),
      bind<kind_is>("sprig_kindIs"),
      bind<is_deep_equal>("sprig_deepEqual"),
      bind<fail>("sprig_fail"),
      bind<hello>("sprig_hello"),
      bind<base_name>("sprig_base"),
      bind<base_name>("sprig_osBase"),
      bind<directory_name>("sprig_dir"),
      bind<directory_name>("sprig_osDir"),
      bind<clean_path>("sprig_clean"),
      bind<clean_path>("sprig_osClean"),
      bind<extension>("sprig_ext"),
      bind<extension>("sprig_osExt"),
      bind<is_absolute>("sprig_isAbs"),
      bind<is_absolute>("sprig_osIsAbs"),
      bind<environment>("sprig_env"),
      bind<expand_environment>("sprig_expandenv"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_other_family
