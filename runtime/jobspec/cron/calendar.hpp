// Calendar arithmetic on local times counted in seconds, proleptic Gregorian.
#pragma once

#include <chrono>
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

/// Seconds from 1970-01-01T00:00:00 of the same calendar.
constexpr std::int64_t local_seconds(const LocalTime& at) {
  using namespace std::chrono;
  const auto month = year{at.year} / January + months{at.month - 1};
  const auto day = sys_days{month / 1} + days{at.day - 1};
  return seconds{day.time_since_epoch() + hours{at.hour} + minutes{at.minute} + seconds{at.second}}
      .count();
}

constexpr LocalTime local_time(std::int64_t since_epoch) {
  using namespace std::chrono;
  const sys_seconds at{seconds{since_epoch}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(time.hours().count()),
          static_cast<int>(time.minutes().count()),
          static_cast<int>(time.seconds().count())};
}

constexpr int days_in_month(int year, int month) {
  const auto last = std::chrono::year{year} / month / std::chrono::last;
  return static_cast<int>(static_cast<unsigned>(last.day()));
}

/// 0 is Sunday.
constexpr int weekday_of(int year, int month, int day) {
  const std::chrono::sys_days date{std::chrono::year{year} / month / day};
  return static_cast<int>(std::chrono::weekday{date}.c_encoding());
}

}  // namespace nomad::jobspec
