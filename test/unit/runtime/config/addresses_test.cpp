// Where an agent listens that was not told so.
#include "runtime/config/addresses.hpp"

#include <doctest/doctest.h>

using namespace nomad::config;

namespace {

const LocalAddresses machine{{{.interface = "eth0", .ip = "10.0.0.7", .is_default = true}}};

}  // namespace

TEST_CASE("addresses: without bind_addr and TLS an agent listens on loopback, and says so") {
  const auto config = with_addresses({}, machine);
  REQUIRE(config.has_value());
  CHECK(config->bind_addr == "127.0.0.1");
  REQUIRE(config->warnings.size() == 1);
  CHECK(config->warnings[0].starts_with(
      "bind_addr: not set, and without TLS: listening on 127.0.0.1"));
  AgentConfig elsewhere;
  elsewhere.addresses.http = "10.0.0.7";
  CHECK(with_addresses(elsewhere, machine)->warnings.empty());
  elsewhere.server.enabled = true;
  CHECK(with_addresses(elsewhere, machine)->warnings.size() == 1);
  elsewhere.addresses.rpc = elsewhere.addresses.serf = "10.0.0.7";
  CHECK(with_addresses(elsewhere, machine)->warnings.empty());
}

TEST_CASE("addresses: what is secured, or meant so, listens everywhere") {
  AgentConfig trusted;
  trusted.allow_unsafe_bind = true;
  AgentConfig client;
  client.tls.http = true;
  AgentConfig server = client;
  server.server.enabled = true;
  server.tls.rpc = true;
  for (const auto* each : {&trusted, &client, &server}) {
    const auto config = with_addresses(*each, machine);
    REQUIRE(config.has_value());
    CHECK(config->bind_addr == "0.0.0.0");
    CHECK(config->warnings.empty());
  }
  server.tls.rpc = false;
  CHECK(with_addresses(server, machine)->bind_addr == "127.0.0.1");
}

TEST_CASE("addresses: templates are replaced, and a wrong one is named with its key") {
  AgentConfig config;
  config.bind_addr = "{{ GetPrivateIP }}";
  config.advertise.rpc = "{{ GetInterfaceIP \"eth0\" }}:4647";
  const auto done = with_addresses(config, machine);
  REQUIRE(done.has_value());
  CHECK(done->bind_addr == "10.0.0.7");
  CHECK(done->advertise.rpc == "10.0.0.7:4647");
  CHECK(done->warnings.empty());

  config.advertise.rpc = "{{ GetPublicIP }}";
  CHECK(with_addresses(config, machine).error().what
        == "advertise.rpc: {{ GetPublicIP }} gives no address of this machine");
}

TEST_CASE("addresses: who listens on all addresses is reached at the first private one") {
  AgentConfig config;
  config.server.enabled = true;
  config.allow_unsafe_bind = true;
  for (const char* all : {"", "0.0.0.0", "::"}) {
    config.bind_addr = all;
    const auto done = with_addresses(config, machine);
    REQUIRE(done.has_value());
    CHECK(done->advertise.http == "10.0.0.7");
    CHECK(done->advertise.rpc == "10.0.0.7");
    CHECK(done->advertise.serf == "10.0.0.7");
  }
  config.addresses.http = "127.0.0.1";
  config.advertise.rpc = "192.0.2.1:4000";
  const auto done = with_addresses(config, machine);
  REQUIRE(done.has_value());
  CHECK(done->advertise.http.empty());
  CHECK(done->advertise.rpc == "192.0.2.1:4000");
}

TEST_CASE("addresses: a server needs an address for others, a client does not") {
  const LocalAddresses lonely{{{.interface = "eth0", .ip = "169.254.0.7", .is_default = true}}};
  AgentConfig client;
  client.bind_addr = "0.0.0.0";
  client.data_dir = "/tmp/x";
  client.allow_unsafe_bind = true;
  client.client.enabled = true;
  client.client.servers = {"10.0.0.8"};
  REQUIRE(with_addresses(client, lonely).has_value());
  CHECK(with_addresses(client, lonely)->advertise.http.empty());
  CHECK(validate(*with_addresses(client, lonely)).has_value());

  AgentConfig server;
  server.bind_addr = "0.0.0.0";
  server.data_dir = "/tmp/x";
  server.server.enabled = true;
  CHECK(validate(*with_addresses(server, lonely)).error().what
        == "refusing to listen on 0.0.0.0 without TLS: everyone who reaches it could run commands "
           "here; set bind_addr = \"127.0.0.1\", or allow_unsafe_bind = true if the network is "
           "trusted");
  server.allow_unsafe_bind = true;
  CHECK(validate(*with_addresses(server, lonely)).error().what
        == "advertise.rpc: the server listens on all addresses, and this machine has none that "
           "others could know: set the one at which they reach it");
  server.advertise.rpc = "10.0.0.7";
  CHECK(validate(*with_addresses(server, lonely)).has_value());
}

TEST_CASE("addresses: what is advertised is of a family that is listened on") {
  const LocalAddresses wide{{{.interface = "eth0", .ip = "fd00::7", .is_default = true},
                             {.interface = "eth1", .ip = "8.8.4.4"}}};
  AgentConfig config;
  config.server.enabled = true;
  config.bind_addr = "::";
  CHECK(with_addresses(config, wide)->advertise.rpc == "fd00::7");
  config.bind_addr = "0.0.0.0";
  CHECK(with_addresses(config, wide)->advertise.rpc == "8.8.4.4");
}

TEST_CASE("addresses: the network interface may be a template") {
  AgentConfig config;
  config.client.network_interface = "{{ GetPrivateInterfaces | attr \"name\" }}";
  CHECK(with_addresses(config, machine)->client.network_interface == "eth0");
  config.client.network_interface = "{{ GetPublicInterfaces | attr \"name\" }}";
  CHECK(with_addresses(config, machine).error().what.starts_with("client.network_interface: "));
}
