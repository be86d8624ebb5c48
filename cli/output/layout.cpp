#include "cli/output/layout.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/output/terminal_text.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::cli {
namespace {

bool color_on = false;

/// Characters, not bytes: columns must line up for names outside ASCII as well.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// A value of several lines: none of them can be taken for a key's.
std::string indented(std::string_view value, std::size_t column) {
  std::string out;
  for (const auto line : split(value, '\n')) {
    if (!out.empty()) out += '\n' + std::string(column, ' ');
    out += one_line(line);
  }
  return out;
}

}  // namespace

std::string table(const Rows& rows) {
  std::vector<std::size_t> widths;
  Rows shown = rows;
  for (auto& row : shown) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = row[i].empty() ? "<none>" : one_line(row[i]);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string text;
  for (std::size_t line = 0; line < shown.size(); ++line) {
    if (line != 0) text += '\n';
    for (std::size_t i = 0; i < shown[line].size(); ++i) {
      const std::string& cell = shown[line][i];
      text += cell;
      if (i + 1 < shown[line].size()) text.append(widths[i] - width_of(cell) + 2, ' ');
    }
  }
  return text;
}

namespace {

std::string laid_out(const Pairs& rows, std::string (*show)(std::string_view, std::size_t column)) {
  std::size_t width = 0;
  for (const auto& [key, value] : rows)
    width = std::max(width, width_of(one_line(key)));
  std::string text;
  for (const auto& [key, value] : rows) {
    if (!text.empty()) text += '\n';
    const auto shown = one_line(key);
    text += shown + std::string(width - width_of(shown), ' ') + " = "
            + (value.empty() ? "<none>" : show(value, width + 3));
  }
  return text;
}

}  // namespace

std::string pairs(const Pairs& rows) {
  return laid_out(rows, [](std::string_view value, std::size_t) { return one_line(value); });
}

std::string pairs_of_lines(const Pairs& rows) {
  return laid_out(rows, indented);
}

std::string title(std::string_view text) {
  const auto shown = one_line(text);
  return color_on ? fmt::format("\033[1m{}\033[0m", shown) : shown;
}

void print_section(std::string_view name, const std::string& body) {
  std::cout << '\n' << title(name) << '\n' << body << '\n';
}

bool takes_color(int descriptor) {
  const auto value = [](const char* name) {
    const char* set = std::getenv(name);
    return std::string_view{set == nullptr ? "" : set};
  };
  return isatty(descriptor) == 1 && value("NO_COLOR").empty() && value("TERM") != "dumb";
}

std::string colored(std::string_view text, std::string_view color) {
  const auto shown = escape_controls(text);
  if (!color_on) return shown;
  const auto code = color == "red" ? 31 : color == "green" ? 32 : color == "yellow" ? 33 : 34;
  return fmt::format("\033[{}m{}\033[0m", code, shown);
}

void set_color(bool on) {
  color_on = on;
}

bool color_enabled() {
  return color_on;
}

std::string shown_id(const std::string& id, bool verbose) {
  return verbose ? id : id.substr(0, 8);
}

std::string short_duration(std::int64_t nanoseconds) {
  using namespace std::chrono;
  auto seconds_left = nanoseconds / 1'000'000'000;
  if (seconds_left <= 0) return "0s";
  constexpr std::pair<std::int64_t, char> units[]
      = {{365 * 86'400, 'y'}, {30 * 86'400, 'o'}, {86'400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
  std::string text;
  int shown = 0;
  for (const auto& [size, letter] : units) {
    const auto count = seconds_left / size;
    seconds_left %= size;
    if (count == 0 && shown == 0) continue;
    if (count != 0)
      text += letter == 'o' ? fmt::format("{}mo", count) : fmt::format("{}{}", count, letter);
    if (++shown == 2) break;
  }
  return text;
}

std::string age(std::int64_t unix_nanoseconds) {
  if (unix_nanoseconds == 0) return "<none>";
  return short_duration(unix_now() - unix_nanoseconds) + " ago";
}

std::string until(std::int64_t unix_nanoseconds) {
  constexpr std::int64_t second = 1'000'000'000;
  const auto seconds = unix_nanoseconds / second - unix_now() / second;
  return format_duration(Nanoseconds{seconds * second}) + " from now";
}

std::string clock_time(std::int64_t unix_nanoseconds, std::int64_t offset) {
  const std::time_t seconds = unix_nanoseconds / 1'000'000'000 + offset;
  std::tm there{};
  gmtime_r(&seconds, &there);
  std::string out(sizeof "2026-01-02T03:04:05", '\0');
  out.resize(std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S", &there));
  const std::int64_t minutes = std::abs(offset) / 60;
  return offset == 0 ? out + 'Z'
                     : fmt::format("{}{}{:02}:{:02}", out, offset < 0 ? '-' : '+', minutes / 60,
                                   minutes % 60);
}

std::string clock_time(std::int64_t unix_nanoseconds) {
  if (unix_nanoseconds == 0) return "N/A";
  const std::time_t seconds = unix_nanoseconds / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  return clock_time(unix_nanoseconds, local.tm_gmtoff);
}

std::string clock_time(const View& rfc3339) {
  auto instant = parse_rfc3339(rfc3339.text());
  return clock_time(instant ? *instant : 0);
}

std::string clock_now() {
  return clock_time(unix_now());
}

std::string bytes(std::uint64_t count) {
  if (count < 10) return fmt::format("{} B", count);
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(count);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(units)) {
    amount /= 1024;
    ++unit;
  }
  const double rounded = static_cast<double>(static_cast<std::int64_t>(amount * 10 + 0.5)) / 10;
  if (unit == 0 || rounded >= 10) return fmt::format("{:.0f} {}", amount, units[unit]);
  return fmt::format("{:.1f} {}", rounded, units[unit]);
}

std::string json_text(const boost::json::value& value) {
  auto text = net::pretty_json(boost::json::serialize(value));
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

void print_json(const boost::json::value& value) {
  const RawOutput raw;
  std::cout << net::pretty_json(boost::json::serialize(value));
}

}  // namespace nomad::cli
