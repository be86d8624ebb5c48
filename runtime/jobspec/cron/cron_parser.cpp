// Reads cron expressions. Each field is a list of entries; an entry is a wildcard, a value, a
// range, any of these with a step, or one of the forms that only days have.
#include <array>
#include <string>
#include <vector>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/cron/cron.hpp"

namespace nomad::jobspec {

namespace {

struct Alias {
  std::string_view name;
  std::string_view fields;
};

constexpr Alias aliases[] = {
    {"@yearly", "0 0 0 1 1 * *"}, {"@annually", "0 0 0 1 1 * *"}, {"@monthly", "0 0 0 1 * * *"},
    {"@weekly", "0 0 0 * * 0 *"}, {"@daily", "0 0 0 * * * *"},    {"@hourly", "0 0 * * * * *"},
};

constexpr std::array<std::string_view, 12> month_names
    = {"january", "february", "march",     "april",   "may",      "june",
       "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> weekday_names
    = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};

enum class Unit : std::uint8_t { second, minute, hour, day, month, weekday, year };

struct UnitInfo {
  std::string_view name;
  int least;
  int most;
};

constexpr UnitInfo units[]
    = {{"second", 0, 59}, {"minute", 0, 59},     {"hour", 0, 23},     {"day-of-month", 1, 31},
       {"month", 1, 12},  {"day-of-week", 0, 6}, {"year", 1970, 2099}};

constexpr const UnitInfo& info_of(Unit unit) {
  return units[static_cast<std::size_t>(unit)];
}

template <std::size_t size>
std::optional<int> find_name(const std::array<std::string_view, size>& names,
                             std::string_view text) {
  for (std::size_t at = 0; at < size; ++at)
    if (text == names[at] || (text.size() == 3 && names[at].starts_with(text)))
      return static_cast<int>(at);
  return std::nullopt;
}

std::optional<int> small_number(std::string_view text, std::size_t digits) {
  if (!is_digits(text) || text.size() > digits) return std::nullopt;
  int number = 0;
  for (char c : text)
    number = number * 10 + (c - '0');
  return number;
}

/// `text` (in lower case) as a value of the unit.
std::optional<int> value_of(Unit unit, std::string_view text) {
  const UnitInfo info = info_of(unit);
  switch (unit) {
    case Unit::month:
      if (const auto named = find_name(month_names, text)) return *named + 1;
      break;
    case Unit::weekday:
      if (const auto named = find_name(weekday_names, text)) return named;
      // Both 0 and 7 are Sunday, and so, for compatibility, is every day written with a zero.
      if (const auto number = small_number(text, 2); number && *number <= 7)
        return text.size() == 2 && text.front() != '0' ? std::nullopt
               : text.size() == 2                      ? std::optional{0}
                                                       : std::optional{*number % 7};
      return std::nullopt;
    case Unit::year:
      if (text.size() != 4) return std::nullopt;
      break;
    case Unit::second:
    case Unit::minute:
    case Unit::hour:
    case Unit::day:
      break;
  }
  const auto number = small_number(text, unit == Unit::year ? 4 : 2);
  if (!number || *number < info.least || *number > info.most) return std::nullopt;
  return number;
}

struct Entry {
  enum class Kind : std::uint8_t { special, one, span, all } kind = Kind::special;
  int first = 0;
  int last = 0;
  int step = 1;
  std::string_view source;  ///< as written
  std::string lower;
};

Error invalid(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

Error syntax_error(Unit unit, std::string_view entry) {
  return invalid("syntax error in " + std::string{info_of(unit).name} + " field: '"
                 + std::string{entry} + "'");
}

/// Fills first and last from the part before a step. False: not of the common forms.
bool read_extent(Unit unit, std::string_view text, bool stepped, Entry& entry) {
  const UnitInfo info = info_of(unit);
  if (text == "*" || (text == "?" && !stepped)) {
    entry.kind = stepped ? Entry::Kind::span : Entry::Kind::all;
    entry.first = info.least;
    entry.last = info.most;
    return true;
  }
  if (const auto value = value_of(unit, text)) {
    entry.kind = stepped ? Entry::Kind::span : Entry::Kind::one;
    entry.first = *value;
    entry.last = stepped ? info.most : *value;
    return true;
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  const auto first = value_of(unit, text.substr(0, dash));
  const auto last = value_of(unit, text.substr(dash + 1));
  if (!first || !last) return false;
  entry.kind = Entry::Kind::span;
  entry.first = *first;
  entry.last = *last;
  return true;
}

Result<Entry> read_entry(Unit unit, std::string_view source) {
  Entry entry;
  entry.source = source;
  entry.lower = to_lower(source);
  const std::string_view text = entry.lower;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    read_extent(unit, text, false, entry);
    return entry;
  }
  const std::string_view step = text.substr(slash + 1);
  if (!is_digits(step) || !read_extent(unit, text.substr(0, slash), true, entry)) {
    entry.kind = Entry::Kind::special;
    return entry;
  }
  // Steps are read like values: up to 59, or a year.
  std::optional<int> number = value_of(Unit::minute, step);
  if (!number) number = value_of(Unit::year, step);
  if (!number || *number < 1 || *number > info_of(unit).most)
    return invalid("invalid interval " + entry.lower);
  entry.step = *number;
  return entry;
}

Result<std::vector<Entry>> read_entries(Unit unit, std::string_view field) {
  std::vector<Entry> entries;
  for (std::size_t at = 0; at < field.size();) {
    const std::size_t comma = std::min(field.find(',', at), field.size());
    if (comma > at) {
      Result<Entry> entry = read_entry(unit, field.substr(at, comma - at));
      if (entry.has_error()) return entry.error();
      entries.push_back(std::move(*entry));
    }
    at = comma + 1;
  }
  if (entries.empty())
    return invalid(std::string{info_of(unit).name} + " field: missing directive");
  return entries;
}

template <std::size_t size>
void fill(std::bitset<size>& bits, const Entry& entry, int base = 0) {
  for (int value = entry.first; value <= entry.last; value += entry.step)
    bits.set(static_cast<std::size_t>(value - base));
}

template <std::size_t size>
Result<> read_plain(Unit unit, std::string_view field, std::bitset<size>& bits, int base = 0) {
  const Result<std::vector<Entry>> entries = read_entries(unit, field);
  if (entries.has_error()) return entries.error();
  for (const Entry& entry : *entries) {
    if (entry.kind == Entry::Kind::special) return syntax_error(unit, entry.source);
    fill(bits, entry, base);
    if (entry.kind == Entry::Kind::all) break;
  }
  return {};
}

std::string expand_aliases(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Alias* match = nullptr;
    for (const Alias& alias : aliases)
      if (match == nullptr && text.substr(at).starts_with(alias.name)) match = &alias;
    if (match == nullptr) {
      out += text[at++];
    } else {
      out += match->fields;
      at += match->name.size();
    }
  }
  return out;
}

}  // namespace

struct CronExpression::Parser {
  CronExpression& out;

