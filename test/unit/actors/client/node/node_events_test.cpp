// Events of the node: gathered, sent together, and again until the servers have them.
#include "actors/client/node/node_events.hpp"

#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using Strings = std::vector<std::string>;

namespace {

/// A node with a driver that feels as the test says.
struct MoodyDriver : ClientFixture {
  client::driver::Health mood{
      .detected = true, .healthy = true, .description = "Healthy", .attributes = {}};

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.drivers.emplace(
        "moody",
        client::DriverEntry{.capabilities = {.secrets_in_memory = false},
                            .spawn = [this](const actor::Owner&, const client::DriverOptions&) {
                              return adopt(spawn_driver());
                            }});
    return made;
  }

  /// It starts nothing.
  client::Driver spawn_driver() {
    namespace driver = client::driver;
    return actor::spawn(system(), [this](client::Driver::pointer) -> client::Driver::behavior_type {
      return {[](const driver::StartTask&) { return driver::Started{}; },
              [](const driver::RecoverTask&) { return driver::Recovered{}; },
              [](const driver::StopTask&) { return driver::Done{}; },
              [](const driver::DestroyTask&) { return driver::Done{}; },
              [](const driver::EndOthers&) { return driver::Done{}; },
              [](const driver::SignalTask&) { return driver::Done{}; },
              [](const driver::TaskStats&) { return client::client_api::TaskUsage{}; },
              [](const driver::ExecTask&) -> actor::Answer<client::client_api::ExecStarted> {
                return driver::no_exec();
              },
              [this](driver::Fingerprint) { return mood; }};
    });
  }

  void feel(bool healthy, const std::string& description) {
    mood.healthy = healthy;
    mood.description = description;
    advance(30s);
  }
};

}  // namespace

TEST_CASE_FIXTURE(MoodyDriver, "node events: how a driver feels, once it feels otherwise") {
  start();
  advance(1min);
  CHECK_MESSAGE(node_events.empty(), "what it felt first is in the node");
  feel(false, "it broke");
  feel(false, "it broke");
  feel(true, "Healthy");
  advance(11s);
  CHECK(node_events == Strings{"Driver: it broke", "Driver: Healthy"});
}

TEST_CASE_FIXTURE(MoodyDriver, "node events: kept until the servers take them, but for old ones") {
  start();
  refusal = Error{Errc::no_leader, "no leader"};
  for (int i = 0; i < 12; ++i)
    feel(false, "broke " + std::to_string(i));
  CHECK(node_events.empty());
  refusal.reset();
  advance(11s);
  REQUIRE(node_events.size() == 10);
  CHECK(node_events.front() == "Driver: broke 2");
  CHECK(node_events.back() == "Driver: broke 11");
  advance(1min);
  CHECK(node_events.size() == 10);
}
