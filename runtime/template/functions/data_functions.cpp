// Lists, maps and their encodings: in, contains…, explode, mergeMap, byTag, loop, parseJSON,
// toYAML….
#include <algorithm>
#include <memory>

#include "runtime/base/text.hpp"
#include "runtime/template/functions/cluster_values.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/json.hpp"
#include "runtime/template/functions/merge.hpp"
#include "runtime/template/functions/toml.hpp"
#include "runtime/template/functions/yaml.hpp"
#include "runtime/template/text/strings.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/template/value/number_text.hpp"

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
    return part.type() == whole.type()
           && whole.as_text().find(part.as_text()) != std::string_view::npos;
  }
  if (whole.kind() != Kind::list) return false;
  NOMAD_TRY(context.step(whole.items().size()));
  for (const Value& item : whole.items()) {
    if (item.kind() == Kind::text && part.is_invalid()) return no_type_of_nil();
    if (item.kind() != part.kind()) continue;
    if (item.kind() == Kind::integer && item.as_integer() == part.as_integer()) return true;
    if (item.kind() == Kind::number && item.as_number() == part.as_number()) return true;
    if (item.kind() == Kind::text && item.type() == part.type() && item.as_text() == part.as_text())
      return true;
  }
  return false;
}

Result<Value> in(Call& call) {
  return Value::boolean(NOMAD_TRY(is_in(call.context, call[0], call[1])));
}

Result<Value> contains(Call& call) {
  return Value::boolean(NOMAD_TRY(is_in(call.context, call[1], call[0])));
}

/// `result` unless one of the items is in the list, or with `inverted`, is not.
Result<Value> contains_some(Call& call, bool result, bool inverted) {
  for (const Value& item : call[0].items())
    if (NOMAD_TRY(is_in(call.context, call[1], item)) != inverted) return Value::boolean(!result);
  return Value::boolean(result);
}

Result<Value> contains_all(Call& call) {
  return contains_some(call, true, true);
}

Result<Value> contains_any(Call& call) {
  return contains_some(call, false, false);
}

Result<Value> contains_none(Call& call) {
  return contains_some(call, true, false);
}

Result<Value> contains_not_all(Call& call) {
  return contains_some(call, false, true);
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

Result<Value> explode_map(Call& call) {
  auto map = std::make_shared<Map>();
  for (const auto& [key, value] : call[0].entries()) {
    NOMAD_TRY(
        call.context.step(1 + static_cast<std::uint64_t>(std::ranges::count(key.as_text(), '/'))));
    NOMAD_TRY(explode_key(*map, key.as_text(), value).within("explodeMap"));
  }
  return Value::map(std::move(map));
}

/// Only Consul has pairs, and there is none.
Result<Value> explode(Call&) {
  return Value::map(std::make_shared<Map>());
}

Result<Value> by_key(Call&) {
  static constexpr Type pairs_by_key{.kind = Kind::map,
                                     .name = "map[string]map[string]*dependency.KeyPair",
                                     .element = &types::any_map,
                                     .key = &types::text};
  return Value::map(std::make_shared<Map>(), pairs_by_key);
}

Result<Value> by_tag(Call& call) {
  if (!call[0].is_invalid() && call[0].type() != &service_list
      && call[0].type() != &service_name_list)
    return function_error("byTag: wrong argument type " + std::string{type_name(call[0])});
  std::map<std::string, std::vector<Value>> found;
  for (const Value& service : call[0].is_invalid() ? std::vector<Value>{} : call[0].items())
    for (const Value& tag : service.fields()[service.type() == &service_type ? 6 : 1].items()) {
      NOMAD_TRY(call.context.step());
      found[std::string{tag.as_text()}].push_back(service);
    }
  auto map = std::make_shared<Map>();
  for (auto& [tag, services] : found)
    map->set(tag, Value::list(std::move(services)));
  return Value::map(std::move(map), types::list_map);
}

Result<Value> merge_map(Call& call) {
  NOMAD_TRY(merge_maps(call.context, *call[0].shared_map(), call[1], /*overrides=*/false));
  return call[0];
}

Result<Value> merge_map_with_override(Call& call) {
  NOMAD_TRY(merge_maps(call.context, *call[0].shared_map(), call[1], /*overrides=*/true));
  return call[0];
}

Result<std::int64_t> bound_of_loop(const Value& value) {
  switch (value.kind()) {
    case Kind::integer:
      return value.as_integer();
    case Kind::natural:
      return static_cast<std::int64_t>(value.as_natural());
    case Kind::text: {
      const auto found = parse_integer(value.as_text(), 10);
      if (value.as_text().empty()) return 0;
      if (!found.fault) return found.value;
      return function_error(
          "parseInt: strconv.ParseInt: parsing " + quote(value.as_text())
          + (found.fault == NumberFault::range ? ": value out of range" : ": invalid syntax"));
    }
    default:
      return function_error("loop: bad argument type: " + std::string{type_name(value)});
  }
}

Result<Value> loop(Call& call) {
  if (call.size() != 1 && call.size() != 2)
    return function_error("loop: wrong number of arguments, expected 1 or 2, but got "
                          + std::to_string(call.size()));
  const std::int64_t start = call.size() == 1 ? 0 : NOMAD_TRY(bound_of_loop(call[0]));
  const std::int64_t stop = NOMAD_TRY(bound_of_loop(call[call.size() - 1]));
  std::vector<Value> items;
  if (stop > start) {
    NOMAD_TRY(
        call.context.step(static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)));
    for (std::int64_t i = start; i < stop; ++i)
      items.push_back(Value::integer(i, types::int64));
  }
  return Value::list(std::move(items), types::int64_channel);
}

