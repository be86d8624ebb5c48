// Lists, maps and their encodings: in, contains…, explode, mergeMap, byTag, loop, parseJSON,
// toYAML….
#include <algorithm>
#include <memory>

#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/cluster_values.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/json.hpp"
#include "runtime/template/functions/merge.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/template/functions/spew.hpp"
#include "runtime/template/functions/toml.hpp"
#include "runtime/template/functions/yaml.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates::data_family {
namespace {

/// Go asks a nil for its type when it compares it with a text.
Error no_type_of_nil() {
  return function_error("reflect: call of reflect.Value.Type on zero Value");
}

/// Whether a list has an item, or a text a part.
Result<bool> is_in(Context& context, const Value& whole, const Value& part) {
  if (whole.kind() == Kind::text) {
    if (part.is_invalid()) return no_type_of_nil();
    if (part.type() != whole.type()) return false;
    NOMAD_TRY(context.work().take(whole.size() + part.size()));
    return find_text(whole.as_text(), part.as_text()) != std::string_view::npos;
  }
  if (whole.kind() != Kind::list) return false;
  NOMAD_TRY(context.step(whole.items().size()));
  for (const Value& item : whole.items()) {
    if (item.kind() == Kind::text && part.is_invalid()) return no_type_of_nil();
    if (item.kind() != part.kind()) continue;
    NOMAD_TRY(context.work().take(compared_bytes(item, part)));
    if (item.kind() == Kind::integer && item.as_integer() == part.as_integer()) return true;
    if (item.kind() == Kind::number && item.as_number() == part.as_number()) return true;
    if (item.kind() == Kind::text && item.type() == part.type() && item.as_text() == part.as_text())
      return true;
  }
  return false;
}

Result<bool> in(Context& context, const Value& whole, const Value& part) {
  return is_in(context, whole, part);
}

Result<bool> contains(Context& context, const Value& part, const Value& whole) {
  return is_in(context, whole, part);
}

/// `result` unless one of the items is in the list, or with `inverted`, is not.
template <bool result, bool inverted>
Result<bool> contains_some(Context& context, As<types::any_list> items, const Value& list) {
  for (const Value& item : items->items())
    if (NOMAD_TRY(is_in(context, list, item)) != inverted) return !result;
  return result;
}

/// Puts a value at the path `key` into `map`, with a map for each part but the last.
Result<void> explode_key(Map& map, std::string_view key, const Value& value) {
  Map* at = &map;
  const std::string_view path = key;
  for (std::size_t slash = 0; (slash = key.find('/')) != std::string_view::npos;) {
    const std::string_view top = key.substr(0, slash);
    key.remove_prefix(slash + 1);
    const Value* known = at->find(top);
    if (known == nullptr) {
      at->set(top, Value::map(std::make_shared<Map>()));
      known = at->find(top);
    }
    if (known->type() != &types::any_map)
      return function_error("not a map: " + quote(path) + ": " + quote(top) + " already has value "
                            + shown_quoted(*known));
    at = known->shared_map();
  }
  if (!key.empty()) at->set(key, value);
  return {};
}

Result<Value> explode_map(Context& context, As<types::any_map> given) {
  auto map = std::make_shared<Map>();
  for (const auto& [key, value] : given->entries()) {
    NOMAD_TRY(context.step(1 + static_cast<std::uint64_t>(std::ranges::count(key.as_text(), '/'))));
    NOMAD_TRY(explode_key(*map, key.as_text(), value).within("explodeMap"));
  }
  return Value::map(std::move(map));
}

/// Only Consul has pairs, and there is none.
Value explode(As<key_pair_list>) {
  return Value::map(std::make_shared<Map>());
}

Value by_key(As<key_pair_list>) {
  static constexpr Type pairs_by_key{.kind = Kind::map,
                                     .name = "map[string]map[string]*dependency.KeyPair",
                                     .element = &types::any_map,
                                     .key = &types::text};
  return Value::map(std::make_shared<Map>(), pairs_by_key);
}

Result<Value> by_tag(Context& context, const Value& list) {
  if (!list.is_invalid() && list.type() != &service_list && list.type() != &service_name_list)
    return function_error("byTag: wrong argument type " + std::string{type_name(list)});
  std::map<std::string, std::vector<Value>> found;
  for (const Value& service : list.items())
    for (const Value& tag : service.fields()[service.type() == &service_type ? 6 : 1].items()) {
      NOMAD_TRY(context.step());
      found[std::string{tag.as_text()}].push_back(service);
    }
  auto map = std::make_shared<Map>();
  for (auto& [tag, services] : found)
    map->set(tag, Value::list(std::move(services)));
  return Value::map(std::move(map), types::list_map);
}

template <bool overrides>
Result<Value> merge_map(Context& context, As<types::any_map> into, As<types::any_map> from) {
  NOMAD_TRY(merge_maps(context, *into->shared_map(), *from, overrides));
  return *into;
}

Result<std::int64_t> bound_of_loop(const Value& value) {
  switch (value.kind()) {
    case Kind::integer:
      return value.as_integer();
    case Kind::natural:
      return static_cast<std::int64_t>(value.as_natural());
    case Kind::text:
      return parse_int64(value.as_text());
    default:
      return function_error("loop: bad argument type: " + std::string{type_name(value)});
  }
}

Result<Value> loop(Context& context, Rest<> bounds) {
  if (bounds.size() != 1 && bounds.size() != 2)
    return function_error("loop: wrong number of arguments, expected 1 or 2, but got "
                          + std::to_string(bounds.size()));
  const std::int64_t start = bounds.size() == 1 ? 0 : NOMAD_TRY(bound_of_loop(bounds[0]));
  const std::int64_t stop = NOMAD_TRY(bound_of_loop(bounds.back()));
  std::vector<Value> items;
  if (stop > start) {
    NOMAD_TRY(context.step(static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)));
    for (std::int64_t i = start; i < stop; ++i)
      items.push_back(Value::integer(i, types::int64));
  }
  return Value::list(std::move(items), types::int64_channel);
}

