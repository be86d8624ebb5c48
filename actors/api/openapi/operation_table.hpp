// What the route tables do not say of operations, and a description of the API has to: what their
// query may have, and what of the schema they take and answer. An operation without a row takes
// what all do, and answers whatever JSON. Constant data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <capnp/schema.h>

namespace nomad::api::openapi {

/// How an object stands in a body.
enum class Form : std::uint8_t {
  any,          ///< Whatever JSON; the schema does not say it.
  object,       ///< The object.
  member,       ///< As the member `member` of an object.
  list,         ///< An array of such.
  lines,        ///< Objects, one a line, as they come.
  text,         ///< No JSON.
  bytes,        ///< No text.
  typed,        ///< Of one of the `types`, which say nothing more.
  nothing,      ///< Of answers: no body.
  no_content,   ///< Of answers: the status that says so.
  unsupported,  ///< Of answers: never another one than that it is not here.
};

struct Body {
  Form form = Form::any;
  capnp::StructSchema (*schema)() = nullptr;  ///< Null: any object.
  std::string_view member = {};
  std::string_view types = {};  ///< Media types, separated by spaces.
};

struct Row {
  std::string_view route;  ///< As `Routes::listed` names it.
  std::string_view query;  ///< Names, separated by spaces.
  Body answer;
  Body request = {};
  bool is_paged = false;      ///< Lists that come in pages.
  bool is_put_alone = false;  ///< Not by POST.
  Body conflict = {};         ///< What answers a `cas` that was too late; any: its text.
};

/// No route has two.
std::span<const Row> rows();

}  // namespace nomad::api::openapi