Result<Value> parse_json_text(Call& call) {
  if (call.text(0).empty()) return Value::map(std::make_shared<Map>());
  return read_json(call.context, call.text(0));
}

Result<Value> parse_yaml_text(Call& call) {
  if (call.text(0).empty()) return Value::map(std::make_shared<Map>());
  return read_yaml(call.context, call.text(0));
}

Result<Value> encoded_json(Call& call, std::string_view name, const JsonStyle& style) {
  return made_text(call.context,
                   NOMAD_TRY(write_json(call[0], style, call.context.room()).within(name)));
}

Result<Value> to_json_text(Call& call) {
  return encoded_json(call, "toJSON", {});
}

Result<Value> to_json_pretty(Call& call) {
  return encoded_json(call, "toJSONPretty", {.is_pretty = true});
}

Result<Value> to_unescaped_json(Call& call) {
  return encoded_json(call, "toUnescapedJSON", {.escapes_html = false});
}

Result<Value> to_unescaped_json_pretty(Call& call) {
  return encoded_json(call, "toUnescapedJSONPretty", {.escapes_html = false, .is_pretty = true});
}

Result<Value> to_yaml(Call& call) {
  auto text = write_yaml(call[0], call.context.room()).within("toYAML");
  return made_text(call.context, std::string{trim_space(NOMAD_TRY(std::move(text)))});
}

Result<Value> to_toml(Call& call) {
  if (call[0].is_invalid()) return no_type_of_nil();
  auto text = write_toml(call[0], call.context.room()).within("toTOML");
  return made_text(call.context, std::string{trim_space(NOMAD_TRY(std::move(text)))});
}

Result<Value> execute_template(Call& call) {
  if (call.size() > 2)
    return function_error("executeTemplate: wrong number of arguments, expected 1 or 2, but got "
                          + std::to_string(call.size()));
  if (!call.context.execute) return function_error("executeTemplate: not available here");
  return Value::text(
      NOMAD_TRY(call.context.execute(call.text(0), call.size() == 2 ? call[1] : Value{})));
}

Result<Value> refuse_debugging(Call&) {
  return function_error("the functions of spew are not supported: use printf \"%#v\"");
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<const Type*> any{&types::any};
  static const std::vector<const Type*> two{&types::any, &types::any};
  static const std::vector<const Type*> one_text{&types::text};
  static const std::vector<const Type*> list_and_any{&types::any_list, &types::any};
  static const std::vector<const Type*> maps{&types::any_map, &types::any_map};
  static const Function table[] = {
      {"byKey", {&key_pair_list}, false, by_key},
      {"byTag", any, false, by_tag},
      {"contains", two, false, contains},
      {"containsAll", list_and_any, false, contains_all},
      {"containsAny", list_and_any, false, contains_any},
      {"containsNone", list_and_any, false, contains_none},
      {"containsNotAll", list_and_any, false, contains_not_all},
      {"executeTemplate", {&types::text, &types::any}, true, execute_template},
      {"explode", {&key_pair_list}, false, explode},
      {"explodeMap", {&types::any_map}, false, explode_map},
      {"in", two, false, in},
      {"loop", any, true, loop},
      {"mergeMap", maps, false, merge_map},
      {"mergeMapWithOverride", maps, false, merge_map_with_override},
      {"parseJSON", one_text, false, parse_json_text},
      {"parseYAML", one_text, false, parse_yaml_text},
      {"spew_dump", any, true, refuse_debugging},
      {"spew_printf", any, true, refuse_debugging},
      {"spew_sdump", any, true, refuse_debugging},
      {"spew_sprintf", any, true, refuse_debugging},
      {"toJSON", any, false, to_json_text},
      {"toJSONPretty", any, false, to_json_pretty},
      {"toTOML", any, false, to_toml},
      {"toUnescapedJSON", any, false, to_unescaped_json},
      {"toUnescapedJSONPretty", any, false, to_unescaped_json_pretty},
      {"toYAML", any, false, to_yaml},
  };
  return table;
}

std::span<const Function> cli_functions() {
  static const std::vector<const Type*> any{&types::any};
  static const Function table[] = {
      {"json", any, false, to_unescaped_json},
      {"toJSON", any, false, to_unescaped_json},
  };
  return table;
}

}  // namespace nomad::templates::data_family
