// Functions on maps and objects.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

FunctionResult keys(Args args) {
  const Value& mapping = args[0];
  if (mapping.kind() == Type::Kind::dynamic) return Value{};
  if (mapping.kind() != Type::Kind::map && mapping.kind() != Type::Kind::object)
    return fail_at(0, "must have map or object type");
  Value::Elements out;
  if (mapping.is_unknown()) {
    if (mapping.kind() == Type::Kind::map) return Value::unknown(Type::list(Type::string()));
    for (const auto& attribute : mapping.type().attributes())
      out.push_back(Value::string(attribute.first));
    return Value::tuple(std::move(out));
  }
  for (const auto& entry : mapping.entries())
    out.push_back(Value::string(entry.first));
  return mapping.kind() == Type::Kind::map ? Value::list(Type::string(), std::move(out))
                                           : Value::tuple(std::move(out));
}

FunctionResult values(Args args) {
  if (!args[0].is_mapping()) return fail("values() requires a map as the first argument");
  Value::Elements out;
  for (const auto& entry : args[0].entries())
    out.push_back(entry.second);
  return args[0].kind() == Type::Kind::map ? Value::list(args[0].element_type(), std::move(out))
                                           : Value::tuple(std::move(out));
}

FunctionResult lookup(Args args) {
  const Value& mapping = args[0];
  const bool map = mapping.kind() == Type::Kind::map;
  if (!map && mapping.kind() != Type::Kind::object)
    return fail_at(0, "lookup() requires a map as the first argument");
  Converted fallback = map ? convert(args[2], mapping.element_type()) : Converted{args[2]};
  if (std::holds_alternative<ConversionError>(fallback))
    return fail_at(2, "the default value must have the same type as the map elements");
  if (const Value* found = mapping.find(args[1].as_string())) return *found;
  return std::move(std::get<Value>(fallback));
}

FunctionResult merge(Args args) {
  Value::Entries out;
  std::optional<Type> first;
  bool matching = true;
  bool dynamic = false;
  for (const Value& arg : args) {
    const Type type = arg.type();
    if (type.kind() == Type::Kind::dynamic) {
      dynamic = true;
      break;
    }
    if (type.kind() != Type::Kind::map && type.kind() != Type::Kind::object)
      return fail("arguments must be maps or objects, got " + quote(type.friendly_name()));
    if (!first) first = type;
    matching = matching && type == *first;
  }
  for (const Value& arg : args) {
    if (arg.is_null()) continue;
    if (!arg.is_mapping())
      return fail("arguments must be maps or objects, got " + quote(arg.type().friendly_name()));
    out.insert(out.end(), arg.entries().begin(), arg.entries().end());
  }
  if (first && matching && !dynamic && first->kind() == Type::Kind::map)
    return Value::map(first->element(), std::move(out));
  return Value::object(std::move(out));
}

FunctionResult zipmap(Args args) {
  const Value& keys = args[0];
  const Value& values = args[1];
  if (values.kind() != Type::Kind::list && values.kind() != Type::Kind::tuple)
    return fail("values argument must be a list or tuple value");
  if (!keys.is_wholly_known()) return Value{};
  if (keys.size() != values.size())
    return fail("number of keys (" + std::to_string(keys.size())
                + ") does not match number of values (" + std::to_string(values.size()) + ")");
  Value::Entries out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys.elements()[i].is_null())
      return fail("keys list has null value at index " + std::to_string(i));
    out.emplace_back(keys.elements()[i].as_string(), values.elements()[i]);
  }
  return values.kind() == Type::Kind::list ? Value::map(values.element_type(), std::move(out))
                                           : Value::object(std::move(out));
}

}  // namespace

void add_mapping_functions(std::vector<Function>& out) {
  const Type any = Type::dynamic();
  out.push_back({"keys", {{"inputMap", any, false, true}}, std::nullopt, keys});
  out.push_back({"values", {{"mapping", any}}, std::nullopt, values});
  out.push_back({"lookup",
                 {{"inputMap", any}, {"key", Type::string()}, {"default", any}},
                 std::nullopt,
                 lookup});
  out.push_back({"merge", {}, Parameter{"maps", any, true}, merge});
  out.push_back(
      {"zipmap", {{"keys", Type::list(Type::string())}, {"values", any}}, std::nullopt, zipmap});
}

}  // namespace nomad::hcl
