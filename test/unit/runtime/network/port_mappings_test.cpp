#include "runtime/network/port_mappings.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::network;

TEST_CASE("port mappings: each port for both protocols, inside as the job says") {
  Draft<schema::AllocatedSharedResources> shared;
  auto ports = shared->initPorts(3);
  ports[0].setLabel("http");
  ports[0].setValue(20001);
  ports[0].setTo(80);
  ports[0].setHostIp("10.0.0.7");
  ports[1].setLabel("same");
  ports[1].setValue(20002);
  ports[1].setTo(-1);
  ports[2].setLabel("unsaid");
  ports[2].setValue(20003);
  CHECK(port_mappings(shared.reader(), false)
        == std::vector<PortMapping>{{20001, 80, "tcp", "10.0.0.7", "http"},
                                    {20001, 80, "udp", "10.0.0.7", "http"},
                                    {20002, 20002, "tcp", "", "same"},
                                    {20002, 20002, "udp", "", "same"},
                                    {20003, 20003, "tcp", "", "unsaid"},
                                    {20003, 20003, "udp", "", "unsaid"}});
  CHECK(port_mappings(shared.reader(), true)[0].host_ip.empty());
}

TEST_CASE("port mappings: of allocations as agents before 0.12 placed them") {
  Draft<schema::AllocatedSharedResources> old;
  auto network = old->initNetworks(1)[0];
  network.initReservedPorts(1)[0].setValue(80);
  auto dynamic = network.initDynamicPorts(1)[0];
  dynamic.setValue(20001);
  dynamic.setTo(1);
  CHECK(port_mappings(old.reader(), false)
        == std::vector<PortMapping>{
            {20001, 1, "tcp"}, {20001, 1, "udp"}, {80, 80, "tcp"}, {80, 80, "udp"}});

  old->initPorts(1)[0].setValue(22);  // one that says its ports anew: they count alone
  CHECK(port_mappings(old.reader(), false)
        == std::vector<PortMapping>{{22, 22, "tcp"}, {22, 22, "udp"}});
}
