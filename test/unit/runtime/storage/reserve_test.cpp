// runtime/storage/reserve: takes its room and gives it back, whole or not at all.
#include "runtime/storage/reserve.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/storage/file_size_limit.hpp"

using namespace nomad;
using storage::Reserve;

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
  const test::FileSizeLimit limit{Reserve::bytes + 1};
  CHECK(reserve.take().error().code == Errc::io);
  CHECK_FALSE(std::filesystem::exists(dir.file("reserve")));
}
