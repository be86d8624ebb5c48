#include "runtime/host/file_stream.hpp"

#include <fstream>
#include <random>

#include <poll.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/executor/log_writer.hpp"
#include "temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;
namespace fs = std::filesystem;

namespace {

void append(const std::string& path, const std::string& text) {
  std::ofstream{path, std::ios::app | std::ios::binary} << text;
}

template <class Stream>
std::string drain(Stream& stream, std::vector<StreamChunk>* chunks = nullptr) {
  std::string all;
  for (;;) {
    auto chunk = stream.read();
    REQUIRE_FALSE(chunk.has_error());
    if (!*chunk) return all;
    all += (*chunk)->data;
    if (chunks != nullptr) chunks->push_back(**chunk);
  }
}

// Waits until the watcher has something, and hands it out.
bool pump(FileWatcher& watcher, int milliseconds = 5000) {
  pollfd wait{watcher.descriptor(), POLLIN, 0};
  if (::poll(&wait, 1, milliseconds) != 1) return false;
  watcher.dispatch();
  return true;
}

struct Logs {
  Logs() { fs::create_directories(root.path() + "/alloc/logs"); }

  std::string path(const std::string& name) { return root / "alloc/logs/" + name; }

  TempDir root;
  Beneath beneath = std::move(*Beneath::open(root.path()));
};

}  // namespace

TEST_CASE("file_stream: reads from either end, with a limit") {
  Logs logs;
  write_text(logs.root / "f", "0123456789");

  struct Case {
    StreamOptions options;
    std::string expected;
  };

  for (const Case& each :
       {Case{{}, "0123456789"}, Case{{.offset = 4}, "456789"}, Case{{.offset = 40}, ""},
        Case{{.offset = 3, .origin = Origin::end}, "789"},
        Case{{.offset = 30, .origin = Origin::end}, "0123456789"},
        Case{{.offset = 2, .limit = 3}, "234"}}) {
    auto stream = FileStream::open(logs.beneath, "f", each.options);
    REQUIRE_FALSE(stream.has_error());
    CHECK(drain(*stream) == each.expected);
    CHECK(stream->finished());
  }
  CHECK(FileStream::open(logs.beneath, "none", {}).error().code == Errc::not_found);
  CHECK(parse_origin("middle").error().code == Errc::invalid_argument);
}

TEST_CASE("file_stream: follows what is appended, truncated and deleted") {
  Logs logs;
  write_text(logs.root / "f", "one");
  auto watcher = FileWatcher::open();
  auto stream = FileStream::open(logs.beneath, "f", {.follow = true});
  REQUIRE_FALSE(stream.has_error());
  int told = 0;
  REQUIRE_FALSE(stream->watch(**watcher, [&] { ++told; }).has_error());
  CHECK(drain(*stream) == "one");
  CHECK_FALSE(stream->finished());

  append(logs.root / "f", "two");
  REQUIRE(pump(**watcher));
  CHECK(told == 1);
  CHECK(drain(*stream) == "two");

  fs::resize_file(logs.root / "f", 0);
  REQUIRE(pump(**watcher));
  std::vector<StreamChunk> chunks;
  CHECK(drain(*stream, &chunks) == "");
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].event == "file truncated");
  append(logs.root / "f", "x");
  REQUIRE(pump(**watcher));
  CHECK(drain(*stream) == "x");

  fs::remove(logs.root / "f");
  REQUIRE(pump(**watcher));
  chunks.clear();
  drain(*stream, &chunks);
  REQUIRE(chunks.size() == 1);
  CHECK(chunks[0].event == "file deleted");
  CHECK(stream->finished());
}

TEST_CASE("file_watcher: shares a file among watchers, and stops when told") {
  Logs logs;
  write_text(logs.root / "f", "");
  auto watcher = FileWatcher::open();
  std::optional<FileStream> first
      = std::move(*FileStream::open(logs.beneath, "f", {.follow = true}));
  std::optional<FileStream> second
      = std::move(*FileStream::open(logs.beneath, "f", {.follow = true}));
  int one = 0, two = 0;
  // A callback may end another's watch.
  REQUIRE_FALSE(first
                    ->watch(**watcher,
                            [&] {
                              ++one;
                              second.reset();
                            })
                    .has_error());
  REQUIRE_FALSE(second->watch(**watcher, [&] { ++two; }).has_error());

  append(logs.root / "f", "x");
  REQUIRE(pump(**watcher));
  CHECK(one == 1);
  CHECK(two == 0);
  append(logs.root / "f", "y");
  REQUIRE(pump(**watcher));
  CHECK(one == 2);
  first.reset();
  append(logs.root / "f", "z");
  pump(**watcher, 50);
  CHECK(one == 2);
}

