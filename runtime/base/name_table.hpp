// Names of enumerators, by tables that list them from the first one on. The compiler checks that a
// table names each enumerator, and nothing else.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "runtime/base/text.hpp"

namespace nomad {
namespace detail {

/// Whether an enumerator has that value: the compiler spells one as "Enum::name", and another value
/// as "(Enum)7".
template <auto value>
consteval bool is_enumerator() {
  std::string_view spelled = __PRETTY_FUNCTION__;
  spelled.remove_suffix(1);  // "]"
  auto begin = spelled.size();
  while (is_alphanumeric(spelled[begin - 1]) || spelled[begin - 1] == '_')
    --begin;
  return !is_digit(spelled[begin]);
}

template <class Enum, std::size_t first, std::size_t... positions>
consteval bool are_all_enumerators(std::index_sequence<positions...>) {
  return (is_enumerator<static_cast<Enum>(first + positions)>() && ...)
         && !is_enumerator<static_cast<Enum>(first + sizeof...(positions))>();
}

}  // namespace detail

/// The name of the enumerator `value`, where `names` begins with that of number `first`; `unknown`
/// of a value beyond the table, which a newer release may have sent.
template <std::size_t first = 0, class Enum, std::size_t size>
constexpr std::string_view name_in(const std::string_view (&names)[size],
                                   Enum value,
                                   std::string_view unknown = "") {
  static_assert(detail::are_all_enumerators<Enum, first>(std::make_index_sequence<size>{}),
                "each enumerator has a name in the table, in their order, and there are no others");
  const auto position = static_cast<std::size_t>(value) - first;  // wraps around below the first
  return position < size ? names[position] : unknown;
}

}  // namespace nomad
