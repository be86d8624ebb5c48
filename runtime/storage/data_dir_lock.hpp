// DataDirLock: one agent per data directory. Held by flock(2) on `<data_dir>/agent.lock`, so that
// the kernel gives it back however the agent ends.
#pragma once

#include <string>

#include "runtime/base/result.hpp"

namespace nomad::storage {

class DataDirLock {
public:
  /// Takes the lock, creating directory (`passable_mode`) and file as needed. What an agent that
  /// was killed had just begun to start may have it a moment longer, and is waited for. A second
  /// agent gets `conflict`: `data_dir "/x" is in use by another agent (pid 123)`; otherwise errors
  /// name the path and the system's reason.
  static Result<DataDirLock> take(const std::string& data_dir);

  /// Whether an agent has ever taken it there.
  static bool is_in(const std::string& data_dir);

  DataDirLock(DataDirLock&& other) noexcept;
  DataDirLock& operator=(DataDirLock&& other) noexcept;
  ~DataDirLock();

private:
  explicit DataDirLock(int file) : file_(file) {}

  int file_ = -1;
};

}  // namespace nomad::storage
