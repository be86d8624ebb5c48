// Functions that build lists from lists.
#include <algorithm>

#include "runtime/hcl/functions/function_family.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

/// Elements that `setproduct` may produce in all.
constexpr std::size_t max_product = 1'000'000;

FunctionResult concat_lists(Args args, const Type& type) {
  Value::Elements out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Value list = NOMAD_TRY(converted(args[i], type, i));
    out.insert(out.end(), list.elements().begin(), list.elements().end());
  }
  return Value::list(type.element(), std::move(out));
}

FunctionResult concat(Args args) {
  if (args.empty()) return fail("at least one argument is required");
  if (std::all_of(args.begin(), args.end(),
                  [](const Value& v) { return v.kind() == Type::Kind::list; })) {
    std::vector<Type> types;
    for (const Value& arg : args)
      types.push_back(arg.type());
    if (const auto common = unify_unsafe(types); common && is_list(*common))
      return concat_lists(args, *common);
  }
  Value::Elements out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind() != Type::Kind::list && args[i].kind() != Type::Kind::tuple)
      return fail_at(
          i, "all arguments must be lists or tuples; got " + args[i].type().friendly_name());
    out.insert(out.end(), args[i].elements().begin(), args[i].elements().end());
  }
  return Value::tuple(std::move(out));
}

FunctionResult range(Args args) {
  if (args.empty() || args.size() > 3) return fail("must have one, two, or three arguments");
  const Number start = args.size() == 1 ? Number{0} : args[0].as_number();
  const Number& end = args[args.size() == 1 ? 0 : 1].as_number();
  const Number step = args.size() == 3 ? args[2].as_number() : Number{end < start ? -1 : 1};
  const bool down = step < Number{0};
  if (down && end > start) return fail_at(1, "end must be less than start when step is negative");
  if (!down && end < start)
    return fail_at(1, "end must be greater than start when step is positive");
  constexpr std::size_t limit = 1024;
  Value::Elements out;
  for (std::optional<Number> at = start; at && (down ? *at > end : *at < end);
       at = Number::add(*at, step)) {
    if (out.size() >= limit)
      return fail(
          "more than 1024 values were generated; either decrease the difference between start and "
          "end or "
          "use a smaller step");
    out.push_back(Value::number(*at));
  }
  return Value::list(Type::number(), std::move(out));
}

FunctionResult chunklist(Args args) {
  const std::int64_t size = NOMAD_TRY(to_int(args[1], std::nullopt, "invalid size: "));
  if (size < 0) return fail("the size argument must be positive");
  const Value& list = args[0];
  Value::Elements out;
  if (size == 0 && list.size() > 0) {
    out.push_back(list);
  } else {
    const auto& elements = list.elements();
    for (std::size_t at = 0; at < elements.size();) {
      const std::size_t count = std::min(elements.size() - at, static_cast<std::size_t>(size));
      const auto begin = elements.begin() + static_cast<std::ptrdiff_t>(at);
      out.push_back(
          Value::list(list.element_type(), {begin, begin + static_cast<std::ptrdiff_t>(count)}));
      at += count;
    }
  }
  return Value::list(list.type(), std::move(out));
}

/// Appends the elements of `sequence`, those of nested sequences in their place. False when one of
/// these is not known.
bool flatten_into(const Value& sequence, Value::Elements& out) {
  bool known = true;
  for (const Value& element : sequence.elements()) {
    const Type::Kind kind = element.kind();
    const bool nested
        = kind == Type::Kind::list || kind == Type::Kind::set || kind == Type::Kind::tuple;
    if (element.is_unknown() && (nested || kind == Type::Kind::dynamic))
      known = false;
    else if (nested && !element.is_null())
      known = flatten_into(element, out) && known;
    else
      out.push_back(element);
  }
  return known;
}

FunctionResult flatten(Args args) {
  if (!args[0].is_sequence()) return fail("can only flatten lists, sets and tuples");
  Value::Elements out;
  return flatten_into(args[0], out) ? Value::tuple(std::move(out)) : Value{};
}

