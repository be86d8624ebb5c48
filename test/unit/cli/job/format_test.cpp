// fmt: which files it rewrites, what it prints, and its exit code.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "cli/api.hpp"
#include "cli/run.hpp"
#include "test/unit/cli/typed.hpp"

namespace fs = std::filesystem;

namespace {

constexpr const char* untidy = "a=1\nbb  = 2 # kept\n";
constexpr const char* tidy = "a  = 1\nbb = 2 # kept\n";

/// A folder with an untidy file, a tidy one, one that is no HCL, and an untidy one further down.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "nomadctl-fmt-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root = name;
    fs::create_directory(root / "below");
    put("job.nomad", untidy);
    put("tidy.hcl", tidy);
    put("text.txt", untidy);
    put("below/job.hcl", untidy);
  }

  ~Folder() {
    std::error_code failure;
    fs::remove_all(root, failure);
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return (root / name).string(); }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream{root / name} << text;
  }

  std::string text(const std::string& name) const {
    std::ifstream in{root / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  fs::path root;
};

struct Ran {
  int code;
  std::string out;
  std::string err;
};

Ran run(const std::vector<std::string>& arguments, const std::string& input = {}) {
  const nomad::test::Typed in{input};
  const std::ostringstream out;
  const std::ostringstream err;
  auto* const cout_buffer = std::cout.rdbuf(out.rdbuf());
  auto* const cerr_buffer = std::cerr.rdbuf(err.rdbuf());
  const auto done = nomad::cli::run_fmt(arguments);
  const int code = done ? *done : nomad::cli::fail(done.error());
  std::cout.rdbuf(cout_buffer);
  std::cerr.rdbuf(cerr_buffer);
  return {code, out.str(), err.str()};
}

}  // namespace

TEST_CASE("fmt: rewrites what is untidy, names it, and keeps its mode") {
  const Folder folder;
  REQUIRE(chmod(folder.path("job.nomad").c_str(), 0640) == 0);

  const Ran ran = run({folder.root.string()});

  CHECK(ran.code == 0);
  CHECK(ran.out == folder.path("job.nomad") + "\n");
  CHECK(folder.text("job.nomad") == tidy);
  CHECK(folder.text("text.txt") == untidy);
  CHECK(folder.text("below/job.hcl") == untidy);

  struct stat info {};

  REQUIRE(stat(folder.path("job.nomad").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  CHECK(std::distance(fs::directory_iterator{folder.root}, {}) == 4);
  CHECK(run({folder.root.string()}).out.empty());
}

TEST_CASE("fmt: goes into folders of folders only when asked to") {
  const Folder folder;

  const Ran ran = run({"-recursive", "-list=false", folder.root.string()});

  CHECK(ran.code == 0);
  CHECK(ran.out.empty());
  CHECK(folder.text("below/job.hcl") == tidy);
}

TEST_CASE("fmt: -check writes nothing and tells by its exit code") {
  const Folder folder;

  const Ran ran = run({"-check", folder.path("job.nomad")});

  CHECK(ran.code == 1);
  CHECK(ran.out == folder.path("job.nomad") + "\n");
  CHECK(folder.text("job.nomad") == untidy);
  CHECK(run({"-check", folder.path("tidy.hcl")}).code == 0);
}

TEST_CASE("fmt: neither listing nor writing prints the result") {
  const Folder folder;

  const Ran ran = run({"-list=false", "-write=false", folder.path("job.nomad")});

  CHECK(ran.code == 0);
  CHECK(ran.out == tidy);
  CHECK(folder.text("job.nomad") == untidy);
}

TEST_CASE("fmt: from stdin to stdout") {
  CHECK(run({"-"}, untidy).out == tidy);
  CHECK(run({"-check", "-"}, untidy).code == 1);
  CHECK(run({"-check", "-"}, tidy).code == 0);
  const Ran broken = run({"-"}, "a = [1\n");
  CHECK(broken.code == 1);
  CHECK(broken.out.empty());
  CHECK(broken.err.find("<stdin>:2,1-1: Missing item separator") != std::string::npos);
}

TEST_CASE("fmt: says all that went wrong, and does the rest") {
  const Folder folder;
  folder.put("bad.hcl", "a = \n");

  const Ran ran = run({folder.path("absent"), folder.path("text.txt"), folder.path("bad.hcl"),
                       folder.path("job.nomad")});

  CHECK(ran.code == 1);
  CHECK(ran.err.find("2 errors occurred:\n\t* No file or directory at " + folder.path("absent")
                     + "\n\t* Only .nomad and .hcl files can be processed using nomad fmt\n")
        != std::string::npos);
  CHECK(ran.err.find("bad.hcl:1,5-2,1: Invalid expression") != std::string::npos);
  CHECK(folder.text("job.nomad") == tidy);
}
