// sprig: dictionaries. `keys` and `values` come in the order of the keys; Go's have none.
#include <set>

#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/merge.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates::sprig_map_family {
namespace {

using Dict = As<types::any_map>;

/// Null if there is none.
const Value* find(const Value& map, std::string_view key) {
  const auto found = map.entries().find(key);
  return found == map.entries().end() ? nullptr : &found->second;
}

Result<Value> make_dict(Context& context, Rest<> given) {
  auto map = std::make_shared<Map>();
  for (std::size_t i = 0; i < given.size(); i += 2) {
    const std::string key = NOMAD_TRY(text_of(context, given[i]));
    map->set(key, i + 1 < given.size() ? given[i + 1] : Value::text(""));
  }
  return Value::map(std::move(map));
}

Value get(Dict dict, std::string_view key) {
  const Value* found = find(*dict, key);
  return found == nullptr ? Value::text("") : *found;
}

Result<Value> set(Context& context, Dict dict, std::string_view key, const Value& value) {
  if (dict->is_nil()) return function_error("assignment to entry in nil map");
  NOMAD_TRY(set_key(context, *dict->shared_map(), key, value));
  return *dict;
}

Value unset(Dict dict, std::string_view key) {
  if (Map* map = dict->shared_map(); map != nullptr)
    if (const auto found = map->entries.find(key); found != map->entries.end())
      map->entries.erase(found);
  return *dict;
}

bool has_key(Dict dict, std::string_view key) {
  return find(*dict, key) != nullptr;
}

Value pluck(std::string_view key, Rest<types::any_map> dicts) {
  std::vector<Value> out;
  for (const Value& dict : dicts)
    if (const Value* found = find(dict, key); found != nullptr) out.push_back(*found);
  return Value::list(std::move(out));
}

Result<Value> keys(Context& context, Rest<types::any_map> dicts) {
  std::vector<Value> out;
  for (const Value& dict : dicts) {
    NOMAD_TRY(context.step(dict.size()));
    for (const auto& [key, value] : dict.entries())
      out.push_back(key);
  }
  return Value::list(std::move(out), types::text_list);
}

Result<Value> values(Context& context, Dict dict) {
  std::vector<Value> out;
  NOMAD_TRY(context.step(dict->size()));
  for (const auto& [key, value] : dict->entries())
    out.push_back(value);
  return Value::list(std::move(out));
}

/// The entries whose keys are `listed`, or those whose are not.
template <bool listed>
Result<Value> chosen(Context& context, Dict dict, Rest<types::text> names) {
  std::set<std::string_view> wanted;
  for (const Value& name : names)
    wanted.insert(name.as_text());
  NOMAD_TRY(context.step(dict->size()));
  auto map = std::make_shared<Map>();
  for (const auto& [key, value] : dict->entries())
    if (wanted.contains(key.as_text()) == listed) map->set(key, value);
  return Value::map(std::move(map));
}

template <bool overrides>
Result<Value> merge(Context& context, Dict into, Rest<types::any_map> others) {
  if (into->is_nil()) return function_error("src and dst must not be nil");
  for (const Value& from : others)
    NOMAD_TRY(merge_maps(context, *into->shared_map(), from, overrides));
  return *into;
}

Result<Value> deep_copy(Context& context, const Value& value) {
  return copy_deep(context, value);
}

Result<Value> dig(Rest<> given) {
  if (given.size() < 3) return function_error("dig needs at least three arguments");
  const auto wrong = [](const Value& value, std::string_view wanted) {
    return function_error("interface conversion: interface {} is " + std::string{type_name(value)}
                          + ", not " + std::string{wanted});
  };
  Value at = given.back();
  for (const Value& key : given.first(given.size() - 2)) {
    if (key.type() != &types::text) return wrong(key, "string");
    if (at.type() != &types::any_map) return wrong(at, "map[string]interface {}");
    const Value* found = find(at, key.as_text());
    if (found == nullptr) return given[given.size() - 2];
    at = Value{*found};
  }
  return at;
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<make_dict>("sprig_dict"),
      bind<get>("sprig_get"),
      bind<set>("sprig_set"),
      bind<unset>("sprig_unset"),
      bind<has_key>("sprig_hasKey"),
      bind<pluck>("sprig_pluck"),
      bind<keys>("sprig_keys"),
      bind<values>("sprig_values"),
      bind<chosen<true>>("sprig_pick"),
      bind<chosen<false>>("sprig_omit"),
      bind<merge<false>>("sprig_merge"),
      bind<merge<false>>("sprig_mustMerge"),
      bind<merge<true>>("sprig_mergeOverwrite"),
      bind<merge<true>>("sprig_mustMergeOverwrite"),
      bind<deep_copy>("sprig_deepCopy"),
      bind<deep_copy>("sprig_mustDeepCopy"),
      bind<dig>("sprig_dig"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_map_family
