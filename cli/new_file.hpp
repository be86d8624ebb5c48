// A file that a command makes for its user: never over another one, nor through a link, and on disk
// when the command says so.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::cli {

/// Errors of all of it name the file and the reason: "key.pem: File exists". One that could not be
/// written whole is removed, so that the next try can make it.
class NewFile {
public:
  static Result<NewFile> create(std::string path, mode_t mode = 0666);

  Result<> write(std::string_view bytes);

  /// What was written is on disk.
  Result<> finish();

private:
  Error not_written();

  NewFile(std::string path, host::UniqueFd file) : path_{std::move(path)}, file_{std::move(file)} {}

  std::string path_;
  host::UniqueFd file_;
};

/// One with this text.
Result<> write_new(const std::string& path, std::string_view text, mode_t mode = 0666);

}  // namespace nomad::cli