  Result<> read_days(std::string_view field) {
    const Result<std::vector<Entry>> entries = read_entries(Unit::day, field);
    if (entries.has_error()) return entries.error();
    for (const Entry& entry : *entries) {
      if (entry.kind != Entry::Kind::special) {
        fill(out.days_, entry);
        if (entry.kind == Entry::Kind::all) out.days_restricted_ = false;
        continue;
      }
      const std::string_view text = entry.lower;
      if (text == "l") {
        out.last_day_ = true;
      } else if (text == "lw") {
        out.last_workday_ = true;
      } else if (const auto day = text.ends_with('w')
                                      ? value_of(Unit::day, text.substr(0, text.size() - 1))
                                      : std::nullopt) {
        out.workdays_.set(static_cast<std::size_t>(*day));
      } else {
        return syntax_error(Unit::day, entry.source);
      }
    }
    return {};
  }

  Result<> read_weekdays(std::string_view field) {
    const Result<std::vector<Entry>> entries = read_entries(Unit::weekday, field);
    if (entries.has_error()) return entries.error();
    for (Entry entry : *entries) {
      if (entry.kind == Entry::Kind::special) {
        NOMAD_TRY(read_special_weekday(entry));
        continue;
      }
      // A range up to Sunday goes to the end of the week.
      if (entry.kind == Entry::Kind::span && entry.last == 0) entry.last = 6;
      fill(out.weekdays_, entry);
      if (entry.kind == Entry::Kind::all) out.weekdays_restricted_ = false;
    }
    return {};
  }

  /// `5L`: the month's last Friday; `5#3`: its third.
  Result<> read_special_weekday(const Entry& entry) {
    const std::string_view text = entry.lower;
    if (text.ends_with('l')) {
      if (const auto day = value_of(Unit::weekday, text.substr(0, text.size() - 1))) {
        out.last_weekdays_.set(static_cast<std::size_t>(*day));
        return {};
      }
    }
    const std::size_t hash = text.find('#');
    if (hash != std::string_view::npos && text.size() == hash + 2 && text.back() >= '1'
        && text.back() <= '5') {
      if (const auto day = value_of(Unit::weekday, text.substr(0, hash))) {
        const int week = text.back() - '1';
        out.nth_weekdays_.set(static_cast<std::size_t>(week * 7 + *day));
        return {};
      }
    }
    return syntax_error(Unit::weekday, entry.source);
  }
};

Result<CronExpression> CronExpression::parse(std::string_view text) {
  const std::string expanded = expand_aliases(text);
  const std::vector<std::string_view> words = fields(expanded, regex_space);
  if (words.size() < 5) return invalid("missing field(s)");

  CronExpression parsed;
  Parser parser{parsed};
  std::size_t at = 0;
  if (words.size() >= 7)
    NOMAD_TRY(read_plain(Unit::second, words[at++], parsed.seconds_));
  else
    parsed.seconds_.set(0);
  NOMAD_TRY(read_plain(Unit::minute, words[at++], parsed.minutes_));
  NOMAD_TRY(read_plain(Unit::hour, words[at++], parsed.hours_));
  NOMAD_TRY(parser.read_days(words[at++]));
  NOMAD_TRY(read_plain(Unit::month, words[at++], parsed.months_));
  NOMAD_TRY(parser.read_weekdays(words[at++]));
  if (at < words.size())
    NOMAD_TRY(read_plain(Unit::year, words[at], parsed.years_, first_year));
  else
    parsed.years_.set();
  return parsed;
}

}  // namespace nomad::jobspec
