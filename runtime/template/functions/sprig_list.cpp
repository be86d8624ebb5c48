// sprig: lists.
#include <algorithm>

#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/shared.hpp"

namespace nomad::templates::sprig_list_family {
namespace {

using Items = std::vector<Value>;

/// The items of a list; an error as sprig says it for anything else: "Cannot push on type string".
Result<Items> items_of(Context& context, const Value& value, std::string_view what) {
  if (value.is_invalid()) return nil_pointer();
  if (value.kind() != Kind::list || value.type() == &types::int64_channel)
    return function_error("Cannot " + std::string{what} + " type " + std::string{kind_name(value)});
  NOMAD_TRY(context.step(value.items().size()));
  return value.items();
}

Result<bool> has_item(Context& context, std::span<const Value> items, const Value& wanted) {
  for (const Value& item : items)
    if (NOMAD_TRY(deep_equal(wanted, item, context.work()))) return true;
  return false;
}

Value make_list(Rest<> items) {
  return Value::list({items.begin(), items.end()});
}

Result<Value> push(Context& context, const Value& list, const Value& item) {
  Items items = NOMAD_TRY(items_of(context, list, "push on"));
  items.push_back(item);
  return Value::list(std::move(items));
}

Result<Value> prepend(Context& context, const Value& list, const Value& item) {
  Items items = NOMAD_TRY(items_of(context, list, "prepend on"));
  items.insert(items.begin(), item);
  return Value::list(std::move(items));
}

Result<Value> first(Context& context, const Value& list) {
  const Items items = NOMAD_TRY(items_of(context, list, "find first on"));
  return items.empty() ? Value{} : items.front();
}

Result<Value> last(Context& context, const Value& list) {
  const Items items = NOMAD_TRY(items_of(context, list, "find last on"));
  return items.empty() ? Value{} : items.back();
}

Result<Value> rest(Context& context, const Value& list) {
  Items items = NOMAD_TRY(items_of(context, list, "find rest on"));
  if (items.empty()) return Value::null(types::any_list);
  items.erase(items.begin());
  return Value::list(std::move(items));
}

Result<Value> initial(Context& context, const Value& list) {
  Items items = NOMAD_TRY(items_of(context, list, "find initial on"));
  if (items.empty()) return Value::null(types::any_list);
  items.pop_back();
  return Value::list(std::move(items));
}

Result<Value> reverse(Context& context, const Value& list) {
  Items items = NOMAD_TRY(items_of(context, list, "find reverse on"));
  std::ranges::reverse(items);
  return Value::list(std::move(items));
}

Result<Value> compact(Context& context, const Value& list) {
  Items items = NOMAD_TRY(items_of(context, list, "compact on"));
  std::erase_if(items, [](const Value& item) { return !item.is_true(); });
  return Value::list(std::move(items));
}

Result<Value> unique(Context& context, const Value& list) {
  Items out;
  for (const Value& item : NOMAD_TRY(items_of(context, list, "find uniq on"))) {
    NOMAD_TRY(context.step(out.size()));
    if (!NOMAD_TRY(has_item(context, out, item))) out.push_back(item);
  }
  return Value::list(std::move(out));
}

Result<Value> without(Context& context, const Value& list, Rest<> omitted) {
  const Items items = NOMAD_TRY(items_of(context, list, "find without on"));
  NOMAD_TRY(context.step(items.size() * (omitted.size() + 1)));
  Items kept;
  for (const Value& item : items)
    if (!NOMAD_TRY(has_item(context, omitted, item))) kept.push_back(item);
  return Value::list(std::move(kept));
}

Result<bool> has(Context& context, const Value& item, const Value& list) {
  if (list.is_invalid()) return false;
  return has_item(context, NOMAD_TRY(items_of(context, list, "find has on")), item);
}

Result<Value> slice(Context& context, const Value& list, Rest<> bounds) {
  if (list.kind() != Kind::list)
    return function_error("list should be type of slice or array but "
                          + std::string{kind_name(list)});
  const auto size = static_cast<std::int64_t>(list.size());
  if (size == 0) return Value{};
  const std::int64_t start = !bounds.empty() ? integer_of(bounds[0]) : 0;
  const std::int64_t end = bounds.size() > 1 ? integer_of(bounds[1]) : size;
  if (start < 0 || start > end || end > size)
    return function_error("reflect.Value.Slice: slice index out of bounds");
  NOMAD_TRY(context.step(static_cast<std::uint64_t>(end - start)));
  return Value::list({list.items().begin() + start, list.items().begin() + end}, *list.type());
}

Result<Value> concat(Context& context, Rest<> lists) {
  Items out;
  for (const Value& list : lists) {
    if (list.kind() != Kind::list)
      return function_error("Cannot concat type " + std::string{kind_name(list)} + " as list");
    NOMAD_TRY(context.step(list.size()));
    out.insert(out.end(), list.items().begin(), list.items().end());
  }
  return Value::list(std::move(out));
}

Result<Value> chunk(Context& context, std::int64_t size, const Value& list) {
  const Items items = NOMAD_TRY(items_of(context, list, "chunk"));
  if (size <= 0) return function_error("runtime error: makeslice: len out of range");
  Items out;
  for (std::size_t at = 0; at < items.size(); at += static_cast<std::size_t>(size)) {
    const std::size_t end = std::min(at + static_cast<std::size_t>(size), items.size());
    out.push_back(Value::list({items.begin() + static_cast<std::ptrdiff_t>(at),
                               items.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  return Value::list(std::move(out), types::list_list);
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<make_list>("sprig_list"),      bind<make_list>("sprig_tuple"),
      bind<push>("sprig_append"),         bind<push>("sprig_push"),
      bind<push>("sprig_mustAppend"),     bind<prepend>("sprig_prepend"),
      bind<prepend>("sprig_mustPrepend"), bind<first>("sprig_first"),
      bind<first>("sprig_mustFirst"),     bind<last>("sprig_last"),
      bind<last>("sprig_mustLast"),       bind<rest>("sprig_rest"),
      bind<rest>("sprig_mustRest"),       bind<initial>("sprig_initial"),
      bind<initial>("sprig_mustInitial"), bind<reverse>("sprig_reverse"),
      bind<reverse>("sprig_mustReverse"), bind<compact>("sprig_compact"),
      bind<compact>("sprig_mustCompact"), bind<unique>("sprig_uniq"),
      bind<unique>("sprig_mustUniq"),     bind<without>("sprig_without"),
      bind<without>("sprig_mustWithout"), bind<has>("sprig_has"),
      bind<has>("sprig_mustHas"),         bind<slice>("sprig_slice"),
      bind<slice>("sprig_mustSlice"),     bind<concat>("sprig_concat"),
      bind<chunk>("sprig_chunk"),         bind<chunk>("sprig_mustChunk"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_list_family
