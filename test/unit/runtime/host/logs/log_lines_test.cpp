#include "runtime/host/logs/log_lines.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "runtime/base/duration.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;

namespace {

constexpr std::int64_t one_second = 1'000'000'000;
constexpr std::int64_t time_base = 1'700'000'000 * one_second;

struct TimedLogs {
  TimedLogs() { std::filesystem::create_directories(root.path() + "/alloc/logs"); }

  std::string path(int index) const {
    return root.path() + "/alloc/logs/web.stdout." + std::to_string(index);
  }

  /// Appends to a file, whose last write was then `at` seconds behind the base.
  void write(int index, const std::string& text, std::int64_t at) const {
    std::ofstream{path(index), std::ios::app | std::ios::binary} << text;
    const timespec time{.tv_sec = time_base / one_second + at, .tv_nsec = 0};
    const std::array<timespec, 2> times{time, time};
    REQUIRE(::utimensat(AT_FDCWD, path(index).c_str(), times.data(), 0) == 0);
  }

  LogLines open(LineOptions options = {}) const {
    options.now = [this] { return now; };
    auto lines = LogLines::open(directory, "web", LogType::stdout_log, std::move(options));
    REQUIRE(lines.has_value());
    return std::move(*lines);
  }

  TempDir root;
  Beneath directory = std::move(*Beneath::open(root.path()));
  std::int64_t now = time_base + 1000 * one_second;
};

/// "10 file one" for each line: seconds behind the time_base, by what, and the text; "all" where
/// all that there was has been told.
std::string shown_lines(LogLines& lines) {
  std::string all;
  for (;;) {
    auto page = lines.read();
    REQUIRE(page.has_value());
    for (const auto& line : page->lines)
      all += std::to_string((line.time - time_base) / one_second) + ' '
             + std::string{word_of(line.by)} + ' ' + line.text + '\n';
    if (page->told_all) all += "all\n";
    if (!page->more) return all;
  }
}

}  // namespace

TEST_CASE("log lines: times between the last writes to the files, at an even pace") {
  const TimedLogs logs;
  logs.write(0, "aaaa\nbbbb\n", 100);
  logs.write(1, "cc\ndd\nee\nff\n", 300);

  auto lines = logs.open({.begun = time_base});

  CHECK(
      shown_lines(lines)
      == "50 file aaaa\n100 file bbbb\n150 file cc\n200 file dd\n250 file ee\n300 file ff\nall\n");
  CHECK(lines.finished());
}

TEST_CASE("log lines: without the task's start the first file is as old as its last write") {
  const TimedLogs logs;
  logs.write(0, "a\nb\n", 100);
  auto lines = logs.open();
  CHECK(shown_lines(lines) == "100 file a\n100 file b\nall\n");
}

