// Violation: a property does not hold. And what all files of this folder need.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace nomad::properties {

inline constexpr std::int64_t second = 1'000'000'000;

struct Violation : std::runtime_error {
  Violation(std::string what_property, const std::string& text)
      : std::runtime_error{what_property + ": " + text}, property{std::move(what_property)} {}

  std::string property;
};

/// Of a list of rows' parts, which the standard algorithms do not take.
template <class List, class Predicate>
bool any(const List& list, Predicate holds) {
  for (const auto item : list)
    if (holds(item)) return true;
  return false;
}

inline void require(bool holds, const char* property, const std::string& text) {
  if (!holds) throw Violation{property, text};
}

}  // namespace nomad::properties
