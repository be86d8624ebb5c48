// Objects as flat lists of named texts, which is what a structural diff compares; and equality of
// objects by the table of fields. Private to this folder.
#pragma once

#include <map>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "runtime/jobspec/diff/diff_rules.hpp"
#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

/// Names to texts, in the order of the names.
using Flat = std::map<std::string, std::string, std::less<>>;

/// The plain fields and string maps of an object ("Meta[key]"), zeros included; nothing for null.
Flat flatten_fields(const boost::json::object* object, TypedRule rule);

/// Everything in content without schema: "args[0]", "mount[0][source]"; "nil" for null.
Flat flatten_free(const boost::json::object& content);

/// Whether two objects of a type are equal when missing members count as zero. Null equals null.
bool same_object(const BlockType& type, const boost::json::object* a, const boost::json::object* b);

/// The same without what a rule ignores in objects below.
bool same_object(TypedRule typed, const boost::json::object* a, const boost::json::object* b);

/// Whether two members are, by their field's kind.
bool same_member(const Field& field, const boost::json::value* a, const boost::json::value* b);

/// Whether two contents without schema are, where null differs from empty.
bool same_content(const boost::json::object* a, const boost::json::object* b);

/// A text that two objects of a type share exactly when they are equal.
std::string content_key(const BlockType& type, const boost::json::object& object);

}  // namespace nomad::jobspec
