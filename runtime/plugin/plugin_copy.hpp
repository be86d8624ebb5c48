// PluginCopy: the file of a plugin as it was when the agent took it. What runs is the agent's own
// copy of it, so that whatever is done to the file meanwhile, written over or removed, changes
// nothing of a process that runs, nor of the next one of the same version.
//
// Run from where they are: scripts, which their interpreter has read and beside which it may look
// for others; libraries and programs that look for some beside themselves ($ORIGIN); and all of
// them if the agent's directory is mounted so that nothing in it can be run.
//
// Threads: any.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/result.hpp"

namespace nomad::plugin {

/// Tells a file from what was written over it or put into its location.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified = 0;  ///< Unix, in nanoseconds, as `changed`.
  std::int64_t changed = 0;   ///< When it came to be as it is and where it is.

  auto operator<=>(const FileStamp&) const = default;
};

/// Zeros: there is no such file.
FileStamp stamp_of(const std::string& path);

class PluginCopy {
public:
  /// In `directory`, which is there, and with the owner and the readers of `path`. The error says
  /// why it can't be read or copied.
  static Result<std::shared_ptr<const PluginCopy>> make(const std::string& path,
                                                        const std::string& directory);

  PluginCopy(const PluginCopy&) = delete;
  PluginCopy& operator=(const PluginCopy&) = delete;

  /// Removes the copy. What runs of it goes on.
  ~PluginCopy();

  /// What is to be run.
  const std::string& path() const { return path_; }

  /// Whether the file is still the one that was copied: by its stamp, or for it has the same bytes.
  /// What runs from where it is, is known by the stamp alone.
  bool is_of(const std::string& path) const;

  /// Of the file that was copied.
  const FileStamp& stamp() const { return stamp_; }

private:
  PluginCopy(std::string path, const FileStamp& stamp, bool is_own)
      : path_{std::move(path)}, stamp_{stamp}, is_own_{is_own} {}

  std::string path_;
  FileStamp stamp_;
  bool is_own_;
};

/// Removes those that an agent before this one has left.
void clear_copies(const std::string& directory);

}  // namespace nomad::plugin
