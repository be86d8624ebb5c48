// UsageStreams: the usage streams of a driver, as the driver has them: which of its tasks it tells
// the usage of again and again, when each is to be read, and whether what was read is told.
//
// (1) Readings of the same interval fall together, whenever they were asked for, so that one look
//     at the machine is enough for all tasks of a node. One that is late is not made up for.
// (2) A task is not read while its last reading is not over.
// (3) What was read is told if the stream goes on that it was begun for: neither was the task
//     dropped meanwhile, nor is it another run's stream.
// (4) As long as a task is followed there is a timer: the one that was taken last.
//
// The driver calls it in its own turns and gives it the time of a steady clock. What the runner of
// a task does with the stream is the UsageStream of actors/client/task.
//
// May depend on: runtime/base.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/workload/runs/task_id.hpp"

namespace nomad::workload {

/// `asked` as it can be kept: readings closer than half a second say nothing of the processor, and
/// one that is hours old nothing of the task. 0, and less: 0.
Nanoseconds usage_interval(Nanoseconds asked);

class UsageStreams {
public:
  struct Reading {
    TaskId id;
    Nanoseconds interval{0};
    std::uint64_t stream = 0;
  };

  /// A timer, behind which `take_due` is called.
  struct Wake {
    Nanoseconds delay{0};
    std::uint64_t round = 0;
  };

  /// The run that the task has now is followed at `asked`, as it can be kept; 0: no more.
  void follow(const TaskId& id, Nanoseconds asked, Nanoseconds now);

  /// The run is over.
  void drop(const TaskId& id);

  bool follows(const TaskId& id) const { return streams_.contains(id); }

  /// The timer that is wanted beside those that were taken. To be asked for after `follow` and
  /// `take_due`.
  std::optional<Wake> take_wake(Nanoseconds now);

  /// What is to be read now; each reading is ended by `end_reading`. Nothing for a timer that an
  /// earlier one has replaced.
  std::vector<Reading> take_due(std::uint64_t round, Nanoseconds now);

  /// The reading has come to something. Whether that is to be told.
  bool end_reading(const Reading& reading);

private:
  struct Stream {
    std::uint64_t number = 0;
    Nanoseconds interval{0};
    Nanoseconds due{0};
    bool is_read = false;  ///< The reading is not over.
  };

  void enter(const TaskId& id, Stream& stream, Nanoseconds now);
  void take_out(const TaskId& id, const Stream& stream);

  std::map<TaskId, Stream> streams_;
  std::map<Nanoseconds, std::set<TaskId>> ticks_;  ///< What is due at each.
  std::uint64_t numbers_ = 0;                      ///< Of streams.
  std::optional<Nanoseconds> wakes_at_;
  std::uint64_t round_ = 0;  ///< Of the timer that counts.
};

}  // namespace nomad::workload
