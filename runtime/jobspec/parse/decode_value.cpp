#include "runtime/jobspec/parse/decode_value.hpp"

#include <cmath>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::jobspec {

namespace {

using hcl::Type;
using hcl::Value;

constexpr const char* null_not_allowed = "null value is not allowed";
constexpr const char* must_be_known = "value must be known";

Type type_of(Kind kind) {
  switch (kind) {
    case Kind::text:
    case Kind::bytes:
      return Type::string();
    case Kind::boolean:
      return Type::boolean();
    case Kind::integer:
    case Kind::int64:
    case Kind::int8:
    case Kind::uint8:
    case Kind::uint64:
    case Kind::duration:
      return Type::number();
    case Kind::texts:
      return Type::list(Type::string());
    case Kind::text_map:
      return Type::map(Type::string());
    case Kind::texts_map:
      return Type::map(Type::list(Type::string()));
    case Kind::block:
    case Kind::blocks:
    case Kind::block_map:
    case Kind::free_map:
      break;
  }
  return Type::dynamic();
}

DecodedValue wrong(const std::string& error) {
  return {nullptr, "Unsuitable value: " + error};
}

DecodedValue whole(const hcl::Number& number, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> exact = number.to_int64();
  if (!exact || *exact < least || *exact > most)
    return wrong(fmt::format("value must be a whole number, between {} and {}", least, most));
  return {*exact, {}};
}

DecodedValue unsigned_whole(const hcl::Number& number, std::uint64_t most) {
  const std::optional<std::uint64_t> exact = number.to_uint64();
  if (!exact || *exact > most)
    return wrong(fmt::format("value must be a whole number, between 0 and {} inclusive", most));
  return {*exact, {}};
}

DecodedValue decode_number(const hcl::Number& number, Kind kind) {
  switch (kind) {
    case Kind::int8:
      return whole(number, INT8_MIN, INT8_MAX);
    case Kind::uint8:
      return unsigned_whole(number, UINT8_MAX);
    case Kind::uint64:
      return unsigned_whole(number, UINT64_MAX);
    default:
      return whole(number, INT64_MIN, INT64_MAX);
  }
}

/// A value that already has the type of its kind: a text, a truth, a list or a map of them.
DecodedValue decode_converted(const Value& value, bool nullable) {
  if (value.is_unknown()) return wrong(must_be_known);
  if (value.is_null()) {
    const bool collection = value.kind() == Type::Kind::list || value.kind() == Type::Kind::map;
    return nullable || collection ? DecodedValue{nullptr, {}} : wrong(null_not_allowed);
  }
  if (value.is_string()) return {boost::json::string{value.as_string()}, {}};
  if (value.is_bool()) return {value.as_bool(), {}};
  if (value.is_sequence()) {
    boost::json::array out;
    out.reserve(value.size());
    for (const Value& element : value.elements()) {
      DecodedValue decoded = decode_converted(element, false);
      if (!decoded.ok()) return decoded;
      out.push_back(std::move(decoded.json));
    }
    return {std::move(out), {}};
  }
  boost::json::object out;
  out.reserve(value.size());
  for (const auto& [name, element] : value.entries()) {
    DecodedValue decoded = decode_converted(element, false);
    if (!decoded.ok()) return decoded;
    out.emplace(name, std::move(decoded.json));
  }
  return {std::move(out), {}};
}

/// A type as Go prints its structure; clients see this in one error text.
std::string go_structure(const Type& type) {
  const auto primitive = [](char letter) {
    return fmt::format("{{{{{{}} %!s(cty.primitiveTypeKind={})}}}}", static_cast<int>(letter));
  };
  switch (type.kind()) {
    case Type::Kind::dynamic:
      return "{{{}}}";
    case Type::Kind::boolean:
      return primitive('B');
    case Type::Kind::number:
      return primitive('N');
    case Type::Kind::string:
      return primitive('S');
    case Type::Kind::list:
    case Type::Kind::set:
    case Type::Kind::map:
      return "{{{} " + go_structure(type.element()) + "}}";
    case Type::Kind::tuple: {
      std::string out;
      for (const Type& element : type.elements())
        out += (out.empty() ? "" : " ") + go_structure(element);
      return "{{{} [" + out + "]}}";
    }
    case Type::Kind::object: {
      std::string out;
      for (const auto& [name, attribute] : type.attributes())
        out += (out.empty() ? "" : " ") + name + ":" + go_structure(attribute);
      return "{{{} map[" + out + "] map[]}}";
    }
  }
  return {};
}

DecodedValue decode_duration(const Value& value, bool nullable) {
  if (value.kind() == Type::Kind::string) {
    if (value.is_null()) return wrong(null_not_allowed);
    if (value.is_unknown()) return wrong(must_be_known);
    const Result<Nanoseconds> parsed = parse_duration(value.as_string());
    if (parsed.has_error()) return {nullptr, "Unsuitable duration value: " + parsed.error().what};
    return {static_cast<std::int64_t>(parsed->count()), {}};
  }
  if (value.kind() != Type::Kind::number)
    return wrong("expected a string but found " + go_structure(value.type()));
  if (value.is_unknown()) return wrong(must_be_known);
  if (value.is_null()) return nullable ? DecodedValue{nullptr, {}} : wrong(null_not_allowed);
  return decode_number(value.as_number(), Kind::duration);
}

using Entries = Value::Entries;

Value body_value(const hcl::BodyNode& body,
                 const hcl::EvalContext* context,
                 hcl::Diagnostics& diagnostics);

/// An object written as an attribute's value stands for a block, so it is a list of one.
Value attribute_value(const hcl::Expression& expr,
                      const hcl::EvalContext* context,
                      hcl::Diagnostics& diagnostics) {
  hcl::Evaluated evaluated = hcl::evaluate(expr, context);
  hcl::append(diagnostics, std::move(evaluated.diagnostics));
  if (expr.kind != hcl::ExprKind::object) return std::move(evaluated.value);
  return Value::tuple({std::move(evaluated.value)});
}

Value block_value(const hcl::BlockNode& block,
                  const hcl::EvalContext* context,
                  hcl::Diagnostics& diagnostics) {
  Value value = body_value(*block.body, context, diagnostics);
  for (std::size_t at = block.labels.size(); at > 0; --at) {
    Entries entry;
    entry.emplace_back(std::string{block.labels[at - 1]}, Value::tuple({std::move(value)}));
    value = Value::object(std::move(entry));
  }
  return value;
}

Value body_value(const hcl::BodyNode& body,
                 const hcl::EvalContext* context,
                 hcl::Diagnostics& diagnostics) {
  Entries entries;
  for (const hcl::AttributeNode& attribute : body.attributes)
    entries.emplace_back(std::string{attribute.name},
                         attribute_value(*attribute.expr, context, diagnostics));
  std::map<std::string_view, Value::Elements> types;
  for (const hcl::BlockNode* block : body.blocks)
    types[block->type].push_back(block_value(*block, context, diagnostics));
  for (auto& [type, elements] : types)
    entries.emplace_back(std::string{type}, Value::tuple(std::move(elements)));
  return Value::object(std::move(entries));
}

Value weak_text(const Value& value) {
  const bool is_truth = value.is_bool() && !value.is_null() && !value.is_unknown();
  return is_truth ? Value::string(value.as_bool() ? "1" : "0") : value;
}

}  // namespace

