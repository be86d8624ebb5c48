// Streams of logs, whole and in pieces, and that nothing of them is lost or there twice.
#include "runtime/docker/log_stream.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/random.hpp"
#include "runtime/docker/log_collector.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::docker;

namespace {

std::string frame(Output output, std::string_view bytes) {
  std::string head(8, '\0');
  head[0] = static_cast<char>(output);
  for (int i = 0; i < 4; ++i)
    head[static_cast<std::size_t>(4 + i)] = static_cast<char>(bytes.size() >> (24 - 8 * i));
  return head + std::string{bytes};
}

/// As the engine writes it: always nine digits.
std::string stamp(std::int64_t time) {
  const auto whole = format_rfc3339(time / 1'000'000'000 * 1'000'000'000);
  return fmt::format("{}.{:09}Z ", whole.substr(0, 19), time % 1'000'000'000);
}

constexpr std::int64_t begin = 1'700'000'000'000'000'000;

struct Line {
  Output output;
  std::int64_t time;
  std::string text;
};

std::string stream_of(const std::vector<Line>& lines, std::int64_t since = 0) {
  std::string all;
  for (const auto& line : lines)
    if (line.time >= since) all += frame(line.output, stamp(line.time) + line.text);
  return all;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("docker logs: frames in pieces of every size") {
  const auto bytes
      = frame(Output::out, "one\n") + frame(Output::err, "") + frame(Output::err, "two");
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    FrameSplitter splitter;
    std::string seen;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      REQUIRE(splitter
                  .take(std::string_view{bytes}.substr(at, size),
                        [&](Output output, std::string_view text) {
                          seen += fmt::format("{}:{};", static_cast<int>(output), text);
                        })
                  .has_value());
    CHECK(seen == "1:one\n;2:;2:two;");
    CHECK_FALSE(splitter.is_inside());
  }
}

TEST_CASE("docker logs: what is no frame ends the stream") {
  const auto nobody = [](Output, std::string_view) {};
  const auto senseless = [](const char* why) {
    return Error{Errc::corrupt,
                 std::string{"the engine sends a stream that makes no sense: "} + why};
  };
  for (const std::string& nonsense :
       {std::string("HTTP/1.1 200"), std::string("\x01\x00\x00\x01\x00\x00\x00\x00", 8)})
    CHECK(FrameSplitter{}.take(nonsense, nobody).error() == senseless("no frame begins like that"));
  CHECK(FrameSplitter{}.take(std::string("\x01\x00\x00\x00\x7f\x00\x00\x00", 8), nobody).error()
        == senseless("a frame is too long"));
  CHECK(read_message(Output::out, "no time").error() == senseless("a message without its time"));
  CHECK(read_message(Output::out, "2026-13-02T03:04:05.000000006Z x").has_error());
}

TEST_CASE("docker logs: a terminal has messages and nothing between them") {
  const std::string part(MessageSplitter::longest_piece, 'p');
  const auto bytes = stamp(begin) + "one\r\n" + stamp(begin + 1) + part + stamp(begin + 1)
                     + "end\r\n" + stamp(begin + 2) + "\n";
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{5000}, bytes.size()}) {
    MessageSplitter splitter;
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      REQUIRE(splitter
                  .take(std::string_view{bytes}.substr(at, size),
                        [&](const LogMessage& message) { seen.emplace_back(message.text); })
                  .has_value());
    CHECK(seen == std::vector<std::string>{"one\r\n", part, "end\r\n", "\n"});
  }
  CHECK(MessageSplitter{}
            .take("this is no time at all, not even nearly one\n", [](const LogMessage&) {})
            .has_error());
}

TEST_CASE("docker logs: whoever goes on has each message once, wherever the first one stopped") {
  Random random{7};
  std::vector<Line> lines;
  std::int64_t time = begin;
  for (int i = 0; i < 600; ++i) {
    // Equal times, pauses, and two outputs that get a little out of order.
    if (random.below(3) > 0) time += static_cast<std::int64_t>(random.below(30'000'000));
    const auto late = static_cast<std::int64_t>(random.below(1000));
    lines.push_back({random.below(2) == 0 ? Output::out : Output::err, time - late,
                     fmt::format("line {}\n", i)});
  }
  for (std::size_t stop = 0; stop <= lines.size(); stop += 7) {
    std::string seen;
    LogCursor first;
    for (std::size_t i = 0; i < stop; ++i)
      if (first.take({lines[i].output, lines[i].time, lines[i].text})) seen += lines[i].text;
    const auto position = first.position();
    LogCursor second{position};
    for (const auto& line : lines)
      if (line.time >= position.since && second.take({line.output, line.time, line.text}))
        seen += line.text;
    std::string all;
    for (const auto& line : lines)
      all += line.text;
    REQUIRE(seen == all);
  }
}

