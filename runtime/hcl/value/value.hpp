// Value: what an HCL expression evaluates to.
//
// Values are immutable and cheap to copy (contents are shared), usable from any thread. A value is
// known, null or unknown; unknown values arise only where evaluation failed, and carry the type
// that the result would have had.
//
// (1) Strings are UTF-8 in Unicode normal form C.
// (2) All elements of a list, set or map have the same type, `element_type()`.
// (3) A set holds no two equal elements and keeps them in the language's order.
// (4) Attributes of objects and elements of maps are sorted by the bytes of their keys.
// (5) `height()` and `weight()` count the value as a tree, without sharing, so that a bound on them
//     bounds every walk over it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/hcl/value/number.hpp"
#include "runtime/hcl/value/type.hpp"

namespace nomad::hcl {

class Value {
public:
  using Elements = std::vector<Value>;
  using Entry = std::pair<std::string, Value>;
  using Entries = std::vector<Entry>;

  Value() = default;  ///< Unknown, of dynamic type: what a failed evaluation gives.

  static Value null(Type type = Type::dynamic());
  static Value unknown(Type type = Type::dynamic());
  static Value boolean(bool value);
  static Value number(Number value);
  /// Invalid UTF-8 becomes U+FFFD; the text is brought to normal form C.
  static Value string(std::string_view text);
  static Value tuple(Elements elements);
  /// Entries in any order; of two with the same key the later wins.
  static Value object(Entries entries);
  /// The elements must all have type `element`.
  static Value list(Type element, Elements elements);
  static Value map(Type element, Entries entries);
  /// Equal elements become one.
  static Value set(Type element, Elements elements);

  Type type() const;

  Type::Kind kind() const noexcept { return type_.kind(); }

  bool is_known() const noexcept { return state_ == State::known; }  ///< and not null

  bool is_null() const noexcept { return state_ == State::null; }

  bool is_unknown() const noexcept { return state_ == State::unknown; }

  /// Neither it nor anything in it is unknown.
  bool is_wholly_known() const;

  bool is_bool() const noexcept { return is_known() && kind() == Type::Kind::boolean; }

  bool is_number() const noexcept { return is_known() && kind() == Type::Kind::number; }

  bool is_string() const noexcept { return is_known() && kind() == Type::Kind::string; }

  /// A known list, set or tuple.
  bool is_sequence() const noexcept { return is_known() && type_.is_sequence(); }

  /// A known map or object.
  bool is_mapping() const noexcept {
    return is_known() && (kind() == Type::Kind::map || kind() == Type::Kind::object);
  }

  bool as_bool() const;                ///< requires is_bool()
  const Number& as_number() const;     ///< requires is_number()
  std::string_view as_string() const;  ///< requires is_string()
  const Elements& elements() const;    ///< requires is_sequence()
  const Entries& entries() const;      ///< requires is_mapping()
  /// The entry of a mapping, or null.
  const Value* find(std::string_view key) const;
  /// Elements or entries of a sequence or mapping; 0 otherwise.
  std::size_t size() const;

  const Type& element_type() const { return type_.element(); }

  std::uint32_t height() const noexcept;
  std::uint64_t weight() const noexcept;

  /// Same type and same contents; unknown equals unknown of the same type.
  friend bool operator==(const Value& a, const Value& b);

  /// Whether `a == b` in the language: unequal types are unequal, nulls are equal whatever their
  /// type. Nothing when an unknown value decides.
  static std::optional<bool> equals(const Value& a, const Value& b);

  /// The order of set elements: strings by bytes, numbers, false before true, others by contents;
  /// null and unknown last.
  static bool set_order(const Value& a, const Value& b);

private:
  enum class State : std::uint8_t { known, null, unknown };
  struct Text;
  struct Contents;
  struct Sequence;
  struct Mapping;
  using Payload = std::variant<std::monostate,
                               bool,
                               Number,
                               std::shared_ptr<const Text>,
                               std::shared_ptr<const Sequence>,
                               std::shared_ptr<const Mapping>>;

  Value(State state, Type type) : state_{state}, type_{std::move(type)} {}

  Value(Type type, Payload payload);
  static Value sequence(Type type, Elements elements);
  static Value mapping(Type type, Entries entries);
  Type structural_type() const;

  State state_ = State::unknown;
  Type type_;  // of a known tuple or object only the kind is set
  Payload payload_;
};

}  // namespace nomad::hcl
