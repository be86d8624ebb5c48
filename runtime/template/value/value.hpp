// A value of a template: nil, a boolean, a number, a text, a list, a map with sorted keys, a
// structure, or a function; each with its Go type (type.hpp).
//
// Values are cheap to copy: what is long is shared. Lists, texts and structures never change. Maps
// do, as in Go: who sets a key of a map sets it for all who hold it. A map can't come to hold
// itself
// (`holds`). Ending a value takes no stack, however deep it is; what walks into values stops at
// `max_depth`.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"
#include "runtime/template/value/type.hpp"

namespace nomad::templates {

class Map;
struct List;

/// How deep printing, comparing and encoding walk into a value.
inline constexpr int max_depth = 200;

class Value {
public:
  /// nil.
  Value() = default;

  static Value boolean(bool value);
  static Value integer(std::int64_t value, const Type& type = types::integer);
  static Value natural(std::uint64_t value, const Type& type = types::uint64);
  static Value number(double value);
  static Value text(std::string value, const Type& type = types::text);
  static Value list(std::vector<Value> items, const Type& type = types::any_list);

  template <class Texts = std::vector<std::string>>
  static Value texts(const Texts& items, const Type& type = types::text_list) {
    std::vector<Value> values;
    values.reserve(items.size());
    for (const auto& item : items)
      values.push_back(text(std::string{item}));
    return list(std::move(values), type);
  }

  static Value map(std::shared_ptr<Map> map, const Type& type = types::any_map);
  /// As many fields as `type` has.
  static Value structure(const Type& type, std::vector<Value> fields);
  /// `function` outlives the value.
  static Value function(const Function& function);
  /// A nil pointer, list or map.
  static Value null(const Type& type);
  /// Go's zero value of a type.
  static Value zero(const Type& type);

  /// Null for nil without a type.
  const Type* type() const { return type_; }

  Kind kind() const { return type_ == nullptr ? Kind::any : type_->kind; }

  /// Nil without a type: what Go calls an invalid value.
  bool is_invalid() const { return type_ == nullptr; }

  /// Nil with or without a type.
  bool is_nil() const { return content_.index() == 0; }

  // What the value is; each only for its kind. A nil list or map is empty.

  bool as_boolean() const { return std::get<bool>(content_); }

  std::int64_t as_integer() const { return std::get<std::int64_t>(content_); }

  std::uint64_t as_natural() const { return std::get<std::uint64_t>(content_); }

  double as_number() const { return std::get<double>(content_); }

  std::string_view as_text() const;
  const std::vector<Value>& items() const;
  const std::map<Value, Value, struct KeyOrder>& entries() const;
  /// The shared map itself; null for a nil map.
  Map* shared_map() const;
  const std::vector<Value>& fields() const;

  const Function& as_function() const { return *std::get<const Function*>(content_); }

  /// Whether it was taken out of a list or map of interface{}: Go then knows its type as
  /// "interface {}", and nil as one that has a type. Seen by messages alone; ends with a pipeline.
  bool is_boxed() const { return is_boxed_; }

  void set_boxed(bool is_boxed) { is_boxed_ = is_boxed; }

  /// The bytes of a text, the number of items or entries.
  std::size_t size() const;

  /// Go's truth of a value: not false, 0, nil or empty.
  bool is_true() const;

private:
  friend class EndedValues;

  using Text = std::shared_ptr<const std::string>;
  using Items = std::shared_ptr<const List>;

  const Type* type_ = nullptr;
  bool is_boxed_ = false;
  std::variant<std::monostate,
               bool,
               std::int64_t,
               std::uint64_t,
               double,
               Text,
               Items,
               std::shared_ptr<Map>,
               const Function*>
      content_;
};

/// How two booleans, numbers or texts of one kind are ordered; other kinds have no order.
std::partial_ordering order_of_basics(const Value& a, const Value& b);

/// Go's order of the keys of a map, by which it is ranged over and printed: numbers by their size,
/// texts by their bytes; of different kinds, in a fixed order.
struct KeyOrder {
  using is_transparent = void;

  bool operator()(const Value& a, const Value& b) const;
  bool operator()(const Value& a, std::string_view b) const;
  bool operator()(std::string_view a, const Value& b) const;
};

/// Items of a list or fields of a structure.
struct List {
  explicit List(std::vector<Value> content) : items{std::move(content)} {}

  ~List();
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  std::vector<Value> items;
};

class Map {
public:
  Map() = default;
  ~Map();
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;

  void set(std::string_view key, Value value);

  void set(Value key, Value value) { entries.insert_or_assign(std::move(key), std::move(value)); }

  /// Null if there is no such key.
  const Value* find(std::string_view key) const;

  std::map<Value, Value, KeyOrder> entries;
  /// The keys in the order in which JSON is to have them; else, and once the keys are others,
  /// sorted.
  std::vector<std::string> json_order;
};

/// The bytes of a list of numbers that are bytes.
std::string bytes_of(const Value& list);

/// Whether `map` can be reached from `value`, or so many values that nobody can say: then it may
/// not be put into `map`.
Result<bool> holds(const Value& value, const Map& map, Work& work);

/// What is paid for comparing two values that are texts.
std::uint64_t compared_bytes(const Value& a, const Value& b);

/// Go's reflect.DeepEqual. False beyond `max_depth`.
Result<bool> deep_equal(const Value& a, const Value& b, Work& work);

}  // namespace nomad::templates
