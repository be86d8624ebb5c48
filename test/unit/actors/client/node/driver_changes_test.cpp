// What the node, its allocations and its events hear when drivers change.
#include "actors/client/node/driver_changes.hpp"

#include <doctest/doctest.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/supervise.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using client::changes_between;
using client::KnownDriver;
using client::KnownDrivers;
using Strings = std::vector<std::string>;

namespace {

KnownDriver driver_with(bool healthy, std::string_view text) {
  return {.health = client::driver::make_fingerprint(true, healthy, text)};
}

client::Driver::behavior_type silent(client::Driver::pointer) {
  return {[](const client::driver::Ask&) { return client::driver::Answered{}; }};
}

}  // namespace

TEST_CASE("driver changes: drivers that are as they were change nothing") {
  const KnownDrivers drivers{{"exec", driver_with(true, "Healthy")}};
  const auto changes = changes_between(drivers, drivers);
  CHECK_FALSE(changes.of_node);
  CHECK(changes.health_events.empty());
  CHECK((changes.gone.empty() && changes.replaced.empty()));
}

TEST_CASE("driver changes: other health is the node's, and an event unless it is the first") {
  const KnownDrivers before{{"new", {}}, {"old", driver_with(true, "Healthy")}};
  const KnownDrivers now{{"new", driver_with(true, "Healthy")},
                         {"old", driver_with(false, "it broke")}};
  const auto changes = changes_between(before, now);
  CHECK(changes.of_node);
  REQUIRE(changes.health_events.size() == 1);
  CHECK(changes.health_events[0] == std::pair<std::string, std::string>{"old", "it broke"});

  auto retired = now;
  retired.at("old") = driver_with(true, "Healthy");
  retired.at("old").retired = true;
  CHECK_MESSAGE(changes_between(now, retired).health_events.empty(),
                "nobody looks after it any more");
}

TEST_CASE_FIXTURE(test::ActorFixture,
                  "driver changes: who goes is the node's, who is another actor only its tasks'") {
  auto first = driver_with(true, "Healthy");
  auto second = first;
  first.driver = adopt(actor::spawn(system(), silent));
  second.driver = adopt(actor::spawn(system(), silent));
  const auto replaced = changes_between({{"exec", first}}, {{"exec", second}});
  CHECK(replaced.replaced == Strings{"exec"});
  CHECK_FALSE(replaced.of_node);

  const auto gone = changes_between({{"exec", first}, {"java", first}}, {{"java", first}});
  CHECK(gone.gone == Strings{"exec"});
  CHECK(gone.of_node);
  CHECK(gone.replaced.empty());
}
