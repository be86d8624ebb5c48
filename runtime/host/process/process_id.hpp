// ProcessId: which process, for good. A pid is used again; pid, start time and boot id together
// are not. Shared with nomadctl-executor, so it depends on nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace nomad::host {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< Field 22 of /proc/<pid>/stat.
  std::string boot_id;            ///< /proc/sys/kernel/random/boot_id

  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

/// The id of the running process `pid`; start_ticks is 0 when there is none.
ProcessId identify(pid_t pid);

/// Whether exactly this process still exists. A zombie does not count.
bool is_alive(const ProcessId& process);

/// This boot's id.
std::string boot_id();

/// What /proc/<pid>/stat holds, as far as we need it.
struct ProcessStat {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t start_ticks = 0;  ///< Since boot.
  std::uint64_t rss_pages = 0;
};

/// Parses the text of /proc/<pid>/stat, whose second field may hold anything. False if it is not
/// one; `stat` is then unspecified. Pure.
bool parse_process_stat(std::string_view text, ProcessStat& stat);

/// Reads a file of /proc or /sys whole, at most 1 MiB. Empty when it cannot be read.
std::string read_proc_file(const std::string& path);

}  // namespace nomad::host
