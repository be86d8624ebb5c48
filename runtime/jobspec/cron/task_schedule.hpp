// TaskSchedule: at which times a task runs, by the `schedule` block of a job: from each start to
// the end that follows on the same day. Outside of that the task is paused.
//
// Pure: the time is an argument. A schedule is cheap to copy and never changes.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/jobspec/cron/cron.hpp"

namespace nomad::jobspec {

class TaskSchedule {
public:
  /// What a schedule says of an instant.
  struct Moment {
    bool runs = false;
    std::optional<UnixSeconds> until{};  ///< When that changes; nothing: never.
  };

  /// `start` has six fields of a cron expression, without seconds and with the year, `end` the
  /// minute and the hour; neither has lists or steps. The zone is the machine's when `timezone` is
  /// empty. Error: `invalid_argument`, in Nomad's words.
  static Result<TaskSchedule> parse(std::string_view start,
                                    std::string_view end,
                                    std::string_view timezone);

  /// Of `now`: a task runs from the second of its start up to that of its end, which is not in it.
  Moment at(UnixSeconds now) const;

private:
  TaskSchedule(CronExpression start, CronExpression end, TimeZone zone)
      : start_{start}, end_{end}, zone_{zone} {}

  CronExpression start_;
  CronExpression end_;
  TimeZone zone_;
};

}  // namespace nomad::jobspec
