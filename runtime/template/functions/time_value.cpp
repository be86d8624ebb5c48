#include "runtime/template/functions/time_value.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/text/civil_time.hpp"
#include "runtime/text/number_text.hpp"

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

/// "+01:30" in the form of `layout`, which is "-07:00" or shorter or longer.
std::string zone_text(std::string_view layout, int offset) {
  const int size = std::abs(offset);
  const int parts[] = {size / 3600, size / 60 % 60, size % 60};
  std::string out{offset < 0 ? '-' : '+'};
  const bool has_colons = layout.find(':') != layout.npos;
  const auto digits = static_cast<std::size_t>(std::ranges::count_if(layout, is_digit));
  for (std::size_t i = 0; i < digits / 2; ++i) {
    if (i > 0 && has_colons) out += ':';
    out += padded(parts[i], 2);
  }
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

std::string written(const Word& word, const CivilTime& time, const std::string& zone) {
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
      return zone.empty() ? zone_text("-0700", time.offset) : zone;
    case Part::zone_z:
      return time.offset == 0 ? "Z" : zone_text(word.text, time.offset);
    case Part::zone_offset:
      return zone_text(word.text, time.offset);
    case Part::fraction:
      return fraction(word.text, time.nanosecond);
    default:
      return std::string{word.text};
  }
}

/// Reads a time by a layout, with Go's words for what does not fit.
class TimeReader {
public:
  TimeReader(std::string_view layout, std::string_view text)
      : layout_{layout}, whole_{text}, text_{text} {}

  /// `behind` is what the layout has after `word`.
  Result<> take(const Word& word, std::string_view behind) {
    const auto hold = text_;
    if (takes(word, behind)) return {};
    if (!out_of_range_.empty()) return bad(": " + out_of_range_ + " out of range");
    return bad(" as " + quote(layout_) + ": cannot parse "
               + quote(word.part == Part::literal ? text_ : hold) + " as " + quote(word.text));
  }

  Result<Moment> finish() {
    if (!text_.empty()) return bad(": extra text: " + quote(text_));
    if (noon_ == "PM" && time_.hour < 12) time_.hour += 12;
    if (noon_ == "AM" && time_.hour == 12) time_.hour = 0;
    if (year_day_ && !place_year_day()) return bad(": day-of-year out of range");
    if (!time_.is_valid()) return bad(": day out of range");
    if (time_.year < 1678 || time_.year > 2261) return bad(": year out of range");
    return moment(time_.seconds_since_1970() * second + time_.nanosecond);
  }

private:
  /// Of names that are not UTC nobody knows how far away they are: they are kept as they are
  /// written.
  Moment moment(std::int64_t local) const {
    if (zone_ == "UTC") return {.unix_nanoseconds = local};
    if (offset_ && (*offset_ != 0 || !zone_.empty()))
      return {.unix_nanoseconds = local - *offset_ * second,
              .offset = *offset_,
              .zone = std::string{zone_}};
    if (zone_.empty()) return {.unix_nanoseconds = local};
    Moment moment{.unix_nanoseconds = local, .zone = std::string{zone_}};
    if (zone_.starts_with("GMT") && zone_.size() > 3)
      moment.offset
          = static_cast<int>(parse_integer(zone_.substr(zone_[3] == '+' ? 4 : 3), 10).value) * 3600;
    return moment;
  }

  Error bad(const std::string& what) const {
    return function_error("parsing time " + quote(whole_) + what);
  }

