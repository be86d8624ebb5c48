#include "runtime/template/eval/functions.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/eval/compare.hpp"
#include "runtime/template/eval/escape.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates {
namespace {

using Any = As<types::reflected>;
using Anys = Rest<types::reflected>;

const std::vector<const Type*> two{&types::reflected, &types::reflected};

/// `and` and `or` are called with all their arguments only when the executor has none left to
/// decide by.
Result<Value> last_argument(Call& call) {
  return call[call.size() - 1];
}

/// A place in a list or text of `size`.
Result<std::size_t> position_of(const Value& index, std::size_t size) {
  std::int64_t position = 0;
  if (index.is_invalid()) return function_error("cannot index slice/array with nil");
  if (index.kind() == Kind::integer)
    position = index.as_integer();
  else if (index.kind() == Kind::natural)
    position = static_cast<std::int64_t>(index.as_natural());
  else
    return function_error("cannot index slice/array with type " + std::string{type_name(index)});
  if (position < 0 || static_cast<std::uint64_t>(position) > size)
    return function_error("index out of range: " + std::to_string(position));
  return static_cast<std::size_t>(position);
}

Result<Value> item_of(const Value& item, const Value& index) {
  if (item.is_nil() && item.type()->is_pointer) return function_error("index of nil pointer");
  switch (item.kind()) {
    case Kind::text: {
      const std::size_t position = NOMAD_TRY(position_of(index, item.size()));
      if (position == item.size()) return function_error("reflect: string index out of range");
      return Value::natural(static_cast<unsigned char>(item.as_text()[position]), types::byte);
    }
    case Kind::list: {
      if (item.type() == &types::int64_channel) break;
      const std::size_t position = NOMAD_TRY(position_of(index, item.size()));
      if (position == item.size()) return function_error("reflect: slice index out of range");
      return item.items()[position];
    }
    case Kind::map: {
      const Value key = NOMAD_TRY(prepare_argument(index, *item.type()->key));
      const auto found = item.entries().find(key);
      return found == item.entries().end() ? Value::zero(*item.type()->element) : found->second;
    }
    default:
      break;
  }
  return function_error("can't index item of type " + std::string{type_name(item)});
}

Result<Value> index(Call& call) {
  Value item = call[0];
  if (item.is_invalid()) return function_error("index of untyped nil");
  for (const Value& index : call.arguments.subspan(1)) {
    if (item.is_invalid()) return function_error("index of nil pointer");
    item = NOMAD_TRY(item_of(item, index));
  }
  return item;
}

Result<Value> slice(Call& call) {
  const Value& item = call[0];
  const auto indexes = call.arguments.subspan(1);
  if (item.is_invalid()) return function_error("slice of untyped nil");
  if (indexes.size() > 3)
    return function_error("too many slice indexes: " + std::to_string(indexes.size()));
  const bool is_list = item.kind() == Kind::list && item.type() != &types::int64_channel;
  if (item.kind() == Kind::text && indexes.size() == 3)
    return function_error("cannot 3-index slice a string");
  if (item.kind() != Kind::text && !is_list)
    return function_error("can't slice item of type " + std::string{type_name(item)});
  std::size_t positions[] = {0, item.size(), item.size()};
  for (std::size_t i = 0; i < indexes.size(); ++i)
    positions[i] = NOMAD_TRY(position_of(indexes[i], item.size()));
  const auto bad = [](std::size_t a, std::size_t b) {
    return function_error("invalid slice index: " + std::to_string(a) + " > " + std::to_string(b));
  };
  if (positions[0] > positions[1]) return bad(positions[0], positions[1]);
  if (positions[1] > positions[2]) return bad(positions[1], positions[2]);
  if (item.kind() == Kind::text) {
    NOMAD_TRY(call.context.make(positions[1] - positions[0]));
    return Value::text(
        std::string{item.as_text().substr(positions[0], positions[1] - positions[0])},
        *item.type());
  }
  NOMAD_TRY(call.context.step(positions[1] - positions[0]));
  const auto begin = item.items().begin();
  return Value::list({begin + static_cast<std::ptrdiff_t>(positions[0]),
                      begin + static_cast<std::ptrdiff_t>(positions[1])},
                     *item.type());
}

Result<std::int64_t> length(Any any) {
  const Value& item = *any;
  if (item.is_invalid() && !item.is_boxed())
    return function_error("reflect: call of reflect.Value.Type on zero Value");
  if (item.is_nil() && (item.is_invalid() || item.type()->is_pointer))
    return function_error("len of nil pointer");
  if (item.type() == &types::int64_channel) return 0;
  if (item.kind() != Kind::text && item.kind() != Kind::list && item.kind() != Kind::map) {
    std::string_view name = type_name(item);
    if (item.type()->is_pointer && name.starts_with('*')) name.remove_prefix(1);
    return function_error("len of type " + std::string{name});
  }
  return static_cast<std::int64_t>(item.size());
}

Result<Value> call_value(Call& call) {
  const Value& callee = call[0];
  if (callee.is_nil()) return function_error("call of nil");
  if (callee.kind() != Kind::function)
    return function_error("non-function of type " + std::string{type_name(callee)});
  const Function& function = callee.as_function();
  const auto given = call.arguments.subspan(1);
  const std::size_t fixed = function.parameters.size() - (function.is_variadic ? 1 : 0);
  const auto wrong = [&](std::string_view least) {
    return function_error("wrong number of args: got " + std::to_string(given.size()) + " want "
                          + std::string{least} + std::to_string(fixed));
  };
  if (function.is_variadic && given.size() < fixed) return wrong("at least ");
  if (!function.is_variadic && given.size() != fixed) return wrong("");
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Type& type = *function.parameters[std::min(i, function.parameters.size() - 1)];
    auto argument = prepare_argument(given[i], type);
    if (!argument) return function_error("arg " + std::to_string(i) + ": " + argument.error().what);
    arguments.push_back(std::move(*argument));
  }
  Call inner{call.context, arguments};
  return function.body(inner);
}

