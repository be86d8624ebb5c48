// With the real nomadctl-executor.
#include "runtime/plugin/bridge/log_collectors.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <capnp/message.h>
#include <doctest/doctest.h>

#include "test/unit/runtime/host/temp_dir.hpp"
#include "test/unit/runtime/plugin/bridge/few_agent.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using plugin::bridge::FewAgent;
using plugin::bridge::LogCollectors;
using plugin::bridge::drivers::LogCollector;

namespace {

struct CollectorsFixture {
  host::TempDir location;
  FewAgent loop;
  LogCollectors collectors{loop, std::getenv("NOMADCTL_EXECUTOR"), location / "fifos"};

  Result<LogCollectors::Kept> start(LogCollectors& with) { return start(with, loop); }

  Result<LogCollectors::Kept> start(LogCollectors& with, FewAgent& agent) {
    capnp::MallocMessageBuilder message;
    auto config = message.initRoot<schema::plugin::TaskConfig>();
    config.setAllocRoot((location / "alloc1").c_str());
    config.initId().setTask("web");
    config.initLogs().setMaxFiles(2);
    config.getLogs().setMaxFileBytes(1000);
    std::optional<Result<LogCollectors::Kept>> kept;
    with.start(config.asReader(), "run1",
               [&kept](Result<LogCollectors::Kept> made) { kept.emplace(std::move(made)); });
    REQUIRE(agent.serve([&] { return kept.has_value(); }));
    return std::move(*kept);
  }

  static void kill(const LogCollector& process) { REQUIRE(::kill(process.pid(), SIGKILL) == 0); }

  std::string kept_output() const {
    return host::read_text(location / "alloc1/alloc/logs/web.stdout.0");
  }

  bool has_fifos() const { return !std::filesystem::is_empty(location / "fifos"); }
};

}  // namespace

TEST_CASE_FIXTURE(CollectorsFixture,
                  "log collectors: what is written is kept, until it is to end") {
  std::filesystem::create_directories(location / "alloc1/alloc/logs");
  auto kept = start(collectors);
  REQUIRE_MESSAGE(kept, kept.error().what);
  const host::UniqueFd writer{::open(kept->paths.out.c_str(), O_WRONLY | O_NONBLOCK)};
  REQUIRE(writer.get() >= 0);
  REQUIRE(::write(writer.get(), "hello\n", 6) == 6);
  const auto file = location / "alloc1/alloc/logs/web.stdout.0";
  CHECK(loop.serve([&] { return host::read_text(file) == "hello\n"; }));
  collectors.finish(kept->process);
  CHECK(loop.serve([&] { return !has_fifos(); }));
}

TEST_CASE_FIXTURE(CollectorsFixture,
                  "log collectors: one that can't open the logs is an error with the file's name") {
  std::filesystem::create_directories(location / "alloc1/alloc");
  host::write_text(location / "alloc1/alloc/logs", "no directory");
  const auto kept = start(collectors);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().what
        == "the task's logs can't be kept: opening " + (location / "alloc1/alloc/logs")
               + ": Not a directory");
  CHECK_FALSE(has_fifos());
  CHECK_FALSE(loop.is_watching());
}

TEST_CASE_FIXTURE(CollectorsFixture, "log collectors: one that ends before it reads is an error") {
  LogCollectors others{loop, "/bin/true", location / "fifos"};
  const auto kept = start(others);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().what == "the task's logs can't be kept: it has ended before it read anything");
  CHECK_FALSE(has_fifos());
}

