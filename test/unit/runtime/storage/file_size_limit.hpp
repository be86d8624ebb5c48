// FileSizeLimit: what a limit of sizes does to one who writes.
#pragma once

#include <csignal>

#include <sys/resource.h>

#include <doctest/doctest.h>

namespace nomad::test {

/// For one scope no file may grow beyond `bytes`.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit wanted{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &wanted) == 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }

  FileSizeLimit(const FileSizeLimit&) = delete;

  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

}  // namespace nomad::test
