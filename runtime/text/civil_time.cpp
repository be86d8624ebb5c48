#include "runtime/text/civil_time.hpp"

#include <algorithm>
#include <chrono>

#include "runtime/base/text.hpp"

namespace nomad {

namespace {

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

std::chrono::year_month_day date_of(const CivilTime& time) {
  return std::chrono::year{static_cast<int>(time.year)} / time.month / time.day;
}

std::chrono::sys_days day_of(const CivilTime& time) {
  return date_of(time);
}

CivilTime civil_of(std::chrono::sys_seconds at, std::int64_t nanosecond, int offset) {
  using namespace std::chrono;
  const auto start = floor<days>(at);
  const year_month_day date{start};
  const hh_mm_ss time{at - start};
  return {.year = static_cast<int>(date.year()),
          .month = static_cast<int>(static_cast<unsigned>(date.month())),
          .day = static_cast<int>(static_cast<unsigned>(date.day())),
          .hour = static_cast<int>(time.hours().count()),
          .minute = static_cast<int>(time.minutes().count()),
          .second = static_cast<int>(time.seconds().count()),
          .nanosecond = static_cast<int>(nanosecond),
          .offset = offset};
}

/// Takes parts off the front of a timestamp and remembers what did not fit.
class Reader {
public:
  explicit Reader(std::string_view text) : rest_{text} {}

  bool failed() const { return !error_.empty(); }

  const std::string& error() const { return error_; }

  std::string_view rest() const { return rest_; }

  bool literal(char c) {
    if (failed()) return false;
    if (rest_.starts_with(c)) {
      rest_.remove_prefix(1);
      return true;
    }
    const std::string wanted = quote(std::string{c});
    if (c == 'T')
      error_ = "missing required time introducer 'T'";
    else if (rest_.empty())
      error_ = "end of string where " + wanted + " is expected";
    else
      error_ = "found " + quote(rest_) + " where " + wanted + " is expected";
    return false;
  }

  bool at(char c) const { return rest_.starts_with(c); }

  /// Two digits, or one if `fixed` is false.
  int two(std::string_view name, int low, int high, bool fixed = true) {
    if (failed()) return low;
    const std::string_view hold = rest_;
    if (rest_.empty() || !is_digit(rest_[0])
        || (fixed && (rest_.size() < 2 || !is_digit(rest_[1])))) {
      misfit(name, hold);
      return low;
    }
    int value = rest_[0] - '0';
    const bool both = rest_.size() > 1 && is_digit(rest_[1]);
    if (both) value = value * 10 + (rest_[1] - '0');
    rest_.remove_prefix(both ? 2 : 1);
    if (value < low || value > high) misfit(name, rest_);
    return value;
  }

  std::int64_t year() {
    if (failed()) return 1;
    if (rest_.size() < 4 || !std::all_of(rest_.begin(), rest_.begin() + 4, is_digit)) {
      misfit("year", rest_);
      return 1;
    }
    std::int64_t value = 0;
    for (const char c : rest_.substr(0, 4))
      value = value * 10 + (c - '0');
    rest_.remove_prefix(4);
    return value;
  }