TEST_CASE("log files: are found by task, type and number") {
  Logs logs;
  for (const char* name : {"web.stdout.10", "web.stdout.9", "web.stderr.0", "web.stdout.x",
                           "web.stdout.", "web.stdout.1a", "webx.stdout.1", ".web.stdout.fifo",
                           "web.stdout.1000000000", "web.stdout.18446744073709551615"})
    write_text(logs.path(name), "1");
  fs::create_directory(logs.path("web.stdout.11"));
  fs::create_symlink("/etc/passwd", logs.path("web.stdout.12"));

  auto files = list_log_files(logs.beneath, "web", LogType::stdout_log);

  REQUIRE_FALSE(files.has_error());
  REQUIRE(files->size() == 2);
  CHECK((*files)[0].index == 9);
  CHECK((*files)[1].index == 10);
  CHECK(parse_log_type("both").error()
        == Error{Errc::invalid_argument, "log type must be stdout or stderr"});
}

TEST_CASE("log files: are found by their names beside more files than are looked through") {
  Logs logs;
  for (const char* name : {"web.stdout.3", "web.stdout.4"})
    write_text(logs.path(name), "1");
  for (std::size_t i = 0; i <= 100; ++i)
    fs::create_symlink("x", logs.path("n" + std::to_string(i)));

  const auto files = list_log_files(logs.beneath, "web", LogType::stdout_log, 100);
  REQUIRE(files.has_value());
  REQUIRE(files->size() == 2);
  CHECK(files->back().index == 4);
  CHECK(list_log_files(logs.beneath, "db", LogType::stdout_log, 100).error().code
        == Errc::too_large);
}

TEST_CASE("log files: positions count over files from either end") {
  std::vector<LogFile> files = {{3, "", 10}, {4, "", 0}, {6, "", 5}};

  struct Case {
    Origin origin;
    std::uint64_t offset;
    LogPosition expected;
  };

  for (const Case& each :
       {Case{Origin::start, 0, {3, 0}}, Case{Origin::start, 9, {3, 9}},
        Case{Origin::start, 10, {6, 0}}, Case{Origin::start, 14, {6, 4}},
        Case{Origin::start, 15, {6, 5}}, Case{Origin::start, 99, {6, 5}},
        Case{Origin::end, 0, {6, 0}}, Case{Origin::end, 5, {6, 0}}, Case{Origin::end, 6, {3, 9}},
        Case{Origin::end, 15, {3, 0}}, Case{Origin::end, 99, {3, 0}}}) {
    CAPTURE(each.offset);
    CHECK(locate(files, each.origin, each.offset) == each.expected);
  }
  CHECK_FALSE(locate({}, Origin::start, 0).has_value());
}

TEST_CASE("log_stream: reads all files, and without follow stops where it began") {
  Logs logs;
  write_text(logs.path("web.stdout.0"), "aaa");
  write_text(logs.path("web.stdout.1"), "bbb");
  auto stream = LogStream::open(logs.beneath, "web", LogType::stdout_log, {});
  REQUIRE_FALSE(stream.has_error());
  write_text(logs.path("web.stdout.2"), "later");

  std::vector<StreamChunk> chunks;
  CHECK(drain(*stream, &chunks) == "aaabbb");
  CHECK(stream->finished());
  CHECK(chunks[1].file == "alloc/logs/web.stdout.1");
  CHECK(chunks[1].offset == 3);

  auto tail = LogStream::open(logs.beneath, "web", LogType::stdout_log,
                              {.offset = 7, .origin = Origin::end, .limit = 4});
  CHECK(drain(*tail) == "bbla");
  CHECK(LogStream::open(logs.beneath, "web", LogType::stderr_log, {}).error().code
        == Errc::not_found);
}

TEST_CASE("log_stream: following loses and repeats nothing over rotations") {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    Logs logs;
    executor::LogWriter writer{executor::open_log_directory(logs.root.path()),
                               {"web.stdout", 1000, 200}};
    REQUIRE(writer.open() == 0);
    auto watcher = FileWatcher::open();
    auto stream = LogStream::open(logs.beneath, "web", LogType::stdout_log, {.follow = true});
    REQUIRE_FALSE(stream.has_error());
    bool told = false;
    REQUIRE_FALSE(stream->watch(**watcher, [&] { told = true; }).has_error());

    std::string written, read;
    for (int i = 0; i < 300; ++i) {
      std::string line = std::to_string(i) + std::string(random() % 60, '.') + '\n';
      REQUIRE(writer.write(line) == 0);
      written += line;
      if (random() % 4 != 0) continue;
      // Only when told, as the API does it.
      told = false;
      REQUIRE(pump(**watcher));
      if (told) read += drain(*stream);
    }
    while (pump(**watcher, 20))
      read += drain(*stream);
    CHECK(writer.index() > 10);
    CHECK(read == written);
  }
}

TEST_CASE("log_stream: goes on with what is left when files are purged") {
  Logs logs;
  for (int i = 0; i < 5; ++i)
    write_text(logs.path("web.stdout." + std::to_string(i)), std::to_string(i));
  auto stream = LogStream::open(logs.beneath, "web", LogType::stdout_log, {});
  for (int i = 0; i < 3; ++i)
    fs::remove(logs.path("web.stdout." + std::to_string(i)));

  CHECK(drain(*stream) == "034");
}
