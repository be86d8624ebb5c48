#include "runtime/template/functions/time_value.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/text/civil_time.hpp"

namespace nomad::templates {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// What a layout can ask for.
enum class Part : std::uint8_t {
  literal,
  year,
  short_year,
  month,
  month_name,
  short_month,
  zero_month,
  day,
  space_day,
  zero_day,
  year_day,
  week_day,
  short_week_day,
  hour,
  hour12,
  zero_hour12,
  minute,
  zero_minute,
  second,
  zero_second,
  upper_noon,
  lower_noon,
  zone_name,
  zone_z,       ///< "Z07:00" and its like: Z for UTC.
  zone_offset,  ///< "-0700" and its like.
  fraction,
};

struct Element {
  Part part;
  std::string_view text;
};

/// The longest words first, as Go takes them.
constexpr std::array<std::pair<std::string_view, Part>, 33> words{{
    {"January", Part::month_name},
    {"Jan", Part::short_month},
    {"Monday", Part::week_day},
    {"Mon", Part::short_week_day},
    {"MST", Part::zone_name},
    {"2006", Part::year},
    {"__2", Part::year_day},
    {"002", Part::year_day},
    {"_2", Part::space_day},
    {"Z07:00:00", Part::zone_z},
    {"Z070000", Part::zone_z},
    {"Z07:00", Part::zone_z},
    {"Z0700", Part::zone_z},
    {"Z07", Part::zone_z},
    {"-07:00:00", Part::zone_offset},
    {"-070000", Part::zone_offset},
    {"-07:00", Part::zone_offset},
    {"-0700", Part::zone_offset},
    {"-07", Part::zone_offset},
    {"01", Part::zero_month},
    {"02", Part::zero_day},
    {"03", Part::zero_hour12},
    {"04", Part::zero_minute},
    {"05", Part::zero_second},
    {"06", Part::short_year},
    {"15", Part::hour},
    {"PM", Part::upper_noon},
    {"pm", Part::lower_noon},
    {"1", Part::month},
    {"2", Part::day},
    {"3", Part::hour12},
    {"4", Part::minute},
    {"5", Part::second},
}};

/// ".000", ",999" that no digit follows.
std::size_t fraction_length(std::string_view text) {
  if (text.size() < 2 || (text[0] != '.' && text[0] != ',') || (text[1] != '0' && text[1] != '9'))
    return 0;
  const std::size_t end = std::min(text.find_first_not_of(text[1], 1), text.size());
  return end < text.size() && is_digit(text[end]) ? 0 : end;
}

/// Takes the next piece off a layout.
Element take_element(std::string_view& layout) {
  for (std::size_t at = 0; at < layout.size(); ++at) {
    const std::string_view rest = layout.substr(at);
    std::size_t length = fraction_length(rest);
    Part part = Part::fraction;
    if (length == 0)
      for (const auto& [word, meaning] : words)
        if (rest.starts_with(word)) {
          length = word.size();
          part = meaning;
          break;
        }
    // "_2006" is a year behind an underscore.
    if (part == Part::space_day && rest.starts_with("_2006")) length = 0;
    // A word may be the beginning of another one: "January" is a month, "Janet" is none.
    if ((part == Part::short_month || part == Part::short_week_day) && length < rest.size()
        && rest[length] >= 'a' && rest[length] <= 'z')
      length = 0;
    if (length == 0) continue;
    if (at > 0) {
      const Element out{Part::literal, layout.substr(0, at)};
      layout.remove_prefix(at);
      return out;
    }
    const Element out{part, layout.substr(0, length)};
    layout.remove_prefix(length);
    return out;
  }
  return {Part::literal, std::exchange(layout, {})};
}

std::string fraction(std::string_view layout, std::int64_t nanosecond) {
  std::string digits = padded(nanosecond, 9).substr(0, std::min<std::size_t>(layout.size() - 1, 9));
  if (layout[1] == '9')
    while (!digits.empty() && digits.back() == '0')
      digits.pop_back();
  return digits.empty() ? "" : layout[0] + digits;
}

/// "+00:00" in the form of `layout`, without its sign.
std::string zero_zone(std::string_view layout) {
  std::string out;
  for (const char c : layout.substr(1))
    out += c == ':' ? ':' : '0';
  return out;
}

std::string_view month_name_of(const CivilTime& time) {
  return month_names[static_cast<std::size_t>(time.month - 1)];
}

std::string_view day_name_of(const CivilTime& time) {
  return day_names[static_cast<std::size_t>(time.weekday())];
}

std::string written(const Element& element, const CivilTime& time) {
  switch (element.part) {
    case Part::literal:
      return std::string{element.text};
    case Part::year:
      return padded(time.year, 4);
    case Part::short_year:
      return padded(time.year % 100, 2);
    case Part::month:
      return std::to_string(time.month);
    case Part::month_name:
      return std::string{month_name_of(time)};
    case Part::short_month:
      return std::string{month_name_of(time).substr(0, 3)};
    case Part::zero_month:
      return padded(time.month, 2);
    case Part::day:
      return std::to_string(time.day);
    case Part::space_day:
      return padded(time.day, 2, ' ');
    case Part::zero_day:
      return padded(time.day, 2);
    case Part::year_day:
      return padded(time.year_day(), 3, element.text[0] == '_' ? ' ' : '0');
    case Part::week_day:
      return std::string{day_name_of(time)};
    case Part::short_week_day:
      return std::string{day_name_of(time).substr(0, 3)};
    case Part::hour:
      return padded(time.hour, 2);
    case Part::hour12:
      return std::to_string(time.hour12());
    case Part::zero_hour12:
      return padded(time.hour12(), 2);
    case Part::minute:
      return std::to_string(time.minute);
    case Part::zero_minute:
      return padded(time.minute, 2);
    case Part::second:
      return std::to_string(time.second);
    case Part::zero_second:
      return padded(time.second, 2);
    case Part::upper_noon:
      return time.hour >= 12 ? "PM" : "AM";
    case Part::lower_noon:
      return time.hour >= 12 ? "pm" : "am";
    case Part::zone_name:
      return "UTC";
    case Part::zone_z:
      return "Z";
    case Part::zone_offset:
      return '+' + zero_zone(element.text);
    case Part::fraction:
      return fraction(element.text, time.nanosecond);
  }
  return {};
}

/// Reads a time by a layout.
class TimeReader {
public:
  explicit TimeReader(std::string_view text) : text_{text} {}

