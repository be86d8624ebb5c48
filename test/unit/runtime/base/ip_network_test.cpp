// Addresses, networks and routes as the system and configurations write them.
#include "runtime/base/ip_network.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("ip_network: addresses are four or sixteen bytes") {
  CHECK(ip_bytes("10.0.0.7") == std::string{"\x0a\0\0\x07", 4});
  CHECK(ip_bytes("::1").size() == 16);
  for (const char* bad : {"", "10.0.0", "10.0.0.256", "localhost", "fe80::1%eth0", "10.0.0.1/8"})
    CHECK_FALSE(is_ip_address(bad));
  CHECK_FALSE(is_ip_address("10.0.0.1 "));
}

TEST_CASE("ip_network: a network is an address and a prefix that fits") {
  const auto network = parse_ip_network("10.1.0.0/9");
  REQUIRE(network.has_value());
  CHECK(network->prefix == 9);
  CHECK(network->contains("10.127.255.255"));
  CHECK_FALSE(network->contains("10.128.0.0"));
  CHECK_FALSE(network->contains("x"));
  for (const char* bad : {"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8",
                          "10.0.0.0/33", "10.0.0.0/8 ", "::/129", "::/99999999999999999999"})
    CHECK_FALSE(parse_ip_network(bad).has_value());
}

TEST_CASE("ip_network: one of several networks") {
  CHECK(in_networks("192.168.1.5", "10.0.0.0/8, 192.168.0.0/16"));
  CHECK(in_networks("192.168.129.1", "192.168.128.0/17"));
  CHECK_FALSE(in_networks("192.168.127.1", "192.168.128.0/17"));
  CHECK(in_networks("fd00::2", "fd00::/8"));
  CHECK(in_networks("1.2.3.4", "0.0.0.0/0"));
  for (const char* bad : {"", "x", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/x", "::/129", "::/0"})
    CHECK_FALSE(in_networks("10.0.0.1", bad));
}

TEST_CASE("ip_network: the interface of the default route") {
  std::string head
      = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
  std::string local = "eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
  std::string slow = "wlan0\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n";
  std::string fast = "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";
  std::string down = "eth9\t00000000\t010200C0\t0002\t0\t0\t1\t00000000\t0\t0\t0\n";
  std::string six
      = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
        "fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth6\n"
        "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
        "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n";

  CHECK(parse_default_route(head + local + slow + fast + down, six) == "eth0");
  CHECK(parse_default_route(head + local, six) == "eth6");
  CHECK(parse_default_route(head + local, "") == "");
  CHECK(parse_default_route("", "garbage\n00 00\n") == "");
}

TEST_CASE("ip_network: what names this machine alone") {
  for (const auto* near : {"127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1",
                           "localhost", "LocalHost"})
    CHECK(is_loopback(near));
  for (const auto* far : {"0.0.0.0", "127.0.0.1.evil.example", "127.", "10.0.0.1", "",
                          "localhost.evil", "::", "::2", "::ffff:10.0.0.1", "7f00::1"})
    CHECK_FALSE(is_loopback(far));
}
