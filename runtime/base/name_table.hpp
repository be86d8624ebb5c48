// Names of enumerators, by tables that list them from the first one on.
#pragma once

#include <cstddef>
#include <string_view>

namespace nomad {

/// The name of the enumerator `value`, whose number in `names` begins with `first`; `unknown` of
/// one beyond the table, which a newer release may have sent.
template <class Enum, std::size_t size>
constexpr std::string_view name_in(const std::string_view (&names)[size],
                                   Enum value,
                                   std::string_view unknown = "",
                                   std::size_t first = 0) {
  const auto place = static_cast<std::size_t>(value) - first;  // wraps around below the first
  return place < size ? names[place] : unknown;
}

}  // namespace nomad
