#include "actors/api/openapi/json_schemas.hpp"

#include <utility>

#include <boost/json.hpp>

namespace nomad::api::openapi {
namespace {

using object::Shape;

boost::json::object of_type(std::string_view type) {
  return {{"type", type}};
}

boost::json::object of_types(std::string_view one, std::string_view other) {
  return {{"type", boost::json::array{one, other}}};
}

boost::json::object with_format(boost::json::object schema, std::string_view format) {
  schema["format"] = format;
  return schema;
}

boost::json::object or_null(boost::json::object schema) {
  return {{"anyOf", boost::json::array{std::move(schema), of_type("null")}}};
}

}  // namespace

boost::json::object JsonSchemas::reference(capnp::StructSchema schema) {
  return reference(object::plan_of(schema));
}

boost::json::object JsonSchemas::reference(const object::StructPlan& plan) {
  auto [at, is_new] = names_.try_emplace(&plan, plan.name);
  if (is_new) {
    // Two structs of one name in Go: they lie in different packages there.
    while (all_.contains(at->second))
      at->second += '_';
    all_[at->second] = nullptr;
    const auto name = at->second;
    auto made = struct_of(plan);
    all_[name] = std::move(made);
  }
  return {{"$ref", "#/components/schemas/" + names_.at(&plan)}};
}

boost::json::object JsonSchemas::struct_of(const object::StructPlan& plan) {
  boost::json::object members;
  for (const auto& field : plan.fields) {
    if (field.hidden) continue;
    auto member = value(field.value);
    const auto shape = field.value.shape;
    if (shape == Shape::object && !field.always) member = or_null(std::move(member));
    members[field.name] = std::move(member);
  }
  return {{"type", "object"}, {"properties", std::move(members)}};
}

boost::json::object JsonSchemas::value(const object::ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::boolean:
      return of_type("boolean");
    case Shape::signed_number:
    case Shape::unsigned_number:
      return with_format(of_type("integer"), "int64");
    case Shape::real:
      return of_type("number");
    case Shape::text:
    case Shape::secret_text:
      return of_type("string");
    case Shape::raw_json:
      return {};
    case Shape::base64: {
      auto schema = of_types("string", "null");
      schema["contentEncoding"] = "base64";
      return schema;
    }
    case Shape::timestamp:
      return with_format(of_types("string", "null"), "date-time");
    case Shape::duration:
    case Shape::duration_text:
      return of_types("integer", "string");
    case Shape::enumeration: {
      auto schema = of_type("string");
      schema["enum"] = boost::json::array(plan.names->begin(), plan.names->end());
      return schema;
    }
    case Shape::object:
      return reference(*plan.fields);
    case Shape::list: {
      auto schema = of_types("array", "null");
      schema["items"] = value(*plan.element);
      return schema;
    }
    case Shape::map: {
      auto schema = of_types("object", "null");
      auto element = value(*plan.element);
      const bool is_object = plan.element->shape == Shape::object;
      schema["additionalProperties"] = is_object ? or_null(std::move(element)) : std::move(element);
      return schema;
    }
    case Shape::optional:
      return or_null(value(*plan.element));
  }
  return {};
}

}  // namespace nomad::api::openapi