  bool takes(const Word& word, std::string_view behind) {
    switch (word.part) {
      case Part::literal:
        return literal(word.text);
      case Part::year:
        return number(4, 4, time_.year);
      case Part::short_year: {
        if (!number(2, 2, time_.year)) return false;
        time_.year += time_.year >= 69 ? 1900 : 2000;
        return true;
      }
      case Part::month:
        return number(word.width, 2, time_.month) && in_range(time_.month, 1, 12, "month");
      case Part::month_name:
        return name(month_names, word.width, time_.month);
      case Part::week_day:
        return name(day_names, word.width, week_day_);
      case Part::day:
        if (word.fill == ' ') skip(" ");
        return number(word.fill == ' ' ? 1 : word.width, 2, time_.day);
      case Part::year_day:
        for (int i = 0; i < 2 && word.fill == ' '; ++i)
          skip(" ");
        return number(word.fill == ' ' ? 1 : 3, 3, year_day_.emplace());
      case Part::hour:
        return number(1, 2, time_.hour) && in_range(time_.hour, 0, 23, "hour");
      case Part::hour12:
        return number(word.width, 2, time_.hour) && in_range(time_.hour, 0, 12, "hour");
      case Part::minute:
        return number(word.width, 2, time_.minute) && in_range(time_.minute, 0, 59, "minute");
      case Part::second:
        if (!number(word.width, 2, time_.second) || !in_range(time_.second, 0, 59, "second"))
          return false;
        if (fraction_length(behind) == 0) fraction_of_any_length();
        return true;
      case Part::noon:
        noon_ = text_.starts_with(word.text == "PM" ? "PM" : "pm")   ? "PM"
                : text_.starts_with(word.text == "PM" ? "AM" : "am") ? "AM"
                                                                     : "";
        return !noon_.empty() && skip(text_.substr(0, 2));
      case Part::zone_name:
        return zone_name();
      case Part::zone_z:
        if (!skip("Z")) return offset(word.text);
        zone_ = "UTC";
        return true;
      case Part::zone_offset:
        return offset(word.text);
      case Part::fraction:
        if (word.text[1] == '9') return fraction_of_any_length();
        return fraction_digits() + 1 >= word.text.size() && take_fraction(word.text.size() - 1);
    }
    return false;
  }

  bool skip(std::string_view prefix) {
    const bool is_there = text_.starts_with(prefix);
    if (is_there) text_.remove_prefix(prefix.size());
    return is_there;
  }

  /// Spaces stand for any number of them.
  bool literal(std::string_view wanted) {
    const auto cut_spaces = [](std::string_view& from) {
      from.remove_prefix(std::min(from.find_first_not_of(' '), from.size()));
    };
    while (!wanted.empty()) {
      if (wanted[0] == ' ') {
        if (!text_.empty() && text_[0] != ' ') return false;
        cut_spaces(wanted);
        cut_spaces(text_);
        continue;
      }
      if (!skip(wanted.substr(0, 1))) return false;
      wanted.remove_prefix(1);
    }
    return true;
  }

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

  bool in_range(int value, int least, int most, std::string_view what) {
    if (value >= least && value <= most) return true;
    out_of_range_ = what;
    return false;
  }

  /// In capitals or not. `out` counts from 1.
  template <std::size_t count>
  bool name(const std::array<std::string_view, count>& names, std::size_t width, int& out) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto wanted = cut(names[i], width);
      if (to_lower(std::string{text_.substr(0, wanted.size())}) != to_lower(std::string{wanted}))
        continue;
      text_.remove_prefix(wanted.size());
      out = static_cast<int>(i) + 1;
      return true;
    }
    return false;
  }

  /// Digits of a fraction that is next, without its point.
  std::size_t fraction_digits() const {
    if (text_.empty() || (text_[0] != '.' && text_[0] != ',')) return 0;
    std::size_t size = 0;
    while (size + 1 < text_.size() && is_digit(text_[size + 1]))
      ++size;
    return size;
  }

  bool take_fraction(std::size_t digits) {
    time_.nanosecond = 0;
    for (std::size_t i = 0, unit = second / 10; i < digits; ++i, unit /= 10)
      time_.nanosecond += static_cast<int>(unit) * (text_[i + 1] - '0');
    text_.remove_prefix(digits + 1);
    return true;
  }

  /// None is fine, too.
  bool fraction_of_any_length() {
    const auto digits = fraction_digits();
    return digits == 0 || take_fraction(digits);
  }

  /// As `layout` is written: "-07:00".
  bool offset(std::string_view layout) {
    if (text_.empty() || (text_[0] != '+' && text_[0] != '-')) return false;
    const bool is_west = text_[0] == '-';
    text_.remove_prefix(1);
    layout.remove_prefix(1);
    int parts[3] = {};
    for (std::size_t i = 0; !layout.empty(); ++i) {
      if (layout[0] == ':') {
        if (!skip(":")) return false;
        layout.remove_prefix(1);
      }
      if (!number(2, 2, parts[i])) return false;
      layout.remove_prefix(2);
    }
    if (!in_range(parts[0], 0, 24, "time zone offset hour")
        || !in_range(parts[1], 0, 60, "time zone offset minute")
        || !in_range(parts[2], 0, 60, "time zone offset second"))
      return false;
    const int seconds = (parts[0] * 60 + parts[1]) * 60 + parts[2];
    offset_ = is_west ? -seconds : seconds;
    return true;
  }

  /// "+3", "-11" at the beginning of `text`.
  static std::size_t signed_length(std::string_view text) {
    if (text.empty() || (text[0] != '+' && text[0] != '-')) return 0;
    std::size_t size = 1;
    int hours = 0;
    for (; size < text.size() && is_digit(text[size]) && hours <= 23; ++size)
      hours = hours * 10 + (text[size] - '0');
    return size == 1 || hours > 23 ? 0 : size;
  }

  static std::size_t zone_length(std::string_view text) {
    if (text.size() < 3) return 0;
    if (text.starts_with("ChST") || text.starts_with("MeST")) return 4;
    if (text.starts_with("GMT")) return 3 + signed_length(text.substr(3));
    if (text[0] == '+' || text[0] == '-') return signed_length(text);
    const auto upper = static_cast<std::size_t>(
        std::ranges::find_if(text.substr(0, 6), [](char c) { return c < 'A' || c > 'Z'; })
        - text.begin());
    const bool is_name = upper == 3 || (upper == 5 && text[4] == 'T')
                         || (upper == 4 && (text[3] == 'T' || text.starts_with("WITA")));
    return is_name ? upper : 0;
  }

  bool zone_name() {
    const std::size_t size = text_.starts_with("UTC") ? 3 : zone_length(text_);
    zone_ = text_.substr(0, size);
    text_.remove_prefix(size);
    return size > 0;
  }

  bool place_year_day() {
    const auto day = CivilTime{.year = time_.year}.plus((*year_day_ - 1) * 24 * 3600 * second);
    if (day.year != time_.year) return false;
    time_.month = day.month;
    time_.day = day.day;
    return true;
  }

  std::string_view layout_;
  std::string_view whole_;
  std::string_view text_;
  CivilTime time_{.year = 1970};
  std::optional<std::int64_t> year_day_{};
  std::optional<int> offset_{};
  std::string_view zone_{};
  std::string_view noon_{};
  std::string out_of_range_{};
  int week_day_ = 0;
};

