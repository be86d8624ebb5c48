// Staging: the directory in which one artifact is fetched, and how what came becomes part of a
// task's or of the allocation's shared directory.
//
//   <alloc root>/.artifacts/<task>/<key>/      nomadctl-artifact's own while it works
//   <alloc root>/.artifacts/<task>/<key>.done  it was delivered, in this or an earlier try
//
// What came is not believed, whatever fetched it: it is looked at from end to end before any of it
// is moved. Links that lead out, devices and FIFOs are refused, files lose setuid and setgid, and
// all becomes the agent's, or whose it is to be. No path of the destination leads out of its root
// by a link. Files replace files of the same name, directories are united, and nothing else of the
// destination is touched.
//
// Blocks on the file system. One thread at a time for one task.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {

/// Where an artifact is to come.
struct Destination {
  std::string root;  ///< The task's or the shared directory, absolute.
  std::string path;  ///< Below it, relative; empty: the root itself.
};

class Staging {
public:
  /// Of one task; touches nothing yet.
  Staging(std::string alloc_root, std::string task);

  /// An empty directory for `key`, that belongs to the user; what an earlier try left is removed.
  Result<host::UniqueFd> begin(const std::string& key, uid_t uid, gid_t gid) const;

  /// Moves what was fetched to the destination. `rejected` for what must not become part of a
  /// task's directory, and nothing is moved then; `conflict` where a file would replace a directory
  /// or the other way round. What comes is `owner`'s, and so is the directory that it comes to.
  Result<> deliver(const std::string& key,
                   const Destination& to,
                   bool is_file,
                   const host::FileOwner& owner = {}) const;

  /// Removes the directory of `key`.
  Result<> discard(const std::string& key) const;

  void mark_done(const std::string& key) const;
  bool is_done(const std::string& key) const;

  /// Removes all of the task.
  Result<> clear() const;

  /// The directory of `key`.
  std::string path(const std::string& key) const { return location_ + "/" + key; }

private:
  std::string above_;  ///< "<alloc root>/.artifacts"
  std::string task_;
  std::string location_;  ///< With the task.
};

}  // namespace nomad::artifact
