// Changes of files that were read, whoever makes them and however.
#include "runtime/host/file_news.hpp"

#include <atomic>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>

#include "temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

void put(const std::string& path, const std::string& text) {
  std::ofstream{path, std::ios::binary} << text;
}

struct Fixture {
  TempDir dir;
  FileNews news{20ms};
  std::atomic<int> heard = 0;

  Fixture() {
    fs::create_directories(dir / "local/one");
    fs::create_directories(dir / "local/two");
    put(dir / "local/one/conf", "1");
    put(dir / "local/two/conf", "2");
    fs::create_directory_symlink("one", dir / "local/now");
  }

  SeenFile seen(const std::string& path) const {
    const auto root = Beneath::open(dir.path(), false);
    return {dir.path(), path, FileMark::of(root.value(), path).value()};
  }

  FileNews::Ticket watch(const SeenFile& file) {
    return news.watch({file}, [this] { ++heard; });
  }

  bool hears() {
    for (int i = 0; i < 200 && heard == 0; ++i)
      std::this_thread::sleep_for(10ms);
    return heard > 0;
  }

  bool stays_silent() {
    std::this_thread::sleep_for(150ms);
    return heard == 0;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "file_news: a change is told once") {
  watch(seen("local/one/conf"));
  CHECK(stays_silent());
  SUBCASE("of the text") {
    put(dir / "local/one/conf", "other");
  }
  SUBCASE("another file in its place") {
    put(dir / "local/one/new", "1");
    fs::rename(dir / "local/one/new", dir / "local/one/conf");
  }
  SUBCASE("another directory in its place") {
    fs::rename(dir / "local/one", dir / "local/old");
    fs::rename(dir / "local/two", dir / "local/one");
  }
  CHECK(hears());
  put(dir / "local/one/conf", "once more");
  std::this_thread::sleep_for(100ms);
  CHECK(heard == 1);
}

TEST_CASE_FIXTURE(Fixture, "file_news: a link that leads elsewhere is a change") {
  watch(seen("local/now/conf"));
  fs::create_directory_symlink("two", dir / "local/next");
  CHECK(stays_silent());
  fs::rename(dir / "local/next", dir / "local/now");
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_news: what changed before it was watched is told") {
  const auto file = seen("local/one/conf");
  put(dir / "local/one/conf", "other");
  watch(file);
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_news: what is written beside the file is no change") {
  watch(seen("local/one/conf"));
  for (int i = 0; i < 20; ++i)
    put(dir / "local/one/log", std::to_string(i));
  CHECK(stays_silent());
  put(dir / "local/one/conf", "other");
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_news: a file that has gone is waited for") {
  watch(seen("local/one/conf"));
  fs::remove_all(dir / "local/one");
  CHECK(stays_silent());
  fs::create_directories(dir / "local/one");
  CHECK(stays_silent());
  put(dir / "local/one/conf", "1");
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_news: nothing is told of what was forgotten") {
  const auto ticket = watch(seen("local/one/conf"));
  CHECK(stays_silent());
  news.forget(ticket);
  put(dir / "local/one/conf", "other");
  CHECK(stays_silent());
}
