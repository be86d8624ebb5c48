// What a node hears of the allocation that one of its own replaces.
#include "runtime/cluster/previous_alloc.hpp"

#include "runtime/access/migrate_token.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::cluster;
using schema::ClientStatus;

namespace {

/// Allocation "old" on node n1 and "new", which replaces it, on n2.
struct Replaced : state::StateFixture {
  explicit Replaced(bool migrates = true) {
    for (const auto* node : {"n1", "n2"})
      run([&](auto command) {
        auto body = command.initNodeRegister().initNode();
        body.setId(node);
        body.setSecretId(text(std::string{"secret of "} + node));
        body.setHttpAddr("10.0.0.1:4646");
        body.setTlsEnabled(true);
        body.setStatus(schema::NodeStatus::READY);
      });
    run([&](auto command) {
      auto job = command.initJobRegister().initJob();
      nomad::state::fill(job, state::JobSpec{.groups = {{"api", 2}}});
      job.getTaskGroups()[0].initEphemeralDisk().setMigrate(migrates);
    });
    place({{.id = "old", .node = "n1"}});
    place({{.id = "new", .node = "n2", .previous = "old"}});
  }

  PreviousAlloc of(const char* alloc = "new", const char* node = "n2") const {
    const auto found = previous_alloc_of(now(), node, alloc);
    REQUIRE(found.has_value());
    return *found;
  }
};

}  // namespace

TEST_CASE("previous allocation: has ended when its client says so, or nobody can know") {
  Replaced fixture;
  CHECK_FALSE(fixture.of().ended);
  fixture.report("old", ClientStatus::RUNNING);
  CHECK_FALSE(fixture.of().ended);
  fixture.report("old", ClientStatus::COMPLETE);
  CHECK(fixture.of().ended);
  fixture.report("old", ClientStatus::UNKNOWN);
  CHECK(fixture.of().ended);
}

TEST_CASE("previous allocation: a stop that is only wanted is no end") {
  Replaced fixture;
  fixture.report("old", ClientStatus::RUNNING);
  fixture.stop("old");
  CHECK_FALSE(fixture.of().ended);
}

TEST_CASE("previous allocation: none, or a collected one, is not waited for") {
  Replaced fixture;
  CHECK(fixture.of("old", "n1").ended);
  CHECK(fixture.of("old", "n1").id.empty());
  fixture.place({{.id = "late", .node = "n2", .previous = "long-gone"}});
  CHECK(fixture.of("late").ended);
  CHECK(fixture.of("late").migrate_token.empty());
}

TEST_CASE("previous allocation: its disk is told once it has ended, to the node that wants it") {
  Replaced fixture;
  CHECK(fixture.of().http_address.empty());
  fixture.report("old", ClientStatus::COMPLETE);
  const auto found = fixture.of();
  CHECK(found.http_address == "10.0.0.1:4646");
  CHECK(found.tls);
  CHECK(found.migrate_token == access::migrate_token("old", "secret of n1"));
}

TEST_CASE("previous allocation: no token for who does not migrate, is to stop, or has it at home") {
  Replaced plain{false};
  plain.report("old", ClientStatus::COMPLETE);
  CHECK(plain.of().ended);
  CHECK(plain.of().migrate_token.empty());

  Replaced stopped;
  stopped.report("old", ClientStatus::COMPLETE);
  stopped.stop("new");
  CHECK(stopped.of().migrate_token.empty());

  Replaced home;
  home.report("old", ClientStatus::COMPLETE);
  home.place({{.id = "near", .node = "n1", .previous = "old"}});
  CHECK(home.of("near", "n1").migrate_token.empty());
}

TEST_CASE("previous allocation: only the node of the replacement may ask") {
  Replaced fixture;
  fixture.report("old", ClientStatus::COMPLETE);
  CHECK(previous_alloc_of(fixture.now(), "n1", "new").error().code == Errc::permission_denied);
  CHECK(previous_alloc_of(fixture.now(), "n2", "nothing").error().code == Errc::not_found);
}
