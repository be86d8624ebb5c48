#include "runtime/scheduler/port_set.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>

namespace nomad::scheduler {
namespace {

constexpr int random_draws = 20;

std::optional<unsigned> parse_port(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error bad_range(std::string_view part) {
  return {Errc::invalid_argument, "invalid port range \"" + std::string{part} + "\""};
}

}  // namespace

/// The lowest free port in [from, last].
std::optional<Port> PortSet::first_free(unsigned from, unsigned last) const {
  while (from <= last) {
    const auto free = ~words_[from / 64] >> (from % 64);
    if (free == 0) {
      from = (from / 64 + 1) * 64;
      continue;
    }
    const auto port = from + static_cast<unsigned>(std::countr_zero(free));
    if (port > last) return std::nullopt;
    return static_cast<Port>(port);
  }
  return std::nullopt;
}

std::optional<Port> PortSet::pick_free(Port first,
                                       Port last,
                                       const std::vector<Port>& also_used,
                                       Random& random) const {
  if (first > last) return std::nullopt;
  const std::uint64_t width = std::uint64_t{last} - first + 1;
  const auto is_free = [&](Port port) {
    return !contains(port) && std::ranges::find(also_used, port) == also_used.end();
  };
  for (int draw = 0; draw < random_draws; ++draw) {
    const auto port = static_cast<Port>(first + random.below(width));
    if (is_free(port)) return port;
  }
  const auto scan = [&](unsigned from, unsigned end) -> std::optional<Port> {
    while (const auto port = first_free(from, end)) {
      if (is_free(*port)) return port;
      from = *port + 1u;
    }
    return std::nullopt;
  };
  const auto start = static_cast<unsigned>(first + random.below(width));
  if (const auto port = scan(start, last)) return port;
  return start == first ? std::nullopt : scan(first, start - 1);
}

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
  ports.erase(std::ranges::unique(ports).begin(), ports.end());
  return ports;
}

}  // namespace nomad::scheduler