bool not_true(Any value) {
  return !value->is_true();
}

Result<std::string> print_all(Context& context, Rest<> values) {
  return print(values, context.room());
}

Result<std::string> print_all_line(Context& context, Rest<> values) {
  return print_line(values, context.room());
}

Result<std::string> print_formatted(Context& context, std::string_view format, Rest<> values) {
  return print_format(format, values, context.room());
}

/// html, js and urlquery escape one text as it is, anything else as `print` shows it.
template <std::string (*escape)(std::string_view)>
Result<std::string> escaped(Context& context, Rest<> values) {
  if (values.size() == 1 && values[0].type() == &types::text) {
    NOMAD_TRY(context.work().take(values[0].size()));
    return escape(values[0].as_text());
  }
  std::vector<Value> shown{values.begin(), values.end()};
  for (Value& value : shown)
    if (value.is_invalid()) value = Value::text("<no value>");
  return escape(NOMAD_TRY(print(shown, context.room())));
}

Result<bool> equals_one(Context& context, Any first, Anys others) {
  return is_equal(*first, others, context.work());
}

Result<bool> differs(Context& context, Any a, Any b) {
  return !NOMAD_TRY(is_equal(*a, {&*b, 1}, context.work()));
}

Result<bool> less(Context& context, Any a, Any b) {
  return is_less(*a, *b, context.work());
}

Result<bool> at_most(Context& context, Any a, Any b) {
  if (NOMAD_TRY(is_less(*a, *b, context.work()))) return true;
  return is_equal(*a, {&*b, 1}, context.work());
}

Result<bool> greater(Context& context, Any a, Any b) {
  return !NOMAD_TRY(at_most(context, a, b));
}

Result<bool> at_least(Context& context, Any a, Any b) {
  return !NOMAD_TRY(is_less(*a, *b, context.work()));
}

const Function and_function{"and", two, true, last_argument};
const Function or_function{"or", two, true, last_argument};

const Function denied{"denied", {&types::text}, true, [](Call&) -> Result<Value> {
                        return function_error("function is disabled");
                      }};

Functions make_go_functions() {
  static const Function functions[] = {
      {"call", two, true, call_value},
      bind<escaped<escape_html>>("html"),
      {"index", two, true, index},
      {"slice", two, true, slice},
      bind<escaped<escape_js>>("js"),
      bind<length>("len"),
      bind<not_true>("not"),
      bind<print_all>("print"),
      bind<print_formatted>("printf"),
      bind<print_all_line>("println"),
      bind<escaped<query_encode>>("urlquery"),
      bind<equals_one>("eq"),
      bind<at_least>("ge"),
      bind<greater>("gt"),
      bind<at_most>("le"),
      bind<less>("lt"),
      bind<differs>("ne"),
  };
  Functions out;
  out.add(functions);
  out.add(and_function);
  out.add(or_function);
  return out;
}

}  // namespace

const Functions& Functions::go() {
  static const Functions functions = make_go_functions();
  return functions;
}

void Functions::add(std::span<const Function> functions) {
  for (const Function& function : functions)
    add(function);
}

void Functions::add(const Function& function) {
  functions_.insert_or_assign(function.name, &function);
}

void Functions::deny(std::string_view name) {
  if (const auto known = functions_.find(name); known != functions_.end()) known->second = &denied;
}

const Function* Functions::find(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<std::string_view> Functions::names() const {
  std::vector<std::string_view> out;
  for (const auto& [name, function] : functions_)
    out.push_back(name);
  return out;
}

bool is_and(const Function& function) {
  return &function == &and_function;
}

bool is_or(const Function& function) {
  return &function == &or_function;
}

Result<Value> prepare_argument(const Value& value, const Type& type) {
  if (value.is_invalid()) {
    const bool may_be_nil = type.kind == Kind::any || type.kind == Kind::list
                            || type.kind == Kind::map || type.kind == Kind::function
                            || type.is_pointer;
    if (!may_be_nil)
      return function_error("value is nil; should be of type " + std::string{type.name});
    return Value::null(type);
  }
  if (is_assignable(*value.type(), type)) return value;
  const auto is_whole = [](Kind kind) { return kind == Kind::integer || kind == Kind::natural; };
  if (is_whole(value.kind()) && is_whole(type.kind)) {
    const auto bits = value.kind() == Kind::integer ? static_cast<std::uint64_t>(value.as_integer())
                                                    : value.as_natural();
    if (type.kind == Kind::natural) return Value::natural(bits, type);
    return Value::integer(static_cast<std::int64_t>(bits), type);
  }
  return function_error("value has type " + std::string{type_name(value)} + "; should be "
                        + std::string{type.name});
}

}  // namespace nomad::templates
