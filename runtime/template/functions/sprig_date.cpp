// sprig: dates. The zone of the agent is taken to be UTC.
#include "runtime/base/duration.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/time_value.hpp"
#include "runtime/text/number_text.hpp"
#include "runtime/text/time_zone.hpp"

namespace nomad::templates::sprig_date_family {
namespace {

constexpr std::int64_t second = 1'000'000'000;

using Time = As<time_type>;

Result<std::int64_t> now_of(Context& context) {
  return NOMAD_TRY(context.sources())->now();
}

/// A time, or seconds since 1970; now, for anything else.
Result<std::int64_t> instant_of(Context& context, const Value& value) {
  if (is_time(value)) return nanoseconds_of(value);
  if (value.kind() == Kind::integer && value.as_integer() > -(INT64_MAX / second)
      && value.as_integer() < INT64_MAX / second)
    return value.as_integer() * second;
  return now_of(context);
}

/// Zones that are not known are UTC, as in sprig.
Moment in_zone(std::int64_t unix_nanoseconds, std::string_view name) {
  const auto zone = name == "Local" ? TimeZone{} : TimeZone::find(name).value_or(TimeZone{});
  const auto seconds = unix_seconds(unix_nanoseconds);
  return {.unix_nanoseconds = unix_nanoseconds,
          .offset = static_cast<int>(zone.offset_at(seconds)),
          .zone = zone.abbreviation_at(seconds)};
}

Result<Value> now(Context& context) {
  return time_value(NOMAD_TRY(now_of(context)));
}

Result<std::string> date(Context& context, std::string_view layout, const Value& time) {
  return format_time(layout, NOMAD_TRY(instant_of(context, time)));
}

Result<std::string> date_in_zone(Context& context,
                                 std::string_view layout,
                                 const Value& time,
                                 std::string_view zone) {
  return format_time(layout, in_zone(NOMAD_TRY(instant_of(context, time)), zone));
}

Result<std::string> html_date(Context& context, const Value& time) {
  return date(context, "2006-01-02", time);
}

Result<std::string> html_date_in_zone(Context& context, const Value& time, std::string_view zone) {
  return date_in_zone(context, "2006-01-02", time, zone);
}

Result<Value> must_date_modify(std::string_view duration, Time time) {
  const auto by = NOMAD_TRY(parse_duration(duration));
  auto moment = moment_of(*time);
  moment.unix_nanoseconds = static_cast<std::int64_t>(
      static_cast<std::uint64_t>(moment.unix_nanoseconds) + static_cast<std::uint64_t>(by.count()));
  return time_value(moment);
}

Value date_modify(std::string_view duration, Time time) {
  return must_date_modify(duration, time).value_or(*time);
}

Result<std::string> ago(Context& context, const Value& time) {
  const std::int64_t past = NOMAD_TRY(instant_of(context, time));
  const std::int64_t now = NOMAD_TRY(now_of(context));
  const std::int64_t half = (now - past >= 0 ? 1 : -1) * (second / 2);
  return format_duration(Nanoseconds{(now - past + half) / second * second});
}

std::string duration(const Value& value) {
  std::int64_t seconds = 0;
  if (value.kind() == Kind::text) seconds = parse_integer(value.as_text(), 10).value;
  if (value.type() == &types::int64) seconds = value.as_integer();
  return format_duration(Nanoseconds{
      static_cast<std::int64_t>(static_cast<std::uint64_t>(seconds) * std::uint64_t{second})});
}

Result<std::string> duration_round(Context& context, const Value& value) {
  std::int64_t amount = 0;
  if (value.kind() == Kind::text) {
    amount = parse_duration(value.as_text()).value_or(Nanoseconds{0}).count();
  } else if (value.type() == &types::int64) {
    amount = value.as_integer();
  } else if (is_time(value)) {
    amount = NOMAD_TRY(now_of(context)) - nanoseconds_of(value);
  }
  const auto size
      = amount < 0 ? 0 - static_cast<std::uint64_t>(amount) : static_cast<std::uint64_t>(amount);
  constexpr std::uint64_t hour = 3600 * std::uint64_t{second};
  constexpr std::pair<std::uint64_t, std::string_view> units[]
      = {{365 * 24 * hour, "y"}, {30 * 24 * hour, "mo"}, {24 * hour, "d"}, {hour, "h"},
         {hour / 60, "m"},       {hour / 3600, "s"}};
  for (const auto& [unit, name] : units)
    if (size > unit) return std::to_string(size / unit) + std::string{name};
  return "0s";
}

Result<Value> to_date(std::string_view layout, std::string_view text) {
  return time_value(NOMAD_TRY(parse_time(layout, text)));
}

std::string unix_epoch(Time time) {
  return std::to_string(unix_seconds(nanoseconds_of(*time)));
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<now>("sprig_now"),
      bind<date>("sprig_date"),
      bind<date_in_zone>("sprig_dateInZone"),
      bind<date_in_zone>("sprig_date_in_zone"),
      bind<html_date>("sprig_htmlDate"),
      bind<html_date_in_zone>("sprig_htmlDateInZone"),
      bind<date_modify>("sprig_dateModify"),
      bind<date_modify>("sprig_date_modify"),
      bind<must_date_modify>("sprig_mustDateModify"),
      bind<must_date_modify>("sprig_must_date_modify"),
      bind<ago>("sprig_ago"),
      bind<duration>("sprig_duration"),
      bind<duration_round>("sprig_durationRound"),
      bind<to_date>("sprig_toDate"),
      bind<to_date>("sprig_mustToDate"),
      bind<unix_epoch>("sprig_unixEpoch"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_date_family
