// runtime/storage/row_ring: the newest rows are there, however many came, and damage ends nothing.
#include "runtime/storage/row_ring.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/storage/run_sql.hpp"

using namespace nomad;
using storage::RingLimits;
using storage::RingNote;
using storage::RingRow;
using storage::RowRing;

namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span{text});
}

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct RingFixture {
  test::TempDir dir;
  std::string path = dir.file("ring.db");
  RingLimits limits{.rows = 5, .bytes = 100, .row_bytes = 60};

  RowRing open() { return std::move(RowRing::open(path, limits).value()); }

  static Result<> add(RowRing& ring, std::uint64_t number, std::string_view value) {
    const auto key = (number % 2 == 0 ? "even-" : "odd-") + std::to_string(number);
    return ring.write({{number, key, bytes(value)}}, {});
  }
};

/// "3=c 2=b(note)": what is there, the newest first.
std::string all(RowRing& ring, std::uint64_t before = 0, std::string_view prefix = "") {
  std::string found;
  CHECK(ring.each(before, prefix, [&](const RingRow& row, std::span<const std::byte> note) {
    found += (found.empty() ? "" : " ") + std::to_string(row.number) + '=' + as_text(row.value);
    if (!note.empty()) found += '(' + as_text(note) + ')';
    return true;
  }));
  return found;
}

}  // namespace

TEST_CASE_FIXTURE(RingFixture, "row_ring: the oldest rows go when there are too many") {
  auto ring = open();
  CHECK(ring.newest().value() == 0);
  for (std::uint64_t i = 1; i <= 8; ++i)
    REQUIRE(add(ring, i, "v"));
  CHECK(all(ring) == "8=v 7=v 6=v 5=v 4=v");
  CHECK(ring.newest().value() == 8);
}

TEST_CASE_FIXTURE(RingFixture,
                  "row_ring: the oldest rows go when they are too long, also after a restart") {
  {
    auto ring = open();
    for (std::uint64_t i = 1; i <= 3; ++i)
      REQUIRE(add(ring, i, std::string(30, 'a')));
  }
  auto ring = open();  // counts what is there
  REQUIRE(add(ring, 4, std::string(40, 'b')));
  CHECK(all(ring)
        == "4=" + std::string(40, 'b') + " 3=" + std::string(30, 'a')
               + " 2=" + std::string(30, 'a'));
}

TEST_CASE_FIXTURE(RingFixture,
                  "row_ring: a row that is too long is refused, and nothing is written") {
  auto ring = open();
  const auto refused
      = ring.write({{1, "a", bytes("x")}, {2, "b", bytes(std::string(61, 'y'))}}, {});
  CHECK(refused.error().code == Errc::too_large);
  CHECK(all(ring).empty());
}

TEST_CASE_FIXTURE(RingFixture,
                  "row_ring: what is said later stands beside its row and goes with it") {
  auto ring = open();
  REQUIRE(add(ring, 1, "a"));
  REQUIRE(ring.write({{2, "k", bytes("b")}}, {{1, bytes("first")}, {9, bytes("of nothing")}}));
  REQUIRE(ring.write({}, {{1, bytes("second")}}));
  CHECK(all(ring) == "2=b 1=a(second)");
  for (std::uint64_t i = 3; i <= 9; ++i)
    REQUIRE(add(ring, i, "c"));
  CHECK_MESSAGE(all(ring) == "9=c 8=c 7=c 6=c 5=c", "the note came before its row");
  auto database = std::move(storage::Database::open(path).value());
  auto count = std::move(database.prepare("SELECT count(*) FROM note").value());
  REQUIRE(count.step("counting").value());
  CHECK(count.number(0) == 0);
}

TEST_CASE_FIXTURE(RingFixture,
                  "row_ring: rows are found by the beginning of their key, and page by page") {
  auto ring = open();
  for (std::uint64_t i = 1; i <= 5; ++i)
    REQUIRE(add(ring, i, "v"));
  CHECK(all(ring, 0, "odd-") == "5=v 3=v 1=v");
  CHECK(all(ring, 3, "") == "2=v 1=v");
  std::string found;
  REQUIRE(ring.find(4, [&](const RingRow& row, std::span<const std::byte>) {
    found = row.key;
    return true;
  }));
  CHECK(found == "even-4");
}

TEST_CASE_FIXTURE(RingFixture,
                  "row_ring: a process that dies loses nothing, and a damaged row is passed over") {
  {
    auto ring = open();
    for (std::uint64_t i = 1; i <= 3; ++i)
      REQUIRE(add(ring, i, "v"));
  }
  test::run_sql(path, "UPDATE ring SET value = x'00' WHERE number = 2");
  auto ring = open();
  CHECK(all(ring) == "3=v 1=v");
}

TEST_CASE_FIXTURE(RingFixture, "row_ring: what is no file of ours is replaced") {
  std::ofstream{path} << std::string(5'000, 'x');
  auto ring = open();
  CHECK(all(ring).empty());
  REQUIRE(add(ring, 1, "v"));
  CHECK(all(ring) == "1=v");
}

TEST_CASE_FIXTURE(RingFixture,
                  "row_ring: a file that is damaged under it begins anew, and so does its bound") {
  limits = {.rows = 400, .bytes = 1 << 24, .row_bytes = 1 << 20};
  auto ring = open();
  std::uint64_t number = 0;
  while (number < 400)  // more than the connection remembers
    REQUIRE(add(ring, ++number, std::string(8'000, 'v')));
  for (const auto* suffix : {"", "-wal"}) {
    std::fstream file{path + suffix, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(4'096);
    file << std::string(static_cast<std::size_t>(std::filesystem::file_size(path + suffix)) - 4'096,
                        'x');
  }
  const auto outcome = add(ring, ++number, "lost");  // looks for the oldest row
  CHECK(outcome.error().code == Errc::corrupt);
  CHECK(all(ring).empty());
  while (number < 900)
    REQUIRE(add(ring, ++number, "v"));
  std::size_t kept = 0;
  REQUIRE(ring.each(0, "", [&](const RingRow&, std::span<const std::byte>) {
    ++kept;
    return true;
  }));
  CHECK(kept == 400);
}

TEST_CASE_FIXTURE(RingFixture,
                  "row_ring: the file stays bounded while a hundred times its bound goes through") {
  limits = {.rows = 100, .bytes = std::uint64_t{1} << 18, .row_bytes = 1 << 16};
  auto ring = open();
  for (std::uint64_t i = 1; i <= 6'000; ++i)
    REQUIRE(add(ring, i, std::string(4'000, static_cast<char>('a' + i % 26))));
  CHECK(std::filesystem::file_size(path) < (std::uint64_t{1} << 20));
  CHECK(std::filesystem::file_size(path + "-wal") < (std::uint64_t{16} << 20));
}