Value weakly_typed(const Value& value, Kind kind) {
  if (kind == Kind::text) return weak_text(value);
  if (kind == Kind::text_map && value.is_mapping()) {
    Entries entries;
    for (const auto& [name, element] : value.entries())
      entries.emplace_back(name, weak_text(element));
    return Value::object(std::move(entries));
  }
  if (kind != Kind::texts) return value;
  Value::Elements elements;
  if (value.is_sequence())
    for (const Value& element : value.elements())
      elements.push_back(weak_text(element));
  else
    elements.push_back(weak_text(value));
  return Value::tuple(std::move(elements));
}

DecodedValue decode_value(const Value& value, Kind kind, bool nullable) {
  if (kind == Kind::duration) return decode_duration(value, nullable);
  const hcl::Converted converted = hcl::convert(value, type_of(kind));
  if (const auto* error = std::get_if<hcl::ConversionError>(&converted))
    return wrong(error->message);
  const Value& fitting = std::get<Value>(converted);
  if (fitting.is_number()) return decode_number(fitting.as_number(), kind);
  return decode_converted(fitting, nullable);
}

DecodedValue decode_free_value(const Value& value) {
  if (value.is_unknown()) return wrong("value is not known");
  if (value.is_null()) return {nullptr, {}};
  switch (value.kind()) {
    case Type::Kind::string:
      return {boost::json::string{value.as_string()}, {}};
    case Type::Kind::boolean:
      return {value.as_bool(), {}};
    case Type::Kind::number: {
      if (const auto exact = value.as_number().to_int64()) return {*exact, {}};
      const double real = value.as_number().to_double();
      return std::isfinite(real) ? DecodedValue{real, {}} : wrong("number is too large");
    }
    case Type::Kind::list:
    case Type::Kind::set:
    case Type::Kind::tuple: {
      boost::json::array out;
      out.reserve(value.size());
      for (const Value& element : value.elements()) {
        DecodedValue decoded = decode_free_value(element);
        if (!decoded.ok()) return decoded;
        out.push_back(std::move(decoded.json));
      }
      return {std::move(out), {}};
    }
    case Type::Kind::map:
    case Type::Kind::object: {
      boost::json::object out;
      out.reserve(value.size());
      for (const auto& [name, element] : value.entries()) {
        DecodedValue decoded = decode_free_value(element);
        if (!decoded.ok()) return decoded;
        out.emplace(name, std::move(decoded.json));
      }
      return {std::move(out), {}};
    }
    case Type::Kind::dynamic:
      break;
  }
  return wrong("value is not known");
}

