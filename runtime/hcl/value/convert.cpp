#include "runtime/hcl/value/convert.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::hcl {

namespace {

using Kind = Type::Kind;

bool all_dynamic(const std::vector<Type>& types) {
  return std::all_of(types.begin(), types.end(),
                     [](const Type& t) { return t.kind() == Kind::dynamic; });
}

std::vector<Type> attribute_types(const Type& object) {
  std::vector<Type> out;
  out.reserve(object.attributes().size());
  for (const auto& attribute : object.attributes())
    out.push_back(attribute.second);
  return out;
}

std::vector<Type> member_types(const Type& structural) {
  return structural.kind() == Kind::tuple ? structural.elements() : attribute_types(structural);
}

std::optional<Type> unify_any(const std::vector<Type>& types, bool unsafe) {
  return unsafe ? unify_unsafe(types) : unify(types);
}

/// Whether tuple or object `from` may become a collection of `element`.
bool structural_to_collection(const Type& from, Type element, bool unsafe) {
  const std::vector<Type> members = member_types(from);
  if (members.empty()) return true;
  if (element.kind() == Kind::dynamic) {
    const auto common = unify_any(members, unsafe);
    if (!common
        || (common->kind() == Kind::dynamic && from.kind() == Kind::tuple && !all_dynamic(members)))
      return false;
    element = *common;
  }
  return std::all_of(members.begin(), members.end(), [&](const Type& member) {
    return member == element || is_convertible(member, element, unsafe);
  });
}

bool object_to_object(const Type& from, const Type& to, bool unsafe) {
  return std::all_of(
      to.attributes().begin(), to.attributes().end(), [&](const Type::Attribute& wanted) {
        const Type* have = from.attribute(wanted.first);
        return have != nullptr
               && (*have == wanted.second || is_convertible(*have, wanted.second, unsafe));
      });
}

bool tuple_to_tuple(const Type& from, const Type& to, bool unsafe) {
  const auto& have = from.elements();
  const auto& want = to.elements();
  if (have.size() != want.size()) return false;
  for (std::size_t i = 0; i < have.size(); ++i)
    if (!(have[i] == want[i]) && !is_convertible(have[i], want[i], unsafe)) return false;
  return true;
}

bool is_list_or_set(const Type& type) {
  return type.kind() == Kind::list || type.kind() == Kind::set;
}

}  // namespace

bool is_convertible(const Type& from, const Type& to, bool unsafe) {
  if (to.kind() == Kind::dynamic || (unsafe && from.kind() == Kind::dynamic)) return true;
  if (from.is_primitive() && to.is_primitive()) {
    if (to.kind() == Kind::string) return from.kind() != Kind::string;
    return unsafe && from.kind() == Kind::string;
  }
  if (from.kind() == Kind::object && to.kind() == Kind::object)
    return object_to_object(from, to, unsafe);
  if (from.kind() == Kind::tuple && to.kind() == Kind::tuple)
    return tuple_to_tuple(from, to, unsafe);
  if (is_list_or_set(to) && is_list_or_set(from)) {
    if (to.kind() == Kind::set && from.kind() == Kind::list && !unsafe) return false;
    return from.element() == to.element() || is_convertible(from.element(), to.element(), unsafe);
  }
  if (from.kind() == Kind::map && to.kind() == Kind::map)
    return is_convertible(from.element(), to.element(), unsafe);
  if ((is_list_or_set(to) && from.kind() == Kind::tuple)
      || (to.kind() == Kind::map && from.kind() == Kind::object))
    return structural_to_collection(from, to.element(), unsafe);
  if (to.kind() == Kind::object && from.kind() == Kind::map)
    return unsafe
           && std::all_of(to.attributes().begin(), to.attributes().end(),
                          [&](const Type::Attribute& a) {
                            return a.second == from.element()
                                   || is_convertible(from.element(), a.second, true);
                          });
  return false;
}

namespace {

/// Converts known values; `path_` leads from the outermost value to the one at hand.
class Converter {
public:
  std::optional<Value> convert(const Value& value, const Type& to);

  ConversionError take_error() { return std::move(error_); }

private:
  std::optional<Value> fail(std::string message) {
    error_.message = std::move(message);
    error_.path = path_;
    return std::nullopt;
  }

