#include "cli/dev/file_stamp.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

struct Saved {
  test::TempDir folder;
  std::string path = folder.file("job.hcl");
  dev::SavedFiles files;

  Saved() : files{(write("one"), std::vector<std::string>{path})} {}

  void write(const std::string& text) const { std::ofstream{path} << text; }
};

}  // namespace

TEST_CASE_FIXTURE(Saved, "dev: a saved file is told when it looks the same twice") {
  CHECK(!files.look());
  write("three");
  CHECK(!files.look());
  CHECK(files.look());
  CHECK(!files.look());
}

TEST_CASE_FIXTURE(Saved, "dev: a file that is put in the place of another is saved") {
  std::ofstream{folder.file("new")} << "one";
  std::filesystem::rename(folder.file("new"), path);
  CHECK(!files.look());
  CHECK(files.look());
}

TEST_CASE_FIXTURE(Saved, "dev: one that is gone is waited for") {
  std::filesystem::remove(path);
  CHECK(!files.look());
  CHECK(!files.look());
  write("one");
  CHECK(!files.look());
  CHECK(files.look());
}
