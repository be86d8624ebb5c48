#include "runtime/scheduler/plan/port_set.hpp"

#include <string>

#include "runtime/base/whole_number.hpp"

namespace nomad::scheduler {
namespace {

std::optional<unsigned> parse_port(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return whole_number<unsigned>(text);
}

Error bad_range(std::string_view part) {
  return {Errc::invalid_argument, "invalid port range \"" + std::string{part} + "\""};
}

}  // namespace

Result<std::vector<Port>> parse_port_ranges(std::string_view text) {
  std::vector<Port> ports;
  if (text.find_first_not_of(' ') == std::string_view::npos) return ports;
  while (true) {
    const auto comma = text.find(',');
    const auto part = text.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = parse_port(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_port(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last > 65535) return bad_range(part);
    for (auto port = *first; port <= *last; ++port)
      ports.push_back(static_cast<Port>(port));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::ranges::sort(ports);
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

}  // namespace nomad::scheduler
