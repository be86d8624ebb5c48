// The codec's plan of a schema struct: what each field is called and how it looks in JSON, worked
// out once per struct from the schema's annotations and then shared by all threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/dynamic.h>
#include <capnp/schema.h>

namespace nomad::object {

struct StructPlan;

/// How a field's value is written in JSON.
enum class Shape : std::uint8_t {
  boolean,
  signed_number,
  unsigned_number,
  real,
  text,
  secret_text,  ///< Read, but written as "".
  raw_json,     ///< Text that holds JSON.
  base64,       ///< Data.
  timestamp,    ///< Int64 nanoseconds as RFC 3339; 0 is null.
  duration,     ///< Int64 nanoseconds that may be read from text too.
  enumeration,
  object,  ///< A struct.
  list,
  map,       ///< A list of {key, value}.
  optional,  ///< A named union of `unset` and `value`.
};

/// What a value of some type needs: its shape, and the plans below it.
struct ValuePlan {
  Shape shape = Shape::boolean;
  capnp::Type type;
  const StructPlan* fields = nullptr;  ///< object, map (of the entry), optional (of the group).
  const ValuePlan* element = nullptr;  ///< list: its elements; map, optional: the value.
};

struct FieldPlan {
  capnp::StructSchema::Field field;
  std::string name;         ///< In JSON.
  std::string quoted_name;  ///< `"Name":`
  ValuePlan value;
  bool hidden = false;
  bool omit_empty = false;
  bool always = false;
};

struct StructPlan {
  capnp::StructSchema schema;
  std::vector<FieldPlan> fields;         ///< Sorted by JSON name, as the API writes them.
  std::vector<std::uint16_t> by_folded;  ///< Places in `fields`, sorted by lower-cased name.
  std::vector<std::uint16_t> pointers;   ///< Places in `fields` of those that can be malformed.

  /// The field that JSON calls `name`: an exact match, else one that differs only in case.
  const FieldPlan* find(std::string_view name) const;
};

/// The plan of `schema`, for the life of the process. Thread-safe.
const StructPlan& plan_of(capnp::StructSchema schema);

/// What JSON calls an enumerant.
std::string_view json_name(capnp::EnumSchema::Enumerant enumerant);

}  // namespace nomad::object
