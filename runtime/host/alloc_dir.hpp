// AllocDir: the directory tree of one allocation, laid out as Nomad's.
//
//   <root>/                  0755
//     alloc/                 0777  shared by the group
//       data/ logs/ tmp/     0777
//     <task>/                0777  1777 and root's where its secrets are no mount
//       local/               0777
//       tmp/                 1777
//       secrets/             0700  the task's user's; a tmpfs of 1 MiB when the agent is root and
//       may
//                                  mount. 0711 if others have files there. Where he is not known
//                                  (images): 1777, and root's
//       private/             0700  root's, likewise a tmpfs; never shown to tasks
//
// Other directories for tasks belong to nobody when the agent is root, so that any task user can
// write. Paths are no secret (/proc/mounts), and everybody passes down to a task's directory: what
// keeps other users of the machine from a task's socket and tokens is the mode of `secrets`. What a
// release before left (0777) gets these modes when the task is taken up again.
// Everything is idempotent and keeps no state outside the tree: after a restart of the agent the
// same calls find what is there. Removal never follows links, never leaves the file system it
// started on, and refuses to go on over something that is still mounted.
//
// Calls block on the file system; run them off the actors' threads. No locking: one caller at a
// time per allocation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/host/beneath.hpp"

namespace nomad::host {

/// Who has to get at what is in a task's `secrets`.
struct SecretsFor {
  FileOwner owner{};               ///< As whom the task runs; without a user, that may be anybody.
  bool others_have_files = false;  ///< Others than him open what there is of theirs, by its name.
};

class AllocDir {
public:
  /// `root` is "<alloc_dir>/<alloc id>", absolute. Nothing is touched yet.
  explicit AllocDir(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }

  std::string shared() const { return root_ + "/alloc"; }

  std::string data() const { return root_ + "/alloc/data"; }

  std::string logs() const { return root_ + "/alloc/logs"; }

  std::string task(std::string_view name) const { return root_ + '/' + std::string{name}; }

  std::string local(std::string_view name) const { return task(name) + "/local"; }

  std::string secrets(std::string_view name) const { return task(name) + "/secrets"; }

  /// Builds the shared part. A path that exists as something else than a directory is `conflict`.
  Result<> build() const;

  /// Builds a task's part. `tmpfs` false keeps secrets in plain directories; true falls back to
  /// them, with a logged warning, where mounting is not permitted.
  Result<> build_task(std::string_view name, bool tmpfs = true, const SecretsFor& whom = {}) const;

  /// Whether the shared part is there.
  bool exists() const;

  /// Opens the tree for the file API.
  Result<Beneath> open() const { return Beneath::open(root_); }

  /// Unmounts what was mounted, which has secrets: for tasks that have ended for good.
  Result<> forget_secrets() const;

  /// Unmounts what was mounted and removes the tree. Success when nothing is there. On failure as
  /// much as possible is removed and the first error returned; call again.
  Result<> destroy() const;

private:
  std::string root_;
};

/// Removes a tree as `AllocDir::destroy` does, `name` being an entry of `parent`.
Result<> remove_tree(int parent, const std::string& name);

/// Names that cannot be a task's directory: empty, ".", "..", "alloc", with "/" or NUL, or longer
/// than 255 bytes.
Result<> check_task_name(std::string_view name);

}  // namespace nomad::host
