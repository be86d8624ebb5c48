// LogWriter: one output of a task as a series of files of bounded size and number,
// "<base>.0", "<base>.1", ...
//
// The rules, which readers and other tools rely on:
//   (1) A restart continues with the file of the highest index.
//   (2) A file never grows beyond max_file_bytes, and no line is split between two files, unless
//       the line would not fit any file.
//   (3) At a rotation, and when a writer begins, the files beyond the newest max_files are removed:
//       never are there more than max_files * max_file_bytes.
//   (4) After the largest index all files are removed, and the first one follows: a file beyond it
//       would be found neither by readers nor by the next writer.
// Tasks can write to the directory, so files are opened below it without following links, must be
// regular and must have one name; an index where that fails is skipped. An I/O error (full disk)
// drops the data at hand and leaves the writer usable. Names that no writer gives are ignored, so
// no number that is read there is beyond `largest_log_index`.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

/// A task may give any names to files in its directory, and numbers are counted from them on.
inline constexpr std::uint64_t largest_log_index = 999'999'999;

/// The number of the file "<base>.<number>"; nothing for a name that no writer gives.
inline std::optional<std::uint64_t> log_index(std::string_view name, std::string_view base) {
  if (name.size() < base.size() + 2 || !name.starts_with(base) || name[base.size()] != '.')
    return std::nullopt;
  name.remove_prefix(base.size() + 1);
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_whole = error == std::errc{} && end == name.data() + name.size();
  return is_whole && index <= largest_log_index ? std::optional{index} : std::nullopt;
}

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
  void begin_anew();
  void remove_old();
  int append(std::string_view data);

  UniqueFd directory_;
  Options options_;
  UniqueFd file_;
  std::uint64_t index_ = 0;
  std::uint64_t oldest_ = 0;  ///< None before it is left, so that a rotation need not list them.
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
