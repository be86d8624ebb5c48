// JSON to schema objects and back, driven by the annotations of the schema: a new field is one line
// of schema and no line of code.
//
// Reading follows Go's decoder, which Nomad's users know: names match without regard to case,
// unknown members are ignored, null means "the default". Writing follows Nomad's API: members in
// alphabetical order, null for absent lists and structs, RFC 3339 for times.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <capnp/any.h>
#include <capnp/dynamic.h>

#include "runtime/base/result.hpp"
#include "runtime/object/flat_json.hpp"
#include "runtime/object/flat_struct.hpp"
#include "runtime/object/json_pieces.hpp"
#include "runtime/object/object.hpp"
#include "runtime/object/plan.hpp"

namespace nomad {

/// Appends `object` to `out` as JSON, without white space.
void append_json(std::string& out, capnp::DynamicStruct::Reader object);

/// The same of what lies in an Object.
void append_flat_json(std::string& out,
                      const object::FlatStruct& object,
                      const object::StructPlan& plan);

void add_flat_json(JsonPieces& out,
                   const object::FlatStruct& object,
                   const object::StructPlan& plan);

/// The same, several times as fast. Not of an empty Object.
template <class T>
void append_json(std::string& out, const Object<T>& object) {
  append_flat_json(out, object::flat_struct_of(object), object::plan_of<T>());
}

/// The same among other pieces.
template <class T>
void add_json(JsonPieces& out, const Object<T>& object) {
  add_flat_json(out, object::flat_struct_of(object), object::plan_of<T>());
}

/// Appends the members of `object` without its braces, for answers that add members of their own.
/// The members are separated by commas; nothing is appended for an object without any.
void append_json_members(std::string& out, capnp::DynamicStruct::Reader object);

template <class Reader>
std::string to_json(const Reader& object) {
  std::string out;
  append_json(out, object);
  return out;
}

/// Appends `text` quoted and escaped.
void append_json_text(std::string& out, std::string_view text);

/// Appends a number as the API writes it: 0.5, 12.0.
void append_json_real(std::string& out, double number);

/// Fills `target`, a new struct of `plan`, from a JSON object. The error is `invalid_argument` and
/// in the words of Go's decoder: `json: cannot unmarshal string into Go struct field
/// Job.Job.Priority of type int`, where the first name is that of the innermost struct and the rest
/// is the way to the field; `path` is what of it leads to `target`.
Result<> decode_json(const JsonNode& source,
                     capnp::AnyStruct::Builder target,
                     const object::StructPlan& plan,
                     std::string_view path = {});

/// The same for a generated builder.
template <class Builder>
Result<> from_json(const JsonNode& source, Builder target) {
  const auto& plan = object::plan_of(capnp::Schema::from<capnp::FromBuilder<Builder>>());
  return decode_json(source, std::move(target), plan);
}

/// Parses text as deep as what was made of a request's body (`FlatJson::request_depth`) can be;
/// Boost's own parse ends at 32 levels, by an exception. Trailing white space is allowed. Errors
/// name the byte: "byte 17: syntax error". The tree's memory comes from `storage`.
Result<boost::json::value> parse_json(std::string_view text, boost::json::storage_ptr storage = {});

}  // namespace nomad
