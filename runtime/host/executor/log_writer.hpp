// LogWriter: one output of a task as a series of files of bounded size and number,
// "<base>.0", "<base>.1", ...
//
// The rules, which readers and other tools rely on:
//   (1) A restart continues with the file of the highest index.
//   (2) A file never grows beyond max_file_bytes, and no line is split between two files, unless
//       the line would not fit any file.
//   (3) At a rotation, and when a writer begins, the files beyond the newest max_files are removed:
//       never are there more than max_files * max_file_bytes.
// Tasks can write to the directory, so files are opened below it without following links, must be
// regular and must have one name; an index where that fails is skipped. An I/O error (full disk)
// drops the data at hand and leaves the writer usable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

class LogWriter {
public:
  struct Options {
    std::string base{};  ///< "web.stdout"
    std::uint32_t max_files = 10;
    std::uint64_t max_file_bytes = 10 * 1024 * 1024;
  };

  /// `directory` is an open directory that the writer keeps. Nothing is opened until `open`.
  LogWriter(UniqueFd directory, Options options);

  /// Opens the newest file or the first. 0 or an errno.
  int open();

  /// Writes all of `data`, rotating as needed. 0 or the errno that made it drop the rest.
  int write(std::string_view data);

  std::uint64_t index() const { return index_; }

  std::uint64_t size() const { return size_; }  ///< Of the file with that index.

private:
  int open_index();
  int rotate();
  void remove_old() const;
  int append(std::string_view data);

  UniqueFd directory_;
  Options options_;
  UniqueFd file_;
  std::uint64_t index_ = 0;
  std::uint64_t size_ = 0;
};

/// How many bytes of `data` go into the current file with `space` bytes left; 0: rotate first.
/// `data` is not empty. Pure; rule (2) is decided here.
std::size_t bytes_for_file(std::string_view data,
                           std::uint64_t space,
                           std::uint64_t max_file_bytes);

/// Opens "<alloc_root>/alloc/logs" without following any link in it. -1 and errno on failure.
UniqueFd open_log_directory(const std::string& alloc_root);

}  // namespace nomad::host::executor
