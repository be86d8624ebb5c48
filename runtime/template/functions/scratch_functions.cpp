// `scratch`: a place for values that lasts for one rendering.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/merge.hpp"

namespace nomad::templates::scratch_family {
namespace {

Map& values(Call& call) {
  return *call.context.scratch();
}

Result<Value> has_key(Call& call) {
  return Value::boolean(values(call).find(call.text(1)) != nullptr);
}

Result<Value> get(Call& call) {
  const Value* known = values(call).find(call.text(1));
  return known == nullptr ? Value{} : *known;
}

Result<Value> set(Call& call) {
  NOMAD_TRY(set_key(values(call), call.text(1), call[2]));
  return Value::text("");
}

Result<Value> set_if_absent(Call& call) {
  if (values(call).find(call.text(1)) == nullptr) return set(call);
  return Value::text("");
}

Result<Value> map_set(Call& call, bool overwrites) {
  const Value* known = values(call).find(call.text(1));
  if (known == nullptr) {
    values(call).set(call.text(1), Value::map(std::make_shared<Map>()));
    known = values(call).find(call.text(1));
  }
  if (known->type() != &types::any_map || known->is_nil())
    return function_error(quote(call.text(1)) + " is not a map");
  Map& map = *known->shared_map();
  if (overwrites || map.find(call.text(2)) == nullptr)
    NOMAD_TRY(set_key(map, call.text(2), call[3]));
  return Value::text("");
}

Result<Value> map_set_always(Call& call) {
  return map_set(call, true);
}

Result<Value> map_set_if_absent(Call& call) {
  return map_set(call, false);
}

Result<Value> map_values(Call& call) {
  const Value* known = values(call).find(call.text(1));
  if (known == nullptr || known->type() != &types::any_map) return Value::null(types::any_list);
  std::vector<Value> out;
  for (const auto& [key, value] : known->entries())
    out.push_back(value);
  NOMAD_TRY(call.context.step(out.size()));
  return Value::list(std::move(out));
}

const Function* scratch_method(std::string_view name) {
  static const std::vector<const Type*> key{&types::text};
  static const std::vector<const Type*> key_and_value{&types::text, &types::any};
  static const std::vector<const Type*> keys_and_value{&types::text, &types::text, &types::any};
  static const Function methods[] = {
      {"Key", key, false, has_key},
      {"Get", key, false, get},
      {"Set", key_and_value, false, set},
      {"SetX", key_and_value, false, set_if_absent},
      {"MapSet", keys_and_value, false, map_set_always},
      {"MapSetX", keys_and_value, false, map_set_if_absent},
      {"MapValues", key, false, map_values},
  };
  const auto* found = std::ranges::find(methods, name, &Function::name);
  return found == std::end(methods) ? nullptr : found;
}

constexpr Type scratch_type{.kind = Kind::structure,
                            .name = "*template.Scratch",
                            .method = scratch_method,
                            .is_pointer = true};

Result<Value> scratch(Call&) {
  return Value::structure(scratch_type, {});
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {{"scratch", {}, false, scratch}};
  return table;
}

}  // namespace nomad::templates::scratch_family
