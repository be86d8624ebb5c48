#include "runtime/plugin/plugin_copy.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;

namespace {

void write_plugin(const std::string& path, const std::string& content, mode_t mode) {
  std::ofstream{path, std::ios::binary} << content;
  ::chmod(path.c_str(), mode);
}

}  // namespace

TEST_CASE("plugin copies: what is done to the file changes nothing of what was taken") {
  const test::TempDir dir, copies;
  const auto path = dir.path() + "/one.so";
  const auto content = [](const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  write_plugin(path, "\177ELF first", 0755);
  std::string kept;
  {
    const auto copy = plugin::PluginCopy::make(path, copies.path());
    REQUIRE(copy);
    kept = (*copy)->path();
    CHECK((*copy)->stamp() == plugin::stamp_of(path));
    write_plugin(path, "\177ELF second, and longer", 0755);
    CHECK_FALSE((*copy)->stamp() == plugin::stamp_of(path));
    CHECK(content(kept) == "\177ELF first");
    ::unlink(path.c_str());
    CHECK(content(kept) == "\177ELF first");
    CHECK(plugin::stamp_of(path) == plugin::FileStamp{});
  }
  CHECK_FALSE(std::filesystem::exists(kept));
  CHECK_FALSE(plugin::PluginCopy::make(path, copies.path()));
}

TEST_CASE("plugin copies: the same bytes are the same file, whatever became of its times") {
  const test::TempDir dir, copies;
  const auto path = dir.path() + "/one.so";
  const auto wait_for_clock = [&path](const plugin::FileStamp& from, mode_t mode) {
    do
      ::chmod(path.c_str(), mode);
    while (plugin::stamp_of(path).changed == from.changed);
  };
  write_plugin(path, "\177ELF first", 0755);
  const auto copy = plugin::PluginCopy::make(path, copies.path());
  REQUIRE(copy);
  CHECK((*copy)->is_of(path));
  wait_for_clock((*copy)->stamp(), 0700);
  CHECK((*copy)->is_of(path));
  ::unlink(path.c_str());
  CHECK_FALSE((*copy)->is_of(path));
  write_plugin(path, "\177ELF first", 0755);
  CHECK((*copy)->is_of(path));
  write_plugin(path, "\177ELF other", 0755);
  wait_for_clock((*copy)->stamp(), 0755);
  CHECK_FALSE((*copy)->is_of(path));

  write_plugin(path, "#!/bin/sh\n", 0755);
  const auto script = plugin::PluginCopy::make(path, copies.path());
  REQUIRE(script);
  CHECK((*script)->is_of(path));
  wait_for_clock((*script)->stamp(), 0755);
  CHECK_FALSE((*script)->is_of(path));
}

TEST_CASE("plugin copies: scripts, and what looks beside itself, run from where they are") {
  const test::TempDir dir, copies;
  const auto path = dir.path() + "/one.so";
  const auto runs_from = [&](const std::string& content) {
    write_plugin(path, content, 0755);
    const auto copy = plugin::PluginCopy::make(path, copies.path());
    REQUIRE(copy);
    return (*copy)->path() == path ? "there" : "a copy";
  };
  using namespace std::string_literals;
  CHECK(runs_from("#!/bin/sh\n") == "there"s);
  CHECK(runs_from("\177ELF $ORIGIN\0"s) == "there"s);
  CHECK(runs_from("\177ELF /usr/lib:$ORIGIN/../no/such:x\0"s) == "a copy"s);
  const auto part = std::string(std::size_t{1} << 20, 'x');
  CHECK(runs_from("\177ELF" + part.substr(7) + "$ORIGIN\0"s + part) == "there"s);
  CHECK(std::filesystem::is_empty(copies.path()));
}
