#include "runtime/base/duration.hpp"

#include <array>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::array units{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\u00b5s", 1'000},
    Unit{"\u03bcs", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

/// Quoted as Go's time package quotes what it could not read: byte by byte.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 0x80)
      out += fmt::format("\\x{:02x}", byte);
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else
      out += c;
  }
  return out + "\"";
}

Error duration_error(std::string_view problem, std::string_view text) {
  return {Errc::invalid_argument, fmt::format("time: {} {}", problem, in_quotes(text))};
}

/// The unsigned part of a duration, in nanoseconds; at most 2^63.
Result<std::uint64_t> parse_magnitude(std::string_view rest, std::string_view whole) {
  constexpr std::uint64_t most = std::uint64_t{1} << 63;
  std::uint64_t total = 0;
  while (!rest.empty()) {
    std::uint64_t number = 0;
    std::size_t used = 0;
    for (; used < rest.size() && is_digit(rest[used]); ++used) {
      if (number > most / 10) return duration_error("invalid duration", whole);
      number = number * 10 + static_cast<std::uint64_t>(rest[used] - '0');
    }
    bool has_digits = used > 0;
    rest.remove_prefix(used);
    double fraction = 0;
    if (!rest.empty() && rest[0] == '.') {
      double scale = 0.1;
      for (used = 1; used < rest.size() && is_digit(rest[used]); ++used, scale /= 10) {
        fraction += scale * (rest[used] - '0');
        has_digits = true;
      }
      rest.remove_prefix(used);
    }
    if (!has_digits) return duration_error("invalid duration", whole);
    used = 0;
    while (used < rest.size() && rest[used] != '.' && !is_digit(rest[used]))
      ++used;
    const auto name = rest.substr(0, used);
    if (name.empty()) return duration_error("missing unit in duration", whole);
    rest.remove_prefix(used);
    const Unit* unit = nullptr;
    for (const auto& known : units)
      if (known.name == name) unit = &known;
    if (unit == nullptr)
      return Error{Errc::invalid_argument, fmt::format("time: unknown unit {} in duration {}",
                                                       in_quotes(name), in_quotes(whole))};
    if (number > most / unit->nanoseconds) return duration_error("invalid duration", whole);
    total += number * unit->nanoseconds
             + static_cast<std::uint64_t>(fraction * static_cast<double>(unit->nanoseconds) + 0.5);
    if (total > most) return duration_error("invalid duration", whole);
  }
  return total;
}

}  // namespace

Result<Nanoseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Nanoseconds{0};
  if (rest.empty()) return duration_error("invalid duration", text);
  auto magnitude = NOMAD_TRY(parse_magnitude(rest, text));
  if (negative) return Nanoseconds{static_cast<std::int64_t>(-magnitude)};
  if (magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return duration_error("invalid duration", text);
  return Nanoseconds{static_cast<std::int64_t>(magnitude)};
}

std::string format_duration(Nanoseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  const bool negative = count < 0;
  std::uint64_t left
      = negative ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  const auto fixed = [](std::uint64_t amount, std::uint64_t unit) {
    auto text = std::to_string(amount / unit);
    if (const auto rest = amount % unit; rest != 0) {
      auto digits = std::to_string(unit + rest).substr(1);
      while (digits.back() == '0')
        digits.pop_back();
      text += '.' + digits;
    }
    return text;
  };
  std::string text;
  if (left < 1'000) {
    text = std::to_string(left) + "ns";
  } else if (left < 1'000'000) {
    text = fixed(left, 1'000) + "\u00b5s";
  } else if (left < 1'000'000'000) {
    text = fixed(left, 1'000'000) + "ms";
  } else {
    const auto seconds = left / 1'000'000'000;
    if (seconds >= 3600) text += std::to_string(seconds / 3600) + 'h';
    if (seconds >= 60) text += std::to_string(seconds / 60 % 60) + 'm';
    text += fixed(left % 60'000'000'000, 1'000'000'000) + 's';
  }
  return negative ? '-' + text : text;
}

std::string format_rfc3339(std::int64_t unix_nanoseconds) {
  using namespace std::chrono;
  if (unix_nanoseconds == 0) return "0001-01-01T00:00:00Z";
  const sys_time<nanoseconds> point{nanoseconds{unix_nanoseconds}};
  const auto day = floor<days>(point);
  const year_month_day date{day};
  const hh_mm_ss<nanoseconds> time{point - day};
  auto text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                          static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                          time.hours().count(), time.minutes().count(), time.seconds().count());
  if (const auto fraction = time.subseconds().count(); fraction != 0) {
    auto digits = fmt::format("{:09}", fraction);
    while (digits.back() == '0')
      digits.pop_back();
    text += '.' + digits;
  }
  return text + 'Z';
}

namespace {

/// Takes exactly `count` digits off the front of `text`; -1 when they are not there.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return -1;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return number;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text[0] != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::int64_t take_fraction(std::string_view& text) {
  std::int64_t nanoseconds = 0;
  std::int64_t scale = 100'000'000;
  while (!text.empty() && is_digit(text[0])) {
    nanoseconds += scale * (text[0] - '0');
    scale /= 10;
    text.remove_prefix(1);
  }
  return nanoseconds;
}

}  // namespace

Result<std::int64_t> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  const Error malformed{Errc::invalid_argument,
                        fmt::format("parsing time \"{}\": not in the form of RFC 3339", text)};
  std::string_view rest = text;
  const int y = take_digits(rest, 4);
  const bool first_dash = take(rest, '-');
  const int m = take_digits(rest, 2);
  const bool second_dash = take(rest, '-');
  const int d = take_digits(rest, 2);
  const bool separator = take(rest, 'T') || take(rest, 't');
  const int hour = take_digits(rest, 2);
  const bool first_colon = take(rest, ':');
  const int minute = take_digits(rest, 2);
  const bool second_colon = take(rest, ':');
  const int second = take_digits(rest, 2);
  if (y < 0 || m < 0 || d < 0 || hour < 0 || minute < 0 || second < 0 || !first_dash || !second_dash
      || !separator || !first_colon || !second_colon)
    return malformed;
  const std::int64_t fraction = take(rest, '.') ? take_fraction(rest) : 0;
  std::int64_t offset_minutes = 0;
  if (!take(rest, 'Z') && !take(rest, 'z')) {
    const bool west = !rest.empty() && rest[0] == '-';
    if (!take(rest, '+') && !take(rest, '-')) return malformed;
    const int hours = take_digits(rest, 2);
    const bool colon = take(rest, ':');
    const int minutes = take_digits(rest, 2);
    if (hours < 0 || minutes < 0 || !colon) return malformed;
    offset_minutes = (west ? -1 : 1) * (hours * 60 + minutes);
  }
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)},
                            day{static_cast<unsigned>(d)}};
  if (!rest.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60) return malformed;
  if (y == 1 && m == 1 && d == 1) return std::int64_t{0};  // Go's zero time
  if (y < 1678 || y > 2261) return malformed;              // outside of 64-bit nanoseconds
  const auto whole = sys_days{date}.time_since_epoch() + hours{hour} + minutes{minute}
                     + seconds{second} - minutes{offset_minutes};
  return duration_cast<nanoseconds>(whole).count() + fraction;
}

}  // namespace nomad
