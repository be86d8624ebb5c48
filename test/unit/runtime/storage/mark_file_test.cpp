// runtime/storage/mark_file: what was written last is read, and a torn write leaves the one before.
#include "runtime/storage/mark_file.hpp"

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/unit/runtime/storage/damage.hpp"

using namespace nomad;
using storage::MarkFile;

namespace {

struct MarkFixture {
  test::TempDir dir;
  std::string path = dir.file("mark");

  std::optional<std::string> content() { return MarkFile::open(path).value().content(); }
};

}  // namespace

TEST_CASE_FIXTURE(MarkFixture, "mark_file: holds what was written last") {
  CHECK_FALSE(content().has_value());
  CHECK_FALSE(content().has_value());
  auto mark = std::move(MarkFile::open(path).value());
  for (const auto* text : {"one", "two", "", "four"}) {
    REQUIRE(mark.write(text, false));
    CHECK(mark.content() == text);
    CHECK(content() == text);
  }
  CHECK(mark.write(std::string(MarkFile::max_bytes, 'x'), true));
  CHECK(content()->size() == MarkFile::max_bytes);
  CHECK(
      mark.write(std::string(MarkFile::max_bytes + 1, 'x'), true).error()
      == Error{Errc::internal, "a mark of " + std::to_string(MarkFile::max_bytes + 1) + " bytes"});
  CHECK(test::read_file(path).size() == 8'192);
}

TEST_CASE_FIXTURE(MarkFixture, "mark_file: of two slots one may be damaged") {
  {
    auto mark = std::move(MarkFile::open(path).value());
    REQUIRE(mark.write("one", false));
    REQUIRE(mark.write("two", false));
  }
  auto bytes = test::read_file(path);
  bytes[3] ^= 1;  // the second mark's
  test::write_file(path, bytes);
  CHECK(content() == "one");
  bytes[4'100] ^= 1;
  test::write_file(path, bytes);
  const auto outcome = MarkFile::open(path);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error()
        == Error{Errc::corrupt, "\"" + path + "\": neither slot's checksum matches"});
  auto anew = std::move(MarkFile::begin_anew(path).value());
  CHECK_FALSE(anew.content().has_value());
  REQUIRE(anew.write("three", false));
  CHECK(content() == "three");
}
