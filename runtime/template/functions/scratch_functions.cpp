// `scratch`: a place for values that lasts for one rendering.
#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/merge.hpp"

namespace nomad::templates::scratch_family {
namespace {

Map& values(Context& context) {
  return *context.scratch();
}

bool has_key(Context& context, const Value&, std::string_view key) {
  return values(context).find(key) != nullptr;
}

Value get(Context& context, const Value&, std::string_view key) {
  const Value* known = values(context).find(key);
  return known == nullptr ? Value{} : *known;
}

template <bool overwrites>
Result<std::string_view> set(Context& context,
                             const Value&,
                             std::string_view key,
                             const Value& value) {
  if (overwrites || values(context).find(key) == nullptr)
    NOMAD_TRY(set_key(context, values(context), key, value));
  return "";
}

template <bool overwrites>
Result<std::string_view> map_set(Context& context,
                                 const Value&,
                                 std::string_view name,
                                 std::string_view key,
                                 const Value& value) {
  const Value* known = values(context).find(name);
  if (known == nullptr) {
    values(context).set(name, Value::map(std::make_shared<Map>()));
    known = values(context).find(name);
  }
  if (known->type() != &types::any_map || known->is_nil())
    return function_error(quote(name) + " is not a map");
  Map& map = *known->shared_map();
  if (overwrites || map.find(key) == nullptr) NOMAD_TRY(set_key(context, map, key, value));
  return "";
}

Result<Value> map_values(Context& context, const Value&, std::string_view name) {
  const Value* known = values(context).find(name);
  if (known == nullptr || known->type() != &types::any_map) return Value::null(types::any_list);
  std::vector<Value> out;
  for (const auto& [key, value] : known->entries())
    out.push_back(value);
  NOMAD_TRY(context.step(out.size()));
  return Value::list(std::move(out));
}

const Function* scratch_method(std::string_view name) {
  static const Function methods[] = {
      method<has_key>("Key"),          method<get>("Get"),
      method<set<true>>("Set"),        method<set<false>>("SetX"),
      method<map_set<true>>("MapSet"), method<map_set<false>>("MapSetX"),
      method<map_values>("MapValues"),
  };
  return find_method(methods, name);
}

constexpr Type scratch_type{.kind = Kind::structure,
                            .name = "*template.Scratch",
                            .method = scratch_method,
                            .is_pointer = true};

Value scratch() {
  return Value::structure(scratch_type, {});
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {bind<scratch>("scratch")};
  return table;
}

}  // namespace nomad::templates::scratch_family
