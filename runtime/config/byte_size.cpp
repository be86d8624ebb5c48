#include "runtime/config/byte_size.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::config {
namespace {

/// 0: no unit.
double unit_of(std::string_view name) {
  static constexpr std::pair<std::string_view, double> units[]
      = {{"", 1},     {"b", 1},         {"k", 1e3}, {"kb", 1e3}, {"kib", 1024},   {"m", 1e6},
         {"mb", 1e6}, {"mib", 1 << 20}, {"g", 1e9}, {"gb", 1e9}, {"gib", 1 << 30}};
  for (const auto& [unit, bytes] : units)
    if (unit == name) return bytes;
  return 0;
}

}  // namespace

Result<std::uint64_t> parse_byte_size(std::string_view text) {
  const auto trimmed = trim(text);
  double number = 0;
  const auto* end = trimmed.data() + trimmed.size();
  const auto [stopped, failure] = std::from_chars(trimmed.data(), end, number);
  const auto unit = failure == std::errc{} ? unit_of(to_lower(trim({stopped, end}))) : 0.0;
  const auto bytes = number * unit;
  if (unit == 0 || !(bytes >= 0) || bytes > 1e18)
    return Error{Errc::invalid_argument,
                 fmt::format("\"{}\" is no size: write a number and a unit, as in \"1M\", "
                             "\"512KiB\"",
                             text)};
  return static_cast<std::uint64_t>(bytes);
}

std::string show_byte_size(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::string_view unit = "kB";
  value /= 1000;
  for (const std::string_view next : {"MB", "GB"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  value = std::floor(value * 10 + 0.5) / 10;
  return value < 10 ? fmt::format("{:.1f} {}", value, unit) : fmt::format("{:.0f} {}", value, unit);
}

}  // namespace nomad::config
