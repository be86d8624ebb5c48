#include "runtime/jobspec/cron/task_schedule.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::jobspec {
namespace {

constexpr UnixSeconds day_seconds = 86'400;
constexpr UnixSeconds longest_day
    = day_seconds + 2 * 3600;  ///< With a change of the zone's offset.

Error mistake(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// Nomad counts spaces.
Result<> check_fields(std::string_view name, std::string_view text, int fields) {
  if (std::ranges::count(text, ' ') != fields - 1)
    return mistake(fmt::format("cron.{} must contain {} fields", name, fields));
  return {};
}

Result<> check_characters(std::string_view name, std::string_view text) {
  constexpr std::string_view refused = "/,";
  if (text.find_first_of(refused) != std::string_view::npos)
    return mistake(fmt::format("cron.{} must not contain {}", name, quote(refused)));
  return {};
}

/// The last instant of `cron` after `from` and up to `to`.
std::optional<UnixSeconds> last_match(const CronExpression& cron,
                                      UnixSeconds from,
                                      UnixSeconds to,
                                      const TimeZone& zone) {
  auto last = cron.next(from, zone);
  if (!last || *last > to) return std::nullopt;
  for (UnixSeconds none_after = to; *last < none_after;) {
    const UnixSeconds middle = *last + (none_after - *last) / 2;
    const auto next = cron.next(middle, zone);
    if (next && *next <= to)
      last = next;
    else
      none_after = middle;
  }
  return last;
}

/// Whether an end follows each start on its day. Hours and minutes are those of every day.
bool ends_in_time(const CronExpression& start, const CronExpression& end, UnixSeconds first) {
  const UnixSeconds midnight = first - first % day_seconds + day_seconds;
  const auto last_start = last_match(start, first - 1, midnight - 1, TimeZone{});
  const auto ends = end.next(last_start.value_or(first), TimeZone{});
  return ends && *ends < midnight;
}

}  // namespace

Result<TaskSchedule> TaskSchedule::parse(std::string_view start,
                                         std::string_view end,
                                         std::string_view timezone) {
  NOMAD_TRY(check_fields("start", start, 6));
  NOMAD_TRY(check_fields("end", end, 2));
  NOMAD_TRY(check_characters("start", start));
  NOMAD_TRY(check_characters("end", end));
  const auto zone = NOMAD_TRY(
      TimeZone::find(timezone.empty() ? "Local" : timezone).within("invalid timezone in schedule"));
  const auto parse_one = [](std::string_view which, std::string_view text, std::string_view rest) {
    auto parsed = CronExpression::parse(std::string{text}.append(rest));
    if (parsed) return parsed;
    return Result<CronExpression>{mistake(fmt::format("invalid {} time in schedule: {}; {}", which,
                                                      quote(text), parsed.error().what))};
  };
  const auto starts = NOMAD_TRY(parse_one("start", start, ""));
  const auto ends = NOMAD_TRY(parse_one("end", end, " * * * *"));
  const auto first = starts.next(0, TimeZone{});
  if (!first)
    return mistake(fmt::format("invalid start time in schedule: {}; it never comes", quote(start)));
  if (!ends_in_time(starts, ends, *first))
    return mistake(
        fmt::format("end cannot be sooner than start; end={}, start={}", quote(end), quote(start)));
  return TaskSchedule{starts, ends, zone};
}

TaskSchedule::Moment TaskSchedule::at(UnixSeconds now) const {
  if (const auto begun = last_match(start_, now - longest_day, now, zone_))
    if (const auto end = end_.next(*begun, zone_); end && *end > now)
      return {.runs = true, .until = end};
  return {.runs = false, .until = start_.next(now, zone_)};
}

}  // namespace nomad::jobspec
