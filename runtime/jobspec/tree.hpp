// Reading and filling a job's JSON tree. A missing member and a null one are the same here, and a
// member of another type than asked for reads as zero, so that code on a tree never branches on
// types.
//
// Names must be string literals or outlive the call.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace nomad::jobspec::tree {

using boost::json::array;
using boost::json::object;
using boost::json::value;

/// The member, unless it is missing or null.
inline const value* find(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

inline value* find(object& in, std::string_view name) {
  value* found = in.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

inline std::string_view text_of(const value& from) {
  const boost::json::string* text = from.if_string();
  return text == nullptr ? std::string_view{} : std::string_view{text->data(), text->size()};
}

/// "" when it is missing.
inline std::string_view text(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  return found == nullptr ? std::string_view{} : text_of(*found);
}

inline std::int64_t number_of(const value& from) {
  if (const std::int64_t* whole = from.if_int64()) return *whole;
  if (const std::uint64_t* whole = from.if_uint64()) return static_cast<std::int64_t>(*whole);
  return 0;
}

/// 0 when it is missing.
inline std::int64_t number(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  return found == nullptr ? 0 : number_of(*found);
}

inline bool flag(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

inline const object* child(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

inline object* child(object& in, std::string_view name) {
  value* found = in.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

/// Never null: an empty list when it is missing.
inline const array& list(const object& in, std::string_view name) {
  static const array none;
  const value* found = in.if_contains(name);
  const array* elements = found == nullptr ? nullptr : found->if_array();
  return elements == nullptr ? none : *elements;
}

inline array* find_list(object& in, std::string_view name) {
  value* found = in.if_contains(name);
  return found == nullptr ? nullptr : found->if_array();
}

/// Calls `visit(object&)` for each object in the list `name`.
template <class Visit>
void each(object& in, std::string_view name, Visit&& visit) {
  if (array* elements = find_list(in, name))
    for (value& element : *elements)
      if (object* item = element.if_object()) visit(*item);
}

template <class Visit>
void each(const object& in, std::string_view name, Visit&& visit) {
  for (const value& element : list(in, name))
    if (const object* item = element.if_object()) visit(*item);
}

/// Sets the member unless it has a value.
template <class T>
void set_default(object& in, std::string_view name, T&& fallback) {
  if (value* found = in.if_contains(name)) {
    if (found->is_null()) *found = std::forward<T>(fallback);
  } else {
    in.emplace(name, std::forward<T>(fallback));
  }
}

/// The same for text, where "" counts as missing.
inline void set_default_text(object& in, std::string_view name, std::string_view fallback) {
  value& member = in[name];
  if (text_of(member).empty()) member = fallback;
}

}  // namespace nomad::jobspec::tree
