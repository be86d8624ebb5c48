// The files that job files read, and files of kinds that none should be.
#include "cli/job/local_files.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "cli/input.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::cli;
using Names = std::vector<std::string>;

namespace {

struct Tree : test::TempDir {
  Tree() {
    for (const char* name :
         {"a.yml", "b.yaml", "c+d.yml", ".hidden.yml", "sub/e.yml", "sub/deep/f.yml"}) {
      std::filesystem::create_directories(std::filesystem::path{file(name)}.parent_path());
      std::ofstream{file(name)} << name;
    }
    std::filesystem::create_directory(file("folder.yml"));
    std::filesystem::create_symlink(file("a.yml"), file("link.yml"));
    std::filesystem::create_directory_symlink(file("."), file("sub/loop"));
  }

  Names glob(const std::string& pattern) const {
    const auto found = LocalFiles{}.glob(file("."), pattern);
    REQUIRE(found.has_value());
    return *found;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Tree, "local files: fileset finds regular files by their pattern") {
  CHECK(glob("*.yml") == Names{".hidden.yml", "a.yml", "c+d.yml", "link.yml"});
  CHECK(glob("**/*.yml")
        == Names{".hidden.yml", "a.yml", "c+d.yml", "link.yml", "sub/deep/f.yml", "sub/e.yml"});
  CHECK(glob("sub/**") == Names{"sub/deep/f.yml", "sub/e.yml"});
  CHECK(glob("?.y{,a}ml") == Names{"a.yml", "b.yaml"});
  CHECK(glob("[ab].*") == Names{"a.yml", "b.yaml"});
  CHECK(glob("[!a].yaml") == Names{"b.yaml"});
  CHECK(glob("c\\+d.yml") == Names{"c+d.yml"});
  CHECK(glob("c+d.yml") == Names{"c+d.yml"});
  CHECK(glob("nothing").empty());
  CHECK(LocalFiles{}.glob(file("not-there"), "*")->empty());
  CHECK(LocalFiles{}.glob(file("."), "[z-a]").has_error());
}

TEST_CASE_FIXTURE(Tree, "input: what is no file is refused with its name and the reason") {
  const auto said = [](const std::string& path) { return read_input(path, 1024).error().what; };
  CHECK(said(file("sub")) == "read " + file("sub") + ": Is a directory");
  CHECK(said(file("not-there")) == "open " + file("not-there") + ": No such file or directory");
  CHECK(said("/dev/zero") == "/dev/zero is larger than 0 MiB");
  CHECK(*read_input("/dev/null") == "");
  CHECK(*read_input(file("a.yml")) == "a.yml");
}
