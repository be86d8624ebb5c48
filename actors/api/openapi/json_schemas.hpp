// JSON schemas of the structs of schema/, as OpenAPI 3.1 has them: made from the codec's plans, by
// which requests are read and answers written. Used by one thread.
#pragma once

#include <map>
#include <string>

#include <boost/json/object.hpp>
#include <capnp/schema.h>

#include "runtime/object/plan.hpp"

namespace nomad::api::openapi {

/// Collects the schemas that are referred to.
class JsonSchemas {
public:
  /// A reference to the struct, which is among `all` from then on with those that it needs.
  boost::json::object reference(capnp::StructSchema schema);

  /// By their names.
  const boost::json::object& all() const { return all_; }

private:
  boost::json::object value(const object::ValuePlan& plan);
  boost::json::object struct_of(const object::StructPlan& plan);
  boost::json::object reference(const object::StructPlan& plan);

  std::map<const object::StructPlan*, std::string> names_;
  boost::json::object all_;
};

}  // namespace nomad::api::openapi
