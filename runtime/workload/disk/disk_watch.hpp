// DiskWatch: what the users of an allocation are told of its directory: that it holds more than the
// size of its ephemeral_disk, once each time that it comes to that, and that it, or the directory
// of a task, is gone. Plain code.
//
// Nomad plans with the size and does not look at the disk; here tasks are told of. They are ended
// for it only where the agent's configuration says so (`client.ephemeral_disk_enforce`).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/workload/task_event.hpp"

namespace nomad::workload {

/// The folder of an allocation that its tasks share.
inline constexpr std::string_view shared_folder = "alloc";

/// What has to be in the directory of an allocation with a task of this name, beside the folder
/// that all share: the task's, and, since that can't be deleted while the secrets are mounted in
/// it, the one of its files.
inline std::vector<std::string> expected_folders(const std::string& task) {
  return {task, task + "/local"};
}

/// An allocation's directory as it was found.
struct DiskLook {
  std::uint64_t bytes = 0;
  bool complete = true;                ///< false: it holds at least `bytes`.
  std::vector<std::string> missing{};  ///< `shared_folder`, and of `expected_folders`.
};

/// What it is measured by.
struct DiskTerms {
  std::int64_t size_mb = 0;  ///< 0: nobody has said how much it may hold.
  bool enforce = false;      ///< The tasks of one that holds more have to end.
};

class DiskWatch {
public:
  struct News {
    std::string task;  ///< Whom it is told to; empty: all tasks.
    TaskEvent event;
  };

  struct Verdict {
    std::vector<News> news;
    bool kill = false;  ///< The news say why, and fail the tasks.
  };

  /// `running`: the tasks that run; the folders of others may not be there yet, or any more.
  Verdict look(const DiskLook& look,
               const DiskTerms& terms,
               std::span<const std::string> running,
               std::int64_t now);

private:
  bool over_ = false;
  std::set<std::string> gone_;  ///< Folders that were told to be gone.
};

}  // namespace nomad::workload
