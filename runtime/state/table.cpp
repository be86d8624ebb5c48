#include "runtime/state/table.hpp"

#include "runtime/state/kinds/kinds.hpp"

namespace nomad::state {

std::string_view to_string(Table table) {
  std::string_view name;  // "": not stored
  visit_kind(table, [&name]<class Kind>() { name = Kind::name; });
  return name;
}

std::optional<Table> stored_table(std::string_view name) {
  for (std::uint32_t i = 0; i < stored_tables; ++i)
    if (to_string(static_cast<Table>(i)) == name) return static_cast<Table>(i);
  return std::nullopt;
}

std::string join_key(std::string_view first, std::string_view second) {
  std::string key;
  key.reserve(first.size() + 1 + second.size());
  key.append(first).push_back('\0');
  key.append(second);
  return key;
}

std::string join_key(std::string_view first, std::string_view second, std::string_view third) {
  std::string key;
  key.reserve(first.size() + second.size() + third.size() + 2);
  key.append(first).push_back('\0');
  key.append(second).push_back('\0');
  key.append(third);
  return key;
}

std::string number_key(std::uint64_t number) {
  std::string key(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8)
    key[static_cast<std::size_t>(i)] = static_cast<char>(number & 0xff);
  return key;
}

}  // namespace nomad::state
