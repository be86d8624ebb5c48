#include "runtime/scheduler/plan/network.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE("networks: a port that two hold at once is nobody's in the reason") {
  Draft<schema::Node> node;
  auto network = node->initNodeResources().initNodeNetworks(1)[0];
  network.setMode("host");
  network.initAddresses(1)[0].setAddress("10.0.0.1");
  const auto made = NodeNetwork::make(node.reader());
  REQUIRE(made.has_value());

  // One that was evicted still runs beside the one that was placed for it.
  Draft<schema::AllocatedResources> holder;
  auto held = holder->initShared().initPorts(1)[0];
  held.setValue(8080);
  held.setHostIp("10.0.0.1");
  Draft<schema::NetworkResource> request;
  auto port = request->initReservedPorts(1)[0];
  port.setLabel("p");
  port.setValue(8080);
  state::NodeUsage usage;
  Random random{1};
  const auto refusal = [&] {
    const auto given = made->assign(request.reader(), node.reader(), usage, random);
    return given ? std::string{} : given.error().what;
  };
  CHECK(refusal().empty());
  usage.add({}, holder.reader());
  CHECK(refusal() == "reserved port collision p=8080");
  usage.add({}, holder.reader());
  CHECK(refusal() == "port collision");
}

TEST_CASE("networks: reserved ports, aliases and a second address") {
  Draft<schema::Node> node;
  node->initReservedResources().initNetworks().setReservedHostPorts("22");
  auto resources = node->initNodeResources();
  resources.setMinDynamicPort(100);
  resources.setMaxDynamicPort(101);
  auto network = resources.initNodeNetworks(1)[0];
  network.setMode("host");
  auto addresses = network.initAddresses(3);
  addresses[0].setAlias("default");
  addresses[0].setAddress("10.0.0.1");
  addresses[0].setReservedPorts("100-101");
  addresses[1].setAlias("default");
  addresses[1].setAddress("::1");
  addresses[2].setAlias("private");
  addresses[2].setAddress("192.168.0.1");
  const auto made = NodeNetwork::make(node.reader());
  REQUIRE(made.has_value());
  CHECK(made->is_reserved("192.168.0.1", 22));
  CHECK(made->is_reserved("10.0.0.1", 100));
  CHECK_FALSE(made->is_reserved("::1", 100));

  Random random{1};
  const state::NodeUsage unused;
  const auto ask = [&](const char* alias, int fixed) {
    Draft<schema::NetworkResource> request;
    if (fixed > 0) {
      auto port = request->initReservedPorts(1)[0];
      port.setLabel("p");
      port.setValue(fixed);
      port.setHostNetwork(alias);
    } else {
      auto port = request->initDynamicPorts(1)[0];
      port.setLabel("p");
      port.setHostNetwork(alias);
    }
    const auto given = made->assign(request.reader(), node.reader(), unused, random);
    if (!given) return given.error().what;
    const auto& port = fixed > 0 ? given->static_ports[0] : given->dynamic_ports[0];
    return std::string{port.host_ip};
  };
  CHECK(ask("", 0) == "::1");  // the first address has none left
  CHECK(ask("private", 0) == "192.168.0.1");
  CHECK(ask("public", 0) == "no addresses available for public network");
  CHECK(ask("", 22) == "reserved port collision p=22");
  CHECK(ask("", 100) == "reserved port collision p=100");  // statics: the first address only
  CHECK(ask("", 8080) == "10.0.0.1");
  resources.setMaxDynamicPort(100);
  addresses[2].setReservedPorts("100");
  const auto full = NodeNetwork::make(node.reader());
  REQUIRE(full.has_value());
  Draft<schema::NetworkResource> dynamic;
  dynamic->initDynamicPorts(1)[0].setHostNetwork("private");
  CHECK(full->assign(dynamic.reader(), node.reader(), unused, random).error()
        == Error{Errc::overloaded, "dynamic port selection failed"});
  CHECK(ask("", 70'000) == "invalid port 70000 (out of range)");
  addresses[1].setReservedPorts("x");
  CHECK(NodeNetwork::make(node.reader()).error().what
        == "error parsing reserved_ports for network: invalid port range \"x\"");
  node->getReservedResources().getNetworks().setReservedHostPorts("1-");
  CHECK(NodeNetwork::make(node.reader()).error().what
        == "error parsing reserved_ports: invalid port range \"1-\"");
}

TEST_CASE("networks: who ignores collisions gets a static port that others have") {
  Draft<schema::Node> node;
  node->initReservedResources().initNetworks().setReservedHostPorts("22");
  auto network = node->initNodeResources().initNodeNetworks(1)[0];
  network.setMode("host");
  network.initAddresses(1)[0].setAddress("10.0.0.1");
  const auto made = NodeNetwork::make(node.reader());
  REQUIRE(made.has_value());
  Draft<schema::AllocatedResources> holder;
  auto held = holder->initShared().initPorts(1)[0];
  held.setValue(8080);
  held.setHostIp("10.0.0.1");
  state::NodeUsage usage;
  usage.add({}, holder.reader());

  Draft<schema::NetworkResource> request;
  auto ports = request->initReservedPorts(2);
  ports[0].setLabel("http");
  ports[0].setValue(8080);
  ports[0].setIgnoreCollision(true);
  ports[1].setLabel("ssh");
  ports[1].setValue(22);
  ports[1].setIgnoreCollision(true);
  Random random{1};
  const auto given = made->assign(request.reader(), node.reader(), usage, random);
  REQUIRE(given.has_value());
  CHECK(given->static_ports.at(0).ignores_collision);
  CHECK(given->static_ports.at(1).value == 22);
  CHECK(made->static_ports(request.reader(), node.reader()).empty());  // nobody has to make room

  ports[1].setIgnoreCollision(false);
  const auto refused = made->assign(request.reader(), node.reader(), usage, random);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().what == "reserved port collision ssh=22");
  CHECK(made->static_ports(request.reader(), node.reader()).size() == 1);
}
