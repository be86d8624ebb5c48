// With the real nomadctl-executor.
#include "runtime/plugin/bridge/log_keepers.hpp"

#include <chrono>
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
#include "test/unit/runtime/plugin/bridge/few_host.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using plugin::bridge::FewHost;
using plugin::bridge::LogKeepers;

namespace {

struct KeepersFixture {
  host::TempDir place;
  FewHost loop;
  LogKeepers keepers{loop, std::getenv("NOMADCTL_EXECUTOR"), place / "fifos"};

  Result<LogKeepers::Kept> start(LogKeepers& with) {
    capnp::MallocMessageBuilder message;
    auto config = message.initRoot<schema::plugin::TaskConfig>();
    config.setAllocRoot((place / "alloc1").c_str());
    config.initId().setTask("web");
    config.initLogs().setMaxFiles(2);
    config.getLogs().setMaxFileBytes(1000);
    std::optional<Result<LogKeepers::Kept>> kept;
    with.start(config.asReader(), "run1",
               [&kept](Result<LogKeepers::Kept> made) { kept.emplace(std::move(made)); });
    REQUIRE(loop.serve([&] { return kept.has_value(); }));
    CHECK_FALSE(loop.is_watching());
    return std::move(*kept);
  }

  bool has_fifos() const { return !std::filesystem::is_empty(place / "fifos"); }
};

}  // namespace

TEST_CASE_FIXTURE(KeepersFixture, "log keepers: what is written is kept, until it is to end") {
  std::filesystem::create_directories(place / "alloc1/alloc/logs");
  auto kept = start(keepers);
  REQUIRE_MESSAGE(kept, kept.error().what);
  kept->held.clear();
  const host::UniqueFd writer{::open(kept->paths.out.c_str(), O_WRONLY | O_NONBLOCK)};
  REQUIRE(writer.get() >= 0);
  REQUIRE(::write(writer.get(), "hello\n", 6) == 6);
  const auto file = place / "alloc1/alloc/logs/web.stdout.0";
  CHECK(loop.serve([&] { return host::read_text(file) == "hello\n"; }));
  keepers.finish(kept->process);
  CHECK(loop.serve([&] { return !has_fifos(); }));
}

TEST_CASE_FIXTURE(KeepersFixture,
                  "log keepers: one that can't open the logs is an error with the file's name") {
  std::filesystem::create_directories(place / "alloc1/alloc");
  host::write_text(place / "alloc1/alloc/logs", "no directory");
  const auto kept = start(keepers);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().what
        == "the task's logs can't be kept: opening " + (place / "alloc1/alloc/logs")
               + ": Not a directory");
  CHECK_FALSE(has_fifos());
}

TEST_CASE_FIXTURE(KeepersFixture, "log keepers: one that ends before it reads is an error") {
  LogKeepers others{loop, "/bin/true", place / "fifos"};
  const auto kept = start(others);
  REQUIRE_FALSE(kept);
  CHECK(kept.error().what == "the task's logs can't be kept: it has ended before it read anything");
  CHECK_FALSE(has_fifos());
}
