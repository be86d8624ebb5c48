#include "runtime/state/tables.hpp"

#include "runtime/state/stored_tables.hpp"

namespace nomad::state {

std::string_view to_string(Table table) {
  std::string_view name;  // "": not stored
  visit_stored(table, [&name](const auto& stored) { name = stored.name; });
  return name;
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

bool is_client_terminal(schema::ClientStatus status) {
  using Is = schema::ClientStatus;
  return status == Is::COMPLETE || status == Is::FAILED || status == Is::LOST;
}

bool is_terminal(schema::EvalStatus status) {
  using Is = schema::EvalStatus;
  return status == Is::COMPLETE || status == Is::FAILED || status == Is::CANCELED;
}

bool is_active(schema::DeploymentState state) {
  using Is = schema::DeploymentState;
  return state != Is::SUCCESSFUL && state != Is::FAILED && state != Is::CANCELLED;
}

}  // namespace nomad::state
