// sprig: dates. The zone of the agent is taken to be UTC; of other zones only UTC is known.
#include "runtime/base/duration.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/time_value.hpp"
#include "runtime/template/value/number_text.hpp"

namespace nomad::templates::sprig_date_family {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// A time, or seconds since 1970; now, for anything else.
Result<std::int64_t> instant_of(Call& call, const Value& value) {
  if (is_time(value)) return nanoseconds_of(value);
  if (value.kind() == Kind::integer && value.as_integer() > -(INT64_MAX / second)
      && value.as_integer() < INT64_MAX / second)
    return value.as_integer() * second;
  return NOMAD_TRY(call.context.sources())->now();
}

Result<Value> now(Call& call) {
  return time_value(NOMAD_TRY(call.context.sources())->now());
}

Result<Value> date(Call& call) {
  return made_text(call.context, format_time(call.text(0), NOMAD_TRY(instant_of(call, call[1]))));
}

Result<Value> html_date(Call& call) {
  return Value::text(format_time("2006-01-02", NOMAD_TRY(instant_of(call, call[0]))));
}

Result<Value> date_modify(Call& call, bool must) {
  const auto by = parse_duration(call.text(0));
  if (!by) return must ? Result<Value>{by.error()} : Result<Value>{call[1]};
  const auto sum = static_cast<std::uint64_t>(nanoseconds_of(call[1]))
                   + static_cast<std::uint64_t>(by->count());
  return time_value(static_cast<std::int64_t>(sum));
}

Result<Value> date_modify_or_same(Call& call) {
  return date_modify(call, false);
}

Result<Value> must_date_modify(Call& call) {
  return date_modify(call, true);
}

Result<Value> ago(Call& call) {
  const std::int64_t past = NOMAD_TRY(instant_of(call, call[0]));
  const std::int64_t now = NOMAD_TRY(call.context.sources())->now();
  const std::int64_t half = (now - past >= 0 ? 1 : -1) * (second / 2);
  return Value::text(format_duration(Nanoseconds{(now - past + half) / second * second}));
}

Result<Value> duration(Call& call) {
  std::int64_t seconds = 0;
  if (call[0].kind() == Kind::text) seconds = parse_integer(call[0].as_text(), 10).value;
  if (call[0].type() == &types::int64) seconds = call[0].as_integer();
  return Value::text(format_duration(Nanoseconds{
      static_cast<std::int64_t>(static_cast<std::uint64_t>(seconds) * std::uint64_t{second})}));
}

Result<Value> duration_round(Call& call) {
  std::int64_t amount = 0;
  if (call[0].kind() == Kind::text) {
    const auto parsed = parse_duration(call[0].as_text());
    amount = parsed ? parsed->count() : 0;
  } else if (call[0].type() == &types::int64) {
    amount = call[0].as_integer();
  } else if (is_time(call[0])) {
    amount = NOMAD_TRY(call.context.sources())->now() - nanoseconds_of(call[0]);
  }
  const auto size
      = amount < 0 ? 0 - static_cast<std::uint64_t>(amount) : static_cast<std::uint64_t>(amount);
  constexpr std::uint64_t hour = 3600 * std::uint64_t{second};
  constexpr std::pair<std::uint64_t, std::string_view> units[]
      = {{365 * 24 * hour, "y"}, {30 * 24 * hour, "mo"}, {24 * hour, "d"}, {hour, "h"},
         {hour / 60, "m"},       {hour / 3600, "s"}};
  for (const auto& [unit, name] : units)
    if (size > unit) return Value::text(std::to_string(size / unit) + std::string{name});
  return Value::text("0s");
}

/// Year 1, Go's zero time, where the text is no date.
Result<Value> to_date(Call& call) {
  const auto time = parse_time(call.text(0), call.text(1));
  if (!time) return time.error();
  return time_value(*time);
}

Result<Value> unix_epoch(Call& call) {
  const std::int64_t time = nanoseconds_of(call[0]);
  return Value::text(std::to_string(time / second - (time % second < 0 ? 1 : 0)));
}

}  // namespace

std::span<const Function> functions() {
  static const Type* const text = &types::text;
  static const std::vector<const Type*> any{&types::any};
  static const std::vector<const Type*> layout_and_any{text, &types::any};
  static const std::vector<const Type*> text_and_time{text, &time_type};
  static const Function table[] = {
      {"sprig_now", {}, false, now},
      {"sprig_date", layout_and_any, false, date},
      {"sprig_dateInZone", {text, &types::any, text}, false, date},
      {"sprig_date_in_zone", {text, &types::any, text}, false, date},
      {"sprig_htmlDate", any, false, html_date},
      {"sprig_htmlDateInZone", {&types::any, text}, false, html_date},
      {"sprig_dateModify", text_and_time, false, date_modify_or_same},
      {"sprig_date_modify", text_and_time, false, date_modify_or_same},
      {"sprig_mustDateModify", text_and_time, false, must_date_modify},
      {"sprig_must_date_modify", text_and_time, false, must_date_modify},
      {"sprig_ago", any, false, ago},
      {"sprig_duration", any, false, duration},
      {"sprig_durationRound", any, false, duration_round},
      {"sprig_toDate", {text, text}, false, to_date},
      {"sprig_mustToDate", {text, text}, false, to_date},
      {"sprig_unixEpoch", {&time_type}, false, unix_epoch},
  };
  return table;
}

}  // namespace nomad::templates::sprig_date_family