  bool take(const Element& element) {
    switch (element.part) {
      case Part::literal:
        if (!text_.starts_with(element.text)) return false;
        text_.remove_prefix(element.text.size());
        return true;
      case Part::year:
        return number(4, 4, time_.year);
      case Part::month:
        return number(1, 2, time_.month);
      case Part::zero_month:
        return number(2, 2, time_.month);
      case Part::month_name:
      case Part::short_month:
        return month_name(element.part == Part::short_month);
      case Part::day:
      case Part::space_day:
        if (text_.starts_with(' ')) text_.remove_prefix(1);
        return number(1, 2, time_.day);
      case Part::zero_day:
        return number(2, 2, time_.day);
      case Part::hour:
        return number(2, 2, time_.hour);
      case Part::minute:
        return number(1, 2, time_.minute);
      case Part::zero_minute:
        return number(2, 2, time_.minute);
      case Part::second:
        return number(1, 2, time_.second);
      case Part::zero_second:
        return number(2, 2, time_.second);
      case Part::zone_z:
        if (!text_.starts_with('Z')) return false;
        text_.remove_prefix(1);
        return true;
      default:
        return false;
    }
  }

  std::optional<std::int64_t> finish() const {
    if (!text_.empty() || !time_.is_valid() || time_.year < 1678 || time_.year > 2261)
      return std::nullopt;
    return time_.seconds_since_1970() * second;
  }

private:
  template <class Number>
  bool number(std::size_t least, std::size_t most, Number& out) {
    std::size_t size = 0;
    out = 0;
    for (; size < most && size < text_.size() && is_digit(text_[size]); ++size)
      out = out * 10 + (text_[size] - '0');
    if (size < least) return false;
    text_.remove_prefix(size);
    return true;
  }

