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
/// `dirname` and `pathexpand`. Paths arrive as written; the hooks resolve them. The error's `what`
/// becomes the function's message.
struct FileAccess {
  std::function<Result<std::string>(std::string_view path)> read;
  std::function<Result<bool>(std::string_view path)> exists;
  /// Regular files below `path` that match `pattern`, relative to `path`, with "/".
  std::function<Result<std::vector<std::string>>(std::string_view path, std::string_view pattern)>
      glob;
  std::function<Result<std::string>(std::string_view path)> absolute;
  std::function<Result<std::string>(std::string_view path)> expand_home;
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
