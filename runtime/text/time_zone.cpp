#include "runtime/text/time_zone.hpp"

#include <stdexcept>

#include <date/tz.h>

namespace nomad {

namespace {

// Through Howard Hinnant's date library, which reads the system's zone database.

date::sys_seconds at_seconds(std::int64_t time) {
  return date::sys_seconds{std::chrono::seconds{time}};
}

const date::time_zone& zone_of(const void* zone) {
  return *static_cast<const date::time_zone*>(zone);
}

/// Names that would leave the database's directory are no zones.
bool is_plausible(std::string_view name) {
  return name.find("..") == std::string_view::npos && name.front() != '/'
         && name.find('\\') == std::string_view::npos;
}

}  // namespace

Result<TimeZone> TimeZone::find(std::string_view name) {
  TimeZone found;
  if (name.empty() || name == "UTC") return found;
  if (!is_plausible(name)) return Error{Errc::invalid_argument, "time: invalid location name"};
  try {
    found.zone_ = name == "Local" ? date::current_zone() : date::locate_zone(std::string{name});
  } catch (const std::runtime_error&) {
    return Error{Errc::invalid_argument, "unknown time zone " + std::string{name}};
  }
  return found;
}

std::int64_t TimeZone::offset_at(std::int64_t time) const {
  return is_utc() ? 0 : zone_of(zone_).get_info(at_seconds(time)).offset.count();
}

std::string TimeZone::abbreviation_at(std::int64_t time) const {
  return is_utc() ? "UTC" : zone_of(zone_).get_info(at_seconds(time)).abbrev;
}

std::int64_t TimeZone::instant_of(std::int64_t local) const {
  if (is_utc()) return local;
  // Nearly right: the offset that holds when the local time is read as UTC.
  const date::sys_info guess = zone_of(zone_).get_info(at_seconds(local));
  if (guess.offset.count() == 0) return local;
  const std::int64_t instant = local - guess.offset.count();
  if (at_seconds(instant) >= guess.begin && at_seconds(instant) < guess.end) return instant;
  return local - offset_at(instant);
}

}  // namespace nomad
