// Calendar arithmetic on local times counted in seconds, proleptic Gregorian.
#pragma once

#include <cstdint>

namespace nomad::jobspec {

/// Months count from 1, days from 1. Fields out of range carry over when converted to seconds.
struct LocalTime {
  int year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// Days from 1970-01-01 to the given date; `month` within 1 to 12.
constexpr std::int64_t days_from_epoch(std::int64_t year, int month, std::int64_t day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

/// Seconds from 1970-01-01T00:00:00 of the same calendar.
constexpr std::int64_t local_seconds(const LocalTime& at) {
  int month_index = at.month - 1;
  int year = at.year + month_index / 12;
  month_index %= 12;
  if (month_index < 0) {
    month_index += 12;
    --year;
  }
  return ((days_from_epoch(year, month_index + 1, 1) + at.day - 1) * 24 + at.hour) * 3600
         + static_cast<std::int64_t>(at.minute) * 60 + at.second;
}

constexpr LocalTime local_time(std::int64_t seconds) {
  std::int64_t days = seconds / 86'400;
  std::int64_t rest = seconds % 86'400;
  if (rest < 0) {
    rest += 86'400;
    --days;
  }
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t of_era = days - era * 146'097;
  const std::int64_t year_of_era
      = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * of_year + 2) / 153;
  const int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  return {static_cast<int>(year_of_era + era * 400) + (month <= 2),
          month,
          static_cast<int>(of_year - (153 * shifted + 2) / 5) + 1,
          static_cast<int>(rest / 3600),
          static_cast<int>(rest / 60 % 60),
          static_cast<int>(rest % 60)};
}

constexpr int days_in_month(int year, int month) {
  return static_cast<int>((local_seconds({year, month + 1, 1}) - local_seconds({year, month, 1}))
                          / 86'400);
}

/// 0 is Sunday.
constexpr int weekday_of(int year, int month, int day) {
  const std::int64_t days = days_from_epoch(year, month, day);
  return static_cast<int>(((days + 4) % 7 + 7) % 7);
}

}  // namespace nomad::jobspec