  bool month_name(bool is_short) {
    for (std::size_t i = 0; i < month_names.size(); ++i) {
      const std::string_view name = is_short ? month_names[i].substr(0, 3) : month_names[i];
      if (!text_.starts_with(name)) continue;
      text_.remove_prefix(name.size());
      time_.month = static_cast<int>(i) + 1;
      return true;
    }
    return false;
  }

  std::string_view text_;
  CivilTime time_{.year = 1970};
};

template <auto part>
std::int64_t part_of(const Value& time) {
  return std::invoke(part, CivilTime::of_unix(nanoseconds_of(time)));
}

std::string formatted(const Value& time, std::string_view layout) {
  return format_time(layout, nanoseconds_of(time));
}

Value seconds_of(const Value& time) {
  return Value::integer(unix_seconds(nanoseconds_of(time)), types::int64);
}

Value int64_of(const Value& time) {
  return Value::integer(nanoseconds_of(time), types::int64);
}

Value itself(const Value& time) {
  return time;
}

const Function* time_method(std::string_view name) {
  static const Function methods[] = {
      method<formatted>("Format"),
      method<seconds_of>("Unix"),
      method<int64_of>("UnixNano"),
      method<itself>("UTC"),
      method<part_of<&CivilTime::year>>("Year"),
      method<part_of<&CivilTime::day>>("Day"),
      method<part_of<&CivilTime::year_day>>("YearDay"),
      method<part_of<&CivilTime::hour>>("Hour"),
      method<part_of<&CivilTime::minute>>("Minute"),
      method<part_of<&CivilTime::second>>("Second"),
  };
  return find_method(methods, name);
}

std::string shown_time(const Value& value) {
  return format_time("2006-01-02 15:04:05.999999999 -0700 MST", nanoseconds_of(value));
}

std::string json_time(const Value& value) {
  return '"' + format_time("2006-01-02T15:04:05.999999999Z07:00", nanoseconds_of(value)) + '"';
}

constexpr Field time_fields[] = {{"nanoseconds", &types::int64}};

}  // namespace

const Type time_type{.kind = Kind::structure,
                     .name = "time.Time",
                     .method = time_method,
                     .show = shown_time,
                     .json = json_time};

Value time_value(std::int64_t unix_nanoseconds) {
  return Value::structure(time_type, {Value::integer(unix_nanoseconds, *time_fields[0].type)});
}

bool is_time(const Value& value) {
  return value.type() == &time_type;
}

std::int64_t nanoseconds_of(const Value& time) {
  return time.fields().front().as_integer();
}

std::int64_t unix_seconds(std::int64_t unix_nanoseconds) {
  return unix_nanoseconds / second - (unix_nanoseconds % second < 0 ? 1 : 0);
}

std::string format_time(std::string_view layout, std::int64_t unix_nanoseconds) {
  const CivilTime time = CivilTime::of_unix(unix_nanoseconds);
  std::string out;
  while (!layout.empty())
    out += written(take_element(layout), time);
  return out;
}

Result<std::int64_t> parse_time(std::string_view layout, std::string_view text) {
  TimeReader reader{text};
  const auto bad = [&](std::string_view what) {
    return function_error("parsing time " + quote(text) + " as " + quote(what) + ": cannot parse");
  };
  for (std::string_view rest = layout; !rest.empty();)
    if (!reader.take(take_element(rest))) return bad(layout);
  const auto time = reader.finish();
  if (!time) return bad(layout);
  return *time;
}

}  // namespace nomad::templates
