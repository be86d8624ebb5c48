// Adds what is missing in an api form, driven by the table.
#include "runtime/jobspec/canonical/complete.hpp"

#include <boost/json.hpp>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/object/flat_json.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::object;
using boost::json::value;

enum class Form : std::uint8_t { api, server };

value zero_of(const Field& field, Form form) {
  const bool null = form == Form::api ? field.has(Trait::nullable) : field.has(Trait::pointer);
  if (null) return nullptr;
  switch (field.kind) {
    case Kind::text:
      return "";
    case Kind::boolean:
      return false;
    case Kind::integer:
    case Kind::int64:
    case Kind::int8:
    case Kind::uint8:
    case Kind::uint64:
    case Kind::duration:
      return 0;
    default:  // texts, bytes, blocks and maps
      return nullptr;
  }
}

/// Server-only fields of nested blocks are no part of the api form; the job's own are.
bool belongs(const Field& field, const BlockType& type, Form form) {
  if (form == Form::server) return !field.has(Trait::api_only);
  return &type == &block_types().job || !field.has(Trait::server_only);
}

/// What is stored has one form: of a list or map without elements, too.
bool says_nothing(const value& member, const Field& field, Form form) {
  if (form == Form::api || field.kind == Kind::block) return member.is_null();
  const auto* list = member.if_array();
  const auto* map = member.if_object();
  return member.is_null() || (list != nullptr && list->empty()) || (map != nullptr && map->empty());
}

void complete_block(object& block, const BlockType& type, Form form) {
  block.reserve(type.fields.size());
  for (const Field& field : type.fields) {
    if (!belongs(field, type, form) || field.has(Trait::optional_key)) continue;
    const auto [at, added] = block.emplace(field.json, zero_of(field, form));
    if (!added && says_nothing(at->value(), field, form)) at->value() = zero_of(field, form);
  }
  for (const Field& field : type.fields) {
    if (field.block == nullptr) continue;
    value* found = block.if_contains(field.json);
    if (found == nullptr) continue;
    if (field.kind == Kind::block && found->is_object())
      complete_block(found->get_object(), *field.block, form);
    if (field.kind == Kind::blocks && found->is_array())
      for (value& element : found->get_array())
        if (element.is_object()) complete_block(element.get_object(), *field.block, form);
    if (field.kind == Kind::block_map && found->is_object())
      for (auto& entry : found->get_object())
        if (entry.value().is_object())
          complete_block(entry.value().get_object(), *field.block, form);
  }
}

}  // namespace

void complete(object& job) {
  complete_block(job, block_types().job, Form::api);
}

void complete_stored(object& block, const BlockType& type) {
  complete_block(block, type, Form::server);
}

std::string stored_text(const object& block) {
  std::string out;
  append_sorted_json(out, FlatJson::of(block).root());
  return out;
}

}  // namespace nomad::jobspec
