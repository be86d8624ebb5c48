// What tasks and the machine use now, as the readers of /proc find it and as the API shows it.
//
// Actors send TaskUsage and HostUsage to each other as they are: both say so by `is_message`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace nomad::host {

/// Bytes. `measured` names what is known; the rest is 0 because unknown.
struct MemoryUsage {
  std::uint64_t rss = 0;
  std::uint64_t cache = 0;
  std::uint64_t swap = 0;
  std::uint64_t mapped_file = 0;
  std::uint64_t usage = 0;
  std::uint64_t max_usage = 0;
  std::uint64_t kernel_usage = 0;
  std::uint64_t kernel_max_usage = 0;
  std::vector<std::string> measured{};
};

struct CpuUsage {
  double system_mode = 0;  ///< Percent of one core.
  double user_mode = 0;
  double total_ticks = 0;  ///< MHz.
  double percent = 0;      ///< Of one core.
  std::uint64_t throttled_periods = 0;
  std::uint64_t throttled_time = 0;  ///< Nanoseconds.
  std::vector<std::string> measured{};
};

struct ProcessUsage {
  pid_t pid = 0;
  MemoryUsage memory;
  CpuUsage cpu;
};

struct TaskUsage {
  using is_message = void;
  MemoryUsage memory;
  CpuUsage cpu;
  std::int64_t timestamp = 0;  ///< Unix nanoseconds of the sample.
  std::vector<ProcessUsage> processes{};
  /// Bytes, in and out, that its network has moved until now, if that is another than the
  /// machine's.
  std::optional<std::uint64_t> network{};
};

struct HostMemory {
  std::uint64_t total = 0;
  std::uint64_t available = 0;
  std::uint64_t used = 0;
  std::uint64_t free = 0;
};

/// One cpu's share of time in percent.
struct CoreUsage {
  std::string cpu{};  ///< "cpu0"
  double user = 0;
  double system = 0;
  double idle = 100;
  double total = 0;
};

struct DiskUsage {
  std::string device{};
  std::string mountpoint{};
  std::uint64_t size = 0;
  std::uint64_t used = 0;
  std::uint64_t available = 0;
  double used_percent = 0;
  double inodes_used_percent = 0;
};

struct HostUsage {
  using is_message = void;
  HostMemory memory;
  std::vector<CoreUsage> cpu{};
  std::vector<DiskUsage> disks{};
  DiskUsage alloc_dir;  ///< Without device and mountpoint, as Nomad's.
  std::uint64_t uptime_seconds = 0;
  std::int64_t timestamp = 0;     ///< Unix nanoseconds.
  double cpu_ticks_consumed = 0;  ///< MHz.
  /// Bytes, in and out, that its interfaces to others have moved until now, if that is known.
  std::optional<std::uint64_t> network{};
};

}  // namespace nomad::host