  std::optional<Value> known(const Value& value, const Type& to);
  std::optional<Value> primitive(const Value& value, const Type& to);
  std::optional<Value::Elements> elements(const Value& value, const Type& element);
  std::optional<Value::Entries> entries(const Value& value, const Type& element);
  std::optional<Value> to_sequence(const Value& value, const Type& to);
  std::optional<Value> to_map(const Value& value, const Type& to);
  std::optional<Value> to_tuple(const Value& value, const Type& to);
  std::optional<Value> to_object(const Value& value, const Type& to);
  bool unify_elements(Value::Elements& elements);
  bool unify_entries(Value::Entries& entries);

  template <class Action>
  auto below(const std::string& step, Action&& action) {
    const std::size_t size = path_.size();
    path_ += step;
    auto out = action();
    path_.resize(size);
    return out;
  }

  std::string path_;
  ConversionError error_;
};

/// `to` with what is dynamic in it replaced by what `from` has there.
Type fill_dynamic(const Type& from, const Type& to) {
  if (from.kind() == Kind::dynamic) return to;
  switch (to.kind()) {
    case Kind::dynamic:
      return from;
    case Kind::boolean:
    case Kind::number:
    case Kind::string:
      return to;
    case Kind::list:
    case Kind::set:
    case Kind::map: {
      Type element = to.element();
      if (from.is_collection())
        element = fill_dynamic(from.element(), to.element());
      else if (from.kind() == Kind::tuple || from.kind() == Kind::object)
        element = fill_dynamic(unify_unsafe(member_types(from)).value_or(Type::dynamic()),
                               to.element());
      return to.kind() == Kind::list  ? Type::list(element)
             : to.kind() == Kind::set ? Type::set(element)
                                      : Type::map(element);
    }
    case Kind::tuple: {
      std::vector<Type> out;
      for (std::size_t i = 0; i < to.elements().size(); ++i)
        out.push_back(from.kind() == Kind::tuple && i < from.elements().size()
                          ? fill_dynamic(from.elements()[i], to.elements()[i])
                          : to.elements()[i]);
      return Type::tuple(std::move(out));
    }
    case Kind::object: {
      std::vector<Type::Attribute> out;
      for (const auto& [name, type] : to.attributes()) {
        const Type* have = from.kind() == Kind::object ? from.attribute(name)
                           : from.kind() == Kind::map  ? &from.element()
                                                       : nullptr;
        out.emplace_back(name, have != nullptr ? fill_dynamic(*have, type) : type);
      }
      return Type::object(std::move(out));
    }
  }
  return to;
}

std::optional<Value> Converter::convert(const Value& value, const Type& to) {
  if (to.kind() == Kind::dynamic) return value;
  const Type from = value.type();
  if (from == to) return value;
  if (!is_convertible(from, to)) return fail(mismatch_message(from, to));
  if (!value.is_known())
    return value.is_null() ? Value::null(fill_dynamic(from, to))
                           : Value::unknown(fill_dynamic(from, to));
  return known(value, to);
}

std::optional<Value> Converter::known(const Value& value, const Type& to) {
  switch (to.kind()) {
    case Kind::dynamic:
      return value;
    case Kind::boolean:
    case Kind::number:
    case Kind::string:
      return primitive(value, to);
    case Kind::list:
    case Kind::set:
      return to_sequence(value, to);
    case Kind::map:
      return to_map(value, to);
    case Kind::tuple:
      return to_tuple(value, to);
    case Kind::object:
      return to_object(value, to);
  }
  return std::nullopt;
}

std::optional<Value> Converter::primitive(const Value& value, const Type& to) {
  if (to.kind() == Kind::string)
    return value.is_bool() ? Value::string(value.as_bool() ? "true" : "false")
                           : Value::string(value.as_number().to_string());
  const std::string_view text = value.as_string();
  if (to.kind() == Kind::number) {
    auto number = Number::parse(text);
    return number ? std::optional{Value::number(std::move(*number))} : fail("a number is required");
  }
  if (text == "true" || text == "1") return Value::boolean(true);
  if (text == "false" || text == "0") return Value::boolean(false);
  const std::string lower = lower_case(text);
  if (lower == "true" || lower == "false")
    return fail("a bool is required; to convert from string, use lowercase \"" + lower + "\"");
  return fail("a bool is required");
}

std::optional<Value::Elements> Converter::elements(const Value& value, const Type& element) {
  Value::Elements out;
  out.reserve(value.elements().size());
  std::size_t i = 0;
  for (const Value& each : value.elements()) {
    auto converted = below("[" + std::to_string(i++) + "]",
                           [&, &from = each] { return convert(from, element); });
    if (!converted) return std::nullopt;
    out.push_back(std::move(*converted));
  }
  return out;
}

std::optional<Value::Entries> Converter::entries(const Value& value, const Type& element) {
  Value::Entries out;
  out.reserve(value.entries().size());
  for (const auto& [key, each] : value.entries()) {
    auto converted
        = below("[" + quote(key) + "]", [&, &from = each] { return convert(from, element); });
    if (!converted) return std::nullopt;
    out.emplace_back(key, std::move(*converted));
  }
  return out;
}

/// The element type to convert to: `wanted`, or what the elements have in common if it is dynamic.
Type element_target(const Type& from, const Type& wanted) {
  if (wanted.kind() != Kind::dynamic) return wanted;
  if (from.is_collection()) return from.element();
  return unify_unsafe(member_types(from)).value_or(Type::dynamic());
}

bool Converter::unify_elements(Value::Elements& elements) {
  std::vector<Type> types;
  for (const Value& element : elements)
    types.push_back(element.type());
  const auto common = unify_unsafe(types);
  if (!common) {
    fail("cannot find a common base type for all elements");
    return false;
  }
  for (Value& element : elements) {
    auto converted = convert(element, *common);
    if (!converted) return false;
    element = std::move(*converted);
  }
  return true;
}

bool Converter::unify_entries(Value::Entries& entries) {
  Value::Elements values;
  for (const auto& entry : entries)
    values.push_back(entry.second);
  if (!unify_elements(values)) return false;
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i].second = std::move(values[i]);
  return true;
}