TEST_CASE_FIXTURE(CollectorsFixture,
                  "log collectors: one that ends is followed, and no line is lost") {
  std::filesystem::create_directories(location / "alloc1/alloc/logs");
  const auto kept = start(collectors);
  REQUIRE_MESSAGE(kept, kept.error().what);
  std::vector<LogCollector> renewed;
  collectors.watch(kept->process, [&](const LogCollector& process) { renewed.push_back(process); });
  host::UniqueFd writer{::open(kept->paths.out.c_str(), O_WRONLY | O_NONBLOCK)};
  REQUIRE(writer.get() >= 0);
  const auto write = [&](std::string_view line) {
    return ::write(writer.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  };
  REQUIRE(write("one\n"));
  REQUIRE(loop.serve([&] { return kept_output() == "one\n"; }));
  for (std::size_t ends = 1; ends < 4; ++ends) {
    kill(renewed.empty() ? kept->process : renewed.back());
    REQUIRE(write("behind an end\n"));  // nobody reads yet, and nothing breaks
    REQUIRE(loop.serve([&] { return renewed.size() == ends; }));
    CHECK(renewed.back().pid() != kept->process.pid());
    CHECK(renewed.back().out() == kept->paths.out);
  }
  const std::string all = "one\nbehind an end\nbehind an end\nbehind an end\n";
  CHECK(loop.serve([&] { return kept_output() == all; }));
  CHECK(loop.heard("has ended, and another one is started") == 3);
  collectors.finish(kept->process);
  CHECK(loop.serve([&] { return !has_fifos(); }));
}

TEST_CASE_FIXTURE(CollectorsFixture,
                  "log collectors: one that ended before it was looked after is followed") {
  std::filesystem::create_directories(location / "alloc1/alloc/logs");
  FewAgent dead;  // with a process of the plugin's that is not served any more
  LogCollectors earlier{dead, std::getenv("NOMADCTL_EXECUTOR"), location / "fifos"};
  const auto kept = start(earlier, dead);
  REQUIRE_MESSAGE(kept, kept.error().what);
  const host::UniqueFd writer{::open(kept->paths.out.c_str(), O_RDWR | O_NONBLOCK)};
  kill(kept->process);
  REQUIRE(::write(writer.get(), "late\n", 5) == 5);
  std::vector<LogCollector> renewed;
  collectors.watch(kept->process, [&](const LogCollector& process) { renewed.push_back(process); });
  REQUIRE(loop.serve([&] { return !renewed.empty(); }));
  CHECK(loop.serve([&] { return kept_output() == "late\n"; }));
  collectors.finish(renewed.back());
  CHECK(loop.serve([&] { return !has_fifos(); }));
}

TEST_CASE_FIXTURE(CollectorsFixture,
                  "log collectors: what is left by one that has ended is read at the end") {
  std::filesystem::create_directories(location / "alloc1/alloc/logs");
  const auto kept = start(collectors);
  REQUIRE_MESSAGE(kept, kept.error().what);
  host::UniqueFd writer{::open(kept->paths.out.c_str(), O_WRONLY | O_NONBLOCK)};
  kill(kept->process);
  REQUIRE(::write(writer.get(), "last\n", 5) == 5);
  writer.reset();
  std::string when_complete;
  collectors.finish(kept->process, [&] { when_complete = kept_output(); });
  CHECK(loop.serve([&] { return !when_complete.empty(); }));
  CHECK(when_complete == "last\n");
  CHECK_FALSE(has_fifos());
  bool is_told = false;
  collectors.finish(kept->process, [&] { is_told = true; });  // there is nothing more
  CHECK(is_told);
  CHECK(loop.serve([&] { return !loop.is_watching(); }));
}

TEST_CASE_FIXTURE(CollectorsFixture, "log collectors: one that can't be followed is tried again") {
  std::filesystem::create_directories(location / "alloc1/alloc/logs");
  const auto kept = start(collectors);
  REQUIRE_MESSAGE(kept, kept.error().what);
  std::vector<LogCollector> renewed;
  collectors.watch(kept->process, [&](const LogCollector& process) { renewed.push_back(process); });
  std::filesystem::rename(location / "alloc1", location / "elsewhere");
  kill(kept->process);
  REQUIRE(loop.serve([&] { return loop.heard("it is tried again") > 1; }));
  CHECK(renewed.empty());
  std::filesystem::rename(location / "elsewhere", location / "alloc1");
  CHECK(loop.serve([&] { return renewed.size() == 1; }));
  collectors.finish(kept->process);
  CHECK(loop.serve([&] { return !has_fifos(); }));
}
