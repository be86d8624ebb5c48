// Where services are reached and where their checks go, by address mode.
#include "runtime/workload/services/service_address.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::workload;

namespace {

/// An allocation with the ports "http" (mapped), "admin" (not mapped), and "old" of a network
/// block.
struct Addressed {
  Draft<schema::Allocation> alloc;
  DriverNetwork driver;
  bool has_driver = false;

  Addressed() {
    auto shared = alloc->initAllocatedResources().initShared();
    auto ports = shared.initPorts(2);
    ports[0].setLabel("http");
    ports[0].setValue(23456);
    ports[0].setTo(8080);
    ports[0].setHostIp("10.0.0.1");
    ports[1].setLabel("admin");
    ports[1].setValue(24000);
    ports[1].setHostIp("10.0.0.2");
    auto network = shared.initNetworks(1)[0];
    network.setIp("10.0.0.3");
    auto port = network.initDynamicPorts(1)[0];
    port.setLabel("old");
    port.setValue(25000);
    driver.ip = "172.17.0.2";
    driver.port_map = {{"inner", 9000}};
  }

  /// "address:port", or the error.
  std::string at(std::string mode, std::string port, std::string custom = {}) {
    const auto found = service_address(
        {.alloc = alloc.reader(), .driver = has_driver ? &driver : nullptr, .host = "192.0.2.1"},
        {.mode = std::move(mode), .address = std::move(custom), .port = std::move(port)});
    return found ? found->address + ':' + std::to_string(found->port) : found.error().what;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Addressed, "service_address: on the host, by a label or a number") {
  for (const auto* mode : {"host", "auto", ""}) {
    CHECK(at(mode, "http") == "10.0.0.1:23456");
    CHECK(at(mode, "old") == "10.0.0.3:25000");
    CHECK(at(mode, "9090") == "192.0.2.1:9090");
    CHECK(at(mode, "") == "192.0.2.1:0");
  }
}

TEST_CASE_FIXTURE(Addressed, "service_address: an address of its own counts where mode is auto") {
  CHECK(at("auto", "http", "shop.example") == "shop.example:23456");
  CHECK(at("", "8080", "shop.example") == "shop.example:8080");
  CHECK(at("auto", "", "shop.example") == "shop.example:0");
  CHECK(at("host", "http", "shop.example") == "10.0.0.1:23456");
}

TEST_CASE_FIXTURE(Addressed, "service_address: in the allocation's own network") {
  CHECK(at("alloc", "http")
        == "address_mode = \"alloc\" needs a network of the allocation's own, and it has none; use "
           "\"host\" or \"auto\"");
  alloc->initNetworkStatus().setAddress("172.26.64.5");
  CHECK(at("alloc", "http") == "172.26.64.5:8080");
  CHECK(at("alloc", "admin") == "172.26.64.5:24000");
  CHECK(at("alloc", "9090") == "172.26.64.5:9090");
  CHECK(at("alloc", "") == "172.26.64.5:0");
}

TEST_CASE_FIXTURE(Addressed, "service_address: in the network that a driver made") {
  CHECK(at("driver", "http")
        == "address_mode = \"driver\" needs a driver that makes a network for its tasks, and this one "
           "made none; use \"host\" or \"auto\"");
  has_driver = true;
  CHECK(at("driver", "http") == "172.17.0.2:8080");
  CHECK(at("driver", "inner") == "172.17.0.2:9000");
  CHECK(at("driver", "") == "172.17.0.2:0");
  CHECK(at("auto", "http") == "10.0.0.1:23456");
  driver.auto_advertise = true;
  CHECK(at("auto", "http") == "172.17.0.2:8080");
  CHECK(at("auto", "http", "shop.example") == "shop.example:23456");
}

TEST_CASE_FIXTURE(Addressed, "service_address: what is no port and what is no mode is said") {
  has_driver = true;
  alloc->initNetworkStatus().setAddress("172.26.64.5");
  for (const auto* mode : {"host", "auto", "alloc", "driver"}) {
    for (const auto* port : {"nobody", "80x"})
      CHECK(at(mode, port).find("is neither") != std::string::npos);
    for (const auto* port : {"0", "65536", "-1"})
      CHECK(at(mode, port).find("is not between 1 and 65535") != std::string::npos);
  }
  CHECK(at("host", "80x")
        == "port \"80x\" is neither a port of the group nor a number; name a port of the network block");
  CHECK(at("tunnel", "http")
        == "address_mode \"tunnel\" is unknown; it is \"auto\", \"alloc\", \"driver\" or \"host\"");
}
