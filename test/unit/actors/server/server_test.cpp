#include "actors/server/server.hpp"

#include <doctest/doctest.h>

#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace nomad::server;

namespace {

struct ServerFixture : test::ActorFixture {
  Server server = adopt(spawn_server(system()));
  Recorder<Lead> duty = record<Lead>();

  void is_leading(bool leads, bool ready) {
    tell(server,
         raft::LeadershipChanged{
             .leads = leads, .ready = ready, .term = 1, .leader = "", .leader_address = ""});
  }

  /// What the duty has been told since the last look.
  std::vector<bool> told() {
    std::vector<bool> told;
    for (const auto& lead : std::exchange(*duty.seen, {}))
      told.push_back(lead.leads);
    return told;
  }
};

}  // namespace

TEST_CASE_FIXTURE(ServerFixture, "server: a duty hears at once how it is, and then each change") {
  tell(server, AddDuty{duty.handle});
  CHECK(told() == std::vector{false});
  is_leading(true, true);
  CHECK(told() == std::vector{true});
  is_leading(true, true);
  CHECK(told().empty());
  is_leading(false, false);
  CHECK(told() == std::vector{false});

  is_leading(true, true);
  const auto late = record<Lead>();
  tell(server, AddDuty{late.handle});
  REQUIRE(late.seen->size() == 1);
  CHECK(late.seen->front().leads);
}

TEST_CASE_FIXTURE(ServerFixture, "server: who leads without having caught up has no duties") {
  tell(server, AddDuty{duty.handle});
  told();
  is_leading(true, false);
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(ServerFixture, "server: duties begin anew when the state was replaced") {
  tell(server, AddDuty{duty.handle});
  told();
  tell(server, StateReplaced{});
  CHECK(told().empty());
  is_leading(true, true);
  told();
  tell(server, StateReplaced{});
  CHECK(told() == std::vector{false, true});
}
