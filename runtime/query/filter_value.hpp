// The values that a selector of a filter leads to: fields, map entries and list elements of schema
// objects, under the names and kinds that they have in Nomad's API. Internal to runtime/query.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>
#include <capnp/dynamic.h>

#include "runtime/base/result.hpp"
#include "runtime/object/flat_struct.hpp"
#include "runtime/object/plan.hpp"
#include "runtime/query/filter.hpp"

namespace nomad::query {

/// One value, or the lack of one.
struct Value {
  enum class Kind : std::uint8_t {
    none,  ///< A null pointer.
    boolean,
    signed_number,
    unsigned_number,
    real,
    text,
    object,
    list,
    map,
    opaque,  ///< Something that can only be empty or not: bytes, times.
    root,    ///< The filtered object itself.
  };

  Kind kind = Kind::none;
  bool boolean = false;
  std::int64_t signed_number = 0;
  std::uint64_t unsigned_number = 0;  ///< Also the size of something opaque.
  double real = 0;
  std::string_view text;
  std::optional<capnp::DynamicStruct::Reader> object;
  std::optional<capnp::DynamicList::Reader> list;  ///< Of a map: its entries.
  const object::ValuePlan* plan = nullptr;         ///< Of a list or map.
  bool is_raw = false;                             ///< JSON that nobody has read yet: `text`.
  const boost::json::value* json = nullptr;        ///< A list or map in such JSON.

  std::size_t size() const;  ///< Of texts, lists, maps, opaque ones.
  bool has_size() const;

  /// Go's name of the kind, for messages.
  std::string_view kind_name() const;

  Value element(unsigned index) const;                     ///< Of a list.
  std::string_view key(unsigned index) const;              ///< Of a map.
  std::optional<Value> entry(std::string_view key) const;  ///< Of a map.
};

/// Texts of JSON in one row, each read once, when something in it is asked for.
class RawTexts {
public:
  /// What the text says; as it is if that is no JSON. Its bytes are paid for with `work`.
  Result<Value> read(const Value& raw, Work& work);

private:
  std::map<const char*, boost::json::value> read_;
};

/// The filtered row: its own fields and named objects beside them.
struct Row {
  capnp::DynamicStruct::Reader object;
  std::span<const Filter::Extra> extras;
  object::FlatStruct fields;  ///< The same as `object`, if there is a `plan`.
  const object::StructPlan* plan = nullptr;
};

/// Sets `value` to a text, an enumerated name, a whole number or a boolean that is the row's own
/// field; false if the path is of anything else, which `find_value` looks for.
bool read_plain(const Row& row, std::span<const std::string> path, Value& value);

/// Follows `path`. Nothing when only the last step is missing and it was the key of a map; other
/// missing steps are errors: `error finding value in datum: /Foo at part 0: …`.
Result<std::optional<Value>> find_value(const Row& row,
                                        std::span<const std::string> path,
                                        RawTexts& raw,
                                        Work& work);

}  // namespace nomad::query
