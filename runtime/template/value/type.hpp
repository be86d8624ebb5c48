// Types of template values: the Go types that a template can meet, by the names that its users see
// in messages ("wrong type for value; expected string; got int") and by %T.
//
// All types are constants of the program: two values have the same type if they point to the same
// `Type`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nomad::templates {

class Value;
struct Function;
struct Type;

enum class Kind : std::uint8_t {
  any,  ///< As a type: an interface{}. As the kind of a value: nil without a type.
  boolean,
  integer,
  natural,  ///< An unsigned integer.
  number,   ///< A float64.
  text,
  list,
  map,
  structure,  ///< Ordered fields; most are pointers in Go, see `is_pointer`.
  function,
};

/// A field of a structure.
struct Field {
  std::string_view name;
  const Type* type;
};

struct Type {
  Kind kind = Kind::any;
  std::string_view name;          ///< As %T writes it.
  const Type* element = nullptr;  ///< Of lists and maps.
  const Type* key = nullptr;      ///< Of maps.
  std::span<const Field> fields = {};
  /// What "{{.Name}}" calls; null if there is no such method. The receiver is the first argument.
  const Function* (*method)(std::string_view name) = nullptr;
  /// Go's String(): what is printed in place of the value.
  std::string (*show)(const Value& value) = nullptr;
  /// How it is written in JSON, where not by its fields.
  std::string (*json)(const Value& value) = nullptr;
  bool is_pointer = false;
  const Type* plain = nullptr;  ///< The type without a name that a named list or map is defined as.

  bool is_named() const { return plain != nullptr || kind == Kind::structure || show != nullptr; }
};

/// Whether Go lets a value of type `from` be an argument of type `to`.
constexpr bool is_assignable(const Type& from, const Type& to) {
  if (&from == &to || to.kind == Kind::any) return true;
  const bool one_plain = from.plain == nullptr || to.plain == nullptr;
  const Type* a = from.plain != nullptr ? from.plain : &from;
  const Type* b = to.plain != nullptr ? to.plain : &to;
  return one_plain && a == b && (a->kind == Kind::list || a->kind == Kind::map);
}

namespace types {

inline constexpr Type any{.kind = Kind::any, .name = "interface {}"};
/// Go's reflect.Value: takes anything, and nil for what it is.
inline constexpr Type reflected{.kind = Kind::any, .name = "reflect.Value"};
inline constexpr Type boolean{.kind = Kind::boolean, .name = "bool"};
inline constexpr Type integer{.kind = Kind::integer, .name = "int"};
inline constexpr Type int32{.kind = Kind::integer, .name = "int32"};
inline constexpr Type int64{.kind = Kind::integer, .name = "int64"};
inline constexpr Type natural{.kind = Kind::natural, .name = "uint"};
inline constexpr Type byte{.kind = Kind::natural, .name = "uint8"};
inline constexpr Type uint64{.kind = Kind::natural, .name = "uint64"};
inline constexpr Type number{.kind = Kind::number, .name = "float64"};
inline constexpr Type text{.kind = Kind::text, .name = "string"};
inline constexpr Type any_list{.kind = Kind::list, .name = "[]interface {}", .element = &any};
inline constexpr Type list_list{
    .kind = Kind::list, .name = "[][]interface {}", .element = &any_list};
inline constexpr Type text_list{.kind = Kind::list, .name = "[]string", .element = &text};
inline constexpr Type integer_list{.kind = Kind::list, .name = "[]int", .element = &integer};
/// What `loop` gives: Go's is a channel, which can be ranged over once and has no index.
inline constexpr Type int64_channel{.kind = Kind::list, .name = "<-chan int64", .element = &int64};
inline constexpr Type any_map{
    .kind = Kind::map, .name = "map[string]interface {}", .element = &any, .key = &text};
inline constexpr Type text_map{
    .kind = Kind::map, .name = "map[string]string", .element = &text, .key = &text};
inline constexpr Type list_map{
    .kind = Kind::map, .name = "map[string][]interface {}", .element = &any_list, .key = &text};
/// What YAML's mappings are read to.
inline constexpr Type any_key_map{
    .kind = Kind::map, .name = "map[interface {}]interface {}", .element = &any, .key = &any};
inline constexpr Type function{.kind = Kind::function, .name = "func()"};

}  // namespace types

}  // namespace nomad::templates
