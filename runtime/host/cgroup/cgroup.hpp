// Cgroups: a scope for each task, on version 1, version 2 and the hybrid of both.
//
// What a scope is for: to find every process of a task and kill it as one, to see that the kernel
// killed for memory, to read usage, and to hold limits. Where cgroups cannot be made (not root, a
// container that mounts them read-only) `Cgroups::open` says so in the log once, scopes are empty,
// and the executor falls back to walking the process tree.
//
//   v2      <mount>/nomad.slice/{share,reserve}.slice/<key>.scope
//   hybrid  <mount>/unified/nomad.slice/<key>.scope and <mount>/memory/nomad/<key>
//   v1      <mount>/{memory,pids,cpu,...}/nomad/<key>
//
// and for the processors as runtime/host/cgroup/cpuset_groups.hpp says.
//
// Names follow from the task alone (`executor_key`), so after a crash the agent finds a scope
// without having written down that it made it.
//
// Thread-safe: immutable after `open`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/cgroup/cpuset_groups.hpp"

namespace nomad::host {

/// Limits to write into a scope; 0 leaves one alone.
struct CgroupLimits {
  std::uint64_t memory_bytes = 0;       ///< Hard limit.
  std::uint64_t memory_soft_bytes = 0;  ///< Reclaimed first above this.
  std::uint64_t cpu_shares = 0;         ///< v1 shares; converted to a weight on v2.
  std::uint64_t pids = 0;
  /// Processors of its own, "0-1,4"; empty: those that all such scopes share. Without effect where
  /// the cpuset controller can't be written.
  std::string cpus{};
};

/// The directories that make up one task's scope; all empty when there are no cgroups.
struct CgroupScope {
  std::vector<std::string> directories{};  ///< A process joins each of them; [0] lists processes.
  std::string unified{};                   ///< The version 2 directory among them, or empty.
  std::string memory{};                    ///< The one with memory figures, or empty.
  std::string cpu{};                       ///< The one with cpu figures, or empty.
  std::string shares{};  ///< The one that takes cpu.weight or cpu.shares, or empty.
  std::string pids{};    ///< The one that takes pids.max, or empty.
  std::string shared{};  ///< Of many tasks: a process joins it, too. Empty if not just created.
  bool memory_is_v2 = false;
  bool cpu_is_v2 = false;
  bool shares_are_weights = false;

  explicit operator bool() const { return !directories.empty(); }
};

/// What is mounted where.
struct CgroupMounts {
  enum class Version : std::uint8_t { none, v1, hybrid, v2 };

  Version version = Version::none;
  std::string
      first{};  ///< The mount point that is fingerprinted: the first of version 1, or that of 2.
  std::string unified{};                                           ///< The version 2 mount.
  std::vector<std::pair<std::string, std::string>> controllers{};  ///< v1: controller → mount.
};

/// Reads /proc/self/mountinfo's text. Pure.
CgroupMounts parse_cgroup_mounts(std::string_view mountinfo);

class Cgroups {
public:
  struct Options {
    std::string parent{};  ///< Empty: "nomad.slice" (v2) or "nomad" (v1).
    std::string mountinfo = "/proc/self/mountinfo";
    bool enabled = true;  ///< false: behave as if nothing were permitted.
    bool limits = false;  ///< Tasks will have limits of processors and of their number, too.
  };

  /// Detects, and makes the parent groups where permitted. Never fails: without permission the
  /// object says so (`available()`), having logged the reason.
  static Cgroups open(const Options& options);

  bool available() const { return available_; }

  const CgroupMounts& mounts() const { return mounts_; }

  /// The controllers by which limits can't be kept here: "cpu, pids"; empty: there are all.
  std::string lacking() const;

  /// Makes the scope `key` (or finds it) and writes limits. An unavailable controller whose limit
  /// is wanted is an error. An empty scope when cgroups are not available.
  Result<CgroupScope> create(std::string_view key, const CgroupLimits& limits = {}) const;

  /// The directories of the scope `key` that exist, for stats and clean-up after a restart; an
  /// empty scope when there are none.
  CgroupScope find(std::string_view key) const;

  /// Sends SIGKILL to every process in the scope, once. They need a moment to go: `processes`
  /// tells. Nothing happens when the scope is not there.
  static void kill(const CgroupScope& scope);

  /// Removes the directories. `conflict` when processes are left; success when already gone.
  static Result<> remove(const CgroupScope& scope);

  /// The processes in the scope (with all threads as one); empty when it is not there.
  static std::vector<pid_t> processes(const CgroupScope& scope);

private:
  bool holds_by_v1() const;
  Result<> make_directories(const std::string& name, const CgroupLimits& limits) const;

  CgroupMounts mounts_;
  bool available_ = false;
  CpusetGroups cpusets_;                     ///< Empty: tasks can't be held to processors.
  std::vector<std::string> controllers_v1_;  ///< Directories `<mount>/<parent>` that work.
  std::string unified_;                      ///< `<unified mount>/<parent>`, or empty.
};

}  // namespace nomad::host