TEST_CASE("docker logs: what the engine has dropped is not counted") {
  LogCursor first;
  for (int i = 0; i < 10; ++i)
    first.take({Output::out, begin + i, "x"});
  LogCursor second{first.position()};
  CHECK_FALSE(second.take({Output::out, begin + 5, "x"}));  // the first five are gone
  CHECK(second.take({Output::out, begin + 10, "x"}));
}

TEST_CASE("docker logs: what an engine gives out again is taken once and not counted") {
  LogCursor cursor;
  for (int i = 0; i < 100; ++i)
    CHECK(cursor.take({Output::out, begin + i, "x"}));
  const auto position = cursor.position();
  for (int i = 60; i < 100; ++i)
    CHECK_FALSE(cursor.take({Output::out, begin + i, "x"}));
  CHECK(cursor.position() == position);
  // The same moment on the other output, another text, and one that was late are none of these.
  CHECK(cursor.take({Output::err, begin + 99, "x"}));
  CHECK(cursor.take({Output::out, begin + 99, "y"}));
  CHECK(cursor.take({Output::out, begin - 5, "x"}));
  CHECK_FALSE(cursor.take({Output::out, begin - 5, "x"}));
}

TEST_CASE("docker logs: a file of any length that is given out again is known") {
  LogCursor cursor;
  constexpr std::int64_t millisecond = 1'000'000;
  for (int i = 0; i < 40'000; ++i)
    REQUIRE(cursor.take({Output::out, begin + i * millisecond / 100, "x"}));
  for (int i = 0; i < 40'000; ++i)
    REQUIRE_FALSE(cursor.take({Output::out, begin + i * millisecond / 100, "x"}));
  for (int i = 0; i < 100; ++i)
    REQUIRE(cursor.take({Output::out, begin + 10'000 * millisecond + i * 100 * millisecond, "x"}));
  CHECK_FALSE(cursor.take({Output::out, begin + 10'000 * millisecond, "x"}));
}

TEST_CASE(
    "docker logs: another stream brings what one before it has passed over, and nothing twice") {
  LogCursor all;
  LogCursor cursor;
  for (int i = 0; i < 100; ++i) {
    all.take({Output::out, begin + i, "x"});
    if (i < 40 || i >= 60) CHECK(cursor.take({Output::out, begin + i, "x"}));
  }
  cursor.restart(cursor.position());
  CHECK(cursor.is_skipping());
  for (int i = 0; i < 100; ++i)
    CHECK(cursor.take({Output::out, begin + i, "x"}) == (i >= 40 && i < 60));
  CHECK_FALSE(cursor.is_skipping());
  CHECK(cursor.position() == all.position());
  CHECK(cursor.take({Output::err, begin + 50, "late"}));
  CHECK(cursor.take({Output::out, begin + 200, "x"}));
}

TEST_CASE("docker logs: files that a task has made are no reason to count for ever") {
  const test::TempDir root;
  std::filesystem::create_directories(root.file("alloc/logs"));
  const LogCollectorOptions options{
      .alloc_root = root.path(), .task = "web", .position_file = root.file("position")};
  REQUIRE(LogCollector{options}.open(true).has_value());
  for (const char* index : {"900000000", "99999999999999"})
    std::ofstream{root.file(std::string{"alloc/logs/web.stdout."} + index)} << "x";

  LogCollector collector{options};
  REQUIRE(collector.open(false).has_value());  // Within a life.

  CHECK(collector.take(frame(Output::err, stamp(begin) + "line\n")).has_value());
  CHECK(read(root.file("alloc/logs/web.stderr.0")) == "line\n");
}

TEST_CASE("docker logs: where they go says the agent's own record, and nothing else") {
  const test::TempDir root;
  std::filesystem::create_directories(root.path() + "/a b/alloc/logs");
  LogCollectorOptions options{.alloc_root = root.file("a b"),
                              .task = "web",
                              .max_files = 2,
                              .max_bytes = 20,
                              .position_file = root.file("position")};
  REQUIRE(LogCollector{options}.open(true).has_value());
  const LogCollectorOptions later{.task = "web", .position_file = root.file("position")};

  LogCollector collector{later};
  REQUIRE(collector.open(false).has_value());
  for (int i = 0; i < 4; ++i)
    CHECK(collector.take(frame(Output::out, stamp(begin + i) + "sixteen letters\n")).has_value());

  CHECK(read(root.path() + "/a b/alloc/logs/web.stdout.3") == "sixteen letters\n");
  CHECK_FALSE(std::filesystem::exists(root.path() + "/a b/alloc/logs/web.stdout.1"));
  CHECK(LogCollector{{.task = "web", .position_file = root.file("none")}}.open(false).error()
        == Error{Errc::not_found, "no record says where the logs go"});
  for (const char* record : {"3 0 0 0 0 0 0 0 0\n", "1 0 0 0 0 0 0 0\n", "1 0 0 0 0 0 0 0 0\n"}) {
    CAPTURE(record);
    std::ofstream{root.file("position")} << record;
    CHECK(LogCollector{later}.open(false).error()
          == Error{Errc::corrupt, root.file("position") + " does not say where the logs go"});
  }
}

TEST_CASE("docker logs: a position that can't be kept is told with its file") {
  const test::TempDir root;
  std::filesystem::create_directories(root.file("alloc/logs"));
  LogCollector lost{
      {.alloc_root = root.path(), .task = "api", .position_file = root.file("gone/position")}};
  REQUIRE(lost.open(true).has_value());
  CHECK(lost.take_complaint()
        == "how far the logs were taken can't be kept: cannot open \"" + root.file("gone/position")
               + ".new\": No such file or directory");
}

TEST_CASE("docker logs: the first form of the record is gone on with below the agent's own root") {
  const test::TempDir root;
  std::filesystem::create_directories(root.file("alloc/logs"));
  std::ofstream{root.file("alloc/logs/web.stdout.0")} << "first\nsecond\n";
  std::ofstream{root.file("position")} << fmt::format("1 {0} 1 {0} {0} 0 6 0 0\n", begin);

  LogCollector collector{
      {.alloc_root = root.path(), .task = "web", .position_file = root.file("position")}};
  REQUIRE(collector.open(false).has_value());
  for (const char* line : {"first\n", "second\n", "third\n"})
    CHECK(collector.take(frame(Output::out, stamp(begin + (*line == 'f' ? 0 : 1)) + line))
              .has_value());

  CHECK(read(root.file("alloc/logs/web.stdout.0")) == "first\nsecond\nthird\n");
  collector.save();
  CHECK(read(root.file("position")).starts_with("2 "));
}

TEST_CASE("docker logs: no more is passed over than the files of a task can have had") {
  const test::TempDir root;
  std::filesystem::create_directories(root.file("alloc/logs"));
  const LogCollectorOptions options{.alloc_root = root.path(),
                                    .task = "web",
                                    .max_files = 2,
                                    .max_bytes = 10,
                                    .position_file = root.file("position")};
  REQUIRE(LogCollector{options}.open(true).has_value());
  std::ofstream{root.file("alloc/logs/web.stdout.900000000")} << "12345";

  LogCollector collector{options};
  REQUIRE(collector.open(false).has_value());
  CHECK(collector.take(frame(Output::out, stamp(begin) + std::string(25, 'x') + "line\n"))
            .has_value());

  CHECK(read(root.file("alloc/logs/web.stdout.900000000")) == "12345line\n");
}

TEST_CASE("docker logs: an agent that dies loses no line and writes none twice") {
  const auto root = std::filesystem::temp_directory_path() / "docker_logs_test";
  Random random{11};
  for (int round = 0; round < 60; ++round) {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root / "alloc/logs");
    std::ofstream{root / "alloc/logs/web.stdout.0"} << "of an earlier run\n";
    const LogCollectorOptions options{.alloc_root = root.string(),
                                      .task = "web",
                                      .max_files = 100,
                                      .max_bytes = 500,
                                      .position_file = (root / "position").string()};
    std::vector<Line> lines;
    std::string out = "of an earlier run\n";
    std::string err;
    std::int64_t time = begin;
    for (int i = 0; i < 200; ++i) {
      time += static_cast<std::int64_t>(random.below(20'000'000));
      lines.push_back(
          {random.below(3) == 0 ? Output::err : Output::out, time, fmt::format("line {}\n", i)});
      (lines.back().output == Output::err ? err : out) += lines.back().text;
    }
    for (int life = 0; life < 4; ++life) {
      LogCollector collector{options};
      REQUIRE(collector.open(life == 0).has_value());
      const auto since = collector.since();
      const auto dot = since.find('.');
      const auto from = dot == std::string::npos ? std::int64_t{0}
                                                 : std::stoll(since.substr(0, dot)) * 1'000'000'000
                                                       + std::stoll(since.substr(dot + 1));
      const auto stream = stream_of(lines, from);
      // The last one lives to the end; the others die anywhere, also within a frame.
      const auto end = life == 3 ? stream.size() : random.below(stream.size() + 1);
      std::size_t at = 0;
      while (at < end) {
        const auto size = std::min<std::size_t>(end - at, 1 + random.below(300));
        REQUIRE(collector.take(std::string_view{stream}.substr(at, size)).has_value());
        at += size;
        if (random.below(4) == 0) collector.save();
      }
    }
    std::string out_seen;
    std::string err_seen;
    for (int i = 0; i < 100; ++i) {
      out_seen += read(root / fmt::format("alloc/logs/web.stdout.{}", i));
      err_seen += read(root / fmt::format("alloc/logs/web.stderr.{}", i));
    }
    REQUIRE(out_seen == out);
    REQUIRE(err_seen == err);
  }
  std::filesystem::remove_all(root);
}
