// TemporaryDirectory: the data directory of dev mode, which goes when the agent ends in order.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "runtime/base/log.hpp"
#include "runtime/base/result.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::agent {

class TemporaryDirectory {
public:
  /// Below TMPDIR, else /tmp.
  static Result<TemporaryDirectory> make() {
    std::error_code failure;
    const auto* const given = std::getenv("TMPDIR");
    const auto parent
        = std::filesystem::absolute(given == nullptr || *given == '\0' ? "/tmp" : given, failure);
    auto name = (parent / "nomadctl-dev-XXXXXX").lexically_normal().string();
    if (failure || mkdtemp(name.data()) == nullptr)
      return errno_error("creating a directory below " + parent.string(), errno);
    TemporaryDirectory made{name};
    if (chmod(name.c_str(), storage::passable_mode) != 0) return errno_error(name, errno);
    return made;
  }

  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_{std::exchange(other.path_, {})} {}

  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

  ~TemporaryDirectory() {
    std::error_code failure;
    if (!path_.empty()) std::filesystem::remove_all(path_, failure);
    if (failure)
      log::warn("agent", "cannot remove a temporary directory",
                {{"path", path_}, {"error", failure.message()}});
  }

  const std::string& path() const { return path_; }

private:
  explicit TemporaryDirectory(std::string path) : path_{std::move(path)} {}

  std::string path_;
};

}  // namespace nomad::agent
