// Type: the type of an HCL value, compared by structure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nomad::hcl {

/// An immutable type; copying shares. `dynamic` stands for "not known yet" and is the type of a
/// literal null.
class Type {
public:
  enum class Kind : std::uint8_t {
    dynamic,
    boolean,
    number,
    string,
    list,
    set,
    map,
    tuple,
    object
  };
  using Attribute = std::pair<std::string, Type>;

  Type() = default;  ///< dynamic

  static Type dynamic() { return Type{Kind::dynamic}; }

  static Type boolean() { return Type{Kind::boolean}; }

  static Type number() { return Type{Kind::number}; }

  static Type string() { return Type{Kind::string}; }

  static Type list(Type element);
  static Type set(Type element);
  static Type map(Type element);
  static Type tuple(std::vector<Type> elements);
  /// Attributes in any order; a later one of the same name wins.
  static Type object(std::vector<Attribute> attributes);

  Kind kind() const noexcept { return kind_; }

  bool is_primitive() const noexcept {
    return kind_ == Kind::boolean || kind_ == Kind::number || kind_ == Kind::string;
  }

  /// list, set or map.
  bool is_collection() const noexcept {
    return kind_ == Kind::list || kind_ == Kind::set || kind_ == Kind::map;
  }

  bool is_sequence() const noexcept {
    return kind_ == Kind::list || kind_ == Kind::set || kind_ == Kind::tuple;
  }

  /// Of a collection.
  const Type& element() const;
  /// Of a tuple.
  const std::vector<Type>& elements() const;
  /// Of an object, sorted by name.
  const std::vector<Attribute>& attributes() const;
  /// Of an object: the attribute's type, or null.
  const Type* attribute(std::string_view name) const;

  /// Whether `dynamic` stands anywhere in it.
  bool has_dynamic() const;
  /// Levels of nesting: 0 for a primitive.
  std::uint32_t height() const;

  /// "string", "list of string", "object", "tuple": the word the error messages use.
  std::string friendly_name() const;
  /// As a type constraint is described: "map of string", "any type" for dynamic.
  std::string friendly_name_for_constraint() const;
  /// The type expression that gives this type: `object({a=string})`.
  std::string to_expression() const;

  friend bool operator==(const Type& a, const Type& b);

private:
  friend class Value;
  struct Node;

  static Type of_kind(Kind kind) { return Type{kind}; }

  explicit Type(Kind kind) : kind_{kind} {}

  Type(Kind kind, std::shared_ptr<const Node> node) : kind_{kind}, node_{std::move(node)} {}

  static Type collection(Kind kind, Type element);
  std::string named(std::string_view dynamic, std::string_view dynamic_element) const;

  Kind kind_ = Kind::dynamic;
  std::shared_ptr<const Node> node_;
};

}  // namespace nomad::hcl
