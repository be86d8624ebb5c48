// Functions on lists and sets that compare or search elements.
#include <algorithm>
#include <map>

#include "runtime/hcl/functions/function_family.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

constexpr const char* not_indexable = "collection must be a list, a map or a tuple";

FunctionResult length(Args args) {
  const Type::Kind kind = args[0].kind();
  if (args[0].type().is_primitive() || kind == Type::Kind::object) return fail(not_indexable);
  return Value::number(static_cast<std::int64_t>(args[0].size()));
}

FunctionResult index(Args args) {
  const Value& collection = args[0];
  const Value& key = args[1];
  switch (collection.kind()) {
    case Type::Kind::list:
    case Type::Kind::tuple: {
      const bool tuple = collection.kind() == Type::Kind::tuple;
      if (!key.is_number())
        return fail(std::string{"key for "} + (tuple ? "tuple" : "list") + " must be number");
      const auto whole = key.as_number().to_int64();
      if (tuple && !whole) return to_int(key, std::nullopt, "invalid key for tuple: ").error();
      if (whole && *whole >= 0 && static_cast<std::uint64_t>(*whole) < collection.size())
        return collection.elements()[static_cast<std::size_t>(*whole)];
      return tuple ? fail("key must be between 0 and " + std::to_string(collection.size())
                          + " inclusive")
                   : fail("invalid index");
    }
    case Type::Kind::map: {
      if (!key.is_string()) return fail("key for map must be string");
      const Value* found = collection.find(key.as_string());
      return found != nullptr ? FunctionResult{*found} : fail("invalid index");
    }
    default:
      return fail(not_indexable);
  }
}

FunctionResult element(Args args) {
  if (args[1].as_number().is_negative() && !args[1].as_number().is_zero())
    return fail("cannot use element function with a negative index");
  const Value& list = args[0];
  if (list.kind() != Type::Kind::list && list.kind() != Type::Kind::tuple)
    return fail("cannot read elements from " + list.type().friendly_name());
  const std::int64_t at = NOMAD_TRY(to_int(args[1], std::nullopt, "invalid index: "));
  if (list.size() == 0) return fail("cannot use element function with an empty list");
  return list.elements()[static_cast<std::size_t>(at) % list.size()];
}

FunctionResult contains(Args args) {
  if (!args[0].is_sequence()) return fail("argument must be list, tuple, or set");
  bool unknown = false;
  for (const Value& element : args[0].elements()) {
    const auto equal = Value::equals(args[1], element);
    if (equal == true) return Value::boolean(true);
    unknown = unknown || !equal;
  }
  return unknown ? Value::unknown(Type::boolean()) : Value::boolean(false);
}

FunctionResult coalesce(Args args) {
  std::vector<Type> types;
  for (const Value& arg : args)
    types.push_back(arg.type());
  const auto common = unify_unsafe(types);
  if (!common) return fail("all arguments must have the same type");
  for (const Value& arg : args) {
    if (arg.is_unknown()) return Value::unknown(*common);
    if (arg.is_null()) continue;
    return converted(arg, *common);
  }
  return fail("no non-null arguments");
}

FunctionResult coalescelist(Args args) {
  if (args.empty()) return fail("at least one argument is required");
  for (const Value& arg : args) {
    if (arg.is_unknown()) return Value{};
    if (arg.kind() != Type::Kind::list && arg.kind() != Type::Kind::tuple)
      return fail("coalescelist arguments must be lists or tuples");
  }
  for (const Value& arg : args)
    if (arg.size() > 0) return arg;
  return fail("no non-null arguments");
}

FunctionResult compact(Args args) {
  if (!args[0].is_wholly_known()) return Value::unknown(Type::list(Type::string()));
  Value::Elements out;
  for (const Value& element : args[0].elements())
    if (element.is_string() && !element.as_string().empty()) out.push_back(element);
  return Value::list(Type::string(), std::move(out));
}

/// Whether `seen` holds an element equal to `value`; adds it if not. Elements are ordered as in a
/// set.
struct SetOrder {
  bool operator()(const Value* a, const Value* b) const { return Value::set_order(*a, *b); }
};

