// sprig: dictionaries. `keys` and `values` come in the order of the keys; Go's have none.
#include <algorithm>
#include <set>

#include "runtime/base/text.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/merge.hpp"
#include "runtime/template/functions/sprig.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates::sprig_map_family {
namespace {

Result<Value> make_dict(Call& call) {
  auto map = std::make_shared<Map>();
  for (std::size_t i = 0; i < call.size(); i += 2) {
    const std::string key = NOMAD_TRY(text_of(call.context, call[i]));
    map->set(key, i + 1 < call.size() ? call[i + 1] : Value::text(""));
  }
  return Value::map(std::move(map));
}

Result<Value> get(Call& call) {
  const auto found = call[0].entries().find(call.text(1));
  return found == call[0].entries().end() ? Value::text("") : found->second;
}

Result<Value> set(Call& call) {
  if (call[0].is_nil()) return function_error("assignment to entry in nil map");
  NOMAD_TRY(set_key(*call[0].shared_map(), call.text(1), call[2]));
  return call[0];
}

Result<Value> unset(Call& call) {
  if (Map* map = call[0].shared_map(); map != nullptr)
    if (const auto found = map->entries.find(call.text(1)); found != map->entries.end())
      map->entries.erase(found);
  return call[0];
}

Result<Value> has_key(Call& call) {
  return Value::boolean(call[0].entries().find(call.text(1)) != call[0].entries().end());
}

Result<Value> pluck(Call& call) {
  std::vector<Value> out;
  for (const Value& map : call.arguments.subspan(1))
    if (const auto found = map.entries().find(call.text(0)); found != map.entries().end())
      out.push_back(found->second);
  return Value::list(std::move(out));
}

Result<Value> keys(Call& call) {
  std::vector<Value> out;
  for (const Value& map : call.arguments) {
    NOMAD_TRY(call.context.step(map.size()));
    for (const auto& [key, value] : map.entries())
      out.push_back(key);
  }
  return Value::list(std::move(out), types::text_list);
}

Result<Value> values(Call& call) {
  std::vector<Value> out;
  NOMAD_TRY(call.context.step(call[0].size()));
  for (const auto& [key, value] : call[0].entries())
    out.push_back(value);
  return Value::list(std::move(out));
}

/// The entries whose keys are among the other arguments, or those whose are not.
Result<Value> chosen(Call& call, bool listed) {
  std::set<std::string_view> names;
  for (std::size_t i = 1; i < call.size(); ++i)
    names.insert(call.text(i));
  NOMAD_TRY(call.context.step(call[0].size()));
  auto map = std::make_shared<Map>();
  for (const auto& [key, value] : call[0].entries())
    if (names.contains(key.as_text()) == listed) map->set(key, value);
  return Value::map(std::move(map));
}

Result<Value> pick(Call& call) {
  return chosen(call, true);
}

Result<Value> omit(Call& call) {
  return chosen(call, false);
}

Result<Value> merge_all(Call& call, bool overrides) {
  if (call[0].is_nil()) return function_error("src and dst must not be nil");
  for (const Value& from : call.arguments.subspan(1))
    NOMAD_TRY(merge_maps(call.context, *call[0].shared_map(), from, overrides));
  return call[0];
}

Result<Value> merge(Call& call) {
  return merge_all(call, false);
}

Result<Value> merge_overwrite(Call& call) {
  return merge_all(call, true);
}

Result<Value> deep_copy(Call& call) {
  return copy_deep(call.context, call[0]);
}

Result<Value> dig(Call& call) {
  if (call.size() < 3) return function_error("dig needs at least three arguments");
  const auto wrong = [](const Value& value, std::string_view wanted) {
    return function_error("interface conversion: interface {} is " + std::string{type_name(value)}
                          + ", not " + std::string{wanted});
  };
  Value at = call[call.size() - 1];
  for (std::size_t i = 0; i + 2 < call.size(); ++i) {
    if (call[i].type() != &types::text) return wrong(call[i], "string");
    if (at.type() != &types::any_map) return wrong(at, "map[string]interface {}");
    const auto found = at.entries().find(call.text(i));
    if (found == at.entries().end()) return call[call.size() - 2];
    at = Value{found->second};
  }
  return at;
}

}  // namespace

std::span<const Function> functions() {
  static const Type* const map = &types::any_map;
  static const Type* const text = &types::text;
  static const std::vector<const Type*> any{&types::any};
  static const std::vector<const Type*> map_and_text{map, text};
  static const std::vector<const Type*> maps{map, map};
  static const Function table[] = {
      {"sprig_dict", any, true, make_dict},
      {"sprig_get", map_and_text, false, get},
      {"sprig_set", {map, text, &types::any}, false, set},
      {"sprig_unset", map_and_text, false, unset},
      {"sprig_hasKey", map_and_text, false, has_key},
      {"sprig_pluck", {text, map}, true, pluck},
      {"sprig_keys", {map}, true, keys},
      {"sprig_values", {map}, false, values},
      {"sprig_pick", map_and_text, true, pick},
      {"sprig_omit", map_and_text, true, omit},
      {"sprig_merge", maps, true, merge},
      {"sprig_mustMerge", maps, true, merge},
      {"sprig_mergeOverwrite", maps, true, merge_overwrite},
      {"sprig_mustMergeOverwrite", maps, true, merge_overwrite},
      {"sprig_deepCopy", any, false, deep_copy},
      {"sprig_mustDeepCopy", any, false, deep_copy},
      {"sprig_dig", any, true, dig},
  };
  return table;
}

}  // namespace nomad::templates::sprig_map_family
