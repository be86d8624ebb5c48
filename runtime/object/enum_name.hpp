// The API's names of schema enumerants, looked up once per enum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <capnp/schema.h>

#include "runtime/object/plan.hpp"

namespace nomad {

/// "running", as the API calls `value`; "" for one that a newer release wrote.
template <class Enum>
std::string_view enum_name(Enum value) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    const auto schema = capnp::Schema::from<Enum>();
    for (const auto enumerant : schema.getEnumerants())
      all.emplace_back(object::json_name(enumerant));
    return all;
  }();
  const auto position = static_cast<std::size_t>(value);
  return position < names.size() ? std::string_view{names[position]} : std::string_view{};
}

}  // namespace nomad