  int fraction() {
    if (failed() || rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || !is_digit(rest_[1]))
      return 0;
    int value = 0;
    int scale = static_cast<int>(nanoseconds_per_second);
    rest_.remove_prefix(1);
    while (!rest_.empty() && is_digit(rest_[0])) {
      scale /= 10;
      value += scale * (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  int offset() {
    if (failed()) return 0;
    if (rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      return 0;
    }
    const auto digit = [this](std::size_t i) { return is_digit(rest_[i]); };
    constexpr std::size_t size = 6;  // +hh:mm
    if (rest_.size() < size || (rest_[0] != '+' && rest_[0] != '-') || rest_[3] != ':' || !digit(1)
        || !digit(2) || !digit(4) || !digit(5)) {
      misfit("UTC offset", rest_);
      return 0;
    }
    const auto number
        = [this](std::size_t i) { return (rest_[i] - '0') * 10 + (rest_[i + 1] - '0'); };
    const int seconds = (number(1) * 60 + number(4)) * 60;
    if (number(1) > 24 || number(4) > 60) misfit("UTC offset", rest_.substr(size));
    const bool west = rest_[0] == '-';
    rest_.remove_prefix(size);
    return west ? -seconds : seconds;
  }

  void fail(std::string message) {
    if (!failed()) error_ = std::move(message);
  }

private:
  void misfit(std::string_view name, std::string_view hold) {
    error_ = hold.empty() ? "end of string before " + std::string{name}
                          : "cannot use " + quote(hold) + " as " + std::string{name};
  }

  std::string_view rest_;
  std::string error_;
};

}  // namespace

std::string padded(std::int64_t value, std::size_t width, char fill) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  if (digits.size() < width) digits.insert(0, width - digits.size(), fill);
  return (value < 0 ? "-" : "") + digits;
}

CivilTime CivilTime::of_unix(std::int64_t unix_nanoseconds) {
  return CivilTime{.year = 1970}.plus(unix_nanoseconds);
}

bool CivilTime::is_valid() const {
  return date_of(*this).ok() && hour < 24 && minute < 60 && second < 60;
}

int CivilTime::weekday() const {
  return static_cast<int>(std::chrono::weekday{day_of(*this)}.c_encoding());
}

int CivilTime::year_day() const {
  const std::chrono::sys_days first{date_of(*this).year() / std::chrono::January / 1};
  return static_cast<int>((day_of(*this) - first).count()) + 1;
}

std::int64_t CivilTime::seconds_since_1970() const {
  return ((day_of(*this).time_since_epoch().count() * std::int64_t{24} + hour) * 60 + minute) * 60
         + second;
}

CivilTime CivilTime::plus(std::int64_t nanoseconds) const {
  using namespace std::chrono;
  const std::chrono::nanoseconds rest{nanosecond + nanoseconds % nanoseconds_per_second};
  const auto carried = floor<seconds>(rest);
  return civil_of(
      sys_seconds{seconds{seconds_since_1970() + nanoseconds / nanoseconds_per_second}} + carried,
      (rest - carried).count(), offset);
}

std::string CivilTime::to_rfc3339() const {
  std::string zone = "Z";
  if (offset != 0) {
    const int minutes = std::abs(offset) / 60;
    zone = std::string{offset < 0 ? '-' : '+'} + padded(minutes / 60, 2) + ":"
           + padded(minutes % 60, 2);
  }
  return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T" + padded(hour, 2)
         + ":" + padded(minute, 2) + ":" + padded(second, 2) + zone;
}

Result<CivilTime> parse_timestamp(std::string_view text) {
  constexpr const char* prefix = "not a valid RFC3339 timestamp: ";
  constexpr int any = 99;
  Reader reader{text};
  CivilTime out;
  out.year = reader.year();
  reader.literal('-');
  out.month = reader.two("month", 1, 12);
  reader.literal('-');
  out.day = reader.two("day of month", 0, any);
  reader.literal('T');
  out.hour = reader.two("hour", 0, 23, false);
  reader.literal(':');
  out.minute = reader.two("minute", 0, 59);
  reader.literal(':');
  out.second = reader.two("second", 0, 59);
  out.nanosecond = reader.fraction();
  out.offset = reader.offset();
  if (!reader.failed() && !reader.rest().empty())
    reader.fail("cannot use " + quote(reader.rest()) + " as timestamp segment");
  if (!reader.failed() && !date_of(out).ok()) reader.fail("day out of range");
  if (reader.failed()) return Error{Errc::invalid_argument, prefix + reader.error()};
  return out;
}

std::optional<CivilTime> parse_yaml_timestamp(std::string_view text) {
  constexpr std::size_t year_digits = 4;
  if (text.size() <= year_digits || !std::all_of(text.begin(), text.begin() + year_digits, is_digit)
      || text[year_digits] != '-')
    return std::nullopt;
  Reader reader{text};
  CivilTime out;
  out.year = reader.year();
  reader.literal('-');
  out.month = reader.two("month", 1, 12, false);
  reader.literal('-');
  out.day = reader.two("day", 1, 31, false);
  if (!reader.failed() && !reader.rest().empty()) {
    const bool zoned = !reader.at(' ');
    reader.literal(reader.at('T') ? 'T' : reader.at('t') ? 't' : ' ');
    out.hour = reader.two("hour", 0, 23, false);
    reader.literal(':');
    out.minute = reader.two("minute", 0, 59, false);
    reader.literal(':');
    out.second = reader.two("second", 0, 59, false);
    out.nanosecond = reader.fraction();
    if (zoned) out.offset = reader.offset();
  }
  if (reader.failed() || !reader.rest().empty() || !date_of(out).ok()) return std::nullopt;
  return out;
}

}  // namespace nomad
