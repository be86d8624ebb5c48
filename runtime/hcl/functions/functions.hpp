// The functions a job file can call.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/hcl/eval/function.hpp"

namespace nomad::hcl {

/// Access to files for `file`, `filebase64`, `fileexists`, `fileset`, `abspath`, `basename`,
/// `dirname` and `pathexpand`. Paths arrive as written; these functions resolve them. The error's
/// `what` becomes the function's message.
class FileAccess {
public:
  FileAccess() = default;
  FileAccess(const FileAccess&) = delete;
  FileAccess& operator=(const FileAccess&) = delete;
  virtual ~FileAccess() = default;

  virtual Result<std::string> read(std::string_view path) const = 0;
  virtual Result<bool> exists(std::string_view path) const = 0;
  /// Regular files below `path` that match `pattern`, relative to `path`, with "/"; sorted. None if
  /// the directory is not there.
  virtual Result<std::vector<std::string>> glob(std::string_view path,
                                                std::string_view pattern) const = 0;
  virtual Result<std::string> absolute(std::string_view path) const = 0;
  virtual Result<std::string> expand_home(std::string_view path) const = 0;
};

struct FunctionOptions {
  /// Null: the filesystem functions fail with "filesystem function disabled".
  const FileAccess* files = nullptr;
  /// Fills 16 random bytes, for `uuidv4` and `bcrypt`.
  std::function<void(std::array<std::uint8_t, 16>& bytes)> random;
};

/// All functions of the job language. Reusable and shareable between threads as long as the
/// options' hooks are. `options.files` must outlive the table.
FunctionTable job_functions(FunctionOptions options);

}  // namespace nomad::hcl
