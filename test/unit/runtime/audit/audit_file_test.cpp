#include "runtime/audit/audit_file.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "runtime/audit/verify.hpp"
#include "runtime/base/files/bounded.hpp"
#include "test/support/temp_dir.hpp"

namespace nomad::audit {
namespace {

namespace fs = std::filesystem;

std::string findings_in(const std::vector<std::string>& paths) {
  Verifier verifier;
  for (const auto& path : paths) {
    verifier.begin_file(path);
    verifier.feed(read_whole_file(path).value());
    verifier.end_file();
  }
  std::string said;
  for (const auto& finding : verifier.findings())
    said += std::to_string(finding.line) + ": " + finding.what + '|';
  return said;
}

std::string stages_in(const std::string& path) {
  std::string stages;
  const auto text = read_whole_file(path).value();
  for (auto at = text.find("\"stage\":\""); at != text.npos; at = text.find("\"stage\":\"", at + 1))
    stages += text.substr(at + 9, text.find('"', at + 9) - at - 9) + ' ';
  return stages;
}

FileOptions in(const test::TempDir& directory) {
  return {.path = directory.path() + "/log/audit.log"};
}

}  // namespace

TEST_CASE("audit_file: a restart goes on with the chain, and tells of a torn end, which it cuts") {
  const test::TempDir directory;
  const auto path = in(directory).path;
  {
    auto file = AuditFile::open(in(directory), 1).value();
    REQUIRE(file.append({"{\"a\":1", "{\"a\":2"}, 2));
  }
  std::ofstream{path, std::ios::app} << "{\"a\":3,";

  auto file = AuditFile::open(in(directory), 3).value();
  REQUIRE(file.append({"{\"a\":4"}, 4));

  CHECK(findings_in({path}).empty());
  CHECK(stages_in(path) == "AuditStarted AuditStarted ");
  CHECK(read_whole_file(path).value().find("\"torn_bytes\":7") != std::string::npos);
  CHECK(file.last().number == 5);

  struct stat info {};

  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0600);
}

TEST_CASE("audit_file: the chain goes over to the next file, and so it does after a restart") {
  const test::TempDir directory;
  auto options = in(directory);
  options.rotation = {.bytes = 10, .max_files = 2};
  {
    auto file = AuditFile::open(options, 1).value();
    for (int i = 2; i < 6; ++i)
      REQUIRE(file.append({"{\"a\":1"}, i));
  }
  fs::rename(options.path, directory.path() + "/log/audit-0000000000000000009.log");
  auto file = AuditFile::open(options, 11).value();
  REQUIRE(file.append({"{\"a\":2"}, 12));

  std::vector<std::string> all;
  const auto names = names_in(directory.path() + "/log").value();
  for (const auto& name : names)
    all.push_back(directory.path() + "/log/" + name);
  CHECK(all.size() == 4);  // two that were rotated, the one moved away, the new one
  CHECK(findings_in(all).empty());
  CHECK(file.last().number == 7);
}

TEST_CASE("audit_file: a full file is neither another sink's nor older because of a wrong clock") {
  const test::TempDir directory;
  auto options = in(directory);
  options.rotation = {.bytes = 10, .max_files = 2};
  auto other_options = options;
  other_options.path = directory.path() + "/log/audit-2.log";
  auto other = AuditFile::open(other_options, 1).value();
  REQUIRE(other.append({"{\"b\":1"}, 2));
  {
    auto file = AuditFile::open(options, 1).value();
    for (const int now : {9, 8, 7})  // the clock runs backwards
      REQUIRE(file.append({"{\"a\":1"}, now));
    CHECK(file.last().number == 4);
    REQUIRE(fs::exists(other_options.path));
  }
  fs::remove(options.path);

  CHECK(AuditFile::open(options, 11).value().last().number == 3);
}

TEST_CASE("audit_file: a file that was taken away or cut is told, and missing lines are found") {
  const test::TempDir directory;
  auto file = AuditFile::open(in(directory), 1).value();
  const auto path = in(directory).path;
  REQUIRE(file.append({"{\"a\":1"}, 2));

  SUBCASE("taken away") {
    fs::remove(path);
    REQUIRE(file.append({"{\"a\":2"}, 3));
    CHECK(stages_in(path) == "FileReplaced ");
  }
  SUBCASE("cut") {
    fs::resize_file(path, 0);
    REQUIRE(file.append({"{\"a\":2"}, 3));
    CHECK(stages_in(path) == "FileChanged ");
    CHECK(read_whole_file(path).value().find("\"seq\":3,") != std::string::npos);
  }
  SUBCASE("written to") {
    std::ofstream{path, std::ios::app} << "foreign";
    REQUIRE(file.append({"{\"a\":2"}, 3));
    CHECK(findings_in({path}) == "3: was changed after it was written: it has no links|");
  }
}

TEST_CASE("audit_file: what cannot be written leaves nothing behind") {
  const test::TempDir directory;
  auto file = AuditFile::open(in(directory), 1).value();
  const auto path = in(directory).path;
  REQUIRE(file.append({"{\"a\":1"}, 2));
  const auto before = file.last();

  fs::remove_all(directory.path() + "/log");
  CHECK_FALSE(file.append({"{\"a\":2"}, 3));
  CHECK(file.last() == before);

  fs::create_directories(directory.path() + "/log");
  REQUIRE(file.append({"{\"a\":3"}, 4));
  CHECK(read_whole_file(path).value().find("\"a\":2") == std::string::npos);
  CHECK(stages_in(path) == "FileReplaced ");  // and the chain is the one it was
  CHECK(file.last().number == before.number + 2);
}

TEST_CASE("audit_file: a running log believes no file that somebody put in its place") {
  const test::TempDir directory;
  auto file = AuditFile::open(in(directory), 1).value();
  const auto path = in(directory).path;
  REQUIRE(file.append({"{\"a\":1"}, 2));
  const auto copy = read_whole_file(path).value();
  REQUIRE(file.append({"{\"a\":2"}, 3));

  fs::remove_all(directory.path() + "/log");
  REQUIRE_FALSE(file.append({"{\"a\":3"}, 4));
  fs::create_directories(directory.path() + "/log");
  std::ofstream{path} << copy << "foreign";
  REQUIRE(file.append({"{\"a\":4"}, 5));

  CHECK(stages_in(path) == "AuditStarted FileReplaced FileChanged ");
  CHECK(file.last().number == 6);
  CHECK(read_whole_file(path).value().find("foreign\n{") != std::string::npos);
}

TEST_CASE("audit_file: two do not write one file, nor anything that is no file") {
  const test::TempDir directory;
  const auto first = AuditFile::open(in(directory), 1);
  REQUIRE(first);

  const auto second = AuditFile::open(in(directory), 1);
  REQUIRE_FALSE(second);
  CHECK(second.error().what.ends_with("another agent writes it"));
  const auto null = AuditFile::open({.path = "/dev/null"}, 1);
  REQUIRE_FALSE(null);
  CHECK(null.error().what == "audit log \"/dev/null\": is no regular file");
  const auto below = AuditFile::open({.path = in(directory).path + "/log"}, 1);
  REQUIRE_FALSE(below);
  CHECK(below.error().what.starts_with("audit log \""));
}

}  // namespace nomad::audit
