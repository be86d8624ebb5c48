// By what files are known to be the same: who asks again after a while sees that one was saved,
// also by an editor that puts another file in its place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nomad::cli::dev {

struct FileStamp {
  std::uint64_t device = 0;  ///< All 0: there is no such file.
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< Unix nanoseconds.

  bool operator==(const FileStamp&) const = default;
};

/// Tells that files were saved. For one thread.
class SavedFiles {
public:
  explicit SavedFiles(std::vector<std::string> paths);

  /// Whether one was saved since the last call, and is there. A file that is being written is
  /// waited for: it has to look the same twice.
  bool look();

private:
  std::vector<FileStamp> stamps() const;

  std::vector<std::string> paths_;
  std::vector<FileStamp> known_;
  std::vector<FileStamp> last_;
};

}  // namespace nomad::cli::dev