std::optional<Value> Converter::to_sequence(const Value& value, const Type& to) {
  const bool is_list = to.kind() == Kind::list;
  const auto make = is_list ? Value::list : Value::set;
  const Type target = element_target(value.type(), to.element());
  auto out = elements(value, target);
  if (!out) return std::nullopt;
  const bool is_tuple = value.kind() == Kind::tuple;
  if (out->empty()) return make(is_tuple ? to.element() : target, {});
  if (is_list && is_tuple && !unify_elements(*out)) return std::nullopt;
  const Type element = out->front().type();
  for (const Value& each : *out)
    if (!(each.type() == element))
      return fail(std::string{"element types must all match for conversion to "}
                  + (is_list ? "list" : "set"));
  return make(element, std::move(*out));
}

std::optional<Value> Converter::to_map(const Value& value, const Type& to) {
  const Type target = element_target(value.type(), to.element());
  auto out = entries(value, target);
  if (!out) return std::nullopt;
  if (out->empty()) return Value::map(value.kind() == Kind::object ? to.element() : target, {});
  if ((target.is_collection() || target.kind() == Kind::object) && !unify_entries(*out))
    return std::nullopt;
  const Type element = out->front().second.type();
  for (const auto& each : *out)
    if (!(each.second.type() == element))
      return fail("attribute types must all match for conversion to map");
  return Value::map(element, std::move(*out));
}

std::optional<Value> Converter::to_tuple(const Value& value, const Type& to) {
  Value::Elements out;
  for (std::size_t i = 0; i < value.elements().size(); ++i) {
    auto converted = below("[" + std::to_string(i) + "]",
                           [&] { return convert(value.elements()[i], to.elements()[i]); });
    if (!converted) return std::nullopt;
    out.push_back(std::move(*converted));
  }
  return Value::tuple(std::move(out));
}

std::optional<Value> Converter::to_object(const Value& value, const Type& to) {
  const bool map = value.kind() == Kind::map;
  Value::Entries out;
  for (const auto& [name, each] : value.entries()) {
    const Type* wanted = to.attribute(name);
    if (wanted == nullptr) continue;
    const std::string step = map ? "[" + quote(name) + "]" : "." + name;
    auto converted = below(step, [&, &from = each] { return convert(from, *wanted); });
    if (!converted) return std::nullopt;
    out.emplace_back(name, std::move(*converted));
  }
  for (const auto& wanted : to.attributes())
    if (value.find(wanted.first) == nullptr)
      return fail("map has no element for required attribute " + quote(wanted.first));
  return Value::object(std::move(out));
}

}  // namespace

Converted convert(const Value& value, const Type& type) {
  if (value.is_known() && value.kind() == type.kind() && type.is_primitive()) return value;
  Converter converter;
  auto out = converter.convert(value, type);
  if (!out) return converter.take_error();
  return std::move(*out);
}

}  // namespace nomad::hcl