/// Where in a list `argument` is.
Outcome<std::ptrdiff_t> slice_index(Args args, std::size_t argument, const std::string& name) {
  const std::int64_t at
      = NOMAD_TRY(to_int(args[argument], argument, "invalid " + name + " index: "));
  if (at < 0) return fail_at(argument, name + " index must not be less than zero");
  if (static_cast<std::uint64_t>(at) > args[0].size())
    return fail_at(argument, name + " index must not be greater than the length of the list");
  return static_cast<std::ptrdiff_t>(at);
}

FunctionResult slice(Args args) {
  const Value& list = args[0];
  if (list.kind() == Type::Kind::set)
    return fail_at(0,
                   "cannot slice a set, because its elements do not have indices; explicitly "
                   "convert to a list if "
                   "the ordering of the result is not important");
  if (list.kind() != Type::Kind::list && list.kind() != Type::Kind::tuple)
    return fail_at(0, "must be a list or tuple value");
  const std::ptrdiff_t start = NOMAD_TRY(slice_index(args, 1, "start"));
  const std::ptrdiff_t end = NOMAD_TRY(slice_index(args, 2, "end"));
  if (start > end) return fail_at(1, "start index must not be greater than end index");
  const auto begin = list.elements().begin();
  Value::Elements out{begin + start, begin + end};
  return list.kind() == Type::Kind::tuple ? Value::tuple(std::move(out))
                                          : Value::list(list.element_type(), std::move(out));
}

/// The element type of each argument of `setproduct`.
Outcome<std::vector<Type>> product_types(Args args) {
  std::vector<Type> out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Type type = args[i].type();
    if (is_list(type) || is_set(type)) {
      out.push_back(type.element());
    } else if (is_tuple(type)) {
      const auto common = type.elements().empty() ? std::optional{Type::dynamic()}
                                                  : unify_unsafe(type.elements());
      if (!common) return fail_at(i, "all elements must be of the same type");
      out.push_back(*common);
    } else {
      return fail_at(i, "a set or a list is required");
    }
  }
  return out;
}

FunctionResult setproduct(Args args) {
  if (args.size() < 2) return fail("at least two arguments are required");
  const std::vector<Type> types = NOMAD_TRY(product_types(args));
  const Type element = Type::tuple(types);
  const bool list = std::none_of(args.begin(), args.end(),
                                 [](const Value& v) { return v.kind() == Type::Kind::set; });
  std::size_t total = 1;
  for (const Value& arg : args) {
    total *= arg.size();
    if (total > max_product / args.size()) return too_large();
  }
  std::vector<Value::Elements> columns;
  for (std::size_t i = 0; i < args.size() && total > 0; ++i) {
    columns.emplace_back();
    for (const Value& value : args[i].elements())
      columns.back().push_back(NOMAD_TRY(converted(value, types[i], i)));
  }
  Value::Elements out;
  std::vector<std::size_t> at(args.size(), 0);
  for (std::size_t row = 0; row < total; ++row) {
    Value::Elements tuple;
    for (std::size_t i = 0; i < columns.size(); ++i)
      tuple.push_back(columns[i][at[i]]);
    out.push_back(Value::tuple(std::move(tuple)));
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < columns[i].size()) break;
      at[i] = 0;
    }
  }
  return list ? Value::list(element, std::move(out)) : Value::set(element, std::move(out));
}

}  // namespace

void add_sequence_functions(std::vector<Function>& out) {
  const Type any = Type::dynamic();
  const Type number = Type::number();
  out.push_back({"concat", {}, Parameter{"seqs", any}, concat});
  out.push_back({"range", {}, Parameter{"params", number}, range});
  out.push_back(
      {"chunklist", {{"list", Type::list(any)}, {"size", number}}, std::nullopt, chunklist});
  out.push_back({"flatten", {{"list", any}}, std::nullopt, flatten});
  out.push_back({"slice",
                 {{"list", any}, {"start_index", number}, {"end_index", number}},
                 std::nullopt,
                 slice});
  out.push_back({"setproduct", {}, Parameter{"sets", any}, setproduct});
}

}  // namespace nomad::hcl
