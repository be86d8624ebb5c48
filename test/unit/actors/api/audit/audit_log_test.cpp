#include "actors/api/audit/audit_log.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "actors/core/supervise.hpp"
#include "runtime/audit/event.hpp"
#include "test/support/eventually.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct LogFixture {
  ~LogFixture() { actor::stop(started.log); }

  /// Adds one and waits for its outcome.
  Result<> add() {
    std::atomic<bool> is_done = false;
    Result<> outcome;
    started.feed->add(audit::note_text(1, "Noted", {{"count", 1}}), [&](const Result<>& done) {
      outcome = done;
      is_done = true;
      test::note_change();
    });
    REQUIRE(test::eventually([&] { return is_done.load(); }));
    return outcome;
  }

  std::string content() const {
    std::ifstream in{path};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  const test::TempDir dir;
  const std::string path = dir.path() + "/audit.log";
  std::shared_ptr<telemetry::Registry> metrics
      = std::make_shared<telemetry::Registry>(telemetry::Options{});
  actor::SystemConfig config;
  actor::System system{config};
  StartedAuditLog started = start_audit_log(system, {.path = path}, metrics).value();
};

}  // namespace

TEST_CASE("audit_log: who waits is told when the event is in the file") {
  LogFixture fixture;

  REQUIRE(fixture.add().has_value());

  CHECK(fixture.content().find("Noted") != std::string::npos);
}

TEST_CASE("audit_log: events that were lost are told by a line before the next one") {
  LogFixture fixture;

  fixture.started.feed->count_lost(3);
  REQUIRE(fixture.add().has_value());

  const auto content = fixture.content();
  const auto lost = content.find("EventsLost");
  REQUIRE(lost != std::string::npos);
  CHECK(lost < content.find("Noted"));
}

TEST_CASE("audit_log: after its end whoever comes is told that nothing is written") {
  LogFixture fixture;

  actor::tell(fixture.started.log, audit_log::Close{});

  REQUIRE(test::eventually([&] { return !fixture.add(); }));
}

TEST_CASE("audit_log: a file that cannot be opened is an error that names it") {
  const test::TempDir dir;
  actor::SystemConfig config;
  actor::System system{config};
  std::filesystem::create_directory(dir.path() + "/audit.log");

  const auto started = start_audit_log(system, {.path = dir.path() + "/audit.log"}, {});

  REQUIRE(started.has_error());
  CHECK(started.error().what.find(dir.path() + "/audit.log") != std::string::npos);
}