CivilTime civil_time(const Moment& moment) {
  auto time = CivilTime::of_unix(moment.unix_nanoseconds).plus(moment.offset * second);
  time.offset = moment.offset;
  return time;
}

template <auto part>
std::int64_t part_of(const Value& time) {
  return std::invoke(part, civil_time(moment_of(time)));
}

std::string formatted(const Value& time, std::string_view layout) {
  return format_time(layout, moment_of(time));
}

Value seconds_of(const Value& time) {
  return Value::integer(unix_seconds(nanoseconds_of(time)), types::int64);
}

Value int64_of(const Value& time) {
  return Value::integer(nanoseconds_of(time), types::int64);
}

Value in_utc(const Value& time) {
  return time_value(nanoseconds_of(time));
}

const Function* time_method(std::string_view name) {
  static const Function methods[] = {
      method<formatted>("Format"),
      method<seconds_of>("Unix"),
      method<int64_of>("UnixNano"),
      method<in_utc>("UTC"),
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
  return format_time("2006-01-02 15:04:05.999999999 -0700 MST", moment_of(value));
}

std::string json_time(const Value& value) {
  return '"' + format_time("2006-01-02T15:04:05.999999999Z07:00", moment_of(value)) + '"';
}

}  // namespace

const Type time_type{.kind = Kind::structure,
                     .name = "time.Time",
                     .method = time_method,
                     .show = shown_time,
                     .json = json_time};

Value time_value(const Moment& moment) {
  return Value::structure(time_type,
                          {Value::integer(moment.unix_nanoseconds, types::int64),
                           Value::integer(moment.offset, types::int64), Value::text(moment.zone)});
}

Moment moment_of(const Value& time) {
  const auto& fields = time.fields();
  return {.unix_nanoseconds = fields[0].as_integer(),
          .offset = static_cast<int>(fields[1].as_integer()),
          .zone = std::string{fields[2].as_text()}};
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

std::string format_time(std::string_view layout, const Moment& moment) {
  const CivilTime time = civil_time(moment);
  std::string out;
  while (!layout.empty())
    out += written(take_word(layout), time, moment.zone);
  return out;
}

Result<Moment> parse_time(std::string_view layout, std::string_view text) {
  TimeReader reader{layout, text};
  for (std::string_view rest = layout; !rest.empty();) {
    const auto word = take_word(rest);
    NOMAD_TRY(reader.take(word, rest));
  }
  return reader.finish();
}

}  // namespace nomad::templates