hcl::Span FreeAttribute::start() const {
  return expr != nullptr ? hcl::start_span(*expr) : blocks.front()->open_brace;
}

const hcl::File& FreeAttribute::file() const {
  return expr != nullptr ? *expr->file : *blocks.front()->file;
}

std::vector<FreeAttribute> free_attributes(const hcl::Body& body, hcl::Diagnostics& diagnostics) {
  std::vector<FreeAttribute> out;
  const hcl::BodyNode* node = body.node();
  if (node == nullptr) {
    hcl::JustAttributes found = body.just_attributes();
    hcl::append(diagnostics, std::move(found.diagnostics));
    for (const hcl::Attribute& attribute : found.attributes)
      out.push_back({std::string{attribute.name}, attribute.expr});
    return out;
  }
  std::map<std::string_view, std::vector<const hcl::BlockNode*>> types;
  for (const hcl::BlockNode* block : node->blocks)
    if (!body.hides_block(block->type)) types[block->type].push_back(block);
  // Of an attribute and blocks with the same name the blocks count.
  for (const hcl::AttributeNode& attribute : node->attributes)
    if (!body.hides_attribute(attribute.name) && !types.contains(attribute.name))
      out.push_back({std::string{attribute.name}, attribute.expr});
  for (auto& [type, blocks] : types)
    out.push_back({std::string{type}, nullptr, std::move(blocks)});
  return out;
}

hcl::Evaluated evaluate_free(const FreeAttribute& attribute, const hcl::EvalContext* context) {
  hcl::Evaluated out;
  if (attribute.expr != nullptr) {
    out.value = attribute_value(*attribute.expr, context, out.diagnostics);
    return out;
  }
  Value::Elements elements;
  for (const hcl::BlockNode* block : attribute.blocks)
    elements.push_back(block_value(*block, context, out.diagnostics));
  out.value = Value::tuple(std::move(elements));
  return out;
}

}  // namespace nomad::jobspec
