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
  day,
  year_day,
  week_day,
  hour,
  hour12,
  minute,
  second,
  noon,
  zone_name,
  zone_z,       ///< "Z07:00" and its like: Z for UTC.
  zone_offset,  ///< "-0700" and its like.
  fraction,
};

/// A word of layouts. Numbers have at least `width` digits, with `fill` in front; names have
/// `width` letters, or with 0 all.
struct Word {
  std::string_view text;
  Part part;
  std::size_t width = 0;
  char fill = '0';
};

/// The longest words first, as Go takes them.
constexpr Word words[] = {
    {"January", Part::month_name},
    {"Jan", Part::month_name, 3},
    {"Monday", Part::week_day},
    {"Mon", Part::week_day, 3},
    {"MST", Part::zone_name},
    {"2006", Part::year, 4},
    {"__2", Part::year_day, 3, ' '},
    {"002", Part::year_day, 3},
    {"_2", Part::day, 2, ' '},
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
    {"01", Part::month, 2},
    {"02", Part::day, 2},
    {"03", Part::hour12, 2},
    {"04", Part::minute, 2},
    {"05", Part::second, 2},
    {"06", Part::short_year, 2},
    {"15", Part::hour, 2},
    {"PM", Part::noon},
    {"pm", Part::noon},
    {"1", Part::month, 1},
    {"2", Part::day, 1},
    {"3", Part::hour12, 1},
    {"4", Part::minute, 1},
    {"5", Part::second, 1},
};

/// ".000", ",999" that no digit follows.
std::size_t fraction_length(std::string_view text) {
  if (text.size() < 2 || (text[0] != '.' && text[0] != ',') || (text[1] != '0' && text[1] != '9'))
    return 0;
  const std::size_t end = std::min(text.find_first_not_of(text[1], 1), text.size());
  return end < text.size() && is_digit(text[end]) ? 0 : end;
}

/// The word that a layout begins with, or text up to the next one.
Word word_of(std::string_view layout) {
  if (const std::size_t length = fraction_length(layout); length > 0)
    return {layout.substr(0, length), Part::fraction};
  for (const Word& word : words) {
    if (!layout.starts_with(word.text)) continue;
    // "_2006" is a year behind an underscore.
    if (word.text == "_2" && layout.starts_with("_2006")) break;
    // A word may be the beginning of another one: "January" is a month, "Janet" is none.
    const std::string_view behind = layout.substr(word.text.size());
    const bool is_name = word.part == Part::month_name || word.part == Part::week_day;
    if (is_name && word.width == 3 && !behind.empty() && behind[0] >= 'a' && behind[0] <= 'z')
      break;
    return word;
  }
  return {{}, Part::literal};
}

/// Takes the next piece off a layout.
Word take_word(std::string_view& layout) {
  Word word = word_of(layout);
  std::size_t length = word.text.size();
  for (; length == 0 || (word.part == Part::literal && length < layout.size()); ++length)
    if (length > 0 && word_of(layout.substr(length)).part != Part::literal) break;
  word.text = layout.substr(0, length);
  layout.remove_prefix(length);
  return word;
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

/// None of what is no number.
std::optional<std::int64_t> number_of(Part part, const CivilTime& time) {
  switch (part) {
    case Part::year:
      return time.year;
    case Part::short_year:
      return time.year % 100;
    case Part::month:
      return time.month;
    case Part::day:
      return time.day;
    case Part::year_day:
      return time.year_day();
    case Part::hour:
      return time.hour;
    case Part::hour12:
      return time.hour12();
    case Part::minute:
      return time.minute;
    case Part::second:
      return time.second;
    default:
      return std::nullopt;
  }
}

std::string_view cut(std::string_view name, std::size_t width) {
  return name.substr(0, width == 0 ? name.size() : width);
}

std::string written(const Word& word, const CivilTime& time) {
  if (const auto number = number_of(word.part, time)) return padded(*number, word.width, word.fill);
  switch (word.part) {
    case Part::month_name:
      return std::string{cut(month_names[static_cast<std::size_t>(time.month - 1)], word.width)};
    case Part::week_day:
      return std::string{cut(day_names[static_cast<std::size_t>(time.weekday())], word.width)};
    case Part::noon: {
      const std::string upper = time.hour >= 12 ? "PM" : "AM";
      return word.text == "PM" ? upper : to_lower(upper);
    }
    case Part::zone_name:
      return "UTC";
    case Part::zone_z:
      return "Z";
    case Part::zone_offset:
      return '+' + zero_zone(word.text);
    case Part::fraction:
      return fraction(word.text, time.nanosecond);
    default:
      return std::string{word.text};
  }
}

/// Reads a time by a layout.
class TimeReader {
public:
  explicit TimeReader(std::string_view text) : text_{text} {}

  bool take(const Word& word) {
    switch (word.part) {
      case Part::literal:
        return skip(word.text);
      case Part::year:
        return number(word, 4, time_.year);
      case Part::month:
        return number(word, 2, time_.month);
      case Part::month_name:
        return month_name(word.width);
      case Part::day:
        if (word.width == 1 || word.fill == ' ') skip(" ");
        return number(word, 2, time_.day);
      case Part::hour:
        return number(word, 2, time_.hour);
      case Part::minute:
        return number(word, 2, time_.minute);
      case Part::second:
        return number(word, 2, time_.second);
      case Part::zone_z:
        return skip("Z");
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
  bool skip(std::string_view prefix) {
    const bool is_there = text_.starts_with(prefix);
    if (is_there) text_.remove_prefix(prefix.size());
    return is_there;
  }

  template <class Number>
  bool number(const Word& word, std::size_t most, Number& out) {
    const std::size_t least = word.fill == ' ' ? 1 : word.width;
    std::size_t size = 0;
    out = 0;
    for (; size < most && size < text_.size() && is_digit(text_[size]); ++size)
      out = out * 10 + (text_[size] - '0');
    if (size < least) return false;
    text_.remove_prefix(size);
    return true;
  }

  bool month_name(std::size_t width) {
    for (std::size_t i = 0; i < month_names.size(); ++i)
      if (skip(cut(month_names[i], width))) {
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
    out += written(take_word(layout), time);
  return out;
}

Result<std::int64_t> parse_time(std::string_view layout, std::string_view text) {
  TimeReader reader{text};
  const auto bad = [&](std::string_view what) {
    return function_error("parsing time " + quote(text) + " as " + quote(what) + ": cannot parse");
  };
  for (std::string_view rest = layout; !rest.empty();)
    if (!reader.take(take_word(rest))) return bad(layout);
  const auto time = reader.finish();
  if (!time) return bad(layout);
  return *time;
}

}  // namespace nomad::templates
