#include "actors/agent/temporary_directory.hpp"

#include <cstdlib>
#include <optional>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using agent::TemporaryDirectory;

namespace {

/// TMPDIR while it lives.
class TemporaryPlace {
public:
  explicit TemporaryPlace(const std::string& value) {
    if (const auto* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", value.c_str(), 1);
  }

  ~TemporaryPlace() {
    if (before_)
      ::setenv("TMPDIR", before_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }

private:
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("temporary directory: is below TMPDIR, and goes with its owner") {
  const test::TempDir dir;
  const TemporaryPlace place{dir.path() + "/"};
  std::string path;
  {
    const auto made = TemporaryDirectory::make();
    REQUIRE(made);
    path = made->path();
    CHECK(path.starts_with(dir.path() + "/nomadctl-dev-"));
    CHECK(std::filesystem::is_directory(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("temporary directory: is below /tmp where TMPDIR says nothing") {
  const TemporaryPlace place{""};
  const auto made = TemporaryDirectory::make();
  REQUIRE(made);
  CHECK(made->path().starts_with("/tmp/nomadctl-dev-"));
}

TEST_CASE("temporary directory: a place that is not there is named") {
  const TemporaryPlace place{"/nowhere/at/all"};
  CHECK(TemporaryDirectory::make().error().what
        == "creating a directory below /nowhere/at/all: No such file or directory");
}
