#include "runtime/host/fingerprint/parse.hpp"

#include <doctest/doctest.h>

using namespace nomad::host;

TEST_CASE("fingerprint: counts processors and finds the fastest") {
  CpuInfo info = parse_cpuinfo(
      "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU\ncpu MHz\t\t: 1995.312\n\n"
      "processor\t: 1\nmodel name\t: Intel(R) Xeon(R) CPU\ncpu MHz\t\t: 2300.999\n");
  CHECK(info.cores == 2);
  CHECK(info.model == "Intel(R) Xeon(R) CPU");
  CHECK(info.mhz == 2300);
  CHECK(parse_cpuinfo("").cores == 0);
  CHECK(parse_cpuinfo("cpu MHz : 1e300\ncpu MHz : -4\nprocessor : nan").mhz <= 1000000);

  CHECK(parse_max_frequency("3500000\n") == 3500);
  CHECK(parse_max_frequency("3500000000\n") == 3500);
  CHECK(parse_max_frequency("x") == 0);

  CHECK(parse_cpu_list("\t0-2,7\n") == std::vector<std::uint16_t>{0, 1, 2, 7});
  for (const char* bad : {"", "a", "0-", "1,,2", "0-99999999", "-1"})
    CHECK(parse_cpu_list(bad).empty());
  CHECK(go_arch("x86_64") == "amd64");
  CHECK(go_arch("aarch64") == "arm64");
  CHECK(go_arch("riscv64") == "riscv64");
}

TEST_CASE("fingerprint: names the distribution as Nomad does") {
  struct Case {
    std::map<std::string, std::string> etc;
    std::string name, version;
  };

  std::string debian_release
      = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\nVERSION_ID=\"12\"\n";
  for (const Case& each :
       {Case{{{"debian_version", "12.11\n"}, {"os-release", debian_release}}, "debian", "12.11"},
        Case{{{"debian_version", "bookworm/sid\n"},
              {"lsb-release", "DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\n"}},
             "ubuntu",
             "22.04"},
        Case{{{"redhat-release", "CentOS Linux release 7.9.2009 (Core)\n"}}, "centos", "7.9.2009"},
        Case{
            {{"redhat-release", "Red Hat Enterprise Linux release 9.3 (Plow)\n"}}, "redhat", "9.3"},
        Case{{{"redhat-release", "Fedora release 41 (Rawhide)\n"}}, "fedora", "rawhide"},
        Case{{{"alpine-release", "3.19.1\n"}}, "alpine", "3.19.1"},
        Case{{{"arch-release", ""}}, "arch", ""},
        Case{{{"os-release", "ID=flatcar\nVERSION_ID=3815.2.0\n"}}, "flatcar", "3815.2.0"},
        Case{{}, "", ""}}) {
    CHECK(parse_os(each.etc).name == each.name);
    CHECK(parse_os(each.etc).version == each.version);
  }
}

TEST_CASE("fingerprint: tells link-local addresses") {
  CHECK(is_link_local("169.254.7.7"));
  CHECK(is_link_local("fe80::1"));
  CHECK_FALSE(is_link_local("fd00::1"));
}

TEST_CASE("fingerprint: gives addresses their aliases") {
  FingerprintOptions options;
  options.host_networks = {{"public", "203.0.113.0/24", "", "22"}, {"wire", "", "eth1", "1-5"}};
  std::vector<Interface> interfaces = {{"lo", "", 0}, {"eth0", "02:00", 10000}, {"eth1", "", 0}};
  std::vector<InterfaceAddress> addresses = {{"lo", "127.0.0.1", false},
                                             {"eth0", "203.0.113.9", false},
                                             {"eth1", "10.0.0.9", false},
                                             {"eth0", "fd00::9", true},
                                             {"eth0", "fe80::9", true}};
  NodeFacts facts;

  describe_networks(options, "eth0", interfaces, addresses, facts);

  CHECK(facts.attributes["unique.network.ip-address"] == "203.0.113.9");
  REQUIRE(facts.networks.size() == 2);
  CHECK(facts.networks[0].cidr == "203.0.113.9/32");
  CHECK(facts.networks[0].mbits == 10000);
  CHECK(facts.networks[1].cidr == "fd00::9/128");
  REQUIRE(facts.node_networks.size() == 2);
  CHECK(facts.node_networks[0].device == "eth0");
  CHECK(facts.node_networks[0].speed == 10000);
  REQUIRE(facts.node_networks[0].addresses.size() == 3);
  CHECK(facts.node_networks[0].addresses[0].alias == "public");
  CHECK(facts.node_networks[0].addresses[0].reserved_ports == "22");
  CHECK(facts.node_networks[0].addresses[1].alias == "default");
  CHECK(facts.node_networks[0].addresses[1].reserved_ports == "");
  CHECK(facts.node_networks[0].addresses[2].family == "ipv6");
  CHECK(facts.node_networks[1].addresses[0].alias == "wire");
  CHECK(facts.node_networks[1].speed == 1000);
}

TEST_CASE("fingerprint: link-local addresses count only when there is nothing else") {
  std::vector<Interface> interfaces = {{"eth0", "", 0}};
  std::vector<InterfaceAddress> addresses = {{"eth0", "169.254.1.1", false}};
  for (bool disallow : {false, true}) {
    FingerprintOptions options;
    options.disallow_link_local = disallow;
    options.network_speed = 5;
    NodeFacts facts;
    describe_networks(options, "eth0", interfaces, addresses, facts);
    CHECK(facts.networks.size() == (disallow ? 0 : 1));
    CHECK(facts.node_networks.size() == (disallow ? 0 : 1));
    if (!disallow) CHECK(facts.networks[0].mbits == 5);
  }
}

TEST_CASE("fingerprint: finds kernel modules and volumes") {
  CHECK(has_module("bridge", "stp 16384 1 bridge,\nbridge 311296 0\n", "", ""));
  CHECK_FALSE(has_module("bridge", "br_netfilter 1 0\nxbridge 1 0\n", "", ""));
  CHECK(has_module("bridge", "", "kernel/net/bridge/bridge.ko\n", ""));
  CHECK(has_module("bridge", "", "", "kernel/net/bridge/bridge.ko.xz: kernel/net/llc/llc.ko\n"));
  CHECK_FALSE(has_module("bridge", "", "kernel/drivers/not-bridge.ko\n",
                         "kernel/x/br_netfilter.ko: kernel/net/bridge/bridge.ko\n"));

  std::string mountinfo
      = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "40 22 0:35 / /data rw - btrfs /dev/vdb rw,subvol=/\n"
        "broken line\n";
  CHECK(parse_volume(mountinfo, 254, 0, "/var") == "/dev/vda");
  CHECK(parse_volume(mountinfo, 0, 99, "/data/x") == "/dev/vdb");
  CHECK(parse_volume(mountinfo, 0, 99, "/database") == "/dev/vda");
  CHECK(parse_volume("", 1, 1, "/") == "");
}

TEST_CASE("parse: a CNI configuration without what it needs is refused by what it lacks") {
  const auto refused = [](std::string_view text, bool is_list) {
    return parse_cni_name(text, is_list).error().what;
  };
  CHECK(refused("{", false).starts_with("no JSON: "));
  CHECK(refused(R"({"type":"macvlan"})", false) == "it has no \"name\"");
  CHECK(refused(R"({"name":"one"})", false) == "it has no \"type\"");
  CHECK(refused(R"({"name":"one","plugins":[]})", true) == "it lists no \"plugins\"");
}
