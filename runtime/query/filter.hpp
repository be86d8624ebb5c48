// Filter: a filter expression (http-api conventions: `?filter=`), compiled once and asked of many
// rows. Selectors use the API's field names, with case; secret and hidden fields do not exist.
//
// Thread-safe after `compile`: no state changes while matching.
// May depend on: runtime/base, runtime/object.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include <capnp/dynamic.h>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"
#include "runtime/object/flat_struct.hpp"
#include "runtime/object/plan.hpp"

namespace nomad::query {

class Filter {
public:
  /// Compiles a non-empty expression. The error is `invalid_argument` with go-bexpr's text:
  /// `1:5 (4): no match found, expected: …`.
  static Result<Filter> compile(std::string_view text);

  /// The same for who applies an entry of the log: without bounds, for all servers have to find the
  /// same, whatever bounds their releases know. Who decided the entry has kept to them.
  static Result<Filter> compile_decided(std::string_view text);

  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  /// Whether all its patterns are any. One that is none is told by `matches` alone, of rows that it
  /// is asked of, as go-bexpr has it.
  Result<> check_patterns() const;

  /// An object that the row refers to and the API shows as one of its fields ("Job").
  struct Extra {
    std::string_view name;
    capnp::DynamicStruct::Reader object;
  };

  /// Work for who applies an entry.
  static constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();
  /// What one row may take of a filter that is given no work.
  static constexpr std::uint64_t row_work = std::uint64_t{1} << 26U;

  /// Whether the row is wanted, which is paid for with `work`. Errors are about the expression and
  /// this row's fields: `error finding value in datum: /Foo at part 0: couldn't find key: struct
  /// field with name "Foo"`.
  Result<bool> matches(capnp::DynamicStruct::Reader row,
                       std::span<const Extra> extras,
                       Work& work) const;

  /// By `row_work`.
  Result<bool> matches(capnp::DynamicStruct::Reader row) const;

  /// The same of what lies in an Object, whose own texts and numbers are read from its memory:
  /// several times as fast. Not of an empty Object.
  template <class T>
  Result<bool> matches(const Object<T>& row, std::span<const Extra> extras, Work& work) const {
    return matches(row.reader(), object::flat_struct_of(row), object::plan_of<T>(), extras, work);
  }

private:
  Result<bool> matches(capnp::DynamicStruct::Reader row,
                       const object::FlatStruct& fields,
                       const object::StructPlan& plan,
                       std::span<const Extra> extras,
                       Work& work) const;

  struct Compiled;
  static Result<Filter> compile(std::string_view text, std::uint64_t most);
  explicit Filter(std::unique_ptr<const Compiled> compiled);

  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace nomad::query
