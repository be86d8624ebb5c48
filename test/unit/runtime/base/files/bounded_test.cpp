#include "runtime/base/files/bounded.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;

TEST_CASE("bounded: a file is read up to a bound, also one without a size") {
  test::TempDir folder;
  std::ofstream{folder.file("f")} << "12345";

  CHECK(*read_whole_file(folder.file("f"), 5) == "12345");
  CHECK(read_whole_file(folder.file("f"), 4).error().code == Errc::too_large);
  CHECK(read_whole_file("/dev/zero").error().code == Errc::too_large);
  CHECK(read_whole_file("/proc/self/stat")->size() > 10);
  CHECK(read_whole_file(folder.file("none")).error().code == Errc::not_found);
  CHECK(read_whole_file(folder.path()).error().code == Errc::io);
}

TEST_CASE("bounded: the names of a folder come sorted, up to a bound") {
  test::TempDir folder;
  for (const char* name : {"b", "c", "a"})
    std::ofstream{folder.file(name)} << "";

  CHECK(*names_in(folder.path(), 3) == std::vector<std::string>{"a", "b", "c"});
  CHECK(names_in(folder.path(), 2).error().code == Errc::too_large);
  CHECK(names_in(folder.file("none")).error().code == Errc::not_found);
}
