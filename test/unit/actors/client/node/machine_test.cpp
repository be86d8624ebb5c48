// What the fingerprinters say: asked again after their time, and when the configuration changes.
#include "actors/client/node/machine.hpp"

#include "runtime/object/entries.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using client::client_actor::Reconfigure;
using client::client_actor::Reconfigured;

namespace {

/// A machine to which something is plugged in while it runs.
struct ChangingMachine : ClientFixture {
  std::string plugged = "mouse";
  bool unreadable = false;
  int reads = 0;

  client::PluginCatalog plugins() override {
    auto made = ClientFixture::plugins();
    made.fingerprinters.push_back(
        {"usb",
         [this](const host::FingerprintOptions& with, host::NodeFacts& facts) -> Result<> {
           ++reads;
           if (unreadable) return Error{Errc::io, "no bus"};
           facts.attributes["usb"] = plugged;
           facts.attributes["iface"] = with.network_interface;
           return {};
         },
         15s});
    return made;
  }

  std::string attribute(std::string_view name) const {
    return std::string{find_text(node->getAttributes(), name).value_or("-")};
  }

  Result<Reconfigured> reconfigure(client::ClientOptions with) {
    auto done = ask<Reconfigured>(client, Reconfigure{std::move(with)});
    REQUIRE(done->has_value());
    return **done;
  }
};

}  // namespace

TEST_CASE_FIXTURE(ChangingMachine, "machine: what has changed is registered, once") {
  start();
  CHECK(attribute("usb") == "mouse");
  advance(1min);
  CHECK(reads == 5);
  CHECK(registrations == 1);

  plugged = "keyboard";
  advance(30s);
  CHECK(registrations == 2);
  CHECK(attribute("usb") == "keyboard");
  CHECK(attribute("kernel.name") == "linux");

  unreadable = true;
  advance(1min);
  CHECK(registrations == 2);
  unreadable = false;
  plugged = "";
  advance(30s);
  CHECK(attribute("usb") == "");
}

TEST_CASE_FIXTURE(ChangingMachine, "machine: what was found before the client's start is taken") {
  std::vector<host::NodeFacts> found(2);
  found[0].attributes["kernel.name"] = "linux";
  found[1].attributes["usb"] = "trackball";
  first_look = std::make_shared<const std::vector<host::NodeFacts>>(std::move(found));
  start();
  CHECK(reads == 0);
  CHECK(attribute("usb") == "trackball");
  CHECK(attribute("kernel.name") == "linux");

  advance(30s);  // asked after its time, as if it had been asked here
  CHECK(reads == 2);
  CHECK(attribute("usb") == "mouse");
}

TEST_CASE_FIXTURE(ChangingMachine, "machine: another configuration is taken over whole or not") {
  start();
  auto with = options();
  with.meta = {{"rack", "r9"}};
  with.reserved.memory_mb = 100;
  with.fingerprint.network_interface = "eth7";
  REQUIRE(reconfigure(with).has_value());
  advance(11s);
  CHECK(registrations == 2);
  CHECK(attribute("iface") == "eth7");
  CHECK(find_text(node->getMeta(), "rack") == "r9");
  CHECK(node->getReservedResources().getMemory().getMemoryMb() == 100);
  reads = 0;
  advance(30s);
  CHECK_MESSAGE(reads == 2, "the old configuration's timers are void");

  unreadable = true;
  with.meta = {{"rack", "r10"}};
  CHECK(reconfigure(with).error().what == "fingerprint usb: no bus");
  advance(30s);
  CHECK(find_text(node->getMeta(), "rack") == "r9");
}

TEST_CASE_FIXTURE(ChangingMachine, "machine: a node of which nothing may be found out is one") {
  auto with = options();
  with.options["fingerprint.allowlist"] = "none";
  start(false, with);
  CHECK(registrations == 1);
  CHECK(attribute("usb") == "-");
}

TEST_CASE_FIXTURE(ChangingMachine, "machine: what changes during a registration is registered") {
  holds_registrations = true;
  start();
  plugged = "keyboard";
  advance(28s);  // found, and due to be registered
  REQUIRE(registrations == 1);
  holds_registrations = false;
  push();
  advance(1s);
  CHECK(attribute("usb") == "keyboard");
}
