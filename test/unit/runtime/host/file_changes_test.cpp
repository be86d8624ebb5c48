// Changes of files that were read, whoever makes them and however.
#include "runtime/host/file_changes.hpp"

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>

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

/// Counts, and lets who waits for a number go on.
class Count {
public:
  void add() {
    {
      const std::lock_guard lock{guard_};
      ++count_;
    }
    changed_.notify_all();
  }

  int get() {
    const std::lock_guard lock{guard_};
    return count_;
  }

  /// False: it took too long.
  bool reaches(int count) {
    std::unique_lock lock{guard_};
    return changed_.wait_for(lock, 30s, [&] { return count_ >= count; });
  }

private:
  std::mutex guard_;
  std::condition_variable changed_;
  int count_ = 0;
};

struct Fixture {
  TempDir dir;
  Count heard;
  FileChanges news;

  explicit Fixture(FileChangesTerms terms = {.gather = 20ms}) : news{std::move(terms)} {
    fs::create_directories(dir / "local/one");
    fs::create_directories(dir / "local/two");
    put(dir / "local/one/conf", "1");
    put(dir / "local/two/conf", "2");
    put(dir / "aside", "3");
    fs::create_directory_symlink("one", dir / "local/now");
  }

  SeenFile seen(const std::string& path) const {
    const auto root = Beneath::open(dir.path(), false);
    return {dir.path(), path, FileMark::of(root.value(), path).value()};
  }

  FileChanges::Ticket watch(const SeenFile& file) {
    return news.watch({file}, [this] { heard.add(); });
  }

  bool hears() { return heard.reaches(1); }

  /// Whether nothing is told of what has happened so far: that comes before the news of a file that
  /// was another one when it began to be watched.
  bool stays_silent() {
    const auto before = heard.get();
    auto other = seen("aside");
    other.mark.size += 1;
    Count told;
    news.watch({other}, [&told] { told.add(); });
    return told.reaches(1) && heard.get() == before;
  }
};

/// As often as `times` nothing can be watched.
FileChangesTerms without_inotify(int times) {
  const auto left = std::make_shared<std::atomic<int>>(times);
  return {.gather = 1ms,
          .blind_pause = 1ms,
          .open_watcher = [left]() -> Result<std::unique_ptr<FileWatcher>> {
            if (left->fetch_sub(1) > 0) return Error{Errc::io, "too many open files"};
            return FileWatcher::open();
          }};
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "file_changes: a change is told once") {
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
  CHECK(stays_silent());
}

TEST_CASE_FIXTURE(Fixture, "file_changes: a link that leads elsewhere is a change") {
  watch(seen("local/now/conf"));
  fs::create_directory_symlink("two", dir / "local/next");
  CHECK(stays_silent());
  fs::rename(dir / "local/next", dir / "local/now");
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_changes: what changed before it was watched is told") {
  const auto file = seen("local/one/conf");
  put(dir / "local/one/conf", "other");
  watch(file);
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_changes: what is written beside the file is no change") {
  watch(seen("local/one/conf"));
  for (int i = 0; i < 20; ++i)
    put(dir / "local/one/log", std::to_string(i));
  CHECK(stays_silent());
  put(dir / "local/one/conf", "other");
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_changes: a file that has gone is waited for") {
  watch(seen("local/one/conf"));
  fs::remove_all(dir / "local/one");
  CHECK(stays_silent());
  fs::create_directories(dir / "local/one");
  CHECK(stays_silent());
  put(dir / "local/one/conf", "1");
  CHECK(hears());
}

TEST_CASE_FIXTURE(Fixture, "file_changes: nothing is told of what was forgotten") {
  const auto ticket = watch(seen("local/one/conf"));
  CHECK(stays_silent());
  news.forget(ticket);
  put(dir / "local/one/conf", "other");
  CHECK(stays_silent());
}

TEST_CASE("file_changes: without inotify files are looked at from time to time") {
  int times = 2;  // until there is some
  SUBCASE("for good") {
    times = 1'000'000;
  }
  SUBCASE("for a while") {}
  Fixture location{without_inotify(times)};
  location.watch(location.seen("local/one/conf"));
  CHECK(location.stays_silent());
  put(location.dir / "local/one/conf", "other");
  CHECK(location.hears());
}