/// An empty text is an empty map.
template <Result<Value> (*read)(Context&, std::string_view)>
Result<Value> parse(Context& context, std::string_view text) {
  if (text.empty()) return Value::map(std::make_shared<Map>());
  return read(context, text);
}

template <bool escapes_html, bool is_pretty>
Result<std::string> to_json(Context& context, const Value& value) {
  const std::string name
      = std::string{escapes_html ? "toJSON" : "toUnescapedJSON"} + (is_pretty ? "Pretty" : "");
  return write_json(value, {escapes_html, is_pretty}, context.room()).within(name);
}

Result<std::string> to_yaml(Context& context, const Value& value) {
  return std::string{trim_space(NOMAD_TRY(write_yaml(value, context.room()).within("toYAML")))};
}

Result<std::string> to_toml(Context& context, const Value& value) {
  if (value.is_invalid()) return no_type_of_nil();
  return std::string{trim_space(NOMAD_TRY(write_toml(value, context.room()).within("toTOML")))};
}

Result<Value> execute_template(Context& context, std::string_view name, Rest<> given) {
  if (given.size() > 1)
    return function_error("executeTemplate: wrong number of arguments, expected 1 or 2, but got "
                          + std::to_string(1 + given.size()));
  return Value::text(NOMAD_TRY(context.execute(name, given.empty() ? Value{} : given[0])));
}

Result<std::string> dump_text(Context& context, Rest<> values) {
  return spewed(values, context.room());
}

Result<std::string> dump_format(Context& context, std::string_view format, Rest<> values) {
  return spewed_format(format, values, context.room());
}

// consul-template prints these to its standard output, which for a task is the agent's. Values may
// be secrets, so nothing is printed here.

std::string_view dump_nowhere(Rest<>) {
  return "";
}

std::string_view dump_format_nowhere(std::string_view, Rest<>) {
  return "";
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<by_key>("byKey"),
      bind<by_tag>("byTag"),
      bind<contains>("contains"),
      bind<contains_some<true, true>>("containsAll"),
      bind<contains_some<false, false>>("containsAny"),
      bind<contains_some<true, false>>("containsNone"),
      bind<contains_some<false, true>>("containsNotAll"),
      bind<execute_template>("executeTemplate"),
      bind<explode>("explode"),
      bind<explode_map>("explodeMap"),
      bind<in>("in"),
      bind<loop>("loop"),
      bind<merge_map<false>>("mergeMap"),
      bind<merge_map<true>>("mergeMapWithOverride"),
      bind<parse<read_json>>("parseJSON"),
      bind<parse<read_yaml>>("parseYAML"),
      bind<dump_nowhere>("spew_dump"),
      bind<dump_format_nowhere>("spew_printf"),
      bind<dump_text>("spew_sdump"),
      bind<dump_format>("spew_sprintf"),
      bind<to_json<true, false>>("toJSON"),
      bind<to_json<true, true>>("toJSONPretty"),
      bind<to_toml>("toTOML"),
      bind<to_json<false, false>>("toUnescapedJSON"),
      bind<to_json<false, true>>("toUnescapedJSONPretty"),
      bind<to_yaml>("toYAML"),
  };
  return table;
}

std::span<const Function> cli_functions() {
  static const Function table[] = {
      bind<to_json<false, false>>("json"),
      bind<to_json<false, false>>("toJSON"),
  };
  return table;
}

}  // namespace nomad::templates::data_family
