// LogFile: the file that an agent's log goes to, and its rotation: the full file is renamed to
// "nomad-<nanoseconds>.log", the oldest of these are removed, and a new one is begun.
//
// Lines are appended, and are in the file when `append` returns. An error loses lines and nothing
// else: the next line is tried again. A file that can't be renamed goes on, and is tried again when
// it is full or old anew. What is no regular file (a pipe, a terminal) never is. Used by one thread
// at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "runtime/base/log.hpp"
#include "runtime/base/result.hpp"

namespace nomad::log {

class LogFile {
public:
  /// `path` that ends in "/" is a folder, which then holds nomad.log. Folders are made.
  static Result<LogFile> open(const std::string& path, const Rotation& rotation, std::int64_t now);

  /// Writes `line` and a line break. `now` is nanoseconds since 1970.
  Result<> append(std::string_view line, std::int64_t now);

private:
  LogFile(std::filesystem::path path, const Rotation& rotation)
      : path_{std::move(path)}, rotation_{rotation} {}

  bool is_due(std::int64_t now) const;
  Result<> begin(std::int64_t now);
  Result<> rotate(std::int64_t now);
  Result<> remove_oldest() const;

  std::filesystem::path path_;
  Rotation rotation_;
  std::ofstream file_;
  bool is_regular_ = true;
  std::int64_t written_ = 0;
  std::int64_t begun_ = 0;
};

}  // namespace nomad::log