FunctionResult distinct(Args args) {
  if (!args[0].is_wholly_known()) return Value::unknown(args[0].type());
  std::multimap<const Value*, const Value*, SetOrder> seen;
  Value::Elements out;
  for (const Value& element : args[0].elements()) {
    const auto [begin, end] = seen.equal_range(&element);
    const bool known = std::any_of(begin, end, [&](const auto& entry) {
      return Value::equals(*entry.second, element) == true;
    });
    if (known) continue;
    seen.emplace(&element, &element);
    out.push_back(element);
  }
  return Value::list(args[0].element_type(), std::move(out));
}

FunctionResult sort(Args args) {
  if (!args[0].is_wholly_known()) return Value::unknown(Type::list(Type::string()));
  Value::Elements out = args[0].elements();
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].is_null())
      return fail("given list element " + std::to_string(i)
                  + " is null; a null string cannot be sorted");
  std::sort(out.begin(), out.end(),
            [](const Value& a, const Value& b) { return a.as_string() < b.as_string(); });
  return Value::list(Type::string(), std::move(out));
}

// --- sets --------------------------------------------------------------------------------------

/// The arguments as sets of one common element type.
Outcome<std::vector<Value>> common_sets(Args args) {
  std::vector<Type> elements;
  for (const Value& arg : args)
    if (arg.size() > 0 || arg.element_type().kind() != Type::Kind::dynamic)
      elements.push_back(arg.element_type());
  std::optional<Type> element = Type::dynamic();
  if (!elements.empty()) element = unify_unsafe(elements);
  if (!element) return fail("given sets must all have compatible element types");
  std::vector<Value> out;
  for (std::size_t i = 0; i < args.size(); ++i)
    out.push_back(NOMAD_TRY(converted(args[i], Type::set(*element), i)));
  return out;
}

FunctionResult setunion(Args args) {
  Value::Elements all;
  Type element = Type::dynamic();
  for (const Value& set : NOMAD_TRY(common_sets(args))) {
    if (element.kind() == Type::Kind::dynamic) element = set.element_type();
    all.insert(all.end(), set.elements().begin(), set.elements().end());
  }
  return Value::set(std::move(element), std::move(all));
}

FunctionResult setintersection(Args args) {
  const std::vector<Value> sets = NOMAD_TRY(common_sets(args));
  Value::Elements kept = sets.front().elements();
  for (const Value& set : sets) {
    if (!set.is_wholly_known()) return Value::unknown(set.type());
    Value::Elements common;
    std::set_intersection(kept.begin(), kept.end(), set.elements().begin(), set.elements().end(),
                          std::back_inserter(common), Value::set_order);
    kept = std::move(common);
  }
  return Value::set(sets.front().element_type(), std::move(kept));
}

}  // namespace

void add_collection_functions(std::vector<Function>& out) {
  const Type any = Type::dynamic();
  const Type strings = Type::list(Type::string());
  const Type any_set = Type::set(any);
  out.push_back({"length", {{"collection", any}}, std::nullopt, length});
  out.push_back({"index", {{"collection", any}, {"key", any}}, std::nullopt, index});
  out.push_back({"element", {{"list", any}, {"index", Type::number()}}, std::nullopt, element});
  out.push_back({"contains", {{"list", any}, {"value", any}}, std::nullopt, contains});
  out.push_back({"coalesce", {}, Parameter{"vals", any, true, true}, coalesce});
  out.push_back({"coalescelist", {}, Parameter{"vals", any, true, true}, coalescelist});
  out.push_back({"compact", {{"list", strings}}, std::nullopt, compact});
  out.push_back({"distinct", {{"list", Type::list(any)}}, std::nullopt, distinct});
  out.push_back({"sort", {{"list", strings}}, std::nullopt, sort});
  out.push_back({"setunion", {{"first_set", any_set}}, Parameter{"other_sets", any_set}, setunion});
  out.push_back({"setintersection",
                 {{"first_set", any_set}},
                 Parameter{"other_sets", any_set},
                 setintersection});
}

}  // namespace nomad::hcl
