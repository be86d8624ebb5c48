// Indexing and attribute access.
#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* invalid_index = "Invalid index";
constexpr const char* no_such_element
    = "The given key does not identify an element in this collection value";

Evaluated fail(const Source& source, Span span, std::string summary, std::string detail) {
  Evaluated out;
  out.diagnostics.push_back(error_at(source, span, std::move(summary), std::move(detail)));
  return out;
}

Evaluated index_sequence(const Value& collection,
                         const Value& key,
                         const Source& source,
                         Span span) {
  const Type type = collection.type();
  if (collection.is_unknown() && type.kind() == Type::Kind::list)
    return {Value::unknown(type.element()), {}};
  if (key.is_unknown())
    return {type.kind() == Type::Kind::list ? Value::unknown(type.element()) : Value{}, {}};
  const Number& number = key.as_number();
  const auto at = number.to_int64();
  const std::size_t size
      = collection.is_unknown() ? type.elements().size() : collection.elements().size();
  if (!at || *at < 0 || static_cast<std::uint64_t>(*at) >= size) {
    if (!number.is_whole())
      return fail(source, span, invalid_index,
                  std::string{no_such_element} + ": indexing a sequence requires a whole number, but the "
                  "given index (" + number.format('g', -1) + ") has a fractional part.");
    return fail(source, span, invalid_index, std::string{no_such_element} + ".");
  }
  if (collection.is_unknown())
    return {Value::unknown(type.elements()[static_cast<std::size_t>(*at)]), {}};
  return {collection.elements()[static_cast<std::size_t>(*at)], {}};
}

Evaluated index_mapping(const Value& collection,
                        const Value& key,
                        const Source& source,
                        Span span) {
  const bool map = collection.kind() == Type::Kind::map;
  if (collection.is_unknown() || key.is_unknown())
    return {map ? Value::unknown(collection.type().element()) : Value{}, {}};
  if (const Value* found = collection.find(key.as_string())) return {*found, {}};
  return fail(source, span, invalid_index, std::string{no_such_element} + ".");
}

}  // namespace

Evaluated index_value(const Value& collection, const Value& key, const Source& source, Span span) {
  if (collection.is_null())
    return fail(source, span, "Attempt to index null value",
                "This value is null, so it does not have any indices.");
  if (key.is_null())
    return fail(source, span, invalid_index, "Can't use a null value as an indexing key.");
  const Type::Kind kind = collection.kind();
  if (key.kind() == Type::Kind::dynamic || kind == Type::Kind::dynamic) return {};
  const bool sequence = kind == Type::Kind::list || kind == Type::Kind::tuple;
  if (!sequence && kind != Type::Kind::map && kind != Type::Kind::object)
    return fail(source, span, invalid_index, "This value does not have any indices.");
  const Converted wanted = convert(key, sequence ? Type::number() : Type::string());
  if (const auto* wrong = std::get_if<ConversionError>(&wanted))
    return fail(source, span, invalid_index,
                std::string{no_such_element} + ": " + wrong->message + ".");
  return sequence ? index_sequence(collection, std::get<Value>(wanted), source, span)
                  : index_mapping(collection, std::get<Value>(wanted), source, span);
}

Evaluated attribute_value(const Value& object,
                          std::string_view name,
                          const Source& source,
                          Span span) {
  if (object.is_null())
    return fail(source, span, "Attempt to get attribute from null value",
                "This value is null, so it does not have any attributes.");
  const Type::Kind kind = object.kind();
  if (kind == Type::Kind::dynamic) return {};
  if (kind != Type::Kind::object && kind != Type::Kind::map)
    return fail(source, span, "Unsupported attribute", "This value does not have any attributes.");
  if (object.is_unknown()) {
    const Type type = object.type();
    const Type* found = kind == Type::Kind::map ? &type.element() : type.attribute(name);
    if (found != nullptr) return {Value::unknown(*found), {}};
  } else if (const Value* found = object.find(name)) {
    return {*found, {}};
  }
  if (kind == Type::Kind::map)
    return fail(source, span, "Missing map element",
                "This map does not have an element with the key " + quote(name) + ".");
  return fail(source, span, "Unsupported attribute",
              "This object does not have an attribute named " + quote(name) + ".");
}

}  // namespace nomad::hcl
