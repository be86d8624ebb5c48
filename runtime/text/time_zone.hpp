// Zones of the system's zone database: how far from UTC they are, and how they are called, over
// time. Looking one up is thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

/// A zone's offset over time. Cheap to copy; valid for the life of the process. Times are seconds
/// since 1970.
class TimeZone {
public:
  TimeZone() = default;  ///< UTC

  /// "" and "UTC" are UTC, "Local" the machine's. Error: `unknown time zone Mars/Base`.
  static Result<TimeZone> find(std::string_view name);

  bool is_utc() const noexcept { return zone_ == nullptr; }

  /// Seconds east of Greenwich at `time`.
  std::int64_t offset_at(std::int64_t time) const;
  /// "CEST"; of zones without a name for it, "+03".
  std::string abbreviation_at(std::int64_t time) const;
  /// The instant of a local time counted in seconds as if it were UTC; of a local time that does
  /// not exist or exists twice, one that uses the offset in force on one side of the change.
  std::int64_t instant_of(std::int64_t local) const;

private:
  const void* zone_ = nullptr;
};

}  // namespace nomad
