// The mounts that make up a task's own view of files: which, where, in which order and how. Pure;
// the executor carries them out (runtime/host/executor/enter.hpp).
//
// The task's directory becomes "/". What `chroot_env` names comes by overlays: below, the host's
// directory, which nobody can write by them; above, what the task's directory has at that place. So
// nothing is copied or linked, a template or artifact that was put at "etc/app.conf" of the task's
// directory is at /etc/app.conf, and who may write there writes into the task's directory alone.
// (In Nomad, host and task share files by hard links, so that a task can write to the host's.)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::host {

/// One step, as in schema/executor.capnp, which says what each kind means.
struct PlannedMount {
  enum class Kind : std::uint8_t { bind, overlay, fresh, link, mask, read_only };

  Kind kind = Kind::bind;
  std::string target{};
  std::string source{};
  std::vector<std::string> options{};
  std::uint64_t attributes = 0;   ///< MOUNT_ATTR_…
  std::uint64_t propagation = 0;  ///< MS_PRIVATE, …; 0: as it comes.
  std::string work{};             ///< Of an overlay: a directory beside the task's.

  friend bool operator==(const PlannedMount&, const PlannedMount&) = default;
};

/// A directory or file of the host as a task is to see it.
struct VolumeMount {
  std::string task_path;
  std::string host_path;
  bool read_only = false;
  std::string propagation{};  ///< "private" (or empty), "host-to-task" or "bidirectional".
};

/// An entry of `chroot_env`, and what was found of it.
struct ChrootEntry {
  enum class Kind : std::uint8_t { absent, file, directory };

  std::string source{};      ///< Of the host, absolute and normal.
  std::string target{};      ///< In the task, absolute and normal.
  Kind kind = Kind::absent;  ///< Of what the source is or leads to.
  std::string real{};        ///< Where the source really is: itself, if it is no link.
  bool is_taken = false;  ///< The task's directory has something other than a link to `real` there.
};

struct MountInput {
  std::string task_directory;   ///< "<alloc_dir>/<alloc id>/<task>"
  std::string alloc_directory;  ///< "<alloc_dir>/<alloc id>/alloc"
  std::string work_directory;   ///< For overlays; on the file system of the task's directory.
  std::vector<ChrootEntry> chroot{};
  std::vector<std::string> hidden{};  ///< Directories of the host that no task is to see.
  std::vector<VolumeMount> volumes{};
  std::vector<VolumeMount> devices{};
  bool allow_set_user_id = false;  ///< Programs may run as their owner (nosuid is left out).
  bool use_overlays = true;        ///< false: what `chroot_env` names can't be written.
};

/// Nomad's: what tasks see of the host.
const std::map<std::string, std::string>& default_chroot_env();

/// A path with "/" before it and without ".", "..", and "//".
std::string task_path(const std::string& path);

/// The paths in the task at which Nomad looks for a command, in its order.
std::vector<std::string> program_locations(const std::string& command);

/// In the order in which they have to be made. `invalid_argument` for a propagation that there is
/// not.
Result<std::vector<PlannedMount>> plan_mounts(const MountInput& input);

/// MOUNT_ATTR_… of the task's root.
std::uint64_t root_attributes(bool allow_set_user_id);

}  // namespace nomad::host
