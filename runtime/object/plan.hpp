// The codec's plan of a schema struct: what each field is called, how it looks in JSON and where it
// stands in memory, worked out once per struct from the schema's annotations and then shared by all
// threads.
//
// There are two kinds. A plain plan is of the struct as it is stored. A *roomy* one is of drafts
// that requests are decoded into: behind the stored struct's words stand a word of marks that tell
// which scalars were given (pointers tell it themselves), and what only requests have. Cap'n Proto
// allows any struct to be longer than its schema, so that the generated builders work on them, too.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/dynamic.h>
#include <capnp/schema.h>

#include "runtime/object/field_name.hpp"

namespace nomad::object {

struct StructPlan;

/// How a field's value is written in JSON.
enum class Shape : std::uint8_t {
  boolean,
  signed_number,
  unsigned_number,
  real,
  text,
  secret_text,    ///< Read, but written as "".
  raw_json,       ///< Text that holds JSON.
  base64,         ///< Data.
  timestamp,      ///< Int64 nanoseconds as RFC 3339; 0 is null.
  duration,       ///< Int64 nanoseconds that may be read from text too.
  duration_text,  ///< The same, written as text; "" for 0.
  enumeration,
  object,  ///< A struct.
  list,
  map,       ///< A list of {key, value}.
  optional,  ///< A named union of `unset` and `value`.
};

/// What a value of some type needs: its shape, and the plans below it.
struct ValuePlan {
  Shape shape = Shape::boolean;
  capnp::Type type;
  const StructPlan* fields = nullptr;  ///< object, map (of the entry), optional (of the group).
  const ValuePlan* element = nullptr;  ///< list: its elements; map, optional: the value.
  /// enumeration: what JSON calls its values, by their numbers.
  const std::vector<std::string_view>* names = nullptr;
};

/// Where a value stands in its struct: a scalar in the data section, all else behind a pointer.
struct Slot {
  std::uint32_t offset = 0;  ///< Of a scalar in multiples of its size, of a pointer its index.
  std::uint8_t bits = 0;     ///< Of a scalar; 0 of a pointer.
  bool is_signed = false;

  bool is_pointer() const { return bits == 0; }
};

struct FieldPlan {
  capnp::StructSchema::Field field;
  std::string name;         ///< In JSON.
  std::string quoted_name;  ///< `,"Name":` and room behind it (JsonPieces::add_fixed).
  std::string go_type;      ///< As Go's decoder calls it.
  ValuePlan value;
  Slot slot;
  Slot tag;                   ///< Of an optional: where `given` stands when there is a value.
  std::uint16_t given = 0;    ///< See `tag`.
  std::uint64_t mark = 0;     ///< Its bit in the marks of a roomy struct; 0: it has none.
  bool is_extension = false;  ///< What only requests have.
  bool hidden = false;
  bool omit_empty = false;
  bool always = false;
  bool is_bookkeeping = false;
};

struct StructPlan {
  /// No struct of ours has more fields.
  static constexpr std::size_t most_fields = 128;

  capnp::StructSchema schema;
  std::string name;                     ///< As Go's decoder calls the struct.
  std::vector<FieldPlan> fields;        ///< Sorted by JSON name, as the API writes them.
  std::vector<std::uint16_t> pointers;  ///< Places in `fields` of those that can be malformed.
  std::uint16_t data_words = 0;         ///< Of a new struct.
  std::uint16_t pointer_count = 0;
  std::uint16_t stored_data_words = 0;  ///< Of these, those that are stored.
  std::uint16_t stored_pointer_count = 0;
  bool has_marks = false;  ///< In the word behind the stored ones.
  /// What is behind each stored pointer, in their order; null: text that is stored as it is.
  std::vector<const ValuePlan*> behind_pointers;

  /// The field that JSON calls `name`, whatever its case. Null when there is none.
  const FieldPlan* find(std::string_view name) const;

  /// The field of exactly this name. Ends the process if there is none: code and schema differ.
  const FieldPlan& at(FieldName name) const;

  /// Called once `fields` are complete.
  void index();

private:
  struct Entry {
    std::uint32_t hash = 0;
    std::uint32_t position = 0;  ///< In `fields`, and one; 0: none.
  };

  std::vector<Entry> table_;  ///< By hash, with open addressing. No two fields have the same hash.
};

/// A field that only requests have, or that they write in another form than it is stored in.
struct Extension {
  std::uint64_t owner = 0;  ///< The id of the struct's schema.
  std::string_view name;    ///< In JSON; the stored field of that name can't be given then.
  capnp::Type type;
};

/// Makes and keeps plans. Schemas do not recurse, so neither do plans without end. Not thread-safe
/// while plans are made.
class Planner {
public:
  /// Plain plans.
  Planner() = default;

  /// Roomy ones.
  explicit Planner(std::vector<Extension> extensions)
      : extensions_{std::move(extensions)}, is_roomy_{true} {}

  Planner(const Planner&) = delete;

  const StructPlan& plan(capnp::StructSchema schema);

private:
  void fill(StructPlan& plan, capnp::StructSchema schema);
  void extend(StructPlan& plan);
  void make_room(StructPlan& plan);
  ValuePlan value_plan(capnp::Type type, capnp::schema::Field::Reader proto);
  ValuePlan plain_plan(capnp::Type type);
  ValuePlan map_plan(capnp::Type type);
  ValuePlan optional_plan(capnp::Type type, capnp::schema::Field::Reader proto);

  std::map<std::uint64_t, std::unique_ptr<StructPlan>> structs_;
  std::deque<ValuePlan> values_;  // stay where they are
  std::deque<std::vector<std::string_view>> names_;
  std::vector<Extension> extensions_;
  bool is_roomy_ = false;
};

/// The plain plan of `schema`, for the life of the process. Thread-safe.
const StructPlan& plan_of(capnp::StructSchema schema);

template <class T>
const StructPlan& plan_of() {
  static const auto& plan = plan_of(capnp::Schema::from<T>());
  return plan;
}

/// What JSON calls an enumerant.
std::string_view json_name(capnp::EnumSchema::Enumerant enumerant);

}  // namespace nomad::object
