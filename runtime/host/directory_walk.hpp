// DirectoryWalk: what a directory and all below it take up on their disk, found out a little at a
// time, so that a tree of a million files costs as little per second as one of ten.
//
// Whoever owns the files may change them meanwhile, and may be hostile: nothing is opened but
// directories, no link is followed, no other file system is entered (a tmpfs or a volume that is
// mounted there), and there is an end to what is looked at and remembered. The sum is of blocks, so
// sparse files count for what they hold, and a file with several names counts once.
//
// Not thread-safe: one owner at a time. Blocks on the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <sys/types.h>

#include <dirent.h>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

struct DirectoryUsage {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;  ///< Files and directories that were looked at.
  bool complete = true;       ///< false: some were not, so there is at least that much.

  friend bool operator==(const DirectoryUsage&, const DirectoryUsage&) = default;
};

class DirectoryWalk {
public:
  /// `max_entries` ends the walk, incomplete. Nothing is opened before `advance`.
  explicit DirectoryWalk(std::string root, std::uint64_t max_entries = 1'000'000);

  /// Looks at up to `entries` more. true: that was all. `not_found`: there is no such directory.
  /// Must not be called again after an error or the end.
  Result<bool> advance(std::uint64_t entries);

  const DirectoryUsage& usage() const { return usage_; }

private:
  struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };

  Result<> open_root();
  bool open_next();
  void look_at(const char* name);
  void remember(const char* name);

  std::string root_path_;
  std::uint64_t max_entries_;
  UniqueFd root_;
  dev_t device_ = 0;
  std::unique_ptr<DIR, CloseFolder> folder_;  ///< That is being read; empty: none.
  std::string path_;                          ///< Its path below the root.
  std::vector<std::string> waiting_;          ///< Folders to look into, below the root.
  std::size_t waiting_bytes_ = 0;
  std::unordered_set<std::uint64_t> named_;  ///< Inodes with several names that are counted.
  DirectoryUsage usage_;
};

/// Those of `names` that are no directories in `root`.
std::vector<std::string> missing_folders(const std::string& root,
                                         std::span<const std::string> names);

}  // namespace nomad::host
