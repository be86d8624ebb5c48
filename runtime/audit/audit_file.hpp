// AuditFile: the file of a sink: lines are chained, appended in batches, all of a batch or none,
// and the full file is renamed to "<name>-<nanoseconds>.<ending>", after which the chain goes on in
// a new one.
//
// What a restart finds, it goes on with: the last line's hash is read, from the full file with the
// highest number if there is no other; what is no whole line at the end was torn, is cut, and is
// told by the first line that is written ("AuditStarted", torn_bytes). A file that somebody took
// away is begun anew, which a line tells, too ("FileReplaced"), as one does that somebody else
// wrote to it
// ("FileChanged"). One agent at a time writes a file (flock).
//
// Only `open` believes the files. In a running process the chain goes on from what was written
// last, through errors, too. An error leaves the file as it was before the batch; what could not be
// taken back is cut before the next one, which tells it ("FileChanged"). Blocks on the file system;
// used by one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "runtime/audit/chain.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::audit {

struct FileOptions {
  std::string path{};
  mode_t mode = 0600;
  log::Rotation rotation{};
  bool sync = true;  ///< What was appended is on the disk when `append` returns.
};

class AuditFile {
public:
  /// Makes folders, mode 0700. `now` is nanoseconds since 1970.
  static Result<AuditFile> open(FileOptions options, std::int64_t now);

  /// Writes open objects as lines.
  Result<> append(const std::vector<std::string>& events, std::int64_t now);

  const Link& last() const { return last_; }

private:
  explicit AuditFile(FileOptions options) : options_{std::move(options)} {}

  Result<> begin(std::int64_t now);
  Result<> begin_anew(std::int64_t now);
  Result<> go_on_with(std::int64_t now);
  Result<> go_on_after_full();
  bool is_replaced() const;
  Result<> notice_change(std::int64_t now);
  bool is_due(std::int64_t now) const;
  Result<> rotate(std::int64_t now);
  Result<> remove_oldest() const;
  Result<std::vector<std::filesystem::path>> full_files() const;
  Result<> write(const std::string& bytes);
  void note(std::int64_t now,
            std::string_view stage,
            const std::vector<std::pair<std::string_view, std::uint64_t>>& numbers);
  Error failed(int why) const;

  FileOptions options_;
  host::UniqueFd file_;
  std::int64_t size_ = 0;
  std::int64_t begun_ = 0;
  bool was_taken_ = false;      ///< Somebody took the file away; a line tells it.
  bool is_torn_ = false;        ///< A part of a batch that failed is behind `size_`.
  bool has_open_line_ = false;  ///< Somebody else's, at the end.
  Link last_;
  std::vector<std::string> notes_;  ///< Of the log itself, before the next batch.
};

}  // namespace nomad::audit
