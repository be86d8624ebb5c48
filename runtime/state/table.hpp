// Table: the names of what the state keeps, and how keys are put together: parts are joined by NUL
// ("namespace\0id"); numbers in keys are eight bytes, big endian, so that they sort.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::state {

using Index = std::uint64_t;

/// What is stored, and what can be watched: kinds/kind.hpp.
enum class Table : std::uint32_t;

/// The name of a stored table in snapshots: "jobs".
std::string_view to_string(Table table);

/// The stored table of that name.
std::optional<Table> stored_table(std::string_view name);

/// A key of parts: "namespace\0id".
std::string join_key(std::string_view first, std::string_view second);
std::string join_key(std::string_view first, std::string_view second, std::string_view third);

/// Eight bytes that sort like the number.
std::string number_key(std::uint64_t number);

}  // namespace nomad::state
