// BodyFile: the body of a request in a file instead of in memory, for requests that may be larger
// than what a server wants to hold. BodyFiles makes them, in a directory that nobody else reads,
// and bounds how large they are and how many.
//
// A file is removed when the last reference to it goes: with its request, however that ended. What
// a process that was killed has left is removed when the next one opens the directory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::net {

struct BodyFileOptions {
  std::string directory;
  std::uint64_t most_bytes = std::uint64_t{4} << 30;  ///< Of one body.
  unsigned most_files = 4;                            ///< At the same time.

  /// Whether the body of a request, of which all else is known but not yet its path and query, goes
  /// into a file. Called on an I/O thread.
  std::function<bool(const Request& head)> wants;
};

/// Threads: `append` by one at a time; the rest by any, when all is written.
class BodyFile {
public:
  BodyFile(const BodyFile&) = delete;
  ~BodyFile();  ///< Removes it.

  /// Blocks on the disk. `too_large` beyond the bound; `io` when the disk is full.
  Result<> append(std::string_view bytes);

  /// Bytes from `offset` on, `most` at most; none at the end. Blocks on the disk.
  Result<std::string> read(std::uint64_t offset, std::size_t most) const;

  std::uint64_t size() const { return size_; }

  const std::string& path() const { return path_; }

private:
  friend class BodyFiles;
  BodyFile(std::shared_ptr<std::atomic<unsigned>> count, std::uint64_t most_bytes);

  const std::shared_ptr<std::atomic<unsigned>> count_;
  const std::uint64_t most_bytes_;
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// Thread-safe.
class BodyFiles {
public:
  /// Makes the directory, or empties it. One process at a time may have it.
  static Result<std::shared_ptr<BodyFiles>> open(BodyFileOptions options);

  bool wants(const Request& head) const { return options_.wants && options_.wants(head); }

  /// An empty file that only this user can read. `overloaded` when there are too many.
  Result<std::shared_ptr<BodyFile>> make();

  const BodyFileOptions& options() const { return options_; }

private:
  explicit BodyFiles(BodyFileOptions options) : options_{std::move(options)} {}

  const BodyFileOptions options_;
  const std::shared_ptr<std::atomic<unsigned>> count_ = std::make_shared<std::atomic<unsigned>>(0);
};

}  // namespace nomad::net
