// Cron expressions of periodic jobs: five fields, or six with years, or seven with seconds and
// years; `*`, lists, ranges, steps, names, `L`, `W`, `LW`, `5L`, `5#3`, `@daily` and the like.
//
// Pure: the time to start from and the zone are arguments.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"
#include "runtime/text/time_zone.hpp"

namespace nomad::jobspec {

/// Seconds since 1970-01-01T00:00:00Z.
using UnixSeconds = std::int64_t;

class CronExpression {
public:
  /// Errors as Nomad words them: `missing field(s)`, `syntax error in minute field: '61'`,
  /// `invalid interval */0`.
  static Result<CronExpression> parse(std::string_view text);

  /// The first matching instant after `from`; nothing when there is none until 2099.
  std::optional<UnixSeconds> next(UnixSeconds from, const TimeZone& zone) const;

private:
  struct Parser;
  struct Search;
  static constexpr int first_year = 1970;
  static constexpr int last_year = 2099;

  std::bitset<32> days_of(int year, int month) const;

  std::bitset<60> seconds_;
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<32> workdays_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;
  std::bitset<35> nth_weekdays_;  // (n - 1) * 7 + weekday
  std::bitset<7> last_weekdays_;
  std::bitset<last_year - first_year + 1> years_;
  bool last_day_ = false;
  bool last_workday_ = false;
  bool days_restricted_ = true;
  bool weekdays_restricted_ = true;
};

/// When a periodic job's next launch after `from` is due: the earliest of its specs, in its time
/// zone (UTC when that is unknown). `periodic` is the job's Periodic object. Nothing: never.
Result<std::optional<UnixSeconds>> next_launch(const boost::json::object& periodic,
                                               UnixSeconds from);

}  // namespace nomad::jobspec