TEST_CASE("log lines: what a line says itself counts, if it can be") {
  const TimedLogs logs;
  const auto at
      = [](std::int64_t seconds) { return format_rfc3339(time_base + seconds * one_second); };
  logs.write(0, "level=info " + at(70) + " in time\n" + at(-90'000) + " of another day\n", 100);

  auto lines = logs.open({.begun = time_base});

  const auto all = shown_lines(lines);
  CHECK(all.starts_with("70 line level=info "));
  CHECK(all.find("100 file " + at(-90'000)) != std::string::npos);
}

TEST_CASE("log lines: times in lines") {
  const auto expected = *parse_rfc3339("2026-11-30T10:20:30.5Z");
  CHECK(time_in_line("2026-11-30T10:20:30.5Z GET /") == expected);
  CHECK(time_in_line("[2026-11-30 12:20:30,500+02:00] GET /") == expected);
  CHECK(time_in_line(R"({"ts":"2026-11-30T10:20:30.5Z"})") == expected);
  for (const auto* none : {"", "2026-11-30T10:20:30", "2026-11-30T10:20:30 no zone",
                           "2026-11-30T10:20:30.Z", "2026-11-30T10:20:30.1234567890Z",
                           "2026-13-30T10:20:30Z", "2026-11-30T10:20:30+2", "2026-11-30",
                           "                                                                 "
                           "2026-11-30T10:20:30.5Z"})
    CHECK_FALSE_MESSAGE(time_in_line(none).has_value(), none);
}

TEST_CASE("log lines: what is appended has the time at which it was read") {
  TimedLogs logs;
  logs.write(0, "old\npart", 100);
  auto lines = logs.open({.begun = time_base, .follow = true});
  CHECK(shown_lines(lines) == "50 file old\nall\n");

  logs.write(0, "ial\n", 500);
  logs.write(1, "next file\n", 501);
  logs.now = time_base + 2000 * one_second;

  CHECK(shown_lines(lines) == "2000 arrival partial\n2000 arrival next file\n");
  CHECK_FALSE(lines.finished());
  logs.write(1, "no end", 600);
  CHECK(shown_lines(lines).empty());
  lines.stop_following();
  CHECK(shown_lines(lines) == "2000 arrival no end\n");
  CHECK(lines.finished());
}

TEST_CASE("log lines: since a time, without the files that are older") {
  const TimedLogs logs;
  logs.write(0, "aaaa\nbbbb\n", 100);
  logs.write(1, "cc\ndd\nee\nff\n", 300);

  auto lines = logs.open({.since = time_base + 200 * one_second, .begun = time_base});
  CHECK(shown_lines(lines) == "200 file dd\n250 file ee\n300 file ff\nall\n");
  auto none = logs.open({.since = time_base + 400 * one_second, .begun = time_base});
  CHECK(shown_lines(none) == "all\n");
}

TEST_CASE("log lines: the last lines alone, with and without a choice, and then what follows") {
  TimedLogs logs;
  logs.write(0, "a1\nb1\na2\nb2\n", 100);
  logs.write(1, "a3\nb3\n", 200);
  auto last = logs.open({.begun = time_base, .tail = 3, .follow = true});
  CHECK(shown_lines(last) == "100 file b2\n150 file a3\n200 file b3\nall\n");
  logs.write(1, "a4\n", 300);
  CHECK(shown_lines(last) == "1000 arrival a4\n");

  auto chosen
      = logs.open({.begun = time_base, .tail = 2, .wanted = [](std::string_view line, Work&) {
                     return Result<bool>{line.starts_with("b")};
                   }});
  CHECK(shown_lines(chosen) == "100 file b2\n233 file b3\nall\n");
  auto none = logs.open({.tail = 0});
  CHECK(shown_lines(none) == "all\n");
}

TEST_CASE("log lines: of a long log the tail is read, and begins with a whole line") {
  const TimedLogs logs;
  std::string text;
  for (int i = 0; i < 400'000; ++i)
    text += "line " + std::to_string(i) + '\n';
  logs.write(0, text, 100);

  auto lines = logs.open({.tail = 1'000'000});

  const auto all = shown_lines(lines);
  CHECK(all.starts_with("100 file line "));
  CHECK(all.ends_with("100 file line 399999\nall\n"));
  CHECK(all.size() < 2 * LogLines::most_tail_bytes);
}

TEST_CASE("log lines: a line without end comes in pieces, and bytes are what they are") {
  const TimedLogs logs;
  logs.write(
      0, std::string(LogLines::most_line_bytes + 5, 'x') + '\n' + std::string("\0\xff", 2) + "\n\n",
      100);
  auto lines = logs.open();

  std::vector<TimedLine> all;
  for (auto page = lines.read();; page = lines.read()) {
    for (auto& line : page->lines)
      all.push_back(std::move(line));
    if (!page->more) break;
  }

  REQUIRE(all.size() == 4);
  CHECK(all[0].text.size() == LogLines::most_line_bytes);
  CHECK(all[1].text == "xxxxx");
  CHECK(all[2].text == std::string("\0\xff", 2));
  CHECK(all[3].text.empty());
}

TEST_CASE("log lines: a page is bounded, also of very short lines") {
  const TimedLogs logs;
  logs.write(0, std::string(100'000, '\n'), 100);
  auto lines = logs.open();
  const auto page = lines.read();
  REQUIRE(page.has_value());
  CHECK(page->more);
  CHECK(page->lines.size() <= 1'100);
}

TEST_CASE("log lines: since a time, with an older file behind one that was written to again") {
  const TimedLogs logs;
  logs.write(0, "a\nb\n", 300);
  logs.write(1, "c\n", 100);
  auto lines = logs.open({.since = time_base + 200 * one_second, .begun = time_base});
  CHECK(shown_lines(lines) == "300 file b\nall\n");
}

TEST_CASE("log lines: a page ends when looking for lines has cost enough, and nothing is missing") {
  const TimedLogs logs;
  logs.write(0, "a\nb\nc\n", 100);
  auto lines = logs.open({.wanted = [](std::string_view line, Work& work) -> Result<bool> {
    if (const auto paid = work.take(LogLines::page_work); !paid) return paid.error();
    return line != "a";
  }});

  const auto first = lines.read();
  REQUIRE(first.has_value());
  CHECK(first->lines.empty());
  CHECK(first->more);
  CHECK(first->is_costly);
  CHECK(shown_lines(lines) == "100 file b\n100 file c\nall\n");
}

TEST_CASE("log lines: a choice that fails is the end, and a task without logs has none") {
  const TimedLogs logs;
  CHECK(LogLines::open(logs.directory, "web", LogType::stdout_log, {.now = [] { return 0; }})
            .error()
            .code
        == Errc::not_found);
  logs.write(0, "a\n", 100);
  auto lines = logs.open({.wanted = [](std::string_view, Work&) -> Result<bool> {
    return Error{Errc::too_large, "too much"};
  }});
  CHECK(lines.read().error().code == Errc::too_large);
}
