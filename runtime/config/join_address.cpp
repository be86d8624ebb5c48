#include "runtime/config/join_address.hpp"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::config {
namespace {

std::optional<std::string_view> port_in(std::string_view name) {
  const auto colon = name.rfind(':');
  if (colon == std::string_view::npos || name.ends_with(']')) return std::nullopt;
  if (name.find(':') != colon && !name.starts_with('[')) return std::nullopt;
  return name.substr(colon + 1);
}

}  // namespace

std::string join_address(const std::string& name, std::int64_t port) {
  if (port_in(name)) return name;
  const bool needs_brackets = name.find(':') != std::string::npos && !name.starts_with('[');
  return fmt::format("{}{}{}:{}", needs_brackets ? "[" : "", name, needs_brackets ? "]" : "", port);
}

void add_names(std::vector<std::string>& list, const std::vector<std::string>& given) {
  for (const std::string& several : given)
    for (const std::string_view one : split(several, ','))
      if (const auto name = trim(one); !name.empty()) list.emplace_back(name);
}

bool has_good_port(const std::string& name) {
  const auto text = port_in(name);
  if (!text) return true;
  const auto port = whole_number<int>(*text);
  return port && *port >= 1 && *port <= 65'535;
}

}  // namespace nomad::config
