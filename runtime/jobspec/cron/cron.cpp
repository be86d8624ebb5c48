#include "runtime/jobspec/cron/cron.hpp"

#include <boost/json.hpp>

#include "runtime/jobspec/cron/calendar.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::int64_t minute_seconds = 60;
constexpr std::int64_t hour_seconds = 3600;

/// The first set bit at `from` or above; -1 when there is none.
template <std::size_t size>
int first_at_or_above(const std::bitset<size>& bits, int from) {
  for (int at = from; at < static_cast<int>(size); ++at)
    if (bits[static_cast<std::size_t>(at)]) return at;
  return -1;
}

/// The working day nearest to `day` within the month.
int nearest_workday(int day, int weekday, int last_day) {
  if (weekday == 6) return day > 1 ? day - 1 : day + 2;
  if (weekday == 0) return day < last_day ? day + 1 : day - 2;
  return day;
}

UnixSeconds floor_to_minute(UnixSeconds time) {
  const UnixSeconds rest = ((time % minute_seconds) + minute_seconds) % minute_seconds;
  return time - rest;
}

}  // namespace

/// Walks forward from an instant, keeping its local calendar fields at hand.
class CronClock {
public:
  CronClock(UnixSeconds time, const TimeZone& zone) : zone_{zone} { set(time); }

  void set(UnixSeconds time) {
    time_ = time;
    local_ = local_time(time + zone_.offset_at(time));
  }

  /// Fields out of range carry over, as in "the 32nd of January".
  void set_local(int year, int month, int day, int hour, int minute, int second) {
    set(zone_.instant_of(local_seconds({year, month, day, hour, minute, second})));
  }

  UnixSeconds time() const { return time_; }

  const LocalTime& local() const { return local_; }

  /// Whether the zone's offset differs between a day before and a day after.
  bool offset_changes_nearby() const {
    if (zone_.is_utc()) return false;
    LocalTime before = local_;
    --before.day;
    LocalTime after = local_;
    ++after.day;
    return zone_.offset_at(zone_.instant_of(local_seconds(before)))
           != zone_.offset_at(zone_.instant_of(local_seconds(after)));
  }

private:
  const TimeZone& zone_;
  UnixSeconds time_ = 0;
  LocalTime local_;
};

namespace {

/// Some zones have no midnight on the day a change takes place: goes to the start of that day.
void leave_gap_at_midnight(CronClock& clock) {
  const int hour = clock.local().hour;
  if (hour == 0) return;
  clock.set(clock.time() + (hour > 12 ? 24 - hour : -hour) * hour_seconds);
}

}  // namespace

std::bitset<32> CronExpression::days_of(int year, int month) const {
  const int last_day = days_in_month(year, month);
  const int first_weekday = weekday_of(year, month, 1);
  std::bitset<32> days;
  const auto put = [&](int day) {
    if (day >= 1 && day <= last_day) days.set(static_cast<std::size_t>(day));
  };
  const auto weekday = [&](int day) { return (first_weekday + day - 1) % 7; };

  if (!days_restricted_ && !weekdays_restricted_) {
    for (int day = 1; day <= last_day; ++day)
      put(day);
    return days;
  }
  if (days_restricted_) {
    if (last_day_) put(last_day);
    if (last_workday_) put(nearest_workday(last_day, weekday(last_day), last_day));
    for (int day = 1; day <= last_day; ++day) {
      if (days_[static_cast<std::size_t>(day)]) put(day);
      if (workdays_[static_cast<std::size_t>(day)])
        put(nearest_workday(day, weekday(day), last_day));
    }
  }
  if (weekdays_restricted_) {
    for (int day = 1; day <= last_day; ++day) {
      const auto of_week = static_cast<std::size_t>(weekday(day));
      if (weekdays_[of_week]) put(day);
      if (nth_weekdays_[static_cast<std::size_t>((day - 1) / 7) * 7 + of_week]) put(day);
      if (day > last_day - 7 && last_weekdays_[of_week]) put(day);
    }
  }
  return days;
}

/// The search for the next match: settles the date, then the time of day; whatever has to carry
/// over starts a new round.
struct CronExpression::Search {
  enum class Step : std::uint8_t { again, proceed, never };

  const CronExpression& cron;
  CronClock clock;
  int first_month;
  int first_minute;
  int first_second;

  Step find_month() {
    const int year = clock.local().year;
    if (year > last_year) return Step::never;
    const int wanted = first_at_or_above(cron.years_, std::max(year - first_year, 0));
    if (wanted < 0) return Step::never;
    if (wanted + first_year != year) clock.set_local(wanted + first_year, first_month, 1, 0, 0, 0);
    const int month = first_at_or_above(cron.months_, clock.local().month);
    if (month < 0) {
      clock.set_local(clock.local().year + 1, first_month, 1, 0, 0, 0);
      return Step::again;
    }
    if (month != clock.local().month) clock.set_local(clock.local().year, month, 1, 0, 0, 0);
    return Step::proceed;
  }

