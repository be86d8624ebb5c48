// What Go's package fmt makes of values: Sprint, Sprintln and Sprintf with all its verbs and flags,
// and its marks for what does not fit ("%!d(string=x)", "%!s(MISSING)", "%!(EXTRA int=1)").
//
// Fails with `too_large` when the text gets longer than `limit` bytes or a value is nested deeper
// than `max_depth`. Pointers are printed as addresses in Go; here all have the address
// 0xc000000000, so that a template gives the same text each time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/value/value.hpp"

namespace nomad::templates {

/// The arguments as %v, with spaces between two that are no texts.
Result<std::string> print(std::span<const Value> arguments, std::size_t limit);

/// The arguments as %v with spaces between them and a line break behind.
Result<std::string> print_line(std::span<const Value> arguments, std::size_t limit);

Result<std::string> print_format(std::string_view format,
                                 std::span<const Value> arguments,
                                 std::size_t limit);

/// What an action writes: as %v, but of a pointer what it points to. "<no value>" for nil.
Result<std::string> print_value(const Value& value, std::size_t limit);

/// As %v, cut off where it gets too long: for messages.
std::string shown(const Value& value);

/// As %q, for messages.
std::string shown_quoted(const Value& value);

/// As %T: "string"; "<nil>" for nil.
std::string_view type_name(const Value& value);

}  // namespace nomad::templates
