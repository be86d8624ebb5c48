// sprig: lists.
#include <algorithm>
#include <iterator>

#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/sprig.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates::sprig_list_family {
namespace {

using Items = std::vector<Value>;

/// The items of a list; an error as sprig says it for anything else: "Cannot push on type string".
Result<Items> items_of(Call& call, const Value& value, std::string_view what) {
  if (value.is_invalid())
    return function_error("runtime error: invalid memory address or nil pointer dereference");
  if (value.kind() != Kind::list || value.type() == &types::int64_channel)
    return function_error("Cannot " + std::string{what} + " type " + std::string{kind_name(value)});
  NOMAD_TRY(call.context.step(value.items().size()));
  return value.items();
}

bool has_item(const Items& items, const Value& wanted) {
  return std::ranges::any_of(items,
                             [&wanted](const Value& item) { return deep_equal(wanted, item); });
}

Result<Value> make_list(Call& call) {
  return Value::list({call.arguments.begin(), call.arguments.end()});
}

Result<Value> push(Call& call) {
  Items items = NOMAD_TRY(items_of(call, call[0], "push on"));
  items.push_back(call[1]);
  return Value::list(std::move(items));
}

Result<Value> prepend(Call& call) {
  Items items = NOMAD_TRY(items_of(call, call[0], "prepend on"));
  items.insert(items.begin(), call[1]);
  return Value::list(std::move(items));
}

Result<Value> first(Call& call) {
  const Items items = NOMAD_TRY(items_of(call, call[0], "find first on"));
  return items.empty() ? Value{} : items.front();
}

Result<Value> last(Call& call) {
  const Items items = NOMAD_TRY(items_of(call, call[0], "find last on"));
  return items.empty() ? Value{} : items.back();
}

Result<Value> rest(Call& call) {
  Items items = NOMAD_TRY(items_of(call, call[0], "find rest on"));
  if (items.empty()) return Value::null(types::any_list);
  items.erase(items.begin());
  return Value::list(std::move(items));
}

Result<Value> initial(Call& call) {
  Items items = NOMAD_TRY(items_of(call, call[0], "find initial on"));
  if (items.empty()) return Value::null(types::any_list);
  items.pop_back();
  return Value::list(std::move(items));
}

Result<Value> reverse(Call& call) {
  Items items = NOMAD_TRY(items_of(call, call[0], "find reverse on"));
  std::ranges::reverse(items);
  return Value::list(std::move(items));
}

Result<Value> compact(Call& call) {
  Items items = NOMAD_TRY(items_of(call, call[0], "compact on"));
  std::erase_if(items, [](const Value& item) { return !item.is_true(); });
  return Value::list(std::move(items));
}

Result<Value> unique(Call& call) {
  const Items items = NOMAD_TRY(items_of(call, call[0], "find uniq on"));
  Items out;
  for (const Value& item : items) {
    NOMAD_TRY(call.context.step(out.size()));
    if (!has_item(out, item)) out.push_back(item);
  }
  return Value::list(std::move(out));
}

Result<Value> without(Call& call) {
  const Items items = NOMAD_TRY(items_of(call, call[0], "find without on"));
  const Items omitted{call.arguments.begin() + 1, call.arguments.end()};
  NOMAD_TRY(call.context.step(items.size() * (omitted.size() + 1)));
  Items out;
  std::ranges::copy_if(items, std::back_inserter(out),
                       [&omitted](const Value& item) { return !has_item(omitted, item); });
  return Value::list(std::move(out));
}

Result<Value> has(Call& call) {
  if (call[1].is_invalid()) return Value::boolean(false);
  return Value::boolean(has_item(NOMAD_TRY(items_of(call, call[1], "find has on")), call[0]));
}

Result<Value> slice(Call& call) {
  const Value& list = call[0];
  if (list.kind() != Kind::list)
    return function_error("list should be type of slice or array but "
                          + std::string{kind_name(list)});
  const auto size = static_cast<std::int64_t>(list.size());
  if (size == 0) return Value{};
  const std::int64_t start = call.size() > 1 ? integer_of(call[1]) : 0;
  const std::int64_t end = call.size() > 2 ? integer_of(call[2]) : size;
  if (start < 0 || start > end || end > size)
    return function_error("reflect.Value.Slice: slice index out of bounds");
  NOMAD_TRY(call.context.step(static_cast<std::uint64_t>(end - start)));
  return Value::list({list.items().begin() + start, list.items().begin() + end}, *list.type());
}

Result<Value> concat(Call& call) {
  Items out;
  for (const Value& list : call.arguments) {
    if (list.kind() != Kind::list)
      return function_error("Cannot concat type " + std::string{kind_name(list)} + " as list");
    NOMAD_TRY(call.context.step(list.size()));
    out.insert(out.end(), list.items().begin(), list.items().end());
  }
  return Value::list(std::move(out));
}

Result<Value> chunk(Call& call) {
  const Items items = NOMAD_TRY(items_of(call, call[1], "chunk"));
  const std::int64_t size = call.integer(0);
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
  static const std::vector<const Type*> any{&types::any};
  static const std::vector<const Type*> two{&types::any, &types::any};
  static const Function table[] = {
      {"sprig_list", any, true, make_list},
      {"sprig_tuple", any, true, make_list},
      {"sprig_append", two, false, push},
      {"sprig_push", two, false, push},
      {"sprig_mustAppend", two, false, push},
      {"sprig_prepend", two, false, prepend},
      {"sprig_mustPrepend", two, false, prepend},
      {"sprig_first", any, false, first},
      {"sprig_mustFirst", any, false, first},
      {"sprig_last", any, false, last},
      {"sprig_mustLast", any, false, last},
      {"sprig_rest", any, false, rest},
      {"sprig_mustRest", any, false, rest},
      {"sprig_initial", any, false, initial},
      {"sprig_mustInitial", any, false, initial},
      {"sprig_reverse", any, false, reverse},
      {"sprig_mustReverse", any, false, reverse},
      {"sprig_compact", any, false, compact},
      {"sprig_mustCompact", any, false, compact},
      {"sprig_uniq", any, false, unique},
      {"sprig_mustUniq", any, false, unique},
      {"sprig_without", two, true, without},
      {"sprig_mustWithout", two, true, without},
      {"sprig_has", two, false, has},
      {"sprig_mustHas", two, false, has},
      {"sprig_slice", two, true, slice},
      {"sprig_mustSlice", two, true, slice},
      {"sprig_concat", any, true, concat},
      {"sprig_chunk", {&types::integer, &types::any}, false, chunk},
      {"sprig_mustChunk", {&types::integer, &types::any}, false, chunk},
  };
  return table;
}

}  // namespace nomad::templates::sprig_list_family
