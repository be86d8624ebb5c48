// HostUsageReader: what the machine itself uses, as /v1/client/stats shows it.
//
// Reads /proc and statfs on demand; percentages are since the previous call. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/usage.hpp"

namespace nomad::host {

class HostUsageReader {
public:
  struct Options {
    std::string alloc_dir{};
    std::uint64_t total_compute_mhz = 0;  ///< Of fingerprint.
    std::string proc = "/proc";
  };

  explicit HostUsageReader(Options options) : options_(std::move(options)) {}

  /// What cannot be read is zero and logged once.
  HostUsage read();

private:
  struct CpuTimes {
    std::uint64_t user = 0, system = 0, idle = 0, total = 0;
  };

  void read_cpu(HostUsage& usage);
  void read_disks(HostUsage& usage);
  void warn_once(const std::string& what, const std::string& error);

  Options options_;
  std::map<std::string, CpuTimes> previous_;
  std::map<std::string, CoreUsage> shown_;  ///< The shares last measured.
  std::set<std::string> warned_;
};

/// /proc/meminfo to totals. Pure.
HostMemory parse_meminfo(std::string_view text);

/// Bytes, in and out, of the interfaces of a /proc/<pid>/net/dev: but for the loopback and for
/// those that only pass on what others have counted (bridges, and what ties namespaces to them).
/// Pure.
std::uint64_t parse_network_bytes(std::string_view text);

/// statfs of the file system that holds `path`; device and mountpoint stay empty.
Result<DiskUsage> disk_usage(const std::string& path);

/// A mount point as it is: the kernel's lists write blanks and the like as \ooo. Pure.
std::string unescape_mount(std::string_view text);

/// A mounted block device.
struct Partition {
  std::string device{};
  std::string mountpoint{};
  std::string type{};
};

/// The mounts of /proc/self/mountinfo whose type /proc/filesystems does not mark `nodev`. Pure.
std::vector<Partition> parse_partitions(std::string_view mountinfo, std::string_view filesystems);

/// A small file of /proc or /sys, whole. `not_found` or `io`.
Result<std::string> read_small_file(const std::string& path);

}  // namespace nomad::host
