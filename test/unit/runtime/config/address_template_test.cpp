// The templates of go-sockaddr that are understood.
#include "runtime/config/address_template.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace nomad::config;

namespace {

const LocalAddresses here{{
    {.interface = "lo", .ip = "127.0.0.1", .is_loopback = true},
    {.interface = "lo", .ip = "::1", .is_loopback = true},
    {.interface = "eth0", .ip = "fd00::7", .is_default = true},
    {.interface = "eth0", .ip = "10.0.0.7", .is_default = true},
    {.interface = "eth1", .ip = "8.8.4.4"},
    {.interface = "eth1", .ip = "fe80::1"},
    {.interface = "eth2", .ip = "192.168.9.1", .is_up = false},
    {.interface = "wg0", .ip = "10.99.0.3"},
}};

std::string expanded(const std::string& text) {
  const auto result = expand_address(text, here);
  return result ? *result : "error: " + result.error().what;
}

}  // namespace

TEST_CASE("address_template: text without templates stays") {
  CHECK(expanded("") == "");
  CHECK(expanded("10.1.1.1:4647") == "10.1.1.1:4647");
  CHECK(expanded("a } b { c") == "a } b { c");
}

TEST_CASE("address_template: the common ones") {
  CHECK(expanded("{{ GetPrivateIP }}") == "10.0.0.7");
  CHECK(expanded("{{ GetPublicIP }}") == "8.8.4.4");
  CHECK(expanded("{{GetPrivateIP}}:4647") == "10.0.0.7:4647");
  CHECK(expanded("{{ GetInterfaceIP \"wg0\" }}") == "10.99.0.3");
  CHECK(expanded("{{ GetInterfaceIP \"eth0\" }}") == "10.0.0.7");
  CHECK(expanded("{{ GetPublicInterfaces | attr \"address\" }}") == "8.8.4.4");
  CHECK(expanded(
            "{{ GetPrivateInterfaces | include \"network\" \"10.99.0.0/16\" | attr \"address\" }}")
        == "10.99.0.3");
  CHECK(expanded("{{ GetAllInterfaces | include \"name\" \"^eth\" | include \"flags\" \"up\" | "
                 "exclude \"type\" \"IPv6\" | join \"address\" \" \" }}")
        == "10.0.0.7 8.8.4.4");
  CHECK(expanded(
            "{{ GetDefaultInterfaces | include \"type\" \"IPv6\" | limit 1 | attr \"address\" }}")
        == "fd00::7");
  CHECK(expanded("{{ GetAllInterfaces | include \"flags\" \"loopback\" | attr \"address\" }}")
        == "127.0.0.1");
}

TEST_CASE("address_template: words in any case, and several at once") {
  CHECK(expanded(
            "{{ GetAllInterfaces | include \"Type\" \"ipv4\" | include \"flag\" \"Forwardable\" | "
            "attr \"Address\" }}")
        == "10.0.0.7");
  CHECK(expanded("{{ GetAllInterfaces | include \"network\" \"8.0.0.0/8|10.99.0.0/16\" | join "
                 "\"address\" \",\" }}")
        == "8.8.4.4,10.99.0.3");
  CHECK(
      expanded("{{ GetAllInterfaces | include \"type\" \"ipv4|ipv6\" | limit 1 | attr \"name\" }}")
      == "lo");
  CHECK(expanded("{{ GetPrivateInterfaces | join \"name\" \" \" }}") == "eth0 eth0 wg0");
}

TEST_CASE("address_template: an address need not be of the interface with the default route") {
  const LocalAddresses cloud{{
      {.interface = "docker0", .ip = "172.17.0.1", .prefix = 16, .is_up = false},
      {.interface = "eth0", .ip = "8.8.4.4", .prefix = 24, .is_default = true},
      {.interface = "eth0", .ip = "169.254.7.7", .prefix = 16, .is_default = true},
      {.interface = "eth1", .ip = "fd00::1", .prefix = 8},
      {.interface = "eth1", .ip = "10.0.0.9", .prefix = 32},
      {.interface = "eth1", .ip = "10.0.0.7", .prefix = 24},
      {.interface = "eth10", .ip = "192.168.0.7", .prefix = 24},
  }};
  const auto in_cloud = [&](std::string_view text) {
    return expand_address(text, cloud).value_or(std::string{"none"});
  };
  CHECK(in_cloud("{{ GetPrivateIP }}") == "10.0.0.7");
  CHECK(in_cloud("{{ GetPublicIP }}") == "8.8.4.4");
  CHECK(in_cloud("{{ GetPrivateInterfaces | join \"address\" \" \" }}")
        == "10.0.0.7 192.168.0.7 10.0.0.9 fd00::1");
  CHECK(in_cloud("{{ GetInterfaceIP \"eth1\" }}") == "10.0.0.7");
  CHECK(in_cloud("{{ GetInterfaceIP \"^docker\" }}") == "172.17.0.1");
  auto routed = cloud;
  routed.all.back().is_default = true;
  CHECK(expand_address("{{ GetPrivateIP }}", routed).value() == "192.168.0.7");
}

TEST_CASE("address_template: what is not understood, or gives nothing, is an error") {
  for (const char* text : {"{{ GetPrivateIP", "{{ }}", "{{ GetPrivatIP }}", "{{ \"x\" }}",
                           "{{ GetAllInterfaces | sort \"address\" | attr \"address\" }}",
                           "{{ GetAllInterfaces | include \"network\" \"10\" | attr \"address\" }}",
                           "{{ GetAllInterfaces | include \"size\" \"9\" | attr \"address\" }}",
                           "{{ GetAllInterfaces | include \"name\" \"(\" | attr \"address\" }}",
                           "{{ GetAllInterfaces | limit x | attr \"address\" }}",
                           "{{ GetAllInterfaces | attr \"size\" }}", "{{ GetInterfaceIP \"(\" }}",
                           "{{ GetAllInterfaces }}", "{{ GetPrivateIP | attr \"address\" }}",
                           "{{ GetInterfaceIP \"eth9\" }}"}) {
    CAPTURE(text);
    CHECK(expanded(text).starts_with("error: "));
  }
  CHECK(expanded("{{ GetInterfaceIP \"eth9\" }}")
        == "error: {{ GetInterfaceIP \"eth9\" }} gives no address of this machine");
}

TEST_CASE("address_template: this machine has loopback") {
  const auto real = LocalAddresses::read();
  CHECK(expand_address("{{ GetAllInterfaces | include \"flags\" \"loopback\" | attr \"address\" }}",
                       real)
            .value()
        == "127.0.0.1");
}
