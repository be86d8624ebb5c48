// Files that commands make for their users: what could not be written whole does not stay.
#include "cli/new_file.hpp"

#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include <doctest/doctest.h>

#include "runtime/base/files/bounded.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;

namespace {

/// As a full disk: files of this process end at so many bytes.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) : signal_{std::signal(SIGXFSZ, SIG_IGN)} {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit few{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &few);
  }

  FullDisk(const FullDisk&) = delete;

  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

private:
  rlimit before_{};
  void (*signal_)(int);
};

}  // namespace

TEST_CASE("new_file: one that can't be written whole is gone, and can be made again") {
  const test::TempDir directory;
  const auto path = directory.file("key.pem");
  {
    const FullDisk full{3};
    const auto written = cli::write_new(path, "four");
    REQUIRE_FALSE(written.has_value());
    CHECK(written.error().what == path + ": File too large");
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(cli::write_new(path, "four"));
  CHECK(read_whole_file(path).value() == "four");
  CHECK(cli::write_new(path, "five").error().what == path + ": File exists");
  CHECK(read_whole_file(path).value() == "four");
}
