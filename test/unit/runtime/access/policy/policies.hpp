// Policies for tests: read from texts, and sets of them as rights.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/access/policy/policy.hpp"

namespace nomad::access {

inline PolicyRef policy_of(std::string_view rules) {
  auto read = read_policy(rules);
  REQUIRE_MESSAGE(read.has_value(), read.error().what);
  return *std::move(read);
}

/// Named "p0", "p1", …
inline std::vector<NamedPolicy> named(const std::vector<std::string>& rules) {
  std::vector<NamedPolicy> out;
  for (const auto& text : rules)
    out.push_back({"p" + std::to_string(out.size()), 1, policy_of(text)});
  return out;
}

inline RightsRef rights_from(const std::vector<std::string>& rules,
                             const ImplicitRights* workload = nullptr) {
  return rights_of(named(rules), workload);
}

}  // namespace nomad::access