  Step find_day() {
    const LocalTime at = clock.local();
    const int day = first_at_or_above(cron.days_of(at.year, at.month), at.day);
    if (day < 0) {
      clock.set_local(at.year, at.month + 1, 1, 0, 0, 0);
      return Step::again;
    }
    if (day != at.day) {
      clock.set_local(at.year, at.month, day, 0, 0, 0);
      leave_gap_at_midnight(clock);
    }
    return Step::proceed;
  }

  Step find_time() {
    LocalTime at = clock.local();
    const int hour = first_at_or_above(cron.hours_, at.hour);
    if (hour < 0) {
      clock.set_local(at.year, at.month, at.day + 1, 0, 0, 0);
      return Step::again;
    }
    if (hour != at.hour)
      clock.set_local(at.year, at.month, at.day, hour, first_minute, first_second);
    at = clock.local();
    const int minute = first_at_or_above(cron.minutes_, at.minute);
    if (minute < 0) {
      clock.set_local(at.year, at.month, at.day, at.hour + 1, 0, 0);
      return Step::again;
    }
    if (minute != at.minute)
      clock.set_local(at.year, at.month, at.day, at.hour, minute, first_second);
    at = clock.local();
    const int second = first_at_or_above(cron.seconds_, at.second);
    if (second < 0) {
      clock.set_local(at.year, at.month, at.day, at.hour, at.minute + 1, 0);
      return Step::again;
    }
    if (second != at.second) clock.set_local(at.year, at.month, at.day, at.hour, at.minute, second);
    return Step::proceed;
  }

  /// Near a change of offset, hours repeat or are missing: walks in real time instead.
  Step walk_to_time() {
    while (!cron.hours_[static_cast<std::size_t>(clock.local().hour)]) {
      const int hour = clock.local().hour;
      clock.set(clock.time() + hour_seconds);
      if (hour == clock.local().hour) clock.set(clock.time() + hour_seconds);
      clock.set(floor_to_minute(clock.time()));
      if (clock.local().minute != 0)
        clock.set(clock.time() - minute_seconds * clock.local().minute);
      if (clock.local().hour == 0) {
        clock.set_local(clock.local().year, clock.local().month, clock.local().day, 0, 0, 0);
        return Step::again;
      }
    }
    while (!cron.minutes_[static_cast<std::size_t>(clock.local().minute)]) {
      const int hour = clock.local().hour;
      clock.set(floor_to_minute(clock.time()) + minute_seconds);
      if (hour != clock.local().hour) return Step::again;
    }
    const int second = first_at_or_above(cron.seconds_, clock.local().second);
    clock.set(floor_to_minute(clock.time()));
    if (second < 0) {
      clock.set(clock.time() + minute_seconds);
      return Step::again;
    }
    clock.set(clock.time() + second);
    return Step::proceed;
  }

  Step round() {
    Step step = find_month();
    if (step == Step::proceed) step = find_day();
    if (step != Step::proceed) return step;
    return clock.offset_changes_nearby() ? walk_to_time() : find_time();
  }
};

std::optional<UnixSeconds> CronExpression::next(UnixSeconds from, const TimeZone& zone) const {
  if (seconds_.none() || minutes_.none() || hours_.none() || months_.none()) return std::nullopt;
  Search search{*this, CronClock{from + 1, zone}, first_at_or_above(months_, 0),
                first_at_or_above(minutes_, 0), first_at_or_above(seconds_, 0)};
  for (;;) {
    const Search::Step step = search.round();
    if (step == Search::Step::never) return std::nullopt;
    if (step == Search::Step::proceed) return search.clock.time();
  }
}

Result<std::optional<UnixSeconds>> next_launch(const boost::json::object& periodic,
                                               UnixSeconds from) {
  std::optional<UnixSeconds> earliest;
  if (tree::text(periodic, "SpecType") != "cron") return earliest;
  const Result<TimeZone> zone = TimeZone::find(tree::text(periodic, "TimeZone"));
  const auto consider = [&](std::string_view spec) -> Result<> {
    const Result<CronExpression> expression = CronExpression::parse(spec);
    if (expression.has_error())
      return Error{Errc::invalid_argument, "failed parsing cron expression: " + std::string{spec}
                                               + ": " + expression.error().what};
    const std::optional<UnixSeconds> next
        = expression->next(from, zone.has_value() ? *zone : TimeZone{});
    if (next && (!earliest || *next < *earliest)) earliest = next;
    return {};
  };

  if (const std::string_view spec = tree::text(periodic, "Spec"); !spec.empty()) {
    NOMAD_TRY(consider(spec));
    return earliest;
  }
  for (const boost::json::value& spec : tree::list(periodic, "Specs"))
    if (const auto considered = consider(tree::text_of(spec)); considered.has_error())
      return Error{Errc::invalid_argument, "failed parsing cron expression "
                                               + std::string{tree::text_of(spec)} + ": "
                                               + considered.error().what};
  return earliest;
}

}  // namespace nomad::jobspec
