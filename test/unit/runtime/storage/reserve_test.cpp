// runtime/storage/reserve: takes its room and gives it back, whole or not at all.
#include "runtime/storage/reserve.hpp"

#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using storage::Reserve;

namespace {

/// For one scope no file may grow beyond `bytes`: as a full disk, this refuses to write more.
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

}  // namespace

TEST_CASE("reserve: is there, and goes") {
  test::TempDir dir;
  Reserve reserve{dir.file("reserve")};
  CHECK_FALSE(reserve.give_back());
  REQUIRE(reserve.take());
  REQUIRE(reserve.take());
  CHECK(std::filesystem::file_size(dir.file("reserve")) == Reserve::bytes);
  CHECK(reserve.give_back());
  CHECK_FALSE(std::filesystem::exists(dir.file("reserve")));
}

TEST_CASE("reserve: is not taken where nothing would be left besides") {
  test::TempDir dir;
  Reserve reserve{dir.file("reserve")};
  const FileSizeLimit limit{Reserve::bytes + 1};
  CHECK(reserve.take().error().code == Errc::overloaded);
  CHECK_FALSE(std::filesystem::exists(dir.file("reserve")));
}
