// Events of the node: gathered, sent together, and again until the servers have them.
#include "actors/client/node/node_events.hpp"

#include "test/support/fake_driver.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using Strings = std::vector<std::string>;

namespace {

/// A node with a driver that feels as the test says.
struct MoodyDriver : ClientFixture {
  bool is_healthy = true;
  std::string description = "Healthy";

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.drivers.emplace("moody",
                         fake_driver([this](auto, const auto&, DriverRequest::Reader request)
                                         -> std::optional<actor::Answer<client::driver::Answered>> {
                           if (!request.isFingerprint()) return std::nullopt;
                           return client::driver::fingerprinted(
                               client::driver::make_fingerprint(true, is_healthy, description));
                         }));
    return made;
  }

  void feel(bool healthy, const std::string& text) {
    is_healthy = healthy;
    description = text;
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
