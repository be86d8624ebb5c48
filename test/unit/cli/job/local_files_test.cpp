// The files that job files read, and files of kinds that none should be.
#include "cli/job/local_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "cli/input.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/typed.hpp"

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
}

TEST_CASE_FIXTURE(Tree, "local files: folder and pattern of fileset are joined, and cleaned") {
  const Names all{".hidden.yml", "a.yml", "c+d.yml", "link.yml"};
  for (const char* pattern : {"./*.yml", "nothing/../*.yml", "/*.yml", ".//*.yml"})
    CHECK(glob(pattern) == all);
  CHECK(glob("/a.yml") == Names{"a.yml"});
  CHECK(glob("sub//e.yml") == Names{"sub/e.yml"});
  CHECK(glob("sub/loop/*.yaml") == Names{"sub/loop/b.yaml"});  // a link that is named is followed
  CHECK(*LocalFiles{}.glob(file("sub/"), "../*.yaml") == Names{"../b.yaml"});
  CHECK(glob("a.yml/*").empty());
  CHECK(glob("").empty());
  CHECK(LocalFiles{}.glob("/", "*.nope")->empty());  // without all that lies below
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(file("."));
  CHECK(*LocalFiles{}.glob("", "*.yaml") == Names{"b.yaml"});
  std::filesystem::current_path(before);
}

TEST_CASE_FIXTURE(Tree, "local files: a set of fileset is one character of a name") {
  for (const char* pattern : {"sub[!x]e.yml", "sub[^x]e.yml", "sub[.-9]e.yml"})
    CHECK(glob(pattern).empty());
  CHECK(glob("c[.-9+]d.yml") == Names{"c+d.yml"});
  CHECK(glob("[\\a&&b].yml") == Names{"a.yml"});
  for (const char* pattern : {"[", "[a", "[]", "{a", "{a,b", "a\\", "[z-a]", "[a-]"})
    CHECK(LocalFiles{}.glob(file("."), pattern).error().what
          == "failed to glob pattern \"" + std::string{pattern} + "\": syntax error in pattern");
}

TEST_CASE_FIXTURE(Tree, "local files: a tilde is the user's home, and nobody else's") {
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("HOME", file(".").c_str(), 1);
  const LocalFiles files;
  CHECK(*files.read("~/a.yml") == "a.yml");
  CHECK(*files.exists("~/a.yml"));
  CHECK(files.exists("~").error().what.find(" is not a regular file, but \"d")
        != std::string::npos);
  CHECK(*files.expand_home("~") == file("."));
  CHECK(*files.expand_home("a~") == "a~");
  for (const auto& refused : {files.expand_home("~root/x"), files.read("~root/x")})
    CHECK(refused.error().what == "cannot expand user-specific home dir");
  setenv("HOME", before.c_str(), 1);
}

TEST_CASE_FIXTURE(Tree,
                  "local files: what is there and no regular file is neither there nor missing") {
  const auto asked = [](const std::string& path) { return LocalFiles{}.exists(path); };
  CHECK(*asked(file("a.yml")));
  CHECK(*asked(file("link.yml")));
  CHECK_FALSE(*asked(file("nothing")));
  CHECK_FALSE(*asked(file("nothing/../a.txt")));
  ::chmod(file("sub").c_str(), 0751);
  CHECK(asked(file("sub/")).error().what
        == file("sub") + " is not a regular file, but \"drwxr-x--x\"");
  ::chmod(file("sub").c_str(), 01777);
  CHECK(asked(file("sub")).error().what
        == file("sub") + " is not a regular file, but \"dtrwxrwxrwx\"");
  CHECK(asked("/dev/null").error().what == "/dev/null is not a regular file, but \"Dcrw-rw-rw-\"");
  CHECK(asked(file("a.yml/x")).error().what == "failed to stat " + file("a.yml/x"));
}

TEST_CASE_FIXTURE(Tree, "local files: absolute paths are clean") {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(file("."));
  const auto here = std::filesystem::current_path().string();
  for (const char* path : {".", "", "./", "sub/.."})
    CHECK(*LocalFiles{}.absolute(path) == here);
  for (const char* path : {"sub", "sub/", "./sub/.", "sub//deep/.."})
    CHECK(*LocalFiles{}.absolute(path) == here + "/sub");
  CHECK(*LocalFiles{}.absolute("/") == "/");
  CHECK(*LocalFiles{}.absolute("/..") == "/");
  std::filesystem::current_path(before);
}

TEST_CASE("input: stdin is read as it is, and what can't be is an error") {
  {
    const test::Typed typed{"text"};
    CHECK(*read_input("-") == "text");
  }
  const auto folder = test::Typed::opened("/");
  CHECK(read_input("-").error().what == "read stdin: Is a directory");
}

TEST_CASE_FIXTURE(Tree, "input: what is no file is refused with its name and the reason") {
  const auto said = [](const std::string& path) { return read_input(path, 1024).error().what; };
  CHECK(said(file("sub")) == "read " + file("sub") + ": Is a directory");
  CHECK(said(file("not-there")) == "open " + file("not-there") + ": No such file or directory");
  CHECK(said("/dev/zero") == "/dev/zero is larger than 0 MiB");
  CHECK(*read_input("/dev/null") == "");
  CHECK(*read_input(file("a.yml")) == "a.yml");
}
