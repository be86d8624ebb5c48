// sprig: defaults, types, JSON, paths and what else there is.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/json.hpp"
#include "runtime/template/functions/sprig.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates::sprig_other_family {
namespace {

Result<Value> default_value(Call& call) {
  return call.size() < 2 || !call[1].is_true() ? call[0] : call[1];
}

Result<Value> is_empty(Call& call) {
  return Value::boolean(!call[0].is_true());
}

Result<Value> coalesce(Call& call) {
  const auto found = std::ranges::find_if(call.arguments, &Value::is_true);
  return found == call.arguments.end() ? Value{} : *found;
}

Result<Value> all(Call& call) {
  return Value::boolean(std::ranges::all_of(call.arguments, &Value::is_true));
}

Result<Value> any_of(Call& call) {
  return Value::boolean(std::ranges::any_of(call.arguments, &Value::is_true));
}

Result<Value> ternary(Call& call) {
  return call[2].as_boolean() ? call[0] : call[1];
}

Result<Value> from_json(Call& call) {
  auto value = read_json(call.context, call.text(0));
  if (!value && value.error().code == Errc::too_large) return value.error();
  return value ? std::move(value) : Result<Value>{Value{}};
}

Result<Value> must_from_json(Call& call) {
  return read_json(call.context, call.text(0));
}

Result<Value> json(Call& call, const JsonStyle& style, bool must) {
  auto text = write_json(call[0], style, call.context.room());
  if (text) return made_text(call.context, std::move(text).take());
  if (must || text.error().code == Errc::too_large) return text.error();
  return Value::text("");
}

Result<Value> to_json(Call& call) {
  return json(call, {}, false);
}

Result<Value> to_pretty_json(Call& call) {
  return json(call, {.is_pretty = true}, false);
}

Result<Value> to_raw_json(Call& call) {
  return json(call, {.escapes_html = false}, true);
}

Result<Value> must_to_json(Call& call) {
  return json(call, {}, true);
}

Result<Value> must_to_pretty_json(Call& call) {
  return json(call, {.is_pretty = true}, true);
}

Result<Value> type_of(Call& call) {
  return Value::text(std::string{type_name(call[0])});
}

Result<Value> type_is(Call& call) {
  return Value::boolean(call.text(0) == type_name(call[1]));
}

Result<Value> type_is_like(Call& call) {
  const std::string_view name = type_name(call[1]);
  return Value::boolean(call.text(0) == name || '*' + std::string{call.text(0)} == name);
}

Result<Value> kind_of(Call& call) {
  return Value::text(std::string{kind_name(call[0])});
}

Result<Value> kind_is(Call& call) {
  return Value::boolean(call.text(0) == kind_name(call[1]));
}

Result<Value> are_deep_equal(Call& call) {
  return Value::boolean(deep_equal(call[0], call[1]));
}

Result<Value> fail(Call& call) {
  return function_error(std::string{call.text(0)});
}

Result<Value> hello(Call&) {
  return Value::text("Hello!");
}

/// Go's path.Clean.
std::string clean_path(std::string_view path) {
  if (path.empty()) return ".";
  const bool rooted = path[0] == '/';
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (!rooted)
      parts.push_back(part);
  }
  const std::string out = (rooted ? "/" : "") + join(parts, "/");
  return out.empty() ? "." : out;
}

Result<Value> clean(Call& call) {
  return made_text(call.context, clean_path(call.text(0)));
}

Result<Value> base(Call& call) {
  std::string_view path = call.text(0);
  if (path.empty()) return Value::text(".");
  while (path.ends_with('/'))
    path.remove_suffix(1);
  if (const std::size_t slash = path.rfind('/'); slash != std::string_view::npos)
    path.remove_prefix(slash + 1);
  return Value::text(path.empty() ? "/" : std::string{path});
}

Result<Value> dir(Call& call) {
  const std::size_t slash = call.text(0).rfind('/');
  return made_text(call.context, clean_path(call.text(0).substr(
                                     0, slash == std::string_view::npos ? 0 : slash + 1)));
}

Result<Value> extension(Call& call) {
  const std::string_view path = call.text(0);
  const std::size_t at = path.find_last_of("./");
  if (at == std::string_view::npos || path[at] == '/') return Value::text("");
  return Value::text(std::string{path.substr(at)});
}

Result<Value> is_absolute(Call& call) {
  return Value::boolean(call.text(0).starts_with('/'));
}

Result<Value> environment(Call& call) {
  return Value::text(NOMAD_TRY(call.context.sources())->environment(call.text(0)).value_or(""));
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
Result<Value> expand_environment(Call& call) {
  Sources& sources = *NOMAD_TRY(call.context.sources());
  std::string_view rest = call.text(0);
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
    if (out.size() > call.context.room()) break;
  }
  return made_text(call.context, out + std::string{rest});
}

std::span<const Function> path_functions() {
  static const std::vector<const Type*> one{&types::text};
  static const Function table[] = {
      {"sprig_base", one, false, base},         {"sprig_osBase", one, false, base},
      {"sprig_dir", one, false, dir},           {"sprig_osDir", one, false, dir},
      {"sprig_clean", one, false, clean},       {"sprig_osClean", one, false, clean},
      {"sprig_ext", one, false, extension},     {"sprig_osExt", one, false, extension},
      {"sprig_isAbs", one, false, is_absolute}, {"sprig_osIsAbs", one, false, is_absolute},
      {"sprig_env", one, false, environment},   {"sprig_expandenv", one, false, expand_environment},
  };
  return table;
}

}  // namespace

std::span<const Function> functions() {
  static const Type* const text = &types::text;
  static const std::vector<const Type*> any{&types::any};
  static const std::vector<const Type*> two{&types::any, &types::any};
  static const std::vector<const Type*> one_text{text};
  static const std::vector<const Type*> text_and_any{text, &types::any};
  static const std::vector<Function> table = [] {
    std::vector<Function> out{
        {"sprig_default", two, true, default_value},
        {"sprig_empty", any, false, is_empty},
        {"sprig_coalesce", any, true, coalesce},
        {"sprig_all", any, true, all},
        {"sprig_any", any, true, any_of},
        {"sprig_ternary", {&types::any, &types::any, &types::boolean}, false, ternary},
        {"sprig_fromJson", one_text, false, from_json},
        {"sprig_mustFromJson", one_text, false, must_from_json},
        {"sprig_toJson", any, false, to_json},
        {"sprig_mustToJson", any, false, must_to_json},
        {"sprig_toPrettyJson", any, false, to_pretty_json},
        {"sprig_mustToPrettyJson", any, false, must_to_pretty_json},
        {"sprig_toRawJson", any, false, to_raw_json},
        {"sprig_mustToRawJson", any, false, to_raw_json},
        {"sprig_typeOf", any, false, type_of},
        {"sprig_typeIs", text_and_any, false, type_is},
        {"sprig_typeIsLike", text_and_any, false, type_is_like},
        {"sprig_kindOf", any, false, kind_of},
        {"sprig_kindIs", text_and_any, false, kind_is},
        {"sprig_deepEqual", two, false, are_deep_equal},
        {"sprig_fail", one_text, false, fail},
        {"sprig_hello", {}, false, hello},
    };
    const auto paths = path_functions();
    out.insert(out.end(), paths.begin(), paths.end());
    return out;
  }();
  return table;
}

}  // namespace nomad::templates::sprig_other_family
