// CheckStarts: which starts of an allocation's tasks begin the grace of its checks
// (check_restart.hpp).
//
// Rules:
//   1. A check that restarts a task begins with each start of that task, and one that is found
//   running
//      has started.
//   2. A check that restarts all tasks begins when all of them are there: none that comes before
//   the
//      end (poststop tasks don't) is pending any more, and each that runs has started since the
//      allocation began or all its tasks were to be restarted. From then on with each start of one.
//   3. A start is told once, whatever is heard of the task besides.
//
// Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schema/job.capnp.h"
#include "schema/plugin.capnp.h"

namespace nomad::workload {

class CheckStarts {
public:
  struct Start {
    std::string task;     ///< "": of the group.
    std::int64_t at = 0;  ///< Unix ns.

    bool operator==(const Start&) const = default;
  };

  using Tasks = capnp::List<schema::plugin::TaskSummary>::Reader;

  /// Of the job's version that runs.
  void set_group(schema::TaskGroup::Reader group);

  /// All tasks are to be restarted: what runs now is no start.
  void begin_anew();

  /// How the tasks are now. The starts that are news, those of tasks first.
  std::vector<Start> look(Tasks tasks);

  /// Those that have been told since the beginning, for who has lost them.
  std::vector<Start> known() const;

private:
  std::set<std::string, std::less<>> poststop_;
  std::map<std::string, std::int64_t, std::less<>> seen_;  ///< The last start of each.
  std::set<std::string, std::less<>> told_;                ///< Since the beginning.
  std::int64_t group_at_ = 0;                              ///< 0: not all are there yet.
};

}  // namespace nomad::workload
