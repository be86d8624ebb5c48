// MarkFile: a few bytes beside a database that say how far it must reach. SQLite takes the first
// damaged frame of a write-ahead log for its end, and what followed, though it was acknowledged,
// for never written; who compares the database with its mark sees what is missing.
//
// A mark is written after the commit that it tells of, and not synced: it is never ahead of the
// database, and when a process dies it is behind by no more than the commit under way. Only a
// power cut within the half minute in which the system writes it back leaves an older one.
//
// Two slots are written in turn, each with its sum and in a block of its own: a torn write, or a
// block that can't be read any more, spoils one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/storage/file.hpp"

namespace nomad::storage {

class MarkFile {
public:
  static constexpr std::size_t max_bytes = 480;

  /// Opens or creates the file, which is in the directory durably when the caller has synced that.
  /// `corrupt` when no slot is sound.
  static Result<MarkFile> open(const std::string& path);

  /// The same, but whatever it said is forgotten with the first that is written.
  static Result<MarkFile> begin_anew(const std::string& path);

  /// For a database in memory: it forgets with it.
  static MarkFile in_memory() { return MarkFile{{}}; }

  /// What was written last; empty when nothing ever was.
  const std::optional<std::string>& content() const { return content_; }

  /// Replaces the content, of `max_bytes` at most. `durable`: it is on the disk on return, as the
  /// first one always is.
  Result<> write(std::string content, bool durable);

private:
  explicit MarkFile(std::optional<File> file) : file_(std::move(file)) {}

  Result<> load(const std::string& path);

  std::optional<File> file_;
  std::uint64_t sequence_ = 0;  ///< Of the newest slot; its lowest bit is the slot's place.
  std::optional<std::string> content_;
};

/// The mark beside `database`, "<database>.mark", to be read before the database is opened: where
/// that is missing or has no bytes, SQLite empties the write-ahead log, in which all may be.
/// `lost_data` if something was marked then, or no slot is sound.
Result<MarkFile> open_mark(const std::string& database, std::string_view remedy);

/// The error of a database that holds less than its mark says, or is damaged otherwise. `remedy`
/// says what to do.
Error lost_data(const std::string& database, std::string_view what, std::string_view remedy);

}  // namespace nomad::storage
