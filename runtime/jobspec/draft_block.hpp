// A block of a job's draft: reading and filling it by the names that its fields have in the API.
//
// A job is decoded into a Cap'n Proto draft that has room for more than is stored (JobDraft). A
// block is one struct in it. A field that was not given and one that was null are the same here,
// and read as zero; `has` tells them from a zero that was given. The generated builders work on the
// same memory but know nothing of that.
//
// A DraftBlock is a handle: copies mean the same struct, and it is valid as long as its draft. It
// may be none, and then reads as a block in which nothing was given; only reading is allowed then.
//
// Text that was read is valid until its field is set again. Names must be those of the schema: any
// other ends the process. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <capnp/list.h>

#include "runtime/object/raw_struct.hpp"

namespace nomad::jobspec {

using nomad::object::FieldName;

/// A duration as a job has it.
constexpr std::int64_t ns(std::chrono::nanoseconds duration) {
  return duration.count();
}

class DraftBlock;

/// The blocks of a list, or the entries of a map: blocks of "Key" and "Value".
class DraftBlocks {
public:
  DraftBlocks() = default;

  DraftBlocks(capnp::List<capnp::AnyStruct>::Builder list, const nomad::object::StructPlan& plan)
      : list_{list}, plan_{&plan}, size_{list.size()} {}

  unsigned size() const { return size_; }

  bool empty() const { return size_ == 0; }

  DraftBlock operator[](unsigned index) const;
  DraftBlock front() const;

  struct Iterator {
    const DraftBlocks* of;
    unsigned index;

    DraftBlock operator*() const;

    Iterator& operator++() {
      ++index;
      return *this;
    }

    bool operator==(const Iterator& other) const { return index == other.index; }
  };

  Iterator begin() const { return {this, 0}; }

  Iterator end() const { return {this, size_}; }

private:
  capnp::List<capnp::AnyStruct>::Builder list_{nullptr};
  const nomad::object::StructPlan* plan_ = nullptr;
  unsigned size_ = 0;
};

class DraftBlock {
public:
  using Texts = capnp::List<capnp::Text>::Reader;
  using TextEntries = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// None.
  DraftBlock() = default;

  DraftBlock(capnp::AnyStruct::Builder any, const nomad::object::StructPlan& plan)
      : raw_{{any, plan}} {}

  explicit operator bool() const { return raw_.has_value(); }

  // Reading ---------------------------------------------------------------------------------------

  /// Whether the field was given, and is not null.
  bool has(FieldName name) const { return given(name) != nullptr; }

  /// Whether it is missing, zero, false or "". Of single values.
  bool is_zero(FieldName name) const;
  /// Whether all of its fields are. Of a block of single values.
  bool is_zero() const;

  std::string_view text(FieldName name) const;
  std::int64_t number(FieldName name) const;
  bool flag(FieldName name) const;
  Texts texts(FieldName name) const;
  /// Bytes, which the API writes in base64.
  capnp::Data::Reader bytes(FieldName name) const;

  /// None when there is none.
  DraftBlock child(FieldName name) const;
  /// A list or a map.
  DraftBlocks list(FieldName name) const;
  /// What a map of texts holds under `key`.
  std::optional<std::string_view> entry(FieldName name, std::string_view key) const;

  template <class Visit>
  void each(FieldName name, Visit&& visit) const {
    for (DraftBlock element : list(name))
      visit(element);
  }

  // Filling ---------------------------------------------------------------------------------------

  void set(FieldName name, std::string_view value);

  void set(FieldName name, const char* value) { set(name, std::string_view{value}); }

  void set(FieldName name, std::int64_t value);

  void set(FieldName name, int value) { set(name, std::int64_t{value}); }

  void set(FieldName name, bool value) { set(name, std::int64_t{value}); }

  template <class T>
  void set_default(FieldName name, const T& value) {
    if (!has(name)) set(name, value);
  }

  /// The same where "" counts as missing.
  void set_default_text(FieldName name, std::string_view value) {
    if (text(name).empty()) set(name, value);
  }

  /// Makes it missing.
  void clear(FieldName name);
  /// Makes those missing that are an empty list, map or free content.
  void null_if_empty(std::initializer_list<FieldName> names);

  /// An empty block in place of what was there.
  DraftBlock init(FieldName name);
  /// What is there, or an empty block.
  DraftBlock child_or_new(FieldName name);
  /// An empty list or map, if there is none.
  void set_default_list(FieldName name);
  void set_texts(FieldName name, std::initializer_list<std::string_view> values);
  /// Fills a map of texts; `entries` are sorted by key.
  void set_entries(FieldName name, TextEntries entries);
  /// Adds a block to a list.
  DraftBlock append(FieldName name);

  /// Leaves out the elements for which `is_unwanted`. The list stays, if empty.
  template <class Predicate>
  void remove_if(FieldName name, Predicate&& is_unwanted) {
    std::vector<bool> wanted;
    for (const DraftBlock element : list(name))
      wanted.push_back(!is_unwanted(element));
    keep(name, wanted);
  }

  /// Takes over from `other`, a block of the same kind, what this one lacks.
  void fill_from(const DraftBlock& other);
  /// Moves what is behind one field to another, of the same kind, which is overwritten.
  void move(FieldName from, FieldName to);

  capnp::AnyStruct::Builder any() const { return raw_->any(); }

  /// For what the generated builders do better.
  template <class T>
  typename T::Builder as() {
    return raw_->any().template as<T>();
  }

private:
  /// The field, if it was given.
  const nomad::object::FieldPlan* given(FieldName name) const;
  void keep(FieldName name, const std::vector<bool>& wanted);

  std::optional<nomad::object::RawStruct> raw_;
};

inline DraftBlock DraftBlocks::operator[](unsigned index) const {
  auto list = list_;
  return {list[index], *plan_};
}

inline DraftBlock DraftBlocks::front() const {
  return (*this)[0];
}

inline DraftBlock DraftBlocks::Iterator::operator*() const {
  return (*of)[index];
}

}  // namespace nomad::jobspec
