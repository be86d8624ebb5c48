// The name of a schema field in JSON with its hash, by which plans find fields.
#pragma once

#include <cstdint>
#include <string_view>

namespace nomad::object {

/// A hash that does not tell upper case from lower case: ASCII letters differ in one bit, and what
/// else differs in that bit only collides.
constexpr std::uint32_t fold_hash(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name)
    hash = (hash ^ (static_cast<std::uint8_t>(c) | 0x20U)) * 16777619U;
  return hash ^ (hash >> 15U);
}

struct FieldPlan;

/// What code calls a field: by a literal, which the compiler hashes, or by its plan.
struct FieldName {
  std::uint32_t hash = 0;
  const FieldPlan* known = nullptr;

  consteval FieldName(const char* literal) : hash{fold_hash(literal)} {}

  constexpr FieldName(const FieldPlan& field) : known{&field} {}
};

}  // namespace nomad::object
